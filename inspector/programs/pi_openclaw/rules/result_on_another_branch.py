"""TREE106: a call without its result on the path, whose real result is on another branch."""

from collections.abc import Iterator

from inspector.programs.pi_openclaw.rules.session_calls import on_other_branches
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded


def check(case: Case) -> Iterator[Match]:
    entry_of = {chunk.key: chunk.key.rpartition(".")[0] for chunk in case.conversation.chunks}
    yield from bounded(
        Match(
            (elsewhere.call, elsewhere.result),
            f"The call of {elsewhere.call.tool_name[:60]} at seq {elsewhere.call.seq} {elsewhere.instead}; its real one is at seq {elsewhere.result.seq}, on another branch. "
            f"No synthetic text is needed for it: lead the path from the call (entry {entry_of[elsewhere.call.key][:40]!r}) through the result (entry {elsewhere.entry.id[:40]!r}).",
            evidence=(
                ("the result", elsewhere.result.text[:160] or "(nothing)"),
                ("on the path, but for it", _next(case, elsewhere.call.key)),
                *effects("other-branch"),
            ),
        )
        for elsewhere in on_other_branches(case)
    )


def _next(case: Case, key: str) -> str:
    """What the path has after the message of the call."""
    for message, following in zip(case.messages, case.messages[1:], strict=False):
        if any(chunk.key == key for chunk in message.chunks):
            first = following.chunks[0]
            return f"{following.role} at seq {first.seq} (entry {first.key.rpartition('.')[0][:40]!r})"
    return "nothing: the path ends with the call"


RULE = Rule(
    code="TREE106",
    state="OP6",
    name="result-on-another-branch",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="the result of a call is on another branch than the live path",
    why=(
        "The next entry was hung below the call instead of below its result, by a second process or by a leaf that was not moved on. The file is complete, the path is not: "
        "programs add a synthetic result for a call whose real one they have on disk."
    ),
    example="@format pi\n1 user 1.0 text go\n2 assistant 2.0 tool-call c ls {} entry=a1\n3 tool 3.0 tool-result c f entry=r1\n4 user 4.0 text and? parent=a1",
    check=check,
    references=(
        "openclaw/openclaw #4553",
        "openclaw/openclaw #64287",
        "openclaw/openclaw #98790",
        "the review of openclaw pull request 3565",
    ),
    repaired_by=("reparent-to-result",),
    fixed_in_code="Append below the result that was written last, and write the results of a batch one below the other.",
)
