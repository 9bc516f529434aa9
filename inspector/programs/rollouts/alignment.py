"""A crash file compared with its session: where each block of the refused request is stored, what that rules out, and how the session ended."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from inspector.conversation.model import Chunk, Conversation, Kind, Message
from inspector.conversation.queries import span_text
from inspector.presentation.conversation.panels import AlignedBlock, Alignment, Ending
from inspector.programs.rollouts.crash import PREFIX, api_chunks
from inspector.programs.rollouts.projection import convert
from inspector.programs.rollouts.readers import VERSIONS, RolloutsVersion, grouped, target_of, transformed, version_at
from inspector.text import jsontext

RECENT_MS = 15 * 60 * 1000
_PLACE = re.compile(r"messages\.(\d+)(?:\.content(?:\.(\d+))?)?")
_CUT = ("sliced", "slice_spec", "compact", "compacted", "summarize", "summarized", "trimmed_count")


def aligned(session: Conversation, crash: Conversation) -> Alignment:
    """Replays the session's history up to the crash through each known version of the repair, and takes the one that gives most of the request."""
    sent = [chunk for chunk in crash.chunks if chunk.msg_idx is not None]
    # Of equally good replays the newest version; where the file holds no request, the newest of that time.
    best: tuple[int, RolloutsVersion, dict[tuple[int, int], tuple[Chunk, Chunk | None]]] = (-1, failed_version(crash), {})
    for messages in _histories(session, crash):
        target = target_of(session, messages)
        for version in VERSIONS if sent else ():
            request = _replayed(transformed(messages, target, version.passes)[0])
            count = sum((replayed := request.get(_at(chunk))) is not None and _content(replayed[0]) == _content(chunk) for chunk in sent)
            if count > best[0]:
                best = (count, version, request)
    pieces = tuple(_piece(chunk, best[2], _by_likeness(session.chunks)) for chunk in sent)
    named = _named(crash.fact("error") or "", pieces)
    return Alignment(pieces, best[1].does, named, tuple(_says(pieces, named)), tuple(_ruled_out(pieces)), best[1].name)


def failed_version(crash: Conversation) -> RolloutsVersion:
    """The version that was the newest when it crashed."""
    at = crash.fact("lastActivityAt")
    return version_at(int(at) if at is not None and at.isdecimal() else None)


def _histories(session: Conversation, crash: Conversation) -> list[tuple[Message, ...]]:
    """All that is stored, and only what was stored when it crashed: the session may have gone on since."""
    everything = grouped(session)
    at = crash.fact("lastActivityAt")
    if at is None or not at.isdecimal():
        return [everything]
    then = tuple(message for message in everything if message.chunks[0].at is None or message.chunks[0].at <= int(at))
    return [then, everything] if len(then) < len(everything) else [everything]


def _replayed(messages: Sequence[Message]) -> dict[tuple[int, int], tuple[Chunk, Chunk | None]]:
    """(message, block) of the replayed request -> the block as it would be sent, and the stored chunk after it."""
    prompt = convert(messages)
    sources: dict[tuple[int, int], Chunk] = {}
    for index, message in enumerate(prompt.messages):
        for part in message.parts:
            last = part.path.rpartition(".")[2]
            sources[index, int(last) if last.isdecimal() else 0] = part.chunk
    return {_at(chunk): (chunk, sources.get(_at(chunk))) for chunk in api_chunks("", prompt.values)}


def _at(chunk: Chunk) -> tuple[int, int]:
    return chunk.msg_idx or 0, chunk.chunk_idx or 0


def _content(chunk: Chunk) -> tuple[str, str]:
    """What a block says, without what only marks it for a cache."""
    return chunk.role, jsontext.compact({name: value for name, value in chunk.payload.items() if name not in ("extra", "wire", "stored")})


def _piece(chunk: Chunk, request: dict[tuple[int, int], tuple[Chunk, Chunk | None]], alike: dict[str, Chunk | None]) -> AlignedBlock:
    index, place = _at(chunk)
    path = f"messages.{index}.content" + ("" if _is_plain(chunk) else f".{place}")
    replayed = request.get((index, place))
    if replayed is not None and _content(replayed[0]) == _content(chunk):
        return AlignedBlock(path, chunk, replayed[1], True)
    stored = next((candidate for mark in _marks(chunk) if (candidate := alike.get(mark)) is not None), None)
    return AlignedBlock(path, chunk, stored, stored is not None and _words(stored) == _words(chunk))


def _is_plain(chunk: Chunk) -> bool:
    """A message whose content is a string has its whole element as bytes."""
    element = jsontext.object_of(chunk.raw)
    return isinstance(element.get("content"), str) and "role" in element


def _marks(chunk: Chunk) -> list[str]:
    signature = chunk.payload.get("signature")
    marks = [f"{chunk.kind} signature {signature}"] if isinstance(signature, str) and signature.strip() else []
    marks += [f"{chunk.kind} id {chunk.call_id}"] if chunk.call_id else []
    return marks or [f"{chunk.kind} {chunk.text}"]


