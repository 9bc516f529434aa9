"""STORE713: a part or message at which every run of the session ends."""

from collections.abc import Iterator

from inspector.programs.opencode.reader import stopping
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for chunk, reason in stopping(case.conversation):
        yield Match((chunk,), f"Every run of the session ends in an error at the part at seq {chunk.seq}: {reason}.")


RULE = Rule(
    code="STORE713",
    state="OC5",
    name="broken-part",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a part or message of the store ends every run of the session",
    why=(
        "opencode parses the JSON of every row of the session before it sends anything, and takes members of parts for granted. Where one is torn it says "
        "`Unexpected server error`, and where a member is missing that or `Invalid prompt`, at each prompt."
    ),
    example='@format opencode\n1 user 0.0 text payload={"type":"text","text":"go","opencode":{"message":0,"role":"user","stops":"not JSON"}}',
    check=check,
    blocks_resume=True,
    references=("opencode 1.18.33, run: a row that is cut off, members of wrong types", "opencode 1.18.33, toModelMessages"),
    repaired_by=("drop-broken-parts",),
    fixed_in_code="Leave out a row that cannot be parsed, and say which.",
)
