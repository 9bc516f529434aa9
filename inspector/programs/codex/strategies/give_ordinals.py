"""Counts the records of a paginated thread again, from the first that is wrong on."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit
from inspector.programs.codex.entries import entry_of, is_first
from inspector.programs.codex.facts import STOPS
from inspector.programs.codex.items import PAGINATED
from inspector.programs.codex.line_bytes import lines, with_bytes
from inspector.programs.codex.rules.wrong_ordinal import wrong
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.text import json_pieces, jsontext


def propose(case: Case) -> Iterator[Edit]:
    """Only where a record has none or one that is used: higher ones are what a damaged file keeps of its count."""
    if case.conversation.fact("historyMode") != PAGINATED or (case.conversation.fact(STOPS) or "ordinal").find("ordinal") < 0:
        return
    if not any(True for _ in wrong(case.conversation.chunks)):
        return
    count: int | None = None
    for records in lines(case.conversation.chunks):
        first = records[0][0]
        entry = entry_of(first)
        # What a repair put in is counted when it is written, and what Codex cannot parse it does not count.
        if not entry or not first.raw or "unread" in entry or not is_first(first):
            continue
        ordinal = entry.get("ordinal")
        count = (ordinal if isinstance(ordinal, int) and not isinstance(ordinal, bool) else 0) if count is None else count + 1
        if ordinal != count or isinstance(ordinal, bool):
            text = json_pieces.amended(first.raw.decode("utf-8", "surrogateescape").strip(" \t\r"), {"ordinal": str(count)})
            for record in records:
                yield from with_bytes(record, jsontext.encode(text), {"ordinal": count} if is_first(record[0]) else None)


STRATEGY = Strategy(
    name="give-ordinals",
    safety=frozenset(),
    summary="counts the records of a paginated thread one after the other again",
    cost="No content changes: each record from the first wrong one on has another ordinal.",
    user_visible_effect="Codex opens the thread, and shows its later turns again.",
    pros="Codex finds records by their ordinals, and its own repair only leaves those out that are wrong.",
    cons="Codex keeps the old count in thread_history_1.sqlite: a new thread (--mode new-thread) has nothing there yet.",
    write_kind="content",
    propose=propose,
    order=900,
)