def _by_likeness(chunks: Iterable[Chunk]) -> dict[str, Chunk | None]:
    """Mark -> the one chunk that has it; None where several have."""
    by_mark: dict[str, Chunk | None] = {}
    for chunk in chunks:
        for mark in _marks(chunk):
            by_mark[mark] = None if mark in by_mark else chunk
    return by_mark


def _words(chunk: Chunk) -> tuple[str, str, str]:
    return chunk.text, str(chunk.payload.get("signature") or ""), jsontext.compact(chunk.payload.get("input"))


def _named(error: str, pieces: Sequence[AlignedBlock]) -> tuple[AlignedBlock, ...]:
    match = _PLACE.search(error[:8000])
    if match is None:
        return ()
    path = f"messages.{match[1]}.content"
    exact = tuple(piece for piece in pieces if match[2] and piece.path == f"{path}.{match[2]}")
    return exact or tuple(piece for piece in pieces if piece.path == path or piece.path.startswith(f"{path}."))


def _says(pieces: Sequence[AlignedBlock], named: Sequence[AlignedBlock]) -> Iterable[str]:
    for piece in named[:1]:
        if piece.stored is None:
            yield f"{piece.path}, which the error names, is like no stored block: it was added on the way, or is in another session."
            continue
        yield f"{piece.path}, which the error names, is the {piece.stored.kind.value} stored at seq {piece.stored.seq} (line {_line(piece.stored)})."
        index = piece.sent.msg_idx
        lines = sorted({_line(neighbor.stored) for neighbor in pieces if neighbor.sent.msg_idx == index and neighbor.stored is not None})
        if len(lines) > 1 and piece.stored.role == "assistant":
            yield f"messages.{index} was made of the stored messages on lines {span_text(lines)}: {len(lines)} responses merged into one turn."
    changed = [piece for piece in pieces if piece.sent.kind is Kind.THINKING and not piece.is_equal]
    for piece in changed[:5]:
        what = "is stored otherwise" if piece.stored is not None else "is not stored at all"
        yield f"The thinking at {piece.path} {what}: it was altered between the store and the request."


def _line(chunk: Chunk) -> int:
    """Counted from 0, as upstream counts messages."""
    return chunk.msg_idx or 0


def _ruled_out(pieces: Sequence[AlignedBlock]) -> Iterable[str]:
    thinking = [piece for piece in pieces if piece.sent.kind is Kind.THINKING]
    if thinking and all(piece.is_equal and piece.stored is not None for piece in thinking):
        equal = f"all {len(thinking)} thinking blocks" if len(thinking) > 1 else "the one thinking block"
        yield f"serialization: {equal} of the request came byte for byte from the store, signatures included."
    if thinking and not _shared_signatures(thinking):
        yield "signatures that ran together while streaming: no two thinking blocks of the request share one."
    seqs = [piece.stored.seq for piece in pieces if piece.stored is not None]
    if len(seqs) > 1 and all(first <= second for first, second in pairwise(seqs)):
        yield "a changed order: every block that is stored is in the order in which it was stored."
    if pieces and all(piece.stored is not None for piece in pieces):
        yield "blocks added on the way: every block of the request is stored."


def _shared_signatures(thinking: Sequence[AlignedBlock]) -> bool:
    signatures = [str(piece.sent.payload.get("signature")) for piece in thinking if piece.sent.payload.get("signature")]
    return len(set(signatures)) < len(signatures)


def ending(session: Conversation, taken_at: int | None = None) -> Ending:
    """How a rollouts session came to its present end, by what the store itself says. `taken_at` in epoch milliseconds."""
    crashes = [name for name in (session.fact("crashes") or "").split(", ") if name]
    status = session.fact("status") or ""
    if crashes:
        newest = crashes[0].removeprefix(PREFIX)
        return Ending(
            "crashed",
            f"A request of this session was refused: crash file {newest}{f' and {len(crashes) - 1} more' if len(crashes) > 1 else ''} belongs to it.",
        )
    if status == "aborted":
        return Ending(
            "cancelled",
            "Its status is aborted: a person cancelled it; calls without a result are what the cancel left, and no crash file belongs to it.",
        )
    last = session.fact("lastActivityAt")
    if status == "pending" and taken_at is not None and last is not None and taken_at - int(last) < RECENT_MS:
        return Ending("running", "Its status is pending and it was written to within 15 minutes: it may still be running.")
    tags = jsontext.object_of(session.fact("tags") or "")
    if cut := [name for name in _CUT if name in tags]:
        return Ending("cut", f"It was cut from another session on purpose ({', '.join(f'{name}: {tags[name]}' for name in cut)[:200]}).")
    if status in ("completed", "truncated"):
        return Ending(status, f"Its status is {status}: it came to its end.")
    return Ending(
        "open",
        "Its status is pending, nothing was written to it lately and no crash file belongs to it: it waits to be resumed, or its process ended without a message.",
    )
