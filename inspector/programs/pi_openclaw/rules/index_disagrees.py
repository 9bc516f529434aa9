"""STORE506: the list of sessions and the session files say different things."""

from collections.abc import Iterator

from inspector.programs.pi_openclaw.readers.rows import OPENCLAW_SQLITE
from inspector.programs.pi_openclaw.rules.session_tree import whole
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_IN_STORE = "The list belongs to the running gateway, and nothing is written into its store: stop it, and look at the session with the program's own doctor."


def check(case: Case) -> Iterator[Match]:
    text = whole(case).fact("index")
    if text:
        key = whole(case).fact("sessionKey")
        evidence = (("session key", key[:160]),) if key else ()
        in_store = _IN_STORE if case.conversation.format == OPENCLAW_SQLITE else ""
        yield Match((), text if text.endswith(".") else f"{text}.", evidence=evidence, no_repair_reason=in_store)


RULE = Rule(
    code="STORE506",
    state="OP16",
    name="index-disagrees",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="the list of sessions and the file of this session disagree",
    why="OpenClaw finds a session by its entry in sessions.json. Without one the session is not in the list though its file is there; with a wrong one it opens another file, or none.",
    example='@format openclaw\n@index "sessions.json has no entry for this session: the list does not show it."\n1 user 1.0 text go',
    check=check,
    blocks_resume=True,
    references=("openclaw #73471, #89170 (the doctor and files without an entry), #26468",),
    no_repair_reason=(
        "The list belongs to the running gateway: stop it and write the entry of the session into sessions.json by hand. OpenClaw's doctor does not write it: "
        "up to 2026.7 it offers to rename files without an entry to .deleted. A repair as a new session writes the entry of the new one."
    ),
    fixed_in_code="Write the list and the file so that one can be rebuilt from the other.",
)
