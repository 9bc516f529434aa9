"""How a projection puts a request together: which messages form one of the wire, blocks in the order given, and what is left out.

How a payload says what its own wire had in addition to the canonical fields (read only where `wire` is the wire of the projection):
`extra` is laid over the block that is made of the payload, an object inside it member by member, with some encodings of its own:
`{"string": true}` the block was a plain string as the content of its message (anthropic, openai-responses, ai-sdk; as-sent only);
`{"list": true}` the text was a list of blocks where a plain string is usual (openai-chat, mistral);
`{"message": {...}}` fields of the message that contains the block (name, id, status, providerOptions, a role such as `developer`);
`{"field": "reasoning_content"}` the field of the message that held this thinking, or `tool_calls` of a call that cannot be read (openai-chat, mistral);
`{"bare": true}` the message of this result had no content, `{"null": true}` that of this reasoning null, `{"object": true}` the arguments of this call were
an object where text is usual (openai-chat, mistral; as-sent only).
`blocks` is the content of a tool result verbatim (Gemini's `response` and the AI SDK's `output` as a list of that one object), `block`
in a control chunk, or in an unreadable one whose members have wrong types, is a whole block verbatim.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, overload

from inspector.conversation.edits import MOVED
from inspector.conversation.model import Chunk, Dropped, Kind, Message
from inspector.projections.base import Prompt, PromptPart, WireMessage
from inspector.text import jsontext
from inspector.text.light import MAPPING
from inspector.text.shelf import Shelf, current

EncodedBlock = dict[str, Any] | str
"""A block, or the sentence that says why its chunk is left out."""

Placed = tuple[str, Message, Chunk]
"""Where a chunk is inside its wire message (`content.2`; "" = the message as a whole), and the message that contained it."""

_SPELLINGS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: value is True,
    "list": lambda value: value is True,
    "message": lambda value: isinstance(value, Mapping),
    "field": lambda value: isinstance(value, str),
    **dict.fromkeys(("bare", "object", "null"), lambda value: value is True),
}
_EMPTY: dict[str, Any] = {"null": None, "[]": [], "": ""}
_UNSAID = frozenset({Kind.CONTROL, Kind.UNREADABLE, Kind.ERROR})
"""Kinds that may be empty, as the wire had them, or not for providers; all others are encoded."""
_ROLES = frozenset({"system", "user", "assistant", "tool"})


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that form one message of the wire. `role` is what they are labeled with; a tool run inside another message takes its role."""

    role: str
    messages: tuple[Message, ...]

    def chunks(self) -> Iterator[tuple[Message, Chunk]]:
        for message in self.messages:
            for chunk in message.chunks:
                yield message, chunk


