"""MSG407: an image that Anthropic rejects, by the header of its bytes."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.rules.rejected_images import rejected

_RULES = {
    "empty": "AN-20e",
    "media-type": "AN-20y",
    "bytes": "AN-20b",
    "unreadable": "AN-20p",
    "mismatch": "AN-20t",
    "pixels": "AN-20",
    "pixels-of-many": "AN-20m",
}


def check(case: Case) -> Iterator[Match]:
    if case.program.providers.sent_to(case) not in ("anthropic", ""):
        return
    for picture, why in rejected(case):
        where = (
            f"block {picture.place + 1} of the result at seq {picture.chunk.seq}"
            if picture.place is not None
            else f"seq {picture.chunk.seq}"
        )
        yield Match(
            (picture.chunk,), f"The image in {where} {why.about}: Anthropic rejects every request that has it ({_RULES[why.kind]})."
        )


RULE = Rule(
    code="MSG407",
    state="CC9",
    name="rejected-image",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="an image is too large, is of another format than it says, or is no image",
    why=(
        "A screenshot that was pasted or read is stored as it is, and sent again with every request. One that the provider rejects stops the session permanently; "
        "a compaction sends it too, and fails with the same error."
    ),
    example='@format claude-code\n1 user 1.0 image payload={"type":"image","url":"data:image/png;base64,bm90IGFuIGltYWdl"}\n2 assistant 2.0 text hi',
    check=check,
    blocks_resume=True,
    references=(
        "anthropics/claude-code #4778, #11181, #12750, #15746, #60920",
        "AN-20 of the rules on Anthropic",
        "formats/claude_code_codex.md, F9",
    ),
    repaired_by=("replace-rejected-images",),
    fixed_in_code="Look at the header of an image before it is stored, and scale it down.",
)
