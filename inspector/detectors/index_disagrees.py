"""STORE506: the list of sessions and the session files say different things."""

from collections.abc import Iterator

from inspector.detectors.base import Case, Fault, Hit, Rule, Severity
from inspector.detectors.session_effects import SESSIONS
from inspector.detectors.session_tree import whole


def check(case: Case) -> Iterator[Hit]:
    said = whole(case).fact("index")
    if said:
        key = whole(case).fact("sessionKey")
        yield Hit((), said if said.endswith(".") else f"{said}.", evidence=(("session key", key[:160]),) if key else ())


RULE = Rule(
    code="STORE506",
    state="OP16",
    name="index-disagrees",
    severity=Severity.WARNING,
    silent=True,
    fault=Fault.STORE,
    summary="the list of sessions and the file of this session disagree",
    why="OpenClaw finds a session by its entry in sessions.json. Without one the session is not in the list though its file is there; with a wrong one it opens another file, or none.",
    example='@format openclaw\n@index "sessions.json has no entry for this session: the list does not show it."\n1 user 1.0 text go',
    check=check,
    formats=SESSIONS,
    references=("openclaw #73471, #89170, #26468",),
    unmended="The list belongs to the running gateway: stop it, and give the session its entry with the program's own doctor, or by hand on a copy.",
    fixed_in_code="Write the list and the file so that one can be rebuilt from the other.",
)
