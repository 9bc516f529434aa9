"""A rollouts crash file as evidence: the very list that was refused, as a conversation that ends with the error, and the session it belongs to.

The file holds JSON whatever its suffix says. Its `messages` are the request after merging, so indexes in the error text count there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.programs.formats import Record, Stored
from inspector.text import jsontext
from inspector.text.error_words import words_of_error
from inspector.text.jsontext import Unreadable
from inspector.text.timestamps import milliseconds
from inspector.wires.shapes import anthropic

PREFIX = "crash:"


def native_id(key: str) -> str:
    return PREFIX + key.rpartition("/")[2].removesuffix(".txt")


def read_crash(record: Record, format_name: str) -> Stored:
    """The conversation of one crash file; one that is no JSON object is a single unreadable chunk."""
    try:
        content = jsontext.parse(jsontext.decode(record.value.data))
        if not isinstance(content, dict):
            raise Unreadable("not-object", "the crash file is JSON, but no object")
    except Unreadable as problem:
        data = record.value.data
        chunk = Chunk(f"{record.key}#0", 1, "", Kind.UNREADABLE, {}, raw=data, damage=problem.damage, reason=problem.reason)
        return Stored(Conversation(native_id(record.key), format_name, (chunk,), {}, "A crash file that cannot be read"), (record,))
    listed = content.get("messages")
    chunks = api_chunks(record.key, listed if isinstance(listed, list) else [])
    error = {"type": "error", "message": jsontext.shown(content.get("error_message")), "code": jsontext.shown(content.get("error_type"))}
    trace = {"traceback": content["traceback"]} if isinstance(content.get("traceback"), str) else {}
    raw = jsontext.encode(jsontext.compact({name: content.get(name) for name in ("error_type", "error_message")}))
    at = milliseconds(content.get("timestamp"))
    chunks.append(Chunk(f"{record.key}#error", len(chunks) + 1, "", Kind.ERROR, {**error, **trace}, raw=raw, at=at))
    facts = _facts(record.key, content, at)
    title = f"Crash: {words_of_error(jsontext.shown(content.get('error_message'))) or 'without an error text'}"
    return Stored(Conversation(native_id(record.key), format_name, tuple(chunks), facts, title[:120]), (record,))


def _facts(key: str, content: Mapping[str, Any], at: int | None) -> dict[str, Fact]:
    values = {name: jsontext.shown(content.get(stored)) for name, stored in _NAMES.items()}
    listed = content.get("messages")
    values["messages"] = str(len(listed)) if isinstance(listed, list) else ""
    values["lastActivityAt"] = "" if at is None else str(at)
    return {name: Fact(name, value, key) for name, value in values.items() if value}


_NAMES = {
    "error": "error_message",
    "errorType": "error_type",
    "provider": "provider",
    "model": "model",
    "namedSession": "session_id",
    "crashedAt": "timestamp",
}


def api_chunks(key: str, messages: Sequence[Any]) -> list[Chunk]:
    """Chunks of an Anthropic list: msg_idx is the element, chunk_idx the block; results have role tool, whatever message they are in."""
    chunks: list[Chunk] = []
    for index, message in enumerate(messages):
        raw = jsontext.encode(jsontext.compact(message))
        if not isinstance(message, dict):
            reason = f"element {index} of messages is no object"
            chunks.append(Chunk(f"{key}#{index}.0", len(chunks) + 1, "", Kind.UNREADABLE, {}, index, 0, raw, "wrong-type", reason))
            continue
        for place, block in enumerate(anthropic.SHAPE.read(message)):
            block_raw = raw if block.whole else jsontext.encode(jsontext.compact(message["content"][place]))
            name, seq = f"{key}#{index}.{place}", len(chunks) + 1
            chunks.append(Chunk(name, seq, block.role, block.kind, block.payload, index, place, block_raw, block.damage, block.reason))
    return chunks


def marks(chunks: Iterable[Chunk]) -> set[str]:
    """What distinguishes one history from another: ids of calls, and signatures."""
    ids = {f"id {chunk.call_id}" for chunk in chunks if chunk.call_id}
    return ids | {f"signature {value}" for chunk in chunks if isinstance(value := chunk.payload.get("signature"), str) and value}


def linked(crash: Conversation, sessions: Sequence[Conversation], by_mark: Mapping[str, set[str]]) -> tuple[str, str] | None:
    """(native id of the session, what links it: session_id, content or time); None where nothing does, or several would do.

    The Anthropic provider writes no session_id. `by_mark` is which sessions hold a mark.
    """
    named = crash.fact("namedSession")
    if named is not None and any(session.native_id == named for session in sessions):
        return named, "session_id"
    counts: dict[str, int] = {}
    for mark in marks(crash.chunks):
        for native in by_mark.get(mark, ()):
            counts[native] = counts.get(native, 0) + 1
    if counts:
        most = max(counts.values())
        best = sorted(native for native, count in counts.items() if count == most)
        by_id = {session.native_id: session for session in sessions}
        # Children hold copies of their parents' messages. One that a repair made, or that is younger than the crash, is not where it happened.
        early = [native for native in best if not _is_repaired(by_id[native]) and not _created_after(by_id[native], crash)]
        if len(early or best) == 1:
            return (early or best)[0], "content"
    at = crash.fact("lastActivityAt")
    around = [session.native_id for session in sessions if at is not None and _spans(session, int(at))]
    return (around[0], "time") if len(around) == 1 else None


def _is_repaired(session: Conversation) -> bool:
    return '"inspector":' in (session.fact("tags") or "")


def _created_after(session: Conversation, crash: Conversation) -> bool:
    created, at = session.fact("createdAt"), crash.fact("lastActivityAt")
    return created is not None and at is not None and int(created) > int(at)


def _spans(session: Conversation, at: int) -> bool:
    times = [chunk.at for chunk in session.chunks if chunk.at is not None]
    return bool(times) and min(times) <= at <= max(times)
