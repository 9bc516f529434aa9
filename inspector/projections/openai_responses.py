"""OpenAI Responses: a list of items, each call, output and reasoning one of its own; the first system prompts are the instructions.

Reasoning goes back as the item that it came as, which is the thinking's signature as JSON text (rollouts keeps it so) or its `extra`;
thinking that has neither is lost, since there is no placeholder for an item. An id `call_x|fc_x` is the call's and its item's in one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.projections import assembling as a
from inspector.projections.base import OPENAI_RESPONSES, Prompt, WireMessage, with_as_sent
from inspector.text import jsontext

_PARTS = frozenset(
    {"text", "input_text", "output_text", "input_image", "input_file", "input_audio", "refusal", "reasoning_text", "summary_text"}
)


@dataclass(frozen=True, slots=True)
class CallType:
    """A type of items that ask the client to run something. `words` are those of the provider's errors; `name` and `given` are the tool and the
    member with its arguments, where the item itself names no tool. A synthetic result is of the type `synthetic`: tools that a search
    did not find, and a screenshot, have no placeholder, and for a search the API took a function's output."""

    output: str
    words: str
    name: str = ""
    argument_member: str = ""
    other_synthetic: str = ""

    @property
    def synthetic(self) -> str:
        return self.other_synthetic or self.output


FUNCTION = "function_call"
CUSTOM = "custom_tool_call"
_FUNCTIONS = "function_call_output"
CALL_TYPES: Mapping[str, CallType] = {
    FUNCTION: CallType(_FUNCTIONS, "function call"),
    CUSTOM: CallType("custom_tool_call_output", "custom tool call"),
    "shell_call": CallType("shell_call_output", "shell call", "shell", "action"),
    "local_shell_call": CallType("local_shell_call_output", "local shell call", "local_shell", "action"),
    "apply_patch_call": CallType("apply_patch_call_output", "apply patch call", "apply_patch", "operation"),
    "tool_search_call": CallType("tool_search_output", "tool search call", "tool_search", "arguments", _FUNCTIONS),
    "computer_call": CallType("computer_call_output", "computer call", "computer", "action", _FUNCTIONS),
}
"""By the type of the item. All other tools (web search, code interpreter, MCP and so on) the provider runs itself: call and result are one item, or no result is asked for."""
OUTPUT_TYPES = frozenset(call_kind.output for call_kind in CALL_TYPES.values())
_KEPT_WHOLE = frozenset(call_kind.output for call_kind in CALL_TYPES.values() if call_kind.name)
_WITHOUT_ITEM = "thinking without its reasoning item, which alone can be sent back to this provider"


def convert(name: str, as_sent: bool, messages: Sequence[Message]) -> Prompt:
    draft = a.PromptDraft(name, OPENAI_RESPONSES, "input", as_sent)
    inside = _instructions(draft, list(a.of_known_roles(draft, messages)))
    calls = {chunk.call_id: call_type(chunk) for message in inside for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL}
    for unit in a.units(inside, as_sent, lambda unit, message: False):
        _items(draft, unit, calls)
    prompt = draft.prompt()
    return prompt if as_sent else replace(prompt, messages=tuple(_without_lone_ids(prompt.messages)))


def _without_lone_ids(messages: Sequence[WireMessage]) -> Iterator[WireMessage]:
    """The id of reasoning asks for the item that followed it, by its own id, which no store of texts keeps: without its id the reasoning is taken alone."""
    for index, message in enumerate(messages):
        value = message.value
        after = messages[index + 1].value if index + 1 < len(messages) else {}
        if value.get("type") == "reasoning" and after.get("role") == "assistant" and "id" not in after:
            message = replace(message, value={name: item for name, item in value.items() if name != "id"})
        yield message


