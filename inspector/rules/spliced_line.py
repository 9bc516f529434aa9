"""STORE802: several records on one line of a file of JSON lines, where each should have a line of its own."""

from collections.abc import Iterator
from itertools import groupby

from inspector.conversation.model import Chunk, Conversation
from inspector.conversation.tree import entries, spoken
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text.counted import counted

_NAMED = 8


def check(case: Case) -> Iterator[Match]:
    """A program that wrote a message again on a line of its own, as some do when they resume, has lost nothing of it."""
    whole = case.tree or case.conversation
    lines = list(_spliced(whole))
    if not lines:
        return
    own = [entry for entry in entries(whole) if "fused" not in entry.about]
    own_ids = {entry.id for entry in own if entry.id}
    below = {entry.parent for entry in own}
    read_keys = {chunk.key for chunk in case.conversation.chunks}
    yield from bounded(_match(case, line, own_ids, below, read_keys) for line in lines)


def _spliced(whole: Conversation) -> Iterator[tuple[Chunk, ...]]:
    shared = {entry.chunks[0].msg_idx for entry in entries(whole) if "fused" in entry.about}
    if shared:
        for number, group in groupby(whole.chunks, key=lambda chunk: chunk.msg_idx):
            if number in shared:
                yield tuple(group)


def _match(case: Case, line: tuple[Chunk, ...], own_ids: set[str], below: set[str | None], read_keys: set[str]) -> Match:
    records = entries(Conversation("", "", line))
    fragments = sum(1 for chunk in line if "entry" not in chunk.payload)
    lost = [
        entry
        for entry in records
        if entry.chunks[0].role and entry.id not in own_ids and not (case.tree and entry.chunks[0].key in read_keys)
    ]
    cut = f" and {counted(fragments, 'fragment')}" if fragments else ""
    start = f"{counted(len(records), 'record')}{cut} {'is' if len(records) + fragments == 1 else 'are'} on one line (seq {line[0].seq}-{line[-1].seq})"
    if not lost:
        rest = "none of them is a message that is missing elsewhere"
        text = f"{start}: {rest}." if not fragments else f"{start}: {rest}, but what the fragment was a part of is lost."
        return Match(
            line, text, severity=Severity.WARNING if fragments else Severity.NOTE, repaired_by=(), no_repair_reason=_NOTHING_MISSING
        )
    then = case.program.errors.consequences.get(RULE.name, "no program reads them")
    hanging = any(entry.id in below for entry in lost if entry.id)
    text = f"{start}: {then}{', and the records that name one of them as their parent lose all that is before' if hanging else ''}."
    names = ", ".join(spoken(entry.id[:40]).strip("'") if entry.id else "one without id" for entry in lost[:_NAMED])
    # A fragment stays as a line of its own, unless it is moved out as well.
    strategies = RULE.repaired_by if fragments else RULE.repaired_by[:1]
    repaired_by = tuple(name for name in strategies if name in case.program.repairs.of_lines)
    return Match(
        line, text, evidence=(("messages on it alone", names),), repaired_by=repaired_by, no_repair_reason="" if repaired_by else _BY_HAND
    )


_BY_HAND = "No strategy splits lines of this format: put a line end between the records, on a copy."
_NOTHING_MISSING = "Nothing that the program would read is missing; the line can stay."

RULE = Rule(
    code="STORE802",
    state="JL2",
    name="spliced-line",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    trait=Trait.JSON_LINES,
    summary="several records are on one line, and programs read none of them",
    unnoticed="content lost",
    why=(
        "A file that ended without a line end was written on, or two processes wrote at once. The line is no JSON, so that it is skipped without an error, "
        "though the records on it are whole."
    ),
    example=(
        '@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 text done entry=a1 about={"fused":1}\n'
        '3 user 2.0 text more entry=u2 parent=a1 about={"fused":2}\n4 assistant 4.0 text ok parent=u2'
    ),
    check=check,
    references=("claude-code #81843: 21 of 30 damaged lines in 10,949 files", "openai/codex #24425"),
    repaired_by=("split-session-line", "quarantine-unreadable-lines"),
    fixed_in_code="Put a line end first where the file ends without one.",
)
