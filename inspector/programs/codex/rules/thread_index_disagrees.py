"""STORE817: Codex's list of threads and the rollout files say different things."""

from collections.abc import Iterator

from inspector.programs.codex.state import INDEX, WITHOUT_FILE
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    whole = case.tree or case.conversation
    for name in (INDEX, WITHOUT_FILE):
        if text := whole.fact(name):
            yield Match((), f"{text}.")


RULE = Rule(
    code="STORE817",
    state="CX9",
    name="thread-index-disagrees",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="the list of threads (state_N.sqlite) has no row for a file, no file for a row, or another path",
    why=(
        "Codex lists threads from the table `threads` in its home, which is filled from the rollout files and by the program as it runs. A file that was moved, restored or deleted by hand leaves the "
        "two apart: a thread is not shown, or is shown and does not open. The files are the threads; the list is made of them."
    ),
    example=(
        '@format codex\n@threadIndex "state_5.sqlite has no row for this thread: Codex\'s list does not show it. The list was never filled from this file, or the row was deleted on purpose"\n'
        "1 user 1.0 text go"
    ),
    check=check,
    references=("openai/codex #38552 (stale rows)", "formats/claude_code_codex.md 2.1, 2.3"),
    no_repair_reason=(
        "Nothing is written into Codex's database. A file that is there is resumed by its id (`codex resume ID`), listed or not; which of the two readings holds is known to who moved or deleted the file."
    ),
    fixed_in_code="Compare the list with the files when it is opened, and drop or mark rows whose file is gone.",
)
