"""Threads of Codex CLI: a JSONL file each (`rollout-TIME-ID.jsonl`), plain or packed with zstd, in folders by day or in a flat one."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.programs.codex import archives, state, writing
from inspector.programs.codex.entries import START, read_rollout
from inspector.programs.codex.facts import STOPS, facts_of, title_of
from inspector.programs.codex.items import META
from inspector.programs.formats import Change, Format, Head, Listed, Record, Shape, Stored, WriteMode, read_grouped
from inspector.text import json_lines

NAME = "codex"
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-fA-F-]{36})\.jsonl(?:\.zst)?")
_HEAD = re.compile(
    rb'^\s*\{\s*"timestamp"\s*:\s*"[^"\n]*"\s*,\s*(?:"ordinal"\s*:\s*\d+\s*,\s*)?'
    rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|compacted)"\s*,\s*"payload"\s*:',
    re.MULTILINE,
)
_LOOKED_AT = 4096
_FIRST = 1 << 16
"""Bytes in which the session_meta of a file is looked for first: it holds the instructions of the model."""

_LISTS = ("history.jsonl", "session_index.jsonl")
"""What the program itself keeps next to its threads: prompts and names, and no thread."""


class Codex(Format):
    name = NAME
    title = "Codex CLI threads (rollout files: JSONL, plain or packed with zstd, alone or in folders)"
    sample = '{"timestamp":"2026-…","type":"session_meta","payload":{"id":"0199…"}}'
    default_reader = "codex"
    default_projection = "openai-responses"
    default_profile = "openai-responses"
    modes: tuple[WriteMode, ...] = writing.MODES
    keeps_times = True
    lock_suffix = ""
    quiet_seconds = 60.0
    index_name = state.DATABASE
    index_rows = state.ROWS

    def sniff(self, shape: Shape) -> float:
        if shape.tables:
            return 0.0
        if shape.files:
            if any(_NAME.fullmatch(key.rpartition("/")[2]) for key in shape.files):
                return 0.9
            return 0.7 if any(_is_head(head) for head in shape.heads) else 0.0
        if archives.is_packed(shape.head):
            return 0.9 if _is_head(archives.start_of(shape.head, _LOOKED_AT)[0]) or _NAME.fullmatch(shape.name) else 0.0
        if _is_head(shape.head):
            return 0.9
        # The name alone says so of a thread that lost its first record.
        return 0.6 if shape.head and _NAME.fullmatch(shape.name) else 0.0

    def wants(self, key: str) -> bool:
        """A file that is named alone is always read; of a folder those that Codex takes for threads, and files of lines next to none of them."""
        name = key.rpartition("/")[2]
        return "/" not in key or (name.startswith("rollout-") and name.endswith((".jsonl", ".jsonl.zst")))

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        return read_grouped(self, records)

    def plain(self, data: bytes) -> bytes:
        return writing.content_of(data)[0]

    def index_folder(self, source: str, keys: Sequence[str]) -> str | None:
        return state.home_of(source, keys)

    def group_of(self, key: str) -> str | None:
        return None if state.is_row(key) else key

    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
        ids = [_thread_id(key, partial(head, key)) for key in groups]
        counts = Counter(ids)
        names = [id_ if counts[id_] == 1 else f"{id_} {key.rpartition('/')[2]}" for id_, key in zip(ids, groups, strict=True)]
        repeated = Counter(names)
        rows = state.rows_in(shared)
        threads = [
            Listed(name if repeated[name] == 1 else f"{id_} {key}", key, state.facts_of_file(id_, key, rows))
            for name, id_, key in zip(names, ids, groups, strict=True)
        ]
        # A thread without its file has no records: only the list names it.
        return [*threads, *(Listed(row.id, "", {fact.name: fact}) for row, fact in state.without_file(ids, groups, rows))]

    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored:
        if not records:
            return Stored(Conversation(listed.native_id, NAME, (), listed.facts), ())
        (record,) = records
        data, problem = writing.content_of(record.value.data)
        rollout = read_rollout(data)
        chunks, facts = rollout.chunks, {**facts_of(rollout, record.key), **listed.facts}
        if problem:
            seq = len(chunks) + 1
            chunks = [*chunks, Chunk("archive.0", seq, "", Kind.UNREADABLE, {}, damage="bad-zstd", reason=problem)]
            facts[STOPS] = Fact(STOPS, f"the archive is damaged: {problem}", record.key)
        if archives.is_packed(record.value.data):
            facts["packed"] = Fact("packed", "the file is packed with zstd: Codex unpacks it before it goes on with the thread", record.key)
        conversation = Conversation(listed.native_id, NAME, tuple(chunks), facts, title_of(chunks, listed.native_id))
        return Stored(conversation, (record,))

    def copies(self, keys: Sequence[str]) -> str:
        return ""

    def unread(self, keys: Sequence[str]) -> tuple[str, ...]:
        others = [
            key for key in keys if key.endswith((".jsonl", ".jsonl.zst")) and not self.wants(key) and key.rpartition("/")[2] not in _LISTS
        ]
        if not others:
            return ()
        are = "1 file is not read, since its name is" if len(others) == 1 else f"{len(others):,} files are not read, since their names are"
        more = ", …" if len(others) > 5 else ""
        names = ", ".join(key.partition("/")[2] for key in others[:5])
        return (f"{are} no rollout file's: {names}{more}. Its own path with --format {NAME} reads one.",)

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        return writing.options(mode, stored, fresh_id)

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        return writing.write(plan, stored)

    def target(self, plan: Plan) -> str:
        return plan.options["fork_id"] if plan.mode == writing.FORK else plan.conversation


def _is_head(head: bytes) -> bool:
    return _HEAD.search(head[:_LOOKED_AT].removeprefix(json_lines.BOM)) is not None


def _thread_id(key: str, head: Callable[[int], bytes]) -> str:
    """The id that the first session_meta names, else that of the file's name, else the name."""
    size = _FIRST
    while True:
        data = head(size)
        is_whole = len(data) < size
        if archives.is_packed(data):
            data, _ = archives.start_of(data, size)
        for line in json_lines.lines(data, START):
            if not line.ended and not is_whole:
                break
            for part in line.parts:
                payload = part.value.get("payload") if part.value else None
                if part.value and part.value.get("type") == META and isinstance(payload, dict) and isinstance(payload.get("id"), str):
                    return str(payload["id"])
        if is_whole or size >= _FIRST << 8:
            break
        size <<= 4
    name = key.rpartition("/")[2]
    match = _NAME.fullmatch(name)
    return match[1] if match else name.removesuffix(archives.SUFFIX).removesuffix(".jsonl")


CODEX = Codex()
