"""Dispatch's conversation store: one JSON row per chunk in the `kv` table of dispatch.db, namespace `conversation-store`.

Facts were read off the program's source and checked by running a re-implementation: keys, key order, byte rules and the fork
recipe are upstream's. `read` and `write` are in one place; a row that cannot be read becomes an unreadable chunk, never a gap.
"""

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.edits import Plan
from inspector.conversation.model import Conversation, Fact
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
from inspector.programs.formats import Cell, Change, Format, Record, Shape, Stored, WriteMode
from inspector.text import jsontext

__all__ = ["DISPATCH", "INDEX", "TABLE", "Dispatch", "chunk_key", "fact_key", "records_of"]

SHOWN_KEYS = 5
SHOWN_LENGTH = 80
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


@dataclass(slots=True)
class _ConversationParts:
    rows: list[tuple[str, Record]]
    facts: dict[str, Record]
    numbered: dict[str, list[tuple[int, Record]]]
    records: list[Record]


class Dispatch(Format):
    name = "dispatch"
    title = "Dispatch conversation store (dispatch.db)"
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
        parts: dict[str, _ConversationParts] = {}
        index: Record | None = None

        def of(native_id: str) -> _ConversationParts:
            return parts.setdefault(native_id, _ConversationParts([], {}, {}, []))

        for record in records:
            if record.key == INDEX:
                index = record
            elif match := CHUNK_KEY.fullmatch(record.key):
                of(match.group(1)).rows.append((match.group(2), record))
                of(match.group(1)).records.append(record)
            elif match := NUMBERED_KEY.fullmatch(record.key):
                part = of(match.group(1))
                part.numbered.setdefault(match.group(2), []).append((parse_int(match.group(3)) or 0, record))
                part.records.append(record)
            elif match := FACT_KEY.fullmatch(record.key):
                of(match.group(1)).facts[match.group(2)] = record
                of(match.group(1)).records.append(record)
        ids = index_ids(index)
        listed = None if ids is None else [encoded_in_keys(native_id) for native_id in ids]
        for native_id in listed or ():
            of(native_id)
        for native_id in sorted(parts, key=lambda text: text.encode("utf-8", "surrogatepass")):
            yield self._stored(native_id, parts[native_id], listed, index)

    def unknown(self, records: Iterable[Record]) -> tuple[str, ...]:
        """One sentence where keys of the namespace have a name with no known meaning; a newer program may have written them."""
        keys = [record.key for record in records if not is_known(record.key)]
        if not keys:
            return ()
        names = ", ".join(jsontext.compact(key[:SHOWN_LENGTH]) for key in keys[:SHOWN_KEYS])
        more = f" and {len(keys) - SHOWN_KEYS:,} more" if len(keys) > SHOWN_KEYS else ""
        what = "1 key of this namespace has a name" if len(keys) == 1 else f"{len(keys):,} keys of this namespace have a name"
        return (f"{what} that Inspector does not know: {names}{more}. They are neither shown nor changed; look at them with sqlite3.",)

    def _stored(self, native_id: str, part: _ConversationParts, listed: list[str] | None, index: Record | None) -> Stored:
        chunks = tuple(read_chunk(record, parse_int(number) or 0) for number, record in part.rows)
        facts: dict[str, Fact] = {}
        for name, record in part.facts.items():
            name = "counter" if name == "seq" else name
            facts[name] = Fact(name, record.value.data.decode("utf-8", "surrogateescape"), record.key)
        for name, value in read_meta(facts.get("meta")).items():
            facts[name] = Fact(name, value, facts["meta"].key)
        state = None if index is None else "damaged" if listed is None else "listed" if native_id in listed else "not listed"
        facts["index"] = Fact("index", state, INDEX)
        for name, label in (("metrics", "metrics rows"), ("msg", "whole-message rows")):
            if part.numbered.get(name):
                facts[label] = Fact(label, str(len(part.numbered[name])))
        title = facts["title"].value or "" if "title" in facts else ""
        metrics = tuple(read_metrics(record) for _, record in part.numbered.get("metrics", ()))
        legacy = tuple(read_legacy(record, number) for number, record in part.numbered.get("msg", ()))
        return Stored(Conversation(native_id, self.name, chunks, facts, title, metrics, legacy), tuple(part.records))

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
