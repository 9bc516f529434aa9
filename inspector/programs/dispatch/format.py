"""Dispatch's conversation store: one JSON row per chunk in the `kv` table of dispatch.db, namespace `conversation-store`.

Facts were read off the program's source and checked by running a re-implementation: keys, key order, byte rules and the fork
recipe are upstream's. `read` and `write` are in one place; a row that cannot be read becomes an unreadable chunk, never a gap.
"""

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact
from inspector.programs.dispatch.keys import (
    CHUNK_KEY,
    COPIED,
    FACT_KEY,
    INDEX,
    NUMBERED_KEY,
    TABLE,
    chunk_key,
    encoded_in_keys,
    fact_key,
    is_known,
    parse_int,
)
from inspector.programs.dispatch.rows import index_ids, read_chunk, read_legacy, read_meta, read_metrics, row_text
from inspector.programs.dispatch.writing import fork, in_place
from inspector.programs.formats import Cell, Change, Format, Head, Listed, Record, Shape, Stored, WriteMode, read_grouped
from inspector.text import jsontext
from inspector.text.at_hand import AtHand

__all__ = ["DISPATCH", "INDEX", "TABLE", "Dispatch", "chunk_key", "fact_key", "records_of"]

SHOWN_KEYS = 5
SHOWN_LENGTH = 80
_GROUP, _CHUNKS = "conv:", ":chunk:"
_LOWER = {ord(upper): upper.lower() for upper in string.ascii_uppercase}


def records_of(conversation: Conversation) -> list[Record]:
    """The records that a store holds for `conversation`: what the demo and the cases write. Raw bytes win where a chunk has them."""
    native = conversation.native_id
    records = [Record(chunk_key(native, chunk.seq), Cell(chunk.raw or jsontext.encode(row_text(chunk)))) for chunk in conversation.chunks]
    names = {"counter": "seq"}
    for name in ("counter", "meta", *COPIED):
        value = conversation.fact(name)
        if value is not None:
            records.append(Record(fact_key(native, names.get(name, name)), Cell(jsontext.encode(value))))
    return sorted(records, key=lambda record: record.key)


# A repair reads the records that it leaves as they are again with those that it writes, and a fork's with those of its original.
_ROWS: AtHand[dict[str, tuple[Cell, Chunk]]] = AtHand(2)


