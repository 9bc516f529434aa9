"""STORE504: a line that is no entry: no JSON at all, no object, without an id, or with a message of no known shape."""

from collections.abc import Iterator, Mapping

from inspector.conversation.model import Chunk
from inspector.conversation.tree import Entry
from inspector.programs.pi_openclaw.readers.pi import stopping_lines
from inspector.programs.pi_openclaw.readers.rows import is_below
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.programs.pi_openclaw.rules.session_tree import name, tree_of, whole
from inspector.programs.pi_openclaw.rules.unsendable_content import problems
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded, over_our_limit
from inspector.text import limits
from inspector.text.jsontext import compact

_ELSEWHERE = ("torn", "nul")
_BY_HAND = "Take the line out by hand, on a copy: no entry is in it, and nothing hangs below it."


def check(case: Case) -> Iterator[Match]:
    """Not the last row: where that is no entry, TREE107 says what follows. Nor content at which pi throws, which is STORE508."""
    chunks = whole(case).chunks
    last = tree_of(case).all[-1:]
    ending = {chunk.key for entry in last if not entry.id for chunk in entry.chunks} | {
        chunk.key for chunk in chunks[-1:] if chunk.damage == "not-object"
    }
    stops = stopping_lines(case.conversation, case.reading.reader)
    ending |= {problem.chunk.key for problem in problems(case)}
    ending -= {chunk.key for chunk in chunks[-1:] if chunk.seq in stops}
    damaged = (chunk for chunk in chunks if chunk.damage and chunk.damage not in _ELSEWHERE and chunk.key not in ending)
    yield from bounded(_match(chunk, chunk.seq in stops) for chunk in damaged)
    if not is_below(whole(case), 3):
        yield from bounded(
            _of_hook(entry) for entry in tree_of(case).all if entry.type == "message" and entry.about.get("role") == "hookMessage"
        )
    yield from bounded(_of_no_role(entry) for entry in tree_of(case).all if entry.type == "message" and not _has_role(entry))


def _match(chunk: Chunk, stops: bool) -> Match:
    if chunk.damage == "no-id":
        text = f"The row at seq {chunk.seq} has no id: nothing can hang below it, and no path leads to it."
        return Match((chunk,), text, evidence=_begins(chunk))
    if isinstance(chunk.payload.get("entry"), Mapping):
        what = f"A block of the message at seq {chunk.seq}" if chunk.chunk_idx is not None else f"The entry at seq {chunk.seq}"
        return Match((chunk,), f"{what} is of no shape that programs know: {chunk.reason}.", evidence=_begins(chunk))
    if chunk.damage in limits.OWN_DAMAGE:
        return over_our_limit(chunk, f"The line at seq {chunk.seq}", _begins(chunk))
    if stops:
        text = f"The line at seq {chunk.seq} is no entry: {chunk.reason}. pi does not skip it, but throws a TypeError there when it opens the file."
        return Match((chunk,), text, severity=Severity.ERROR, evidence=_begins(chunk), no_repair_reason=_BY_HAND)
    return Match(
        (chunk,),
        f"The line at seq {chunk.seq} is no entry: {chunk.reason}. Programs skip it without an error.",
        evidence=(*_begins(chunk), *effects("line")),
    )


def _has_role(entry: Entry) -> bool:
    return any(chunk.role or chunk.damage for chunk in entry.chunks)


def _of_no_role(entry: Entry) -> Match:
    role = compact(entry.about.get("role"))[:40]
    text = (
        f"The message {name(entry)} has the role {role}, which no program knows: pi hands it on as it is, OpenClaw 2026.7 drops the line."
    )
    return Match(entry.chunks, text)


def _of_hook(entry: Entry) -> Match:
    text = f"The message {name(entry)} has the role hookMessage, which programs know in files below version 3 only: they leave it out."
    return Match(entry.chunks, text)


def _begins(chunk: Chunk) -> tuple[tuple[str, str], ...]:
    return (("begins with", repr(chunk.raw[:80])[2:-1]),) if chunk.raw else ()


RULE = Rule(
    code="STORE504",
    state="OP14",
    name="foreign-line",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a line of the session file is no entry that programs know",
    why="Another program, a log line or a hand put it there. The programs skip it without an error; whoever wrote it believes that it counts.",
    example='@format pi\n1 user 1.0 text go\n2 - 2.- unreadable "Error: x" damage=not-json reason="not JSON"\n3 assistant 3.0 text done',
    check=check,
    references=("pi session reader, measured on 0.73.1 and 0.87.1",),
    no_repair_reason="It does no harm where it is, and may say what happened: read it, and leave it.",
    fixed_in_code="Write logs to another file than the session.",
)
