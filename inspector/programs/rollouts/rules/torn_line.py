"""STORE402: a line of messages.jsonl that is no JSON object."""

from collections.abc import Iterator

from inspector.programs.rollouts.rules.unloadable_session import is_session, is_torn, refused_lines
from inspector.rules.base import Case, Match, Origin, Rule, Severity

SHOWN = 80


def check(case: Case) -> Iterator[Match]:
    for chunks, problem in refused_lines(case) if is_session(case) else ():
        if is_torn(chunks, problem):
            torn = chunks[0]
            is_last = torn is case.conversation.chunks[-1]
            yield Match(
                (torn,),
                f"The {'last line' if is_last else 'line'} at seq {torn.seq} is torn ({torn.reason}): the whole session does not load, though it is listed.",
                evidence=(
                    ("bytes", f"{len(torn.raw):,}"),
                    ("begins with", repr(torn.raw[:SHOWN])[2:-1]),
                    *((("ends with", repr(torn.raw[-SHOWN:])[2:-1]),) if len(torn.raw) > SHOWN else ()),
                ),
            )


RULE = Rule(
    code="STORE402",
    state="RO1",
    name="torn-line",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a line of the messages file is cut off or damaged",
    why="Lines are appended without a lock and without fsync: a crash, or two processes at once, leave half a line. rollouts then loads nothing of the session.",
    example='@format rollouts\nline {"role":"user","content":"go"}\nline {"role":"assistant","content":[{"type":"te',
    check=check,
    references=("rollouts store.py 0779491, run: JSONDecodeError for the session",),
    repaired_by=("drop-unreadable-lines",),
    fixed_in_code="Leave out a last line that does not parse, and say so; write a line and its end at once.",
)
