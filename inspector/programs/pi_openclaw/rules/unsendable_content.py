"""STORE508: a row at which a program throws before every request: content that pi does not expect, or a time that OpenClaw cannot read."""

from collections.abc import Iterator

from inspector.programs.pi_openclaw.readers.openclaw import untimed_of
from inspector.programs.pi_openclaw.readers.pi import unsendable_of
from inspector.programs.pi_openclaw.readers.unsendable import Unsendable
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded, cached_per_case

_ELSEWHERE = "It stands in an entry that is no message, or in a context edit: correct that line by hand, on a copy."


@cached_per_case
def problems(case: Case) -> list[Unsendable]:
    """On the path. OpenClaw has converters of its own, and reads no row whose content it does not know; of times it takes any text, and parses it later."""
    return [*unsendable_of(case.conversation, case.reading.reader), *untimed_of(case.reading)] if case.reading.failure else []


def stored(case: Case) -> set[int]:
    """Which chunks are blocks of stored messages, by their identity: the others are made by the reader."""
    return {id(chunk) for chunk in case.conversation.chunks}


def check(case: Case) -> Iterator[Match]:
    own = stored(case) if problems(case) else set()
    yield from bounded(_match(problem, id(problem.chunk) in own) for problem in problems(case))


def _match(problem: Unsendable, is_stored: bool) -> Match:
    text = f"{problem.what[:1].upper()}{problem.what[1:]}: {problem.thrown} there, before every request."
    return Match((problem.chunk,), text) if is_stored else Match((problem.chunk,), text, repaired_by=(), no_repair_reason=_ELSEWHERE)


RULE = Rule(
    code="STORE508",
    state="OP18",
    name="unsendable-content",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a message or a block is null, or content is not of the type that pi expects, or the time of a summary is none for OpenClaw: it throws before every request",
    why=(
        "pi reads a session without a check of its types. A line whose message is null ends the build of the context; content of an answer or a result that is a "
        "plain text, a number or an object, or a block that is null or a text without words, ends every conversion for a provider. The session opens, and no request goes out any more. "
        "OpenClaw 2026.7 and 2026.9 read a text for the time of a compaction, of the summary of a branch and of an extension's message, and throw where it is no time."
    ),
    example='@format pi\n1 user 1.0 text go\n2 assistant 2.0 text payload={"type":"text","text":"done","extra":{"string":true},"wire":"pi"}',
    check=check,
    references=(
        "pi 0.73.1 and 0.87.1, measured: SessionManager, transformMessages and the converters of four APIs",
        "OpenClaw 2026.9.6, measured: its session manager over rows of its own store",
    ),
    repaired_by=("wrap-content",),
    fixed_in_code="Store the content of answers and results as a list of blocks, and check what is read before it is used.",
)
