"""OpenAI Chat Completions, clean: nothing is joined or reworded, each result is a message of its own, calls are next to the content.

A message of one text is a plain string, unless the payload says `{"list": true}` (see `assembling`); one of several is a list, as is one
with images. Thinking has no place here and is lost, but where it was in a field of its own (`reasoning_content`: DeepSeek and others),
in a request as it was sent, and in the variant `+reasoning`, which writes that field. Broken argument text is sent as it is.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from inspector.conversation.model import Chunk, Kind, Message
from inspector.projections import assembling as a
from inspector.projections.base import MISTRAL, OPENAI_CHAT, Projection, Prompt, with_as_sent

_REASONING = "reasoning_content"
_REFUSAL = "refusal"
_CALLS = "tool_calls"
_REASONING_FIELDS = (_REASONING, "reasoning")


def convert(name: str, as_sent: bool, messages: Sequence[Message], wire: str = OPENAI_CHAT, reasoning: bool = False) -> Prompt:
    draft = a.PromptDraft(name, wire, as_sent=as_sent)
    names: dict[str, str] = {}
    for unit in a.units(a.of_known_roles(draft, messages), as_sent, lambda unit, message: False):
        open_message = _OpenMessage(draft, unit, reasoning)
        for message, chunk in unit.chunks():
            if chunk.kind is Kind.TOOL_RESULT:
                open_message.send()
                open_message = _OpenMessage(draft, unit, reasoning)
                draft.add(_result(draft, chunk, names), [("content", message, chunk)])
            elif a.is_verbatim(draft, chunk) and _is_message(chunk.payload["block"]):
                open_message.send()
                open_message = _OpenMessage(draft, unit, reasoning)
                draft.add(dict(chunk.payload["block"]), [("", message, chunk)])
            else:
                names |= {chunk.call_id: chunk.tool_name} if chunk.kind is Kind.TOOL_CALL else {}
                open_message.take(message, chunk)
        open_message.send()
    return draft.prompt()


class _OpenMessage:
    """A message of the wire that is no result, while its fields are filled."""

    def __init__(self, draft: a.PromptDraft, unit: a.Unit, reasoning: bool) -> None:
        self.draft, self.role, self.reasoning = draft, unit.role, reasoning or draft.as_sent
        self.content: list[Any] = []
        self.calls: list[Any] = []
        self.thoughts: dict[str, list[str]] = {}
        self.placed: list[a.Placed] = []
        self.empty: list[a.Placed] = []
        self.null = False

    def take(self, message: Message, chunk: Chunk) -> None:
        if a.is_empty(chunk):
            self.empty.append(("content", message, chunk))
        elif a.is_verbatim(self.draft, chunk):
            self._append(message, chunk, chunk.payload["block"], self.draft.own(chunk).get("field") == _CALLS)
        elif self.role == "tool" and not self.draft.as_sent:
            self.draft.lose(chunk, a.unsent(chunk) or f"{a.kind_words(chunk)} in a tool message, which holds one result and nothing else")
        elif chunk.kind is Kind.TEXT and self.draft.own(chunk).get("field") == _REFUSAL:
            self.thoughts.setdefault(_REFUSAL, []).append(chunk.text)
            self.placed.append((_REFUSAL, message, chunk))
        elif chunk.kind is Kind.THINKING and (field := self._field(chunk)):
            self.thoughts.setdefault(field, []).append(chunk.text)
            self.placed.append((field, message, chunk))
            self.null = self.null or (self.draft.as_sent and self.draft.own(chunk).get("null") is True)
        elif isinstance(encoded := a.unsent(chunk) or _part(self.draft, chunk), str):
            self.draft.lose(chunk, encoded)
        else:
            block = self.draft.laid(chunk, encoded)
            if chunk.kind is Kind.TOOL_CALL and "custom" in self.draft.own(chunk):
                del block["function"]
            self._append(message, chunk, block, chunk.kind is Kind.TOOL_CALL)

    def _field(self, chunk: Chunk) -> str:
        """The field of the message for this thinking; "" = none. Mistral has a block for it, unless it came in a field."""
        field = self.draft.own(chunk).get("field")
        if field in _REASONING_FIELDS:
            return str(field)
        return _REASONING if self.reasoning and self.draft.wire == OPENAI_CHAT else ""

    def _append(self, message: Message, chunk: Chunk, block: Any, is_call: bool) -> None:
        where = self.calls if is_call else self.content
        self.placed.append((f"{'tool_calls' if is_call else 'content'}.{len(where)}", message, chunk))
        where.append(block)

    def send(self) -> None:
        if not self.placed and not self.empty:
            return
        chunks = [chunk for _, _, chunk in self.placed or self.empty]
        value = self.draft.message_fields(chunks, self.role)
        placed = self.placed
        if self.content:
            (text, placed) = self._plain()
            value["content"] = self.content if text is None else text
            for _, _, chunk in self.empty:
                self.draft.lose(chunk, "an empty message adds nothing to its neighbors when they are one message")
        elif self.empty:
            empty_value = a.empty_field(self.empty[0][2], "content")
            value |= empty_value
            placed = placed + [(path if empty_value else "", message, chunk) for path, message, chunk in self.empty]
        else:
            value["content"] = None if self.calls or self.null or _REFUSAL in self.thoughts else ""
        for field, thoughts in self.thoughts.items():
            value[field] = "\n".join(thoughts)
        if self.calls:
            value["tool_calls"] = self.calls
        self.draft.add(value, placed)

    def _plain(self) -> tuple[str | None, list[a.Placed]]:
        """The content as a plain string, with its one text at `content`; None where it is a list."""
        index = next(index for index, (path, _, _) in enumerate(self.placed) if path.startswith("content."))
        _, message, chunk = self.placed[index]
        extra = self.draft.own(chunk)
        bare = isinstance(self.content[0], dict) and self.content[0].keys() == {"type", "text"} and isinstance(self.content[0]["text"], str)
        if len(self.content) > 1 or chunk.kind not in (Kind.TEXT, Kind.SYSTEM) or not bare or extra.get("list") is True:
            return None, self.placed
        return self.content[0]["text"], [*self.placed[:index], ("content", message, chunk), *self.placed[index + 1 :]]


def _is_message(block: Any) -> bool:
    """A result that cannot be read, or an answer that is spoken or an old `function_call`, kept as it was."""
    return isinstance(block, dict) and isinstance(block.get("role"), str)


def _result(draft: a.PromptDraft, chunk: Chunk, names: dict[str, str]) -> dict[str, Any]:
    blocks = draft.blocks(chunk)
    own = draft.own(chunk)
    content = chunk.payload.get("content", "") if blocks is None else blocks
    content_field = {} if own.get("bare") is True else {"content": None if "content" in own else content}
    value = {**draft.message_fields([chunk], "tool"), **a.named(chunk, tool_call_id="toolCallId"), **content_field}
    name = chunk.payload.get("toolName") or names.get(chunk.call_id)
    # A result of a body keeps to what it said; one that a repair made, or that comes from a store, names its tool.
    if draft.wire == MISTRAL and name and (value.get("name") or not (draft.as_sent and chunk.raw)):
        value["name"] = name
    return draft.laid(chunk, value) | content_field


def _part(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    payload = chunk.payload
    if chunk.kind in (Kind.TEXT, Kind.SYSTEM):
        return {"type": "text", "text": payload.get("text", "")}
    if chunk.kind is Kind.TOOL_CALL:
        arguments = payload.get("input")
        is_object = draft.as_sent and draft.own(chunk).get("object") is True and isinstance(arguments, dict)
        function = {**a.named(chunk, name="toolName"), "arguments": arguments if is_object else a.argument_text(arguments)}
        return {**a.named(chunk, id="toolCallId"), "type": "function", "function": function}
    if chunk.kind is Kind.THINKING:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": payload.get("text", "")}]}
        return thought if draft.wire == MISTRAL else "thinking has no place in OpenAI chat messages; `openai-chat+reasoning` sends it back"
    if chunk.kind is Kind.REDACTED_THINKING:
        return "redacted thinking is of another provider and means nothing to this one"
    return _media(draft, chunk)


def _media(draft: a.PromptDraft, chunk: Chunk) -> a.EncodedBlock:
    field = "image_url" if chunk.kind is Kind.IMAGE else "file"
    url = a.address(chunk)
    if url is None and field not in draft.own(chunk):
        return f"{a.kind_words(chunk)} without an address"
    if chunk.kind is Kind.IMAGE:
        return {"type": "image_url", "image_url": {} if url is None else {"url": url}}
    if url is not None and a.data_url(url) is None:
        return "a file by address, which this provider does not take"
    name = a.file_name(chunk)
    return {"type": "file", "file": ({} if url is None else {"file_data": url}) | ({"filename": name} if name else {})}


_PLAIN, _AS_SENT = with_as_sent(
    OPENAI_CHAT,
    "OpenAI chat messages",
    "Clean: nothing is joined or reworded, each result is a message of its own; thinking has no place.",
    convert,
    "one message for each of the body",
    "One message for each of the body; thinking in its field.",
)
_WITH_REASONING = f"{OPENAI_CHAT}+reasoning"
PROJECTIONS = (
    replace(_PLAIN, variants=(*_PLAIN.variants, ("reasoning", "thinking as reasoning_content"))),
    _AS_SENT,
    Projection(
        _WITH_REASONING,
        "OpenAI chat messages with reasoning",
        "Thinking goes back as reasoning_content, as DeepSeek wants it.",
        partial(convert, _WITH_REASONING, False, reasoning=True),
    ),
)
