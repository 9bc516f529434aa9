"""STORE803: a conversation that is over a limit of ours, so that nothing is known of it."""

from collections.abc import Iterator

from inspector.programs.formats import UNREAD
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    if reason := case.conversation.fact(UNREAD):
        yield Match((), f"The conversation was not read: it {reason}.")


RULE = Rule(
    code="STORE803",
    state="LIM1",
    name="unread-conversation",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="the conversation is larger than what is read here, and nothing of it was examined",
    why=(
        "One value or file of it is over a limit that keeps the memory of an import within bounds. Whether anything is wrong with it is not known; its program "
        "may read it. The other conversations of the store are read as before."
    ),
    example="@unread holds a value of more than 64 MB, which is over what is read here",
    check=check,
    references=("docs/reference/settings.md: INSPECTOR_LARGEST_VALUE, INSPECTOR_LARGEST_FILE",),
    fixed_in_code="Nothing to fix in code.",
    no_repair_reason="What is not read is not repaired: raise the limit that the sentence names, and import the store again.",
)