class PromptDraft:
    """A prompt while it is made."""

    def __init__(self, name: str, wire: str, root: str = "messages", as_sent: bool = False) -> None:
        self.name, self.wire, self.root, self.as_sent = name, wire, root, as_sent
        self.system: Any = None
        self._messages: list[WireMessage] = []
        self._system_parts: list[PromptPart] = []
        self._lost: dict[str, list[Chunk]] = {}

    def lose(self, chunk: Chunk, why: str) -> None:
        self._lost.setdefault(why, []).append(chunk)

    def add(self, value: dict[str, Any], placed: Iterable[Placed]) -> None:
        """A message of the wire; what a reader added to real chunks has no parts, since it has no record to lead back to."""
        placed = list(placed)
        sources = (
            list({id(message): message for _, message, _ in placed}.values()) if len(placed) > 1 else [message for _, message, _ in placed]
        )
        real = sources if len(sources) == 1 else [message for message in sources if not message.synthetic] or sources
        kept_messages = {id(message) for message in real}
        place = f"{self.root}.{len(self._messages)}"
        real_places = [(path, chunk) for path, message, chunk in placed if id(message) in kept_messages]
        paths, chunks = _shared(tuple([path for path, _ in real_places])), tuple([chunk for _, chunk in real_places])
        source = real[0] if len(real) == 1 else Message(real[0].role, tuple(chunk for message in real for chunk in message.chunks))
        if chunks == source.chunks:
            chunks = source.chunks
        self._messages.append(wire_message(value, place, paths, chunks, source))

    def outside(self, chunk: Chunk, index: int) -> None:
        """The chunk is in the system prompt that is kept outside the list."""
        self._system_parts.append(PromptPart(f"system.{index}", chunk, words(chunk)))

    def laid(self, chunk: Chunk, block_of_payload: dict[str, Any]) -> dict[str, Any]:
        """The block with what its own wire had in addition."""
        if chunk.payload.get("wire") != self.wire or not (own := self.own(chunk)):
            return block_of_payload
        block = dict(block_of_payload)
        for name, value in own.items():
            if name in _SPELLINGS and _SPELLINGS[name](value):
                continue
            before = block_of_payload.get(name)
            block[name] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
        return block

    def own(self, chunk: Chunk) -> Mapping[str, Any]:
        """`extra` of a payload that came by this wire."""
        if chunk.payload.get("wire") != self.wire:
            return {}
        extra = chunk.payload.get("extra")
        return extra if isinstance(extra, MAPPING) else {}

    def message_fields(self, chunks: Iterable[Chunk], role: str) -> dict[str, Any]:
        """The message's fields next to its blocks; of two that differ the first counts."""
        fields: dict[str, Any] = {}
        for chunk in chunks:
            if chunk.payload.get("wire") != self.wire:
                continue
            message_fields = self.own(chunk).get("message")
            for name, value in message_fields.items() if isinstance(message_fields, MAPPING) else ():
                # What a repair moved speaks for the message that contains it now; an instruction stays that of the developer.
                if name != "role" or chunk.role == "system" or not chunk.key.startswith(MOVED):
                    fields.setdefault(name, value)
        stored_role = fields.pop("role", role)
        return {"role": stored_role if isinstance(stored_role, str) else role, **fields}

    def blocks(self, chunk: Chunk) -> Any:
        """The content of a result as this wire had it; None where it was a plain string or came by another wire."""
        return chunk.payload.get("blocks") if chunk.payload.get("wire") == self.wire else None

    def prompt(self) -> Prompt:
        lost = tuple(Dropped(tuple(chunks), why) for why, chunks in self._lost.items())
        return Prompt(self.name, tuple(self._messages), lost, self.root, self.system, tuple(self._system_parts))


@lru_cache(1024)
def _path(field: str, number: int) -> str:
    return f"{field}.{number}"


