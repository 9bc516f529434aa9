"""STORE502: several records on one line, of which programs read none."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from inspector.conversation.model import Chunk, Conversation
from inspector.conversation.tree import Entry, about_of, entries, spoken
from inspector.programs.pi_openclaw.readers.rows import mapping
from inspector.programs.pi_openclaw.rules.fused_records import coming_back
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import whole, words_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted

_APART = "The path neither names these records nor goes on in them: they are a branch of their own, or are on the path already, and the line can stay."


def check(case: Case) -> Iterator[Match]:
    """Of a line whose records are all on the path by lines of their own only a note: where every line is kept, it stays in the file.

    The strategy is named where one of the records belongs on the path; a branch of its own is left where it is.
    """
    chunks = whole(case).chunks
    lines = list(_fused(chunks))
    if not lines:
        return
    matches: list[Match] = []
    below: dict[str, list[Entry]] = {}
    for entry in entries(whole(case)):
        if entry.parent is not None and "fused" not in entry.about:
            below.setdefault(entry.parent, []).append(entry)
    # No program reads them: where one is on the path, a strategy brought it back.
    back = {chunk.key for chunk in case.conversation.chunks}
    path_words = {words_of(entry) for entry in entries(case.conversation)}
    coming = {chunk.key for _, records in coming_back(case) for entry in records for chunk in entry.chunks}
    for line in lines:
        match = _match(line, below, back, path_words)
        named = None if any(chunk.key in coming for chunk in line) else ()
        matches.append(replace(match, repaired_by=named, no_repair_reason=_APART if named == () else ""))
    yield from bounded(matches)


def _fused(chunks: tuple[Chunk, ...]) -> Iterator[list[Chunk]]:
    if not any("fused" in about_of(chunk) for chunk in chunks):
        return
    for _, group in groupby(chunks, key=lambda chunk: chunk.msg_idx):
        line = list(group)
        if any("fused" in mapping(chunk.payload.get("entry")) for chunk in line):
            yield line


def _match(line: list[Chunk], below: dict[str, list[Entry]], back: set[str], path_words: set[str]) -> Match:
    records = entries_of(line)
    ids = [entry.id for entry in records if entry.id]
    lost_ones = [entry for entry in records if entry.chunks[0].key not in back and words_of(entry) not in path_words]
    where = f"(seq {line[0].seq}-{line[-1].seq})"
    if not lost_ones:
        text = f"{counted(len(records), 'whole record')} are on one line {where}, and each is on the path by a line of its own: the old line stays in the file, and no program reads it."
        return Match(line, text, severity=Severity.NOTE)
    if len(lost_ones) < len(records):
        text = f"{len(lost_ones)} of {len(records)} records of one line {where} {'is' if len(lost_ones) == 1 else 'are'} on no line of the path, and no program reads the shared line: {_named(lost_ones)}."
        return Match(line, text, severity=Severity.WARNING, evidence=effects("fused"))
    hanging = [entry for id_ in ids for entry in below.get(id_, [])]
    torn = sum(chunk.damage == "torn" for chunk in line)
    fragments = f" and {counted(torn, 'fragment')}" if torn else ""
    stand = f"{counted(len(records), 'whole record')}{fragments} are on one line {where}"
    lost = (
        f", and what hangs below ({counted(len(hanging), 'entry')}, the first at seq {hanging[0].chunks[0].seq}) loses all that is above"
        if hanging
        else ""
    )
    return Match(
        line,
        f"{stand}: no program reads any of them{lost}.",
        evidence=(("records", _named(records)), *effects("fused")),
    )


def entries_of(line: list[Chunk]) -> list[Entry]:
    """The records of the line that could be recovered."""
    return [entry for entry in entries(Conversation("", "", tuple(line))) if "fused" in entry.about]


def _named(records: list[Entry]) -> str:
    return ", ".join(spoken(entry.id[:40]).strip("'") if entry.id else "one without id" for entry in records[:8])


RULE = Rule(
    code="STORE502",
    state="OP12",
    name="fused-lines",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="several records are on one line, and programs read none of them",
    unnoticed="content lost",
    why="A file that ended without an LF was written on, or two processes wrote at once. The line is no JSON, so that it is skipped without an error, though every record in it is whole.",
    example=(
        '@format pi\n1 user 1.0 text go\n2 assistant 2.0 text done entry=a1 about={"fused":1}\n3 user 2.0 text more entry=u2 parent=a1 about={"fused":2}\n4 assistant 4.0 text ok parent=u2'
    ),
    check=check,
    references=("pi #8345: up to 0.84.3 the next append fuses with a last line without LF",),
    repaired_by=("split-fused-line",),
    fixed_in_code="Put an LF first where the file ends without one.",
)
