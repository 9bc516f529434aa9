"""STORE711: parts of a message that is not there."""

from collections.abc import Iterator
from typing import Any

from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text import jsontext

_SHOWN = 8


def check(case: Case) -> Iterator[Match]:
    orphans = [part for part in listed(case, "orphanParts") if isinstance(part, dict)]
    if orphans:
        messages = {part.get("message") for part in orphans}
        yield Match(
            (),
            f"{len(orphans)} part{'s' if len(orphans) > 1 else ''} belong to {len(messages)} message{'s' if len(messages) > 1 else ''} of this session "
            "that the store does not have: opencode never reads them.",
            evidence=tuple((str(part.get("part"))[:80], f"{part.get('type')}: {part.get('begins')}"[:120]) for part in orphans[:_SHOWN]),
        )


def listed(case: Case, name: str) -> list[Any]:
    """A fact that is a list."""
    value = jsontext.object_of('{"list":' + (case.conversation.fact(name) or "[]") + "}").get("list")
    return value if isinstance(value, list) else []


RULE = Rule(
    code="STORE711",
    state="OC3",
    name="orphan-part",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="parts are stored whose message is gone",
    why="Retried steps and a migration that was cut off leave parts behind, 311 in 44 sessions of one user. What they say is in no request.",
    example='@format opencode\n@orphanParts "[{\\"part\\":\\"prt_1\\",\\"message\\":\\"msg_1\\",\\"type\\":\\"tool\\"}]"\n1 user 0.0 text go',
    check=check,
    references=("anomalyco/opencode #10616",),
    no_repair_reason="A part without its message has no place in the session; an import file leaves it out.",
    fixed_in_code="Remove the parts with their message, in one transaction.",
)
