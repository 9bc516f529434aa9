"""Sessions that are trees: an OpenClaw folder in which a real result is on a branch off the live path, and a pi folder with damaged lines.

The shapes are those of OpenClaw's issue 4553 and of the review of its pull request 3565; the words are our own.
"""

from inspector.demo.branch_incident_pi import pi_files
from inspector.demo.session_rows import (
    MODEL,
    SeedRow,
    SeedSession,
    assistant,
    call,
    file_of,
    first_rows,
    milliseconds,
    result,
    session_lines,
    user,
)
from inspector.text import jsontext
from inspector.text.js_json import stringify

BRANCHED = "5f1c27d0-9b1e-4c56-8d2f-6a3be0c41a07"
LATE = "8a40e6b3-2d77-4f19-b0c5-1e9d5f7a2c38"
HIDDEN = "c3d95b12-70fe-4a86-9e41-d2b80f6c15e9"
CLEAN = "e7b2084f-51ac-4d3b-a6f8-93c1d07e4b52"
REAL_OUTPUT = "checked 18,204 files, sent 41.2 GB in 3 h 52 min\nskipped 3: Permission denied\nbackup complete, exit code 0"
SESSIONS = "agents/main/sessions"
_CWD = "/home/dev/.openclaw/workspace"
_KEYS = {
    BRANCHED: "agent:main:main",
    LATE: "agent:main:telegram:direct:2041",
    HIDDEN: "agent:main:discord:channel:7713",
    CLEAN: "agent:main:cron:morning",
}


def _first_rows(start: str) -> tuple[SeedRow, ...]:
    snapshot = {"timestamp": milliseconds(start), "provider": "anthropic", "modelApi": "anthropic-messages", "modelId": MODEL}
    return (*first_rows(), SeedRow("snapshot", "custom", {"customType": "model-snapshot", "data": snapshot}, seconds=0))


def _branched() -> SeedSession:
    """The result `r4` and the user's `u4` are both children of the call `a6`: the gateway that received `u4` had not seen the result."""
    start = "2026-02-03T19:02:11.480Z"
    summary = "## Goal\nFind out why the nightly backup of the photos stopped.\n\n## Done\nThe timer works. rsync was closed by the NAS on 1 February."
    rows = (
        *_first_rows(start),
        user("u1", "The nightly backup of the photos has stopped. Find out why."),
        assistant("a1", "I look at the timer first.", call("timer", "exec", command="systemctl status photo-backup.timer")),
        result("r1", "timer", "exec", "active (waiting) since Sun 2026-01-11; last trigger: Tue 2026-02-03 02:00:00 UTC"),
        assistant("a2", "The timer works, so the job itself fails.", call("journal", "exec", command="journalctl -u photo-backup -n 20")),
        result(
            "r2", "journal", "exec", "rsync: connection unexpectedly closed (0 bytes received so far)\nphoto-backup.service: exit code 12"
        ),
        assistant("a3", "The NAS closed the connection during the transfer on 1 February, and has done so every night since."),
        SeedRow("mark", "label", {"targetId": "a3", "label": "diagnosis"}, seconds=1),
        user("u2", "Is the disk of the NAS full?"),
        assistant("a4", "", call("disk", "exec", command="ssh nas df -h /volume1")),
        result("r3", "disk", "exec", "/dev/md2  10.9T  9.1T  1.8T  84% /volume1"),
        assistant("a5", "No: 84 % are used. The NAS was restarted this morning, so the next run may well succeed."),
        SeedRow("sum", "compaction", {"summary": summary, "firstKeptEntryId": "u2", "tokensBefore": 81290, "fromHook": False}, seconds=12),
        user("u3", "Then run it by hand now, and tell me what it says."),
        assistant("a6", "I start the backup. It may take hours.", call("backup", "exec", command="photo-backup --once --verbose")),
        result("r4", "backup", "exec", REAL_OUTPUT, seconds=13940),
        user("u4", "Is it done?", after="a6", seconds=95),
        assistant("a7", "I have no output of the backup, so it seems to have failed. I would start it again."),
        user("u5", "Please do not start it twice. What did it say?"),
    )
    return SeedSession(BRANCHED, _CWD, start, rows)


