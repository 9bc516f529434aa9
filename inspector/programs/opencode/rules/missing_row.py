"""STORE712: a row or file that others refer to is missing."""

from collections.abc import Iterator

from inspector.programs.opencode.chunks import about
from inspector.programs.opencode.rules.orphan_part import listed
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    if case.conversation.fact("missingSession"):
        yield Match((), "Messages or parts name this session, and the session itself is missing: opencode does not list it.")
    parents = [str(parent) for parent in listed(case, "missingParents")]
    if parents:
        text = f"Answers name {len(parents)} message{'s' if len(parents) > 1 else ''} of the user that the store does not have ({', '.join(parents)[:120]})."
        yield Match((), text, severity=Severity.WARNING)
    for chunk in case.conversation.chunks:
        head = about(chunk)
        if head.get("parts") == 0 and head.get("finish") and head.get("role") == "assistant":
            text = (
                f"The answer at seq {chunk.seq} was finished, and has no parts: what it said is missing, and opencode sends nothing of it."
            )
            yield Match((chunk,), text, severity=Severity.WARNING)


RULE = Rule(
    code="STORE712",
    state="OC4",
    name="missing-row",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a session, a message or its parts are missing that others refer to",
    unnoticed="content lost",
    why=(
        "The move from JSON files to the database skipped parts and sessions where it was cut off, and later versions do not try again. "
        "The old tree may still have them."
    ),
    example="@format opencode\n@missingSession yes\n1 user 0.0 text go",
    check=check,
    references=(
        "anomalyco/opencode #13560",
        "anomalyco/opencode #13654",
        "anomalyco/opencode #13818",
        "anomalyco/opencode #15884",
        "anomalyco/opencode #36178",
    ),
    no_repair_reason="The store does not have it: open the old tree (`storage` next to the database) and import the session from there.",
    fixed_in_code="Count the rows after a migration, and keep foreign keys on.",
)
