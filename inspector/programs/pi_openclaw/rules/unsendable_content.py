"""STORE508: a message at which pi throws before every request: it is null, or its content is not of the type that pi expects."""

from collections.abc import Iterator

from inspector.programs.pi_openclaw.readers.pi import unsendable_of
from inspector.programs.pi_openclaw.readers.unsendable import Unsendable
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded, cached_per_case

_ELSEWHERE = "It stands in an entry that is no message, or in a context edit: correct that line by hand, on a copy."


@cached_per_case
def problems(case: Case) -> list[Unsendable]:
    """On the path, and only where the reader is pi's: OpenClaw has converters of its own."""
    return unsendable_of(case.conversation, case.reading.reader) if case.reading.failure else []


def stored(case: Case) -> set[int]:
    """Which chunks are blocks of stored messages, by their identity: the others are made by the reader."""
    return {id(chunk) for chunk in case.conversation.chunks}


def check(case: Case) -> Iterator[Match]:
    own = stored(case) if problems(case) else set()
    yield from bounded(_match(problem, id(problem.chunk) in own) for problem in problems(case))


def _match(problem: Unsendable, is_stored: bool) -> Match:
    text = f"{problem.what[:1].upper()}{problem.what[1:]}: pi throws a TypeError there, before every request."
    return Match((problem.chunk,), text) if is_stored else Match((problem.chunk,), text, repaired_by=(), no_repair_reason=_ELSEWHERE)


RULE = Rule(
    code="STORE508",
    state="OP18",
    name="unsendable-content",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a message or a block is null, or content is not of the type that pi expects, and it throws before every request",
    why=(
        "pi reads a session without a check of its types. A line whose message is null ends the build of the context; content of an answer or a result that is a "
        "plain text, a number or an object, or a block that is null or a text without words, ends every conversion for a provider. The session opens, and no request goes out any more."
    ),
    example='@format pi\n1 user 1.0 text go\n2 assistant 2.0 text payload={"type":"text","text":"done","extra":{"string":true},"wire":"pi"}',
    check=check,
    references=("pi 0.73.1 and 0.87.1, measured: SessionManager, transformMessages and the converters of four APIs",),
    repaired_by=("wrap-content",),
    fixed_in_code="Store the content of answers and results as a list of blocks, and check what is read before it is used.",
)
