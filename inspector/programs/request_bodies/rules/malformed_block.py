"""STORE409: a message or block of a request body that is none of the kinds which its shape has."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for chunk in case.conversation.chunks:
        if chunk.kind is Kind.UNREADABLE:
            yield Match((chunk,), f"The content at seq {chunk.seq} is no message or block that this shape has: {chunk.reason}.")


RULE = Rule(
    code="STORE409",
    state="RO27",
    name="malformed-block",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a message or block of a request is of a type that its shape does not have",
    why="Providers check the types of a body before anything else, and say so in words of their own; what the block was meant to be is not known.",
    example='@format anthropic-request\n1 user 0.0 text go\n2 assistant 1.0 unreadable "7" damage=wrong-type reason="content is a number, neither text nor a list"',
    check=check,
    references=("types of the published request schemas",),
    no_repair_reason="What it was meant to say is not known; repair the code that built the request, or take the message out by hand.",
    fixed_in_code="Build the request with the provider's own types, which refuse such a block before it is sent.",
)
