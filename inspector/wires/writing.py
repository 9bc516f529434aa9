"""A repaired request body: messages that no edit touched keep their bytes, the others are encoded again around the blocks that stay."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from inspector.conversation.edits import MOVED, Plan, Set, apply
from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.programs.formats import Stored, WriteRefused
from inspector.projections.base import AS_SENT, OPENAI_RESPONSES, WireMessage
from inspector.projections.catalogue import projection
from inspector.text import json_pieces, jsontext
from inspector.text.json_pieces import Piece, Verbatim
from inspector.wires.elsewhere import answering_in_kind
from inspector.wires.ids import UNNAMED
from inspector.wires.layout import Layout, laid_out
from inspector.wires.shapes.base import WireShape


@dataclass(frozen=True, slots=True)
class _Base:
    """The conversation as it was; `elements` has the keys of each element of the list."""

    layout: Layout
    shape: WireShape
    chunks: dict[str, Chunk]
    elements: dict[int, list[str]]

    def old(self, chunk: Chunk) -> Chunk | None:
        """What `chunk` was before, wherever that was."""
        return self.chunks.get(chunk.key) or self.chunks.get(chunk.key.removeprefix(MOVED))

    def same(self, chunk: Chunk) -> Chunk | None:
        """As `old`, where it says the same still."""
        old = self.old(chunk)
        return old if old is not None and (old.payload, old.role, old.kind) == (chunk.payload, chunk.role, chunk.kind) else None

    def at(self, chunk: Chunk) -> tuple[str, ...]:
        """Where the chunk was inside its element."""
        return tuple(chunk.key.split(".")[2:])


def written(plan: Plan, stored: Stored, shape: WireShape, read: Callable[[bytes], Conversation]) -> bytes:
    """The whole body after the plan. Raises WriteRefused, EditMismatch."""
    data = stored.records[0].value.data
    if any(isinstance(edit, Set) for edit in plan.edits):
        raise WriteRefused("A request body has nothing next to its messages that a repair may set; leave that strategy out of the plan.")
    conversation = stored.conversation
    final = apply(conversation, plan.edits)
    layout = laid_out(data, shape)
    elements: dict[int, list[str]] = {}
    for chunk in conversation.chunks:
        elements.setdefault(chunk.msg_idx if chunk.msg_idx is not None else -1, []).append(chunk.key)
    base = _Base(layout, shape, {chunk.key: chunk for chunk in conversation.chunks}, elements)
    system = _system(base, final)
    if layout.text[layout.start] != "[":
        if [base.same(chunk) for chunk in final.chunks] == list(conversation.chunks):
            return data
        raise WriteRefused("The input of this request is one text, which a repair cannot take apart; write it as a list of messages first.")
    pieces: list[Piece] = []
    used_elements: set[int] = set()
    written_chunks = answering_in_kind(final.chunks) if shape.wire == OPENAI_RESPONSES else final.chunks
    for _, run in groupby((chunk for chunk in written_chunks if chunk.msg_idx != -1), key=lambda chunk: chunk.msg_idx):
        pieces += _element(base, list(run), used_elements)
    if not pieces:
        raise WriteRefused("Nothing would be left of the request, and a provider refuses an empty list; leave a strategy out of the plan.")
    if system is None and pieces == [(layout.element(number), number) for number in range(len(layout.values))]:
        return data
    inside = layout.text[layout.start : layout.end]
    spans = [(start - layout.start, end - layout.start) for start, end in layout.spans]
    text = layout.text[: layout.start] + json_pieces.rearranged(inside, spans, pieces) + layout.text[layout.end :]
    result = jsontext.encode(layout.mark + (text if system is None else json_pieces.amended(text, system, frozenset())))
    _refuse_unless_as_planned(final, read(result))
    return result


def _system(base: _Base, final: Conversation) -> dict[str, str] | None:
    """The member of the body that holds the system prompt, with its new text; None where it stays as it is."""
    outside = [chunk for chunk in final.chunks if chunk.msg_idx == -1]
    if [chunk.key for chunk in outside if base.same(chunk)] == base.elements.get(-1, []) and all(base.same(chunk) for chunk in outside):
        return None
    if not outside:
        raise WriteRefused("The system prompt of a request is not taken out: leave the strategy that removes it out of the plan.")
    if not base.layout.body or not base.shape.system:
        raise WriteRefused(
            "A bare list has no place for a system prompt outside of it: give the whole request body, or leave that strategy out."
        )
    prompt = projection(f"{base.shape.wire}+{AS_SENT}").project([Message("system", (chunk,)) for chunk in outside])
    name = next((name for name in base.shape.system if name in base.layout.body), base.shape.system[0])
    return {name: json_pieces.encoded(prompt.system)}


def _element(base: _Base, chunks: list[Chunk], used_elements: set[int]) -> list[Piece]:
    """The elements of the list that a run of chunks makes: mostly one."""
    whole = _untouched(base, chunks)
    if whole is not None:
        used_elements.add(whole)
        return [(base.layout.element(whole), whole)]
    numbered = [replace(chunk, seq=number + 1, msg_idx=0, chunk_idx=number) for number, chunk in enumerate(chunks)]
    runs = [Message(role, tuple(run)) for role, run in groupby(numbered, key=lambda chunk: chunk.role)]
    prompt = projection(f"{base.shape.wire}+{AS_SENT}").project(runs)
    if prompt.lost:
        raise WriteRefused(f"The repaired message would lose {prompt.lost[0].chunks[0].key} ({prompt.lost[0].why}); repair it by hand.")
    return [_message(base, wire_message, f"{prompt.root}.{number}", used_elements) for number, wire_message in enumerate(prompt.messages)]


def _untouched(base: _Base, chunks: Sequence[Chunk]) -> int | None:
    """The element that these chunks are, all of it and nothing else."""
    old = [base.same(chunk) for chunk in chunks]
    first = old[0]
    if first is None or first.msg_idx is None or base.elements[first.msg_idx] != [stored.key for stored in old if stored is not None]:
        return None
    return first.msg_idx if all(stored is not None for stored in old) else None


def _message(base: _Base, wire_message: WireMessage, place: str, used_elements: set[int]) -> Piece:
    chunks = [part.chunk for part in wire_message.parts]
    whole = _untouched(base, chunks) if chunks else None
    if whole is not None and whole not in used_elements:
        used_elements.add(whole)
        return base.layout.element(whole), whole
    value = _without_unnamed_ids(wire_message.value)
    origins: dict[tuple[str, int], Chunk] = {}
    for part in wire_message.parts:
        path = part.path.removeprefix(place).removeprefix(".").split(".")
        old = base.old(part.chunk)
        if len(path) == 2 and path[1].isdecimal() and old is not None:
            origins[path[0], int(path[1])] = old
            if base.same(part.chunk) and len(base.at(old)) == 2:
                value = _with(value, path[0], int(path[1]), Verbatim(jsontext.decode(old.raw)))
    number = next((old.msg_idx for chunk in chunks if (old := base.old(chunk)) and _speaks_alike(base, old, wire_message)), None)
    if number is None or number in used_elements or not isinstance(base.layout.values[number], dict):
        return json_pieces.encoded(value), None
    used_elements.add(number)
    return _amended(base, number, value, origins), number


def _speaks_alike(base: _Base, old: Chunk, wire_message: WireMessage) -> bool:
    """Whether the element that contained `old` can be what is written over."""
    element = base.layout.values[old.msg_idx] if old.msg_idx is not None and old.msg_idx >= 0 else None
    if not isinstance(element, dict):
        return False
    return all(
        element.get(name) == wire_message.value.get(name) for name in ("role", "type") if name in wire_message.value and name in element
    )


def _amended(base: _Base, number: int, value: dict[str, Any], origins: dict[tuple[str, int], Chunk]) -> str:
    """The old text of the element with those of its members exchanged that differ."""
    text, before = base.layout.element(number), base.layout.values[number]
    values: dict[str, str] = {}
    for name, item in value.items():
        old = before.get(name)
        if name == "content" and isinstance(old, str) and _only_text(item) is not None:
            item = _only_text(item)
        if name in before and _plain(item) == old and jsontext.compact(_plain(item)) == jsontext.compact(old):
            continue
        if name not in before and (item is None or name in ("role", "type")):
            continue
        # With calls, no content is null here and "" there: whose message it is has chosen.
        if name == "content" and item is None and old == "":
            continue
        if isinstance(item, list) and isinstance(old, list):
            inside = json_pieces.value_of(text, name) or "[]"
            pieces: list[Piece] = []
            for index, block in enumerate(item):
                origin = origins.get((name, index))
                old_path = base.at(origin) if origin is not None and origin.msg_idx == number else ()
                pieces.append((json_pieces.encoded(block), int(old_path[1]) if len(old_path) == 2 and old_path[0] == name else None))
            values[name] = json_pieces.rearranged(inside, json_pieces.elements(inside), pieces)
        else:
            values[name] = json_pieces.encoded(item)
    removed_names = frozenset(name for name in before if name in base.shape.owned and name not in value and name != "role")
    return json_pieces.amended(text, values, removed_names)


def _plain(item: Any) -> Any:
    """The value that a JSON text encodes."""
    if isinstance(item, Verbatim):
        return jsontext.parse(item.text)
    return [_plain(element) for element in item] if isinstance(item, list) else item


def _only_text(item: Any) -> str | None:
    """The text of a list that is one plain text block."""
    block = _plain(item[0]) if isinstance(item, list) and len(item) == 1 else None
    is_plain = isinstance(block, dict) and block.keys() <= {"type", "text"} and isinstance(block.get("text"), str)
    return block["text"] if is_plain and block is not None else None


def _with(value: dict[str, Any], name: str, index: int, item: Any) -> dict[str, Any]:
    items = value.get(name)
    if not isinstance(items, list) or index >= len(items):
        return value
    return {**value, name: [*items[:index], item, *items[index + 1 :]]}


def _without_unnamed_ids(value: dict[str, Any]) -> dict[str, Any]:
    """Gemini's calls and results may have no id; the one that was given here is not sent."""
    parts = value.get("parts")
    return {**value, "parts": [_without_id(part) for part in parts]} if isinstance(parts, list) else value