def _instructions(draft: a.PromptDraft, messages: list[Message]) -> list[Message]:
    """Makes the instructions of the system messages at the front; one further back is an item as others. As sent, what was outside."""
    count = 0
    while count < len(messages) and messages[count].role == "system" and (not draft.as_sent or a.place(messages[count]) in (None, -1)):
        count += 1
    blocks, chunks, empty = a.system_blocks(draft, messages[:count])
    texts = [chunk.text for chunk in chunks]
    draft.system = "\n\n".join(texts) if blocks else empty
    return messages[count:]


def refers_to_call(item: Any) -> bool:
    """Whether the item refers to a stored one that may be a call; messages and reasoning are recognized by their ids."""
    if not isinstance(item, dict) or item.get("type") != "item_reference":
        return False
    name = item.get("id")
    return not (isinstance(name, str) and name.startswith(("msg", "rs")))


def is_call(item: Any) -> bool:
    """Whether the item is a call with an id, of whoever runs it."""
    return (
        isinstance(item, dict) and isinstance(item.get("type"), str) and item["type"] in CALL_TYPES and isinstance(item.get("call_id"), str)
    )


def is_client_run(item: Mapping[str, Any]) -> bool:
    """Whether the item is a call whose output the client sends. A search for tools and a shell may be the provider's own too."""
    match item.get("type"):
        case "tool_search_call":
            return item.get("execution") != "server" and isinstance(item.get("call_id"), str)
        case "shell_call":
            environment = item.get("environment")
            kind = environment.get("type") if isinstance(environment, dict) else None
            return not (isinstance(kind, str) and kind.startswith("container"))
        case str(kind):
            return kind in CALL_TYPES
    return False


def call_type(chunk: Chunk) -> str:
    """The type of the item that a call came as; a function's where it came by another wire."""
    extra = chunk.payload.get("extra") if chunk.payload.get("wire") == OPENAI_RESPONSES else None
    kind = extra.get("type") if isinstance(extra, Mapping) else None
    return kind if isinstance(kind, str) and kind in CALL_TYPES else FUNCTION


def _items(draft: a.PromptDraft, unit: a.Unit, calls: Mapping[str, str]) -> None:
    parts: list[tuple[Message, Chunk, Any]] = []
    empties: list[a.Placed] = []

    def say() -> None:
        if parts:
            _message(draft, unit.role, parts)
            parts.clear()

    sent = False
    for message, chunk in unit.chunks():
        if a.is_empty(chunk):
            empties.append(("content", message, chunk))
            continue
        if a.is_verbatim(draft, chunk):
            block = chunk.payload["block"]
            kind = block.get("type") if isinstance(block, dict) else "text"
            is_part = isinstance(kind, str) and kind in _PARTS
        elif isinstance(encoded := a.unsent(chunk) or _encoded(draft, unit.role, chunk, calls), str):
            draft.lose(chunk, encoded)
            continue
        else:
            block, is_part = draft.laid(chunk, encoded), encoded["type"] in _PARTS
        sent = True
        if is_part:
            parts.append((message, chunk, block))
        else:
            say()
            draft.add(dict(block), [("", message, chunk)])
    say()
    if sent:
        for _, _, chunk in empties:
            draft.lose(chunk, "an empty message adds nothing to its neighbors when they are one message")
    elif empties:
        empty_value = a.empty_field(empties[0][2], "content")
        value = {"type": "message", **draft.message_fields([chunk for _, _, chunk in empties], unit.role), **empty_value}
        draft.add(value, [(path if empty_value else "", message, chunk) for path, message, chunk in empties])


def _message(draft: a.PromptDraft, role: str, parts: list[tuple[Message, Chunk, Any]]) -> None:
    value = {"type": "message", **draft.message_fields((chunk for _, chunk, _ in parts), "user" if role == "tool" else role)}
    message, chunk, _ = parts[0]
    if draft.as_sent and len(parts) == 1 and draft.own(chunk).get("string") is True and isinstance(chunk.payload.get("text"), str):
        draft.add({**value, "content": chunk.text}, [("content", message, chunk)])
    else:
        placed = [(f"content.{index}", message, chunk) for index, (message, chunk, _) in enumerate(parts)]
        draft.add({**value, "content": [block for _, _, block in parts]}, placed)


