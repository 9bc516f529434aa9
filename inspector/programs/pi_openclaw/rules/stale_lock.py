"""STORE505: a lock file next to a session, left behind or held for long."""

import re
from collections.abc import Iterator

from inspector.programs.pi_openclaw.entries import moment
from inspector.programs.pi_openclaw.rules.session_tree import whole
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.durations import duration

STALE_MS = 30 * 60 * 1000
_SINCE = re.compile(r"since (\S+)")


def check(case: Case) -> Iterator[Match]:
    """A lock that is younger than OpenClaw's own limit is that of a program at work."""
    lock = whole(case).fact("lock")
    if lock is None:
        return
    pid, since = whole(case).fact("lockPid"), _SINCE.search(lock)
    at = moment(since[1]) if since else None
    if pid is None:
        yield Match((), f"Next to the session {lock}.")
        return
    if at is None or case.taken_at is None:
        yield Match((), f"The session is locked: {lock[:120]}. How long ago that was is not known.", evidence=(("process", pid[:20]),))
        return
    age = case.taken_at - at
    if age >= STALE_MS:
        yield Match(
            (),
            f"The session is locked: {lock[:120]}, {duration(age)} before it was read. OpenClaw takes a lock for stale after 30 minutes, or when that process is gone.",
            evidence=(("process", pid[:20]), ("age", duration(age))),
        )


RULE = Rule(
    code="STORE505",
    state="OP15",
    name="stale-lock",
    severity=Severity.NOTE,
    silent=False,
    origin=Origin.STORE,
    summary="a lock file is next to the session, and seems to be left behind",
    why="A gateway that died holding the lock lets every later one wait, and then fail with `session file locked`. Taking away the lock of one that lives lets two write at once.",
    example='@format openclaw\n@lock "there is a lock file that names no process; OpenClaw takes it for stale"\n1 user 1.0 text go',
    check=check,
    references=(
        "openclaw/openclaw #18140",
        "openclaw/openclaw #86801",
        "openclaw/openclaw #10170",
    ),
    no_repair_reason="Look whether that process still runs; only when it does not, take the lock file away by hand.",
    fixed_in_code="Look whether the holder lives, with its start time, before a lock is waited for.",
)
