"""STORE903: the list of a folder's sessions does not have this one."""

from collections.abc import Iterator

from inspector.programs.claude_code.folder import UNLISTED
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    why = (case.tree or case.conversation).fact(UNLISTED)
    if why:
        yield Match((), f"{why}: versions that go by the list answer `No conversation found with session ID`, others find the file.")


RULE = Rule(
    code="STORE903",
    state="CC21",
    name="unlisted-session",
    severity=Severity.NOTE,
    silent=False,
    origin=Origin.STORE,
    summary="the sessions-index.json next to the session does not list it",
    why="The list is a copy of what the session files say, and is often old: a crash, a second process or a restored file leaves sessions out of it. Their files are whole.",
    example='@format claude-code\n@unlisted "sessions-index.json lists 2 sessions of this folder, and not this one"\n1 user 1.0 text go',
    check=check,
    references=(
        "anthropics/claude-code #18311, #22114 (6 of 38 listed), #25032, #25685 (deleting the file makes the program write it again)",
        "anthropics/claude-code #26485, #28587, #44346 (no version after about 2.1.30 adds a row)",
        "anthropics/claude-code #39667 (47 rows, and no file of any)",
        "formats/claude_code_codex.md, F12",
    ),
    no_repair_reason=(
        "The list holds nothing that the session files do not: move sessions-index.json away while the program is not running. Versions that go by it write a new one from the files of the folder, "
        "later ones look at the files alone. A single row is neither written nor deleted here: no version was seen to fill in a row that is missing, which is how this session got lost from the list."
    ),
    fixed_in_code="Take a list for a cache: compare it with the files of the folder before a session is reported as not found.",
)
