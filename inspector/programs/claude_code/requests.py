"""The requests that a session recorded itself (2.1.330 writes them, 2.1.197 does not): each rebuilt from hashes of its messages, and proven by its digest.

`api-request` names the messages of a request by SHA-256: the first `keep` of the request `base`, then `tail`. A hash is that of a message in an
`api-request-blob`, or of the first blocks of lines that follow each other. Facts: `formats/trace_sources.md` 1.1, run on 2.1.330.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.conversation.tree import Entry, entries
from inspector.programs.claude_code.leaf import answer_of
from inspector.programs.claude_code.lines import ASSISTANT, USER
from inspector.projections.base import without_cache_marks
from inspector.text import jsontext
from inspector.text.at_hand import AtHand
from inspector.text.js_json import canonical, stringify
from inspector.text.timestamps import milliseconds
from inspector.traces.model import Trace, TraceRecord
from inspector.traces.tree import build
from inspector.wires.shapes import anthropic

REQUEST, SHAPE, BLOB = "api-request", "api-request-shape", "api-request-blob"
_UNPROVEN = frozenset(("metadata", "stream", "thread", "diagnostics", "safeguards", "data_flow"))
"""Members of a request that its digest leaves out."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message as it was sent; `chunks` are the stored ones that it is made of, () where only the record has it."""

    value: Mapping[str, Any]
    chunks: tuple[Chunk, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """`hashes` are those of its messages; `line` is the chunk of the line that records it; `turn` the id of the user's line before it."""

    id: str
    line: Chunk
    record: Mapping[str, Any]
    hashes: tuple[str, ...]
    turn: str

    @property
    def digest(self) -> str:
        value = self.record.get("requestDigest") or self.record.get("cutRequestDigest")
        return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class Recorded:
    """All requests of a file; `bodies` and messages are put together when they are asked for."""

    requests: tuple[RecordedRequest, ...]
    shapes: Mapping[str, Mapping[str, Any]]
    blobs: Mapping[str, Mapping[str, Any]]
    lines: tuple[Entry, ...] = field(repr=False)

    @cached_property
    def of_lines(self) -> Mapping[str, SentMessage]:
        """Messages that lines make, by their hash: every beginning of a run of lines of one answer, or of the user."""
        messages: dict[str, SentMessage] = {}
        for (role, _), run in groupby(self.lines, key=_run_of):
            so_far: list[tuple[Chunk, dict[str, Any]]] = []
            sha = hashlib.sha256(b'{"content":[')
            for entry in run:
                for chunk, block in _blocks(entry):
                    sha.update((b"," if so_far else b"") + _canonical(without_cache_marks(block)))
                    so_far.append((chunk, block))
                    whole = sha.copy()
                    whole.update(f'],"role":"{role}"}}'.encode())
                    name, at = whole.hexdigest(), len(so_far)
                    messages.setdefault(name, _of_blocks(role, so_far[:at]))
        return messages

    def message(self, name: str) -> SentMessage | None:
        if name in self.blobs:
            return SentMessage(self.blobs[name])
        return self.of_lines.get(name)

    def missing(self, request: RecordedRequest) -> tuple[int, ...]:
        """Places of the messages that neither a record nor a line has any more as they were sent."""
        return tuple(number for number, name in enumerate(request.hashes) if self.message(name) is None)

    def body(self, request: RecordedRequest) -> dict[str, Any] | None:
        """The request as JSON, as far as it is recorded; None where a message or its shape is missing."""
        messages = [self.message(name) for name in request.hashes]
        shape = self.shapes.get(str(request.record.get("shapeHash")))
        if shape is None or any(message is None for message in messages):
            return None
        params = request.record.get("params")
        values = [_as_blocks(jsontext.parse(stringify(message.value))) for message in messages if message is not None]
        body = {**(params if isinstance(params, dict) else {}), **jsontext.parse(stringify(shape)), "messages": values}
        for mark in request.record.get("cacheControl") or ():
            _put(body, mark)
        return body

    def is_proven(self, request: RecordedRequest) -> bool:
        """Whether the rebuilt request has the digest that the program recorded when it sent it."""
        body = self.body(request)
        return body is not None and _sha({name: value for name, value in body.items() if name not in _UNPROVEN}) == request.digest


_RECORDED: AtHand[Recorded] = AtHand(2, alone=1)


def recorded(tree: Conversation) -> Recorded:
    """What the file of a session records; without any request in files of other versions."""
    return _RECORDED.of(tree.chunks, lambda: _recorded(tree))


def _recorded(tree: Conversation) -> Recorded:
    requests: list[RecordedRequest] = []
    shapes: dict[str, Mapping[str, Any]] = {}
    blobs: dict[str, Mapping[str, Any]] = {}
    hashes: dict[str, tuple[str, ...]] = {}
    turn = ""
    lines = entries(tree)
    for entry in lines:
        if entry.type == USER and entry.id and any(chunk.kind is not Kind.TOOL_RESULT for chunk in entry.chunks):
            turn = entry.id
        if entry.type not in (REQUEST, SHAPE, BLOB) or "fused" in entry.about:
            continue
        record = jsontext.object_of(entry.chunks[0].raw) if entry.chunks[0].raw else dict(entry.about)
        if entry.type == SHAPE and isinstance(record.get("shape"), dict):
            shapes[str(record.get("shapeHash"))] = record["shape"]
        elif entry.type == BLOB and isinstance(record.get("message"), dict):
            blobs[str(record.get("hash"))] = record["message"]
        elif entry.type == REQUEST and isinstance(record.get("id"), str):
            keep, tail = record.get("keep"), record.get("tail")
            base = hashes.get(str(record.get("base")), ())[: keep if isinstance(keep, int) and keep >= 0 else 0]
            own = (*base, *(str(name) for name in (tail if isinstance(tail, list) else ())))
            hashes[record["id"]] = own
            requests.append(RecordedRequest(record["id"], entry.chunks[0], record, own, turn))
    messages = tuple(entry for entry in lines if entry.type in (USER, ASSISTANT) and "fused" not in entry.about)
    return Recorded(tuple(requests), shapes, blobs, messages)


def trace_of(tree: Conversation) -> Trace | None:
    """The recorded requests as a trace: a turn for each message of the user's, a step for each request. None where there are none."""
    known = recorded(tree)
    if not known.requests:
        return None
    bodies = {_name(request.id, kind): (request, kind) for request in known.requests for kind in ("prompt", "request")}

    def body(name: str) -> bytes | None:
        if name not in bodies:
            return None
        request, kind = bodies[name]
        value = known.body(request) if kind == "request" else _prompt(known, request)
        return None if value is None else jsontext.encode(stringify(value))

    answered = {ref: entry for entry in reversed(known.lines) if isinstance(ref := entry.about.get("requestRef"), str)}
    return build(tree.native_id, list(_records(tree.native_id, known.requests, answered)), body)


def _name(id_: str, kind: str) -> str:
    return hashlib.sha256(f"{kind}:{id_}".encode()).hexdigest()


def _records(native_id: str, requests: Sequence[RecordedRequest], answered: Mapping[str, Entry]) -> Iterator[TraceRecord]:
    order = 0
    for turn, group in groupby(requests, key=lambda request: request.turn):
        for request in group:
            start = milliseconds(request.record.get("timestamp")) or 0
            answer = answered.get(request.id)
            end = max(start, answer.chunks[0].at or start) if answer else None
            tools = request.record.get("params")
            model = tools.get("model") if isinstance(tools, dict) else None
            spans: tuple[tuple[str, str, str, str | None, dict[str, Any]], ...] = (
                (request.id, "step", "", None, {}),
                (f"{request.id}/prompt", "prompt", request.id, "prompt", {}),
                (
                    f"{request.id}/request",
                    "provider.request",
                    request.id,
                    "request",
                    {"model": model, "source": request.record.get("querySource")},
                ),
            )
            for span, name, parent, kind, attributes in spans:
                order += 1
                about = (span, parent, native_id, turn or request.id)
                names = None if kind is None else _name(request.id, kind)
                yield TraceRecord(
                    f"{span} open", "span-open", start, order, "claude-code", name, "", "", *about, None, "", attributes, (), names
                )
                if end is not None and answer is not None:
                    message = answer.about.get("message")
                    reason = message.get("stop_reason") if isinstance(message, dict) else None
                    closing = {"finishReason": reason} if isinstance(reason, str) and name == "step" else {}
                    yield TraceRecord(
                        f"{span} close", "span-close", end, order, "claude-code", name, "", "", *about, end - start, "ok", closing
                    )


def _prompt(known: Recorded, request: RecordedRequest) -> dict[str, Any]:
    """The messages as blocks of the store where lines hold them, so that each is shown next to its line."""
    stored = {_canonical(without_cache_marks(block)): chunk for entry in known.lines for chunk, block in _blocks(entry)}
    messages: list[dict[str, Any]] = []
    for name in request.hashes:
        message = known.message(name)
        value = _as_blocks(dict(message.value)) if message else {"role": "", "content": []}
        read = list(anthropic.read(value))
        content = value.get("content")
        blocks = content if isinstance(content, list) else []
        chunks = [
            (chunk.role, dict(chunk.payload))
            if (chunk := stored.get(_canonical(without_cache_marks(block))))
            else (one.role, dict(one.payload))
            for one, block in zip(read, blocks, strict=False)
        ]
        messages += [{"role": role, "chunks": [payload for _, payload in run]} for role, run in groupby(chunks, key=lambda pair: pair[0])]
    shape = known.shapes.get(str(request.record.get("shapeHash")), {})
    return {"messages": messages, "tools": shape.get("tools") or []}


def _run_of(entry: Entry) -> tuple[str, str]:
    """Lines of one answer are a message together, and so are lines of the user's that follow each other."""
    return (ASSISTANT, answer_of(entry) or entry.id) if entry.type == ASSISTANT else (USER, "")


def _blocks(entry: Entry) -> Iterator[tuple[Chunk, dict[str, Any]]]:
    """The blocks of a line as they are stored, each with its chunk."""
    message = jsontext.object_of(entry.chunks[0].raw).get("message")
    content = _as_blocks(message).get("content") if isinstance(message, dict) else None
    for chunk, block in zip(entry.chunks, content if isinstance(content, list) else (), strict=False):
        if isinstance(block, dict):
            yield chunk, block


def _of_blocks(role: str, blocks: Sequence[tuple[Chunk, dict[str, Any]]]) -> SentMessage:
    return SentMessage({"role": role, "content": [block for _, block in blocks]}, tuple(chunk for chunk, _ in blocks))


def _as_blocks(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


def last_request(tree: Conversation) -> str:
    """What is known of the newest request of the file, as a sentence; "" where none is recorded."""
    known = recorded(tree)
    if not known.requests:
        return ""
    request = known.requests[-1]
    if places := known.missing(request):
        return f"{len(places)} of its {len(request.hashes)} messages {'is' if len(places) == 1 else 'are'} in no line as sent"
    return "rebuilt, and proven by its digest" if known.is_proven(request) else "rebuilt, with another digest than was recorded"


def _put(body: dict[str, Any], mark: Any) -> None:
    """Puts a `cache_control` back where it was: `path` leads to the block."""
    path = mark.get("path") if isinstance(mark, dict) else None
    place: Any = body
    for step in path if isinstance(path, list) else ():
        try:
            place = place[step]
        except (KeyError, IndexError, TypeError):
            return
    if isinstance(place, dict) and path:
        place["cache_control"] = mark.get("value")


def _canonical(value: Any) -> bytes:
    return canonical(value).encode("utf-8", "surrogatepass")


def _sha(value: Any) -> str:
    return hashlib.sha256(_canonical(value)).hexdigest()