class Dispatch(Format):
    name = "dispatch"
    title = "Dispatch conversation store (dispatch.db)"
    sample = "tables kv(namespace, key, value)"
    default_reader = "dispatch-legacy"
    default_projection = "dispatch-openai"
    default_profile = "openai-chat"
    table = TABLE
    modes: tuple[WriteMode, ...] = (
        WriteMode("new-conversation", "writes the repaired history as a new conversation and leaves the original untouched", "fork"),
        WriteMode("same-rows", "edits the rows of the conversation itself, in one short transaction", "in-place"),
    )

    def sniff(self, shape: Shape) -> float:
        columns = shape.tables.get("kv", ())
        return 1.0 if {"namespace", "key", "value"} <= set(columns) else 0.0

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """Conversations in the order of their ids, from chunk keys, facts and the index alike."""
        return read_grouped(self, records)

    def group_of(self, key: str) -> str | None:
        """`conv:` and the id; None for the index."""
        if key == INDEX:
            return None
        match = CHUNK_KEY.fullmatch(key) or NUMBERED_KEY.fullmatch(key) or FACT_KEY.fullmatch(key)
        return f"{_GROUP}{match.group(1)}" if match else ""

    def listed(self, groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
        ids = index_ids(shared[-1] if shared else None)
        named = None if ids is None else frozenset(map(encoded_in_keys, ids))
        with_records = {group.removeprefix(_GROUP) for group in groups}

        def of(native_id: str) -> Listed:
            state = None if not shared else "damaged" if named is None else "listed" if native_id in named else "not listed"
            return Listed(native_id, f"{_GROUP}{native_id}" if native_id in with_records else "", {"index": Fact("index", state, INDEX)})

        return [
            of(native_id) for native_id in sorted(with_records | (named or set()), key=lambda text: text.encode("utf-8", "surrogatepass"))
        ]

    def read_group(self, listed: Listed, records: Sequence[Record]) -> Stored:
        known_rows: dict[str, tuple[Cell, Chunk]] = next((rows for native_id, rows in _ROWS if native_id == listed.native_id), {})
        rows: dict[str, tuple[Cell, Chunk]] = {}
        chunks: list[Chunk] = []
        own: dict[str, Record] = {}
        numbered: dict[str, list[tuple[int, Record]]] = {}
        for record in records:
            if match := CHUNK_KEY.fullmatch(record.key):
                cell, chunk = known_rows.get(record.key, (None, None))
                if chunk is None or cell is not record.value:
                    chunk = read_chunk(record, parse_int(match.group(2)) or 0)
                chunks.append(chunk)
                rows[record.key] = record.value, chunk
            elif match := NUMBERED_KEY.fullmatch(record.key):
                numbered.setdefault(match.group(2), []).append((parse_int(match.group(3)) or 0, record))
            elif match := FACT_KEY.fullmatch(record.key):
                own[match.group(2)] = record
        _ROWS.put(listed.native_id, rows)
        facts: dict[str, Fact] = {}
        for name, record in own.items():
            name = "counter" if name == "seq" else name
            facts[name] = Fact(name, record.value.data.decode("utf-8", "surrogateescape"), record.key)
        for name, value in read_meta(facts.get("meta")).items():
            facts[name] = Fact(name, value, facts["meta"].key)
        facts |= listed.facts
        for name, label in (("metrics", "metrics rows"), ("msg", "whole-message rows")):
            if numbered.get(name):
                facts[label] = Fact(label, str(len(numbered[name])))
        title = facts["title"].value or "" if "title" in facts else ""
        metrics = tuple(read_metrics(record) for _, record in numbered.get("metrics", ()))
        legacy = tuple(read_legacy(record, number) for number, record in numbered.get("msg", ()))
        return Stored(Conversation(listed.native_id, self.name, tuple(chunks), facts, title, metrics, legacy), tuple(records))

    def unknown(self, records: Iterable[Record]) -> tuple[str, ...]:
        """One sentence where keys of the namespace have a name with no known meaning; a newer program may have written them."""
        keys = [record.key for record in records if not is_known(record.key)]
        if not keys:
            return ()
        names = ", ".join(jsontext.compact(key[:SHOWN_LENGTH]) for key in keys[:SHOWN_KEYS])
        more = f" and {len(keys) - SHOWN_KEYS:,} more" if len(keys) > SHOWN_KEYS else ""
        what = "1 key of this namespace has a name" if len(keys) == 1 else f"{len(keys):,} keys of this namespace have a name"
        return (f"{what} that Inspector does not know: {names}{more}. They are neither shown nor changed; look at them with sqlite3.",)

    def options(self, mode: str, stored: Stored, fresh_id: str) -> dict[str, str]:
        """What `write` cannot derive. A fork is in the list next to its original: it gets the same time, since nobody said anything new."""
        if mode != self.modes[0].name:
            return {}
        original = stored.conversation
        return {"fork_id": fresh_id, "now": original.fact("lastActivityAt") or "0", "title": f"Repaired: {original.title or 'Untitled'}"}

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """The changes that carry out `plan`. Raises WriteRefused, EditMismatch."""
        return fork(plan, stored) if plan.mode == self.modes[0].name else in_place(plan, stored)

    def bleeding(self, native_id: str, others: Iterable[str]) -> tuple[str, ...]:
        """Of `others`, those whose records upstream's listing takes for rows of this one.

        It is `conv:ID:chunk:%` with LIKE: ASCII case-insensitive, `_` and `%` unescaped, and an id may go on with `:chunk:` itself.
        """
        own = _ascii_lower(native_id)
        if "%" not in own and "_" not in own:
            # Tens of thousands of ids are compared with each other: only what may match is compared letter by letter.
            alike = (id_ for id_ in others if (lower := id_.lower()) == native_id.lower() or ":chunk:" in lower)
            return tuple(id_ for id_ in alike if id_ != native_id and f"{_ascii_lower(id_)}:chunk:".startswith(f"{own}:chunk:"))
        wild = {"%": ".*", "_": "."}
        listing = re.compile("".join(wild.get(letter) or re.escape(letter) for letter in own) + "(:chunk:.*)?", re.DOTALL)
        return tuple(id_ for id_ in others if id_ != native_id and listing.fullmatch(_ascii_lower(id_)))

    def bleeding_among(self, others: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
        """Tens of thousands of ids are compared with each other: only those that may match are."""
        by_lower: dict[str, list[int]] = {}
        for place, id_ in enumerate(others):
            for name in {id_.lower(), _CHUNKS} if _CHUNKS in id_.lower() else {id_.lower()}:
                by_lower.setdefault(name, []).append(place)

        def of(native_id: str) -> tuple[str, ...]:
            if "%" in native_id or "_" in native_id:
                return self.bleeding(native_id, others)
            places = sorted({*by_lower.get(native_id.lower(), ()), *by_lower.get(_CHUNKS, ())})
            return self.bleeding(native_id, [others[place] for place in places])

        return of

    def guard(self, stored: Stored) -> tuple[dict[str, dict[str, Cell]], dict[str, Cell | None]]:
        """What must be byte-equal when a plan is written: every row, the counter and the meta row.

        A prefix ends in a digit, as the number of every row that the program appends begins with one: after `conv:a:chunk:` alone
        are the records of a conversation named `a:chunk:b` as well, and no repair of `a` could ever be written.
        """
        native = stored.conversation.native_id
        prefix = f"conv:{native}:chunk:"
        rows = {record.key: record.value for record in stored.records}
        prefixes = tuple(f"{prefix}{digit}" for digit in string.digits)
        keys = [fact_key(native, name) for name in ("seq", "meta")]
        keys += [key for key in rows if key.startswith(prefix) and not key.startswith(prefixes)]
        guarded = {first: {key: cell for key, cell in rows.items() if key.startswith(first)} for first in prefixes}
        return guarded, {key: rows.get(key) for key in keys}


def _ascii_lower(text: str) -> str:
    return text.translate(_LOWER)


DISPATCH = Dispatch()