@lru_cache(1024)
def _shared(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The same tuple for all messages whose parts have the same paths."""
    return paths


def wire_message(
    value: dict[str, Any], place: str, paths: tuple[str, ...], chunks: tuple[Chunk, ...], source: Message | None
) -> WireMessage:
    """`chunks` are those of its parts, `paths` the path of each inside the message. With a shelf at hand it is made again each time that it is looked at."""
    shelf = current()
    parts = _Parts(place, paths, chunks, shelf is None)
    return WireMessage(value, parts, source) if shelf is None else _ShelvedMessage(shelf, value, parts, source)


def chunks_of(message: WireMessage) -> Iterable[Chunk]:
    """Those of its parts, whose words nobody needs then."""
    return message.parts.chunks if isinstance(message.parts, _Parts) else (part.chunk for part in message.parts)


class _Parts(Sequence[PromptPart]):
    """Made when they are looked at, since a verdict looks at none, and kept from then on where `is_kept`."""

    __slots__ = ("_is_kept", "_known", "_paths", "_place", "chunks")

    def __init__(self, place: str, paths: tuple[str, ...], chunks: tuple[Chunk, ...], is_kept: bool) -> None:
        self._place, self._paths, self.chunks, self._is_kept = place, paths, chunks, is_kept
        self._known: tuple[PromptPart, ...] = ()

    def _all(self) -> tuple[PromptPart, ...]:
        place = self._place
        placed = zip(self._paths, self.chunks, strict=True)
        parts = self._known or tuple(PromptPart(f"{place}.{path}" if path else place, chunk, words(chunk)) for path, chunk in placed)
        if self._is_kept:
            self._known = parts
        return parts

    def __len__(self) -> int:
        return len(self.chunks)

    def __iter__(self) -> Iterator[PromptPart]:
        return iter(self._all())

    @overload
    def __getitem__(self, at: int) -> PromptPart: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[PromptPart, ...]: ...
    def __getitem__(self, at: int | slice) -> PromptPart | tuple[PromptPart, ...]:
        return self._all()[at]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())


class _ShelvedMessage(WireMessage):
    __slots__ = ("_shelf", "_value")
    _shelf: Shelf
    _value: int

    def __init__(self, shelf: Shelf, value: dict[str, Any], parts: Sequence[PromptPart], source: Message | None) -> None:
        for name, item in (("_shelf", shelf), ("_value", shelf.put(value)), ("parts", parts), ("source", source)):
            object.__setattr__(self, name, item)

    @property
    def value(self) -> dict[str, Any]:
        value: dict[str, Any] = self._shelf.get(self._value)
        return value


def words(chunk: Chunk) -> str:
    if chunk.kind is Kind.TOOL_CALL:
        return f"{chunk.tool_name} {argument_text(chunk.payload.get('input'))}"
    return chunk.text


def argument_text(value: Any) -> str:
    """The arguments of a call as text. Broken text stays as it is; what is nested too deeply to be written is the empty object."""
    if isinstance(value, str):
        return value
    try:
        return jsontext.compact({} if value is None else value)
    except (RecursionError, ValueError, TypeError):
        return "{}"


def arguments(chunk: Chunk, as_sent: bool) -> Any:
    """The arguments of a call as a value. Text that does parse is parsed, but for a request as it was sent, which held a string."""
    value = chunk.payload.get("input")
    if isinstance(value, str) and not as_sent:
        return jsontext.object_or_text(value)
    return {} if value is None else value


def named(chunk: Chunk, **fields: str) -> dict[str, Any]:
    """Wire field -> value of the payload's field, whatever its type; "" where there is none."""
    return {wire: chunk.payload.get(own, "") for wire, own in fields.items()}


def units(messages: Iterable[Message], as_sent: bool, merges: Callable[[Unit, Message], bool]) -> list[Unit]:
    """As sent: neighbors with equal msg_idx, which never hold two speakers. Otherwise as `merges` says."""
    groups: list[list[Message]] = []
    heads: list[Unit] = []
    for message in messages:
        if groups and (_one_body_message(heads[-1], groups[-1][-1], message) if as_sent else merges(heads[-1], message)):
            groups[-1].append(message)
            if heads[-1].role == "tool" and as_sent:
                heads[-1] = replace(heads[-1], role=message.role)
        else:
            groups.append([message])
            heads.append(Unit(message.role, ()))
    return [Unit(head.role, tuple(group)) for head, group in zip(heads, groups, strict=True)]


def _one_body_message(head: Unit, last: Message, message: Message) -> bool:
    same = place(last) is not None and place(last) == place(message)
    return same and (head.role == message.role or "tool" in (head.role, message.role))


def place(message: Message) -> int | None:
    """The index of the message in the list that it was read from; -1 for what was outside the list."""
    return message.chunks[0].msg_idx if message.chunks else None


def of_known_roles(draft: PromptDraft, messages: Iterable[Message]) -> Iterator[Message]:
    """Messages of roles that exist; a request as it was sent may hold any."""
    for message in messages:
        if message.role in _ROLES or draft.as_sent:
            yield message
        else:
            for chunk in message.chunks:
                draft.lose(chunk, "its message has no role that a provider knows")


def split_system(draft: PromptDraft, messages: Iterable[Message]) -> tuple[list[Message], list[Message]]:
    """What goes into the system prompt outside the list, and the rest. As sent, a system message of the list stays there."""
    outside: list[Message] = []
    inside: list[Message] = []
    for message in of_known_roles(draft, messages):
        hoisted = message.role == "system" and (not draft.as_sent or place(message) in (None, -1))
        (outside if hoisted else inside).append(message)
    return outside, inside


def system_blocks(draft: PromptDraft, messages: Iterable[Message]) -> tuple[list[Any], list[Chunk], Any]:
    """Canonical `{"text": ...}` blocks of the system prompt with their chunks, and the empty value that was there instead of any."""
    blocks: list[Any] = []
    chunks: list[Chunk] = []
    empties: list[Chunk] = []
    for message in messages:
        for chunk in message.chunks:
            if is_verbatim(draft, chunk):
                blocks.append(chunk.payload["block"])
                chunks.append(chunk)
            elif chunk.kind in (Kind.TEXT, Kind.SYSTEM):
                blocks.append(draft.laid(chunk, {"text": chunk.payload.get("text", "")}))
                chunks.append(chunk)
            elif is_empty(chunk):
                empties.append(chunk)
            else:
                draft.lose(chunk, unsent(chunk) or f"{kind_words(chunk)} has no place in a system prompt")
    for chunk in empties if blocks else empties[1:]:
        draft.lose(chunk, "an empty message adds nothing to the system prompt")
    empty = _EMPTY.get(str(empties[0].payload.get("empty"))) if empties and not blocks else None
    for index, chunk in enumerate(chunks or empties[:1]):
        draft.outside(chunk, index)
    return blocks, chunks, empty


def block_messages(
    draft: PromptDraft,
    all_units: Sequence[Unit],
    roles: Mapping[str, str],
    encode: Callable[[Chunk], EncodedBlock],
    field: str = "content",
    texts: bool = True,
) -> None:
    """Messages whose blocks are one list. `encode` makes a block of a chunk; a message of which nothing gets through is not sent.

    `texts`: the list may be a plain string instead; where it may not, the empty string is a block with an empty text.
    """
    for unit in all_units:
        blocks: list[Any] = []
        placed: list[Placed] = []
        empties: list[Placed] = []
        for message, chunk in unit.chunks():
            is_content = chunk.kind not in _UNSAID
            if not is_content and is_empty(chunk):
                empties.append((field, message, chunk))
                continue
            if not is_content and is_verbatim(draft, chunk):
                block = chunk.payload["block"]
            elif isinstance(encoded := ("" if is_content else unsent(chunk)) or encode(chunk), str):
                draft.lose(chunk, encoded)
                continue
            else:
                block = draft.laid(chunk, encoded)
            placed.append((_path(field, len(blocks)), message, chunk))
            blocks.append(block)
        value = draft.message_fields([chunk for _, _, chunk in placed or empties], roles.get(unit.role, unit.role))
        if blocks:
            for _, _, chunk in empties:
                draft.lose(chunk, "an empty message adds nothing to its neighbors when they are merged")
            only = placed[0][2]
            if draft.as_sent and len(blocks) == 1 and draft.own(only).get("string") is True and isinstance(only.payload.get("text"), str):
                draft.add({**value, field: only.text}, [(field, placed[0][1], only)])
            else:
                draft.add({**value, field: blocks}, placed)
        elif empties:
            empty_value = empty_field(empties[0][2], field, texts or draft.as_sent)
            draft.add({**value, **empty_value}, empties if empty_value else [("", message, chunk) for _, message, chunk in empties])


def empty_field(chunk: Chunk, field: str, texts: bool = True) -> dict[str, Any]:
    """The field of an empty message; nothing where it was missing."""
    empty = str(chunk.payload.get("empty"))
    if empty == "" and not texts:
        return {field: [{"text": ""}]}
    return {field: [] if empty == "[]" else _EMPTY[empty]} if empty in _EMPTY else {}


def is_empty(chunk: Chunk) -> bool:
    return chunk.kind is Kind.CONTROL and isinstance(chunk.payload.get("empty"), str) and "block" not in chunk.payload


def is_verbatim(draft: PromptDraft, chunk: Chunk) -> bool:
    """Whether the chunk is a block of a kind or types that are not known, which came by this wire and goes back as it is, whatever it is."""
    payload = chunk.payload
    return chunk.kind in (Kind.CONTROL, Kind.UNREADABLE) and "block" in payload and payload.get("wire") == draft.wire


def unsent(chunk: Chunk) -> str:
    """Why no provider is sent this chunk; "" where one may be."""
    if chunk.kind is Kind.ERROR:
        return "an error that the program noted for people; no provider is sent it"
    if chunk.kind is Kind.UNREADABLE and "block" not in chunk.payload:
        return "its record cannot be read"
    if chunk.kind in (Kind.CONTROL, Kind.UNREADABLE) and "block" in chunk.payload:
        wire = chunk.payload.get("wire")
        return f"a block of a kind that is not known, as {wire if isinstance(wire, str) and wire else 'another wire'} has it"
    return "a note of the program to itself; no provider is sent it" if chunk.kind is Kind.CONTROL else ""


def kind_words(chunk: Chunk) -> str:
    return {Kind.IMAGE: "an image", Kind.ERROR: "an error"}.get(chunk.kind, f"a {chunk.kind.value.replace('-', ' ')}")


def data_url(url: Any) -> tuple[str, str] | None:
    """Media type and base64 text of a `data:` address; None for every other value."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, comma, data = url[len("data:") :].partition(",")
    media_type, _, encoding = head.rpartition(";")
    return (media_type, data) if comma and encoding == "base64" else None


def address(chunk: Chunk) -> Any:
    """Where the bytes of an image or file are: a `data:` or other address, or None."""
    url = chunk.payload.get("url", chunk.payload.get("data"))
    return url if isinstance(url, str) and url else None


def media_type(chunk: Chunk) -> str:
    value = chunk.payload.get("mediaType", chunk.payload.get("mimeType"))
    return value if isinstance(value, str) else ""


def file_name(chunk: Chunk) -> str:
    value = chunk.payload.get("filename", chunk.payload.get("name"))
    return value if isinstance(value, str) else ""
