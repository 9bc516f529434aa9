"""STORE801: a line of a file of JSON lines that holds no record, or not what was written."""

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, groupby

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.tree import entries
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded, over_our_limit
from inspector.text import limits

_SHOWN = 80
_CUT = ("torn", "nul")
"""Damage of a line that a program wrote, and that did not reach the disk whole."""
_MOST_TRIED = 1_000
"""Beginnings of records that are tried in one run of lines: each costs a look at what follows."""
_DECODER = json.JSONDecoder()
_CUT_OFF = "What is cut off is nowhere in this file: look among the backups of it. The other lines are read as before."


def check(case: Case) -> Iterator[Match]:
    """Not fragments that share a line with whole records: STORE802 reports them."""
    chunks = (case.tree or case.conversation).chunks
    last = chunks[-1] if chunks else None
    spread = spread_records(chunks)
    of_records = {chunk.key for record in spread for chunk in record}
    yield from bounded(_spread(case, record) for record in spread)
    yield from bounded(_match(case, chunk, chunk is last) for chunk in chunks if _is_line(chunk) and chunk.key not in of_records)
    changed = (entry for entry in entries(case.tree or case.conversation) if entry.about.get("notUtf8") is True)
    yield from bounded(
        Match(
            entry.chunks,
            f"The line at seq {entry.chunks[0].seq} holds bytes that are not UTF-8: programs read U+FFFD in their place, and what was there is lost.",
            severity=Severity.WARNING,
            evidence=_begins(entry.chunks[0]),
            repaired_by=(),
            no_repair_reason="Which characters the bytes were is nowhere in the file; the rest of the line is read as before.",
        )
        for entry in changed
    )


def spread_records(chunks: Sequence[Chunk]) -> list[tuple[Chunk, ...]]:
    """Lines that cannot be read, and that together are a record: an editor or a person formatted it over several lines."""
    records: list[tuple[Chunk, ...]] = []
    for is_line, run in groupby(chunks, key=_is_line):
        lines = list(run) if is_line else []
        if len(lines) > 1:
            records += _in_run(lines)
    return records


def _in_run(lines: Sequence[Chunk]) -> Iterator[tuple[Chunk, ...]]:
    texts = [chunk.raw.decode("utf-8", "replace") for chunk in lines]
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    text = "\n".join(texts)
    number = tried = 0
    while number < len(lines) and tried < _MOST_TRIED:
        opening = len(texts[number]) - len(texts[number].lstrip())
        end = 0
        if texts[number][opening : opening + 1] == "{":
            tried += 1
            with suppress(ValueError, RecursionError):
                end = _DECODER.raw_decode(text, starts[number] + opening)[1]
        after = bisect_left(starts, end)
        if end and after > number + 1 and not text[end : starts[after]].strip():
            yield tuple(lines[number:after])
            number = after
        else:
            number += 1


SPREAD = "spread-record"
"""The name under which a program says what it does with a record over several lines, where that is something else."""


def _spread(case: Case, record: Sequence[Chunk]) -> Match:
    consequences = case.program.errors.consequences
    then = consequences.get(SPREAD) or consequences.get(RULE.name, "programs skip it without an error.")
    return Match(
        record,
        f"The {len(record):,} lines at seq {record[0].seq}-{record[-1].seq} are one record, written over several lines. A program that reads line by line cannot read it: {then}",
        evidence=_begins(record[0]),
        repaired_by=(),
        no_repair_reason="Nothing of it is lost: write the record on one line, with the same content, and import again.",
    )


def _is_line(chunk: Chunk) -> bool:
    """Whether the chunk is a whole line: of a record, of which one block has no known shape, its entry is known, or its role."""
    is_record = chunk.role or isinstance(chunk.payload.get("entry"), Mapping)
    return chunk.kind is Kind.UNREADABLE and bool(chunk.damage) and not is_record and "/" not in chunk.key.rpartition(".")[0]


def _match(case: Case, chunk: Chunk, is_last: bool) -> Match:
    where = f"The {'last line' if is_last else 'line'} at seq {chunk.seq}"
    if chunk.damage in limits.OWN_DAMAGE:
        return over_our_limit(chunk, where, _begins(chunk))
    then = case.program.errors.consequences.get(RULE.name, "programs skip it without an error.")
    repaired_by = tuple(name for name in RULE.repaired_by if name in case.program.repairs.of_lines)
    reason = "" if repaired_by else _CUT_OFF
    if is_last and chunk.damage == "torn":
        text = f"{where} is cut off, as a crash in the middle of a write leaves it, or a write that went on while it was read ({chunk.reason}): {then}"
        return Match((chunk,), text, None, Severity.WARNING, _begins(chunk), repaired_by=repaired_by, no_repair_reason=reason)
    if chunk.damage in _CUT:
        return Match(
            (chunk,),
            f"{where} cannot be read ({chunk.reason}): {then}",
            evidence=_begins(chunk),
            repaired_by=repaired_by,
            no_repair_reason=reason,
        )
    text = f"{where} is no record ({chunk.reason}): {then}"
    return Match((chunk,), text, None, Severity.WARNING, _begins(chunk), repaired_by=repaired_by, no_repair_reason=reason)


def _begins(chunk: Chunk) -> tuple[tuple[str, str], ...]:
    if not chunk.raw:
        return ()
    ends = (("ends with", repr(chunk.raw[-_SHOWN:])[2:-1]),) if len(chunk.raw) > _SHOWN else ()
    return ("bytes", f"{len(chunk.raw):,}"), ("begins with", repr(chunk.raw[:_SHOWN])[2:-1]), *ends


RULE = Rule(
    code="STORE801",
    state="JL1",
    name="unreadable-line",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    trait=Trait.JSON_LINES,
    summary="a line of the file is cut off, holds NUL bytes, or is no record at all",
    unnoticed="content lost",
    why=(
        "A crash or a full disk in the middle of a write, a loss of power, or another program that wrote into the file. What the line said is missing from "
        "every request, and records that name it as their parent have lost what was before."
    ),
    example='@format claude-code\n1 user 1.0 text go\n2 - 2.- unreadable "{\\"type\\":\\"us" damage=torn reason="not JSON"\n3 user 3.0 text more parent=e1',
    check=check,
    references=("claude-code #81843: 30 such lines in 23 of 10,949 files", "claude-code #49876 (NUL bytes), #20992 (deep nesting)"),
    repaired_by=("quarantine-unreadable-lines",),
    fixed_in_code="Write a record and its line end at once, and sync a file before its new length counts.",
)