def _late() -> SeedSession:
    """The reviewers' case: the result of the first call is two turns later, among the results of another one."""
    start = "2026-02-04T08:11:40.205Z"
    rows = (
        *_first_rows(start),
        user("u1", "Which of our invoices of January are not paid?"),
        assistant("a1", "I ask the bookkeeping.", call("books", "exec", command="books list --unpaid --month 2026-01")),
        user("u2", "While that runs: what is today's exchange rate, roughly?", seconds=20),
        assistant("a2", "About 1.18 dollars for a euro. The bookkeeping has not answered yet."),
        user("u3", "And when is the tax return due?", seconds=41),
        assistant("a3", "I look it up.", call("tax", "exec", command="calendar find 'tax return'")),
        result("r1", "books", "exec", "2026-014  Harbour Café  1,240.00\n2026-019  Studio Lindqvist  310.50"),
        result("r2", "tax", "exec", "10 February 2026: tax return, January", seconds=1),
        user("u4", "Good. Remind those who have not paid."),
    )
    return SeedSession(LATE, _CWD, start, rows)


def _hidden() -> SeedSession:
    """The parent of `u6` never reached the disk."""
    start = "2026-02-02T16:30:02.911Z"
    exchanges = (
        ("Help me plan the move of the workshop.", "Gladly. What is the new address, and when do you get the keys?"),
        ("Dock 4, and the keys on 20 February.", "Then the heavy machines can go on the 21st, a Saturday."),
        ("The lathe weighs 900 kg.", "It needs a forklift on both sides. The quay has one until noon."),
        ("Book it for ten.", "Noted: forklift at ten, the lathe first, the bench drill after it."),
        ("The van takes 1.2 tonnes.", "Two trips, then: the lathe alone, and all the rest."),
    )
    rows = list(_first_rows(start))
    for number, (question, answer) in enumerate(exchanges, start=1):
        rows += [user(f"u{number}", question), assistant(f"a{number}", answer)]
    rows += [
        user("u6", "So what time must I be there?", after="lost", seconds=52000),
        assistant("a6", "I do not know yet what you are planning. Can you tell me more?"),
        user("u7", "The move! We spoke about it at length."),
    ]
    return SeedSession(HIDDEN, _CWD, start, tuple(rows))


def _clean() -> SeedSession:
    start = "2026-02-04T07:00:00.120Z"
    rows = (
        *_first_rows(start),
        user("u1", "Good morning. What is on today?", seconds=1),
        assistant("a1", "", call("today", "exec", command="calendar today")),
        result("r1", "today", "exec", "10:00 dentist\n14:00 call with the harbour office"),
        assistant("a2", "The dentist at ten, and a call with the harbour office at two."),
        user("u2", "Thank you."),
    )
    return SeedSession(CLEAN, _CWD, start, rows)


def openclaw_files() -> dict[str, bytes]:
    """Path below the folder of OpenClaw -> content."""
    sessions = (_branched(), _late(), _hidden(), _clean())
    index = {
        _KEYS[session.id]: {"sessionId": session.id, "updatedAt": milliseconds(session.start), "modelProvider": "anthropic", "model": MODEL}
        for session in sessions
    }
    files = {f"{SESSIONS}/{session.id}.jsonl": file_of(session_lines(session)) for session in sessions}
    return files | {f"{SESSIONS}/sessions.json": _pretty(index)}


def _pretty(index: dict[str, dict[str, object]]) -> bytes:
    """As JSON.stringify indents by two."""
    entries = (
        f"  {stringify(key)}: {{\n" + ",\n".join(f"    {stringify(name)}: {stringify(value)}" for name, value in entry.items()) + "\n  }"
        for key, entry in index.items()
    )
    return jsontext.encode("{\n" + ",\n".join(entries) + "\n}")


__all__ = ["BRANCHED", "CLEAN", "HIDDEN", "LATE", "REAL_OUTPUT", "SESSIONS", "openclaw_files", "pi_files"]
