"""Chats of Gemini CLI: `tmp/PROJECT/chats/session-TIME-ID.jsonl` in its folder, and one JSON object a chat before 0.40."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.programs.formats import Change, Format, Head, Listed, Record, Shape, Stored, WriteMode, read_grouped
from inspector.programs.gemini_cli import reader, writing
from inspector.programs.gemini_cli.chunks import chunks_of
from inspector.programs.gemini_cli.records import EMPTIED, EMPTY, LOST, Chat, is_resumed, replay
from inspector.text import jsontext
from inspector.text.timestamps import milliseconds

NAME = reader.FORMAT
_HEAD = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"sessionId"\s*:\s*"([^"\n]*)"\s*,\s*"projectHash"\s*:')
_CHAT = re.compile(r"(?:.*/)?chats/(?:[^/]+/)?[^/]+\.jsonl?")
_SESSION = re.compile(r"session-[^/]*\.jsonl?")
_HEAD_BYTES, _EMPTY_BYTES = 4096, 65536
_SHORT_ID = len("-4c59aa92.jsonl")
_TITLE = 80


class GeminiCli(Format):
    name = NAME
    title = "Gemini CLI chats (JSON lines, a file each)"
    sample = '{"sessionId":"0f1e…","projectHash":"9c2b…"}'
    default_reader = reader.NAME
    default_projection = reader.PROJECTION_NAME
    default_profile = "gemini"
    modes: tuple[WriteMode, ...] = (
        WriteMode(
            "append-set",
            "appends one $set line with the repaired list, and every old line keeps its bytes; in a .json file of one object, replaces its messages",
            "in-place",
        ),
    )

    def sniff(self, shape: Shape) -> float:
        if shape.tables:
            return 0.0
        if shape.files:
            named = any(_CHAT.fullmatch(key) and _SESSION.fullmatch(key.rpartition("/")[2]) for key in shape.files)
            return 0.9 if any(_HEAD.match(head) for head in shape.heads) else 0.8 if named else 0.0
        return 0.9 if _HEAD.match(shape.head) else 0.0

    def wants(self, key: str) -> bool:
        """A file that is named alone, or is piped in, may have any name."""
        return (
            "/" not in key or key.endswith(".jsonl") or (key.endswith(".json") and _SESSION.fullmatch(key.rpartition("/")[2]) is not None)
        )

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        return read_grouped(self, records)

    def group_of(self, key: str) -> str | None:
        return key

    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
        """A chat has the id that its first line names; two files with one id have the name of the file after it."""
        ids = [_id(key, head(key, _HEAD_BYTES)) for key in groups]
        counts = Counter(ids)
        files: dict[str, list[str]] = {}
        for id_, key in zip(ids, groups, strict=True):
            files.setdefault(id_, []).append(key)
        names = [id_ if counts[id_] == 1 else f"{id_} {key.rpartition('/')[2]}" for id_, key in zip(ids, groups, strict=True)]
        by_name = Counter(names)
        return [
            Listed(name if by_name[name] == 1 else f"{id_} {key}", key, _same_id(files[id_], key, head))
            for id_, key, name in zip(ids, groups, names, strict=True)
        ]

    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored:
        (record,) = records
        chat = replay(record.value.data)
        chunks = chunks_of(chat)
        facts = {**_facts(chat, chunks, record.key), **listed.facts}
        return Stored(Conversation(listed.native_id, NAME, chunks, facts, _title(chat, chunks)), (record,))

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        return writing.written(plan, stored)


def _id(key: str, head: bytes) -> str:
    match = _HEAD.match(head)
    return match[1].decode("utf-8", "replace") if match and match[1] else key.rpartition("/")[2].rpartition(".")[0]


def _same_id(keys: Sequence[str], key: str, head: Head) -> dict[str, Fact]:
    """The other files of the id, and those of them that have no conversation and share the end of the name, by which a clean-up deletes."""
    others = [other for other in keys if other != key]
    empty = [other for other in others if other[-_SHORT_ID:] == key[-_SHORT_ID:] and _is_empty(head(other, _EMPTY_BYTES))]
    texts = {"sameId": _names(others), "sameIdEmpty": _names(empty)}
    return {name: Fact(name, text) for name, text in texts.items() if text}


def _names(keys: Sequence[str]) -> str:
    return ", ".join(key.rpartition("/")[2] for key in keys)


def _is_empty(data: bytes) -> bool:
    """Whether a file has no message that a resume keeps; of one that is not read whole that is not said."""
    return len(data) < _EMPTY_BYTES and not any(is_resumed(record.value) for record in replay(data).live.values())


def _facts(chat: Chat, chunks: Sequence[Chunk], key: str) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}

    def add(name: str, value: object) -> None:
        if value not in (None, "", [], {}):
            facts[name] = Fact(name, jsontext.shown(value), key)

    for name in ("kind", "summary", "projectHash"):
        add(name, chat.metadata.get(name))
    add("problem", chat.problem)
    cleared = any(record.why in (EMPTIED, LOST) and is_resumed(record.value) for record in chat.ended.values())
    add("nothingSaid", "yes" if chat.problem == EMPTY and not cleared and not chat.unread else "")
    add("legacy", "one JSON object with all messages, as versions before 0.40 wrote it" if chat.legacy else "")
    add(
        "model",
        next((record.value.get("model") for record in reversed(chat.live.values()) if isinstance(record.value.get("model"), str)), None),
    )
    add("badRewinds", ", ".join(str(line + 1) for line in chat.bad_rewinds))
    times = [chunk.at for chunk in chunks if chunk.at is not None]
    times += [at for name in ("startTime", "lastUpdated") if (at := milliseconds(chat.metadata.get(name))) is not None]
    add("createdAt", milliseconds(chat.metadata.get("startTime")))
    if times:
        add("lastActivityAt", max(times))
        # The program takes no lock: a chat that does not end with an answer may be waiting for one.
        last = next(reversed(chat.live.values()), None)
        add("status", "active" if last is not None and last.value.get("type") == "user" else "idle")
    return facts


def _title(chat: Chat, chunks: Sequence[Chunk]) -> str:
    """Its own summary, or the start of what the user said first."""
    summary = chat.metadata.get("summary")
    spoken = (
        chunk.text for chunk in chunks if chunk.role == "user" and chunk.kind is Kind.TEXT and not chunk.text.lstrip().startswith("<")
    )
    line = " ".join((summary if isinstance(summary, str) and summary else next(spoken, "")).split())
    return line if len(line) <= _TITLE else f"{line[:_TITLE]}…"


GEMINI_CLI = GeminiCli()
