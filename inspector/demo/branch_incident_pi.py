"""Two sessions of pi whose bytes are damaged: a line that was cut off in the middle, and one that holds two records."""

import re

from inspector.demo.session_rows import SeedSession, assistant, call, file_of, first_rows, result, session_lines, user

TORN = "019c2e10-6a3f-7b41-8c55-2f90d1e7a364"
FUSED = "019c2e4b-0d18-7f02-9a6e-b7c3580e41d9"
FOLDER = "--home-dev-ledger--"
_CWD = "/home/dev/ledger"


def _torn() -> SeedSession:
    rows = (
        *first_rows("high"),
        user("u1", "The totals of the ledger are off by a cent. Why?"),
        assistant("a1", "I look for the rounding.", call("round", "bash", command="grep -n 'round(' ledger/*.py")),
        result("r1", "round", "bash", "ledger/totals.py:41:    return round(sum(lines), 2)"),
        assistant("a2", "The sum is rounded once, the lines are rounded one by one: rounding each line before the sum differs."),
        user("u2", "Use Decimal for all of it."),
        assistant("a3", "", call("edit", "edit", path="ledger/totals.py", oldText="round(sum(lines), 2)", newText="sum(lines, Decimal())")),
        result("r2", "edit", "edit", "Successfully replaced 1 block in ledger/totals.py."),
        assistant("a4", "Done: the totals are Decimal from end to end."),
        user("u3", "Now do the same for the taxes."),
    )
    return SeedSession(TORN, _CWD, "2026-02-05T09:14:27.033Z", rows)


def _fused() -> SeedSession:
    rows = (
        *first_rows("high"),
        user("u1", "Write a test for the import of bank statements."),
        assistant("a1", "", call("read", "read", path="ledger/bank.py")),
        result("r1", "read", "read", "def statements(path):\n    ..."),
        assistant("a2", "I write one for each of the three formats."),
        user("u2", "Two are enough, nobody has the old one."),
        assistant("a3", "Then CSV and CAMT. The tests are in tests/test_bank.py."),
        user("u3", "Do they pass?"),
    )
    return SeedSession(FUSED, _CWD, "2026-02-05T10:18:51.672Z", rows)


def pi_files() -> dict[str, bytes]:
    """Path below the folder of pi's sessions -> content."""
    torn = session_lines(_torn())
    # The answer a2, in line 6: the disk was full in the middle of it.
    torn[6] = torn[6][:211]
    fused = session_lines(_fused())
    # A file that an editor had saved without the last line end: pi up to 0.84.3 wrote the next entry onto the same line.
    fused[6:8] = [fused[6] + fused[7]]
    sessions = ((_torn(), torn), (_fused(), fused))
    return {f"{FOLDER}/{re.sub('[:.]', '-', session.start)}_{session.id}.jsonl": file_of(lines) for session, lines in sessions}