def _without_id(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return {
        name: {inner: value for inner, value in item.items() if inner != "id"}
        if isinstance(item, dict) and str(item.get("id", "")).startswith(UNNAMED)
        else item
        for name, item in part.items()
    }


def _refuse_unless_as_planned(final: Conversation, read_back: Conversation) -> None:
    planned_chunks, read_chunks = [_comparable(chunk) for chunk in final.chunks], [_comparable(chunk) for chunk in read_back.chunks]
    if planned_chunks == read_chunks:
        return
    place = next(
        (number for number, (planned, read) in enumerate(zip(planned_chunks, read_chunks, strict=False)) if planned != read),
        min(len(planned_chunks), len(read_chunks)),
    )
    key = final.chunks[place].key if place < len(planned_chunks) else "the end"
    raise WriteRefused(
        f"The repaired request would not read back as planned (at {key}); repair that message by hand, or leave a strategy out."
    )


def _comparable(chunk: Chunk) -> tuple[Any, ...]:
    """What every shape can say of a chunk; whether a result is an error is not among it."""
    arguments = chunk.payload.get("input") if chunk.kind is Kind.TOOL_CALL else None
    call = "" if chunk.call_id.startswith(UNNAMED) else chunk.call_id
    return chunk.role, chunk.kind, chunk.text, call, chunk.tool_name if arguments is not None else "", arguments
