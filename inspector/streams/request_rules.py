"""What the request says that an answer can be judged by: its tools, its earlier calls, what it forced."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

MOST_CALLS = 20_000
MOST_STEPS = 500_000
"""Keywords of schemas that are applied to all calls of an answer together, seconds of work; calls after that are not judged by their schemas."""
_OPEN_LISTS = ("previous_response_id", "conversation", "prompt", "mcp_servers", "container")
"""Members under which a request may bring tools that are elsewhere."""
_MORE_TOOLS = ("mcp", "tool_search", "namespace", "mcp_toolset")


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """`tools`: name -> schema of its arguments, None where the request was not captured; `open`: there may be tools that it does not list.

    `forced`: it named the tool to call. `wants_usage`: it asked for a usage record. `hides_thinking`: it asked for thinking without words.
    """

    tools: Mapping[str, Any] | None = None
    open: bool = False
    call_ids: frozenset[str] = frozenset()
    forced: bool = False
    wants_usage: bool = False
    hides_thinking: bool = False
    _checked: dict[str, bool] = field(default_factory=dict, compare=False)
    _steps: Iterator[int] = field(default_factory=lambda: iter(range(MOST_STEPS)), compare=False, repr=False)

    def judged(self, name: str, arguments: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
        """Violations of a call against the tools: (name of the row, sentence)."""
        if self.tools is None:
            return
        if name not in self.tools:
            if not self.open:
                yield "unknown-tool", f"The request declares no tool {name[:80]!r}."
            return
        if arguments is not None and (reason := self._mismatch(name, arguments)):
            yield "tool-args-schema-mismatch", f"The arguments of {name[:80]} break its schema: {reason}"

    def _mismatch(self, name: str, arguments: Mapping[str, Any]) -> str:
        schema = (self.tools or {})[name]
        if not isinstance(schema, dict) or not schema:
            return ""
        # Only here, as the package that judges costs much at the start.
        from inspector.streams.schemas import can_judge, validator

        # Schemas come from captures: one that is wrong, endless or refers to elsewhere judges nothing.
        try:
            if name not in self._checked:
                self._checked[name] = can_judge(schema)
            error = next(iter(validator(schema, self._steps).iter_errors(arguments)), None) if self._checked[name] else None
        except Exception:
            self._checked[name] = False
            return ""
        return "" if error is None else str(error.message)[:200]


UNKNOWN_REQUEST = RequestFacts()


def request_facts(request: Mapping[str, Any] | None) -> RequestFacts:
    """What a request body of any supported protocol asks for; of one that was not captured nothing is known."""
    if request is None:
        return UNKNOWN_REQUEST
    listed = [tool for name in ("tools", "functions") for tool in _list(request.get(name)) if isinstance(tool, dict)]
    tools = dict(pair for tool in listed for pair in _tool(tool))
    more = any(str(tool.get("type", "")).startswith(_MORE_TOOLS) or tool.get("defer_loading") for tool in listed)
    options, choice, thinking = request.get("stream_options"), request.get("tool_choice"), request.get("thinking")
    return RequestFacts(
        MappingProxyType(tools),
        more or any(request.get(name) for name in _OPEN_LISTS if name != "prompt" or isinstance(request.get(name), dict)),
        frozenset(_call_ids(request)),
        isinstance(choice, dict) or isinstance(request.get("function_call"), dict),
        isinstance(options, dict) and options.get("include_usage") is True,
        isinstance(thinking, dict) and thinking.get("display") == "omitted",
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tool(tool: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for holder in (tool, tool.get("function"), tool.get("custom")):
        if isinstance(holder, dict) and isinstance(holder.get("name"), str):
            yield holder["name"], holder.get("parameters", holder.get("input_schema"))
    if isinstance(tool.get("type"), str) and not isinstance(tool.get("name"), str) and tool["type"] != "function":
        # A server's own tool: the call has the name of the type.
        yield tool["type"], None


def _call_ids(request: Mapping[str, Any]) -> Iterator[str]:
    remaining = MOST_CALLS
    for name in ("messages", "input"):
        for message in _list(request.get(name)):
            if not isinstance(message, dict):
                continue
            if message.get("type") in ("function_call", "custom_tool_call"):
                yield from _text(message.get("call_id"))
            called = [entry for entry in _list(message.get("tool_calls")) if isinstance(entry, dict)]
            used = [entry for entry in _list(message.get("content")) if isinstance(entry, dict) and entry.get("type") == "tool_use"]
            for entry in called + used:
                yield from _text(entry.get("id"))
            remaining -= len(called) + len(used) + 1
            if remaining < 0:
                return


def _text(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