def _encoded(draft: a.PromptDraft, role: str, chunk: Chunk, calls: Mapping[str, str]) -> a.EncodedBlock:
    """`calls` are the types of calls by their id, each of which has a type of output."""
    payload = chunk.payload
    if chunk.kind in (Kind.TEXT, Kind.SYSTEM):
        return {"type": "output_text" if role == "assistant" else "input_text", "text": payload.get("text", "")}
    if chunk.kind is Kind.THINKING:
        return _reasoning(draft, chunk)
    if chunk.kind is Kind.REDACTED_THINKING:
        return "redacted thinking is of another provider and means nothing to this one"
    if chunk.kind is Kind.TOOL_CALL:
        call_id, item_id = split_id(payload.get("toolCallId", ""))
        kind = call_type(chunk)
        call = {"type": kind, **({"id": item_id} if item_id else {}), "call_id": call_id}
        if kind != FUNCTION:
            # What it runs is in members of its own type, which the payload keeps.
            return call if CALL_TYPES[kind].name else {**call, **a.named(chunk, name="toolName")}
        return {**call, **a.named(chunk, name="toolName"), "arguments": a.argument_text(payload.get("input"))}
    if chunk.kind is Kind.TOOL_RESULT:
        return _output(draft, chunk, CALL_TYPES[calls.get(chunk.call_id, FUNCTION)].synthetic)
    return _media(draft, chunk)


def _output(draft: a.PromptDraft, chunk: Chunk, usual: str) -> dict[str, Any]:
    own = draft.own(chunk)
    kind = own.get("type", usual)
    call_id = split_id(chunk.payload.get("toolCallId", ""))[0]
    if kind in _KEPT_WHOLE and own.keys() > {"type"}:
        # As it came: the payload keeps all of its members.
        return {"type": kind, "call_id": call_id}
    words = chunk.payload.get("content", "")
    match kind:
        case "shell_call_output":
            failed = {"stdout": "", "stderr": words, "outcome": {"type": "exit", "exit_code": 1}}
            return {"type": kind, "call_id": call_id, "output": [failed]}
        case "apply_patch_call_output":
            return {"type": kind, "call_id": call_id, "status": "failed", "output": words}
    blocks = draft.blocks(chunk)
    return {"type": kind, "call_id": call_id, "output": words if blocks is None else blocks}


def split_id(value: Any) -> tuple[Any, str]:
    """The call's id and the item's id, "" where there is none."""
    if not isinstance(value, str):
        return value, ""
    call_id, _, item_id = value.partition("|")
    return (call_id, item_id) if item_id.startswith("fc") else (value, "")


def _reasoning(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    signature = chunk.payload.get("signature")
    item = jsontext.object_of(signature) if isinstance(signature, str) else {}
    if item.get("type") == "reasoning":
        return item
    if draft.as_sent or draft.own(chunk):
        return {"type": "reasoning", "summary": [{"type": "summary_text", "text": chunk.payload.get("text", "")}]}
    return _WITHOUT_ITEM


def _media(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    url = a.address(chunk)
    extra = draft.own(chunk)
    if url is None and not {"image_url", "file_url", "file_data", "file_id"} & extra.keys():
        return f"{a.kind_words(chunk)} without an address"
    if chunk.kind is Kind.IMAGE:
        return {"type": "input_image", **({} if url is None else {"image_url": url})}
    name = a.file_name(chunk)
    source = {} if url is None else {"file_data" if a.data_url(url) else "file_url": url}
    return {"type": "input_file", **source, **({"filename": name} if name else {})}


PROJECTIONS = with_as_sent(
    OPENAI_RESPONSES,
    "OpenAI Responses items",
    "Each call, output and reasoning is an item of its own; the first system prompts are the instructions.",
    convert,
    "one item for each of the body",
    "One item for each of the body.",
)
