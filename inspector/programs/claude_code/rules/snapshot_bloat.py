"""STORE905: most of a session's file is copies of files, which no request has."""

from collections.abc import Iterator

from inspector.programs.claude_code.snapshots import BLOAT
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    size = (case.tree or case.conversation).fact(BLOAT)
    if size:
        yield Match((), f"{size}: each load reads them, and no request has them.")


RULE = Rule(
    code="STORE905",
    state="CC23",
    name="snapshot-bloat",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="most of the session's file is snapshots of the user's files",
    why=(
        "Versions before 2.1.208 write every file that a turn changes into the session again and again: a session of hundreds of megabytes takes long to open, or does not open. "
        "Tools that prune such files by hand broke their chains. A snapshot has no place in the chain, and is never sent."
    ),
    example='@format claude-code\n@snapshots "812 snapshots of the user\'s files are 71,303,168 of its 77,594,624 bytes"\n1 user 1.0 text go',
    check=check,
    references=("formats/claude_code_codex.md 1.9 (2.1.208: up to 79 times smaller), F14", "cozempic #40, #56 (pruning broke parentUuid)"),
    repaired_by=("set-snapshots-aside",),
    fixed_in_code="Keep copies of files out of the log of a conversation, or keep each content once.",
)
