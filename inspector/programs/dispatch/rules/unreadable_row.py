"""STORE101: a row whose value is no JSON, or none that can be read."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text import limits

NOT_JSON = frozenset({"not-json", "not-utf8", "not-text"}) | limits.OWN_DAMAGE


def check(case: Case) -> Iterator[Match]:
    for chunk in case.conversation.chunks:
        if chunk.damage in NOT_JSON:
            yield Match(
                (chunk,), f"The row at seq {chunk.seq} cannot be read: {chunk.reason}.", evidence=(("bytes", f"{len(chunk.raw):,}"),)
            )


RULE = Rule(
    code="STORE101",
    state="J2",
    name="unreadable-row",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a row holds no readable JSON",
    why=(
        "In dispatch.db of today: loaders before b58fb83 throw on it, so the conversation cannot be opened; later ones skip it, which only a line of their log says, "
        "and a call or result is missing from the request; the history view of the frontend fails in every version. "
        "In the old store (tables chunks and tabs): its program read the row as empty text, so what it said is missing without notice."
    ),
    example='1 user 0.0 text go\n2 - - unreadable "{broken" damage=not-json reason="not JSON"',
    check=check,
    references=("Dispatch store tests, corrupt row",),
    repaired_by=("rebuild-unreadable-row", "replace-unreadable-row"),
    fixed_in_code="Skip and report a row that does not parse (b58fb83), in the history view as well. No program runs on the old store any more.",
)
