"""STORE902: lines of another session in the file of this one."""

import re
from collections import Counter
from collections.abc import Iterator

from inspector.conversation.edits import ID
from inspector.programs.claude_code.chain import chain_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.counted import counted

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def check(case: Case) -> Iterator[Match]:
    """Of a file whose name is the id of a session; an agent's lines have the id of the session that started it."""
    chain, own = chain_of(case), (case.conversation.fact(ID) or case.conversation.native_id).partition(" ")[0]
    if chain.is_agent or not _UUID.fullmatch(own):
        return
    others = [entry for entry in chain.messages if isinstance(id_ := entry.about.get("sessionId"), str) and id_ != own]
    if not others:
        return
    counts = Counter(str(entry.about["sessionId"])[:60] for entry in others)
    yield Match(
        [chunk for entry in others for chunk in entry.chunks],
        f"{counted(len(others), 'message')} of {len(chain.messages):,} {'has' if len(others) == 1 else 'have'} another session id than the file's name, as those of a session that was continued here have; a resume reads them all the same.",
        evidence=tuple((id_, counted(count, "message")) for id_, count in counts.most_common(4)),
    )


RULE = Rule(
    code="STORE902",
    state="CC18",
    name="other-session-id",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="messages have the id of another session than the file's name",
    why="A session that was continued, copied or renamed keeps lines of the old one. The program finds a session by the name of its file; tools that go by the ids of lines find another one.",
    example='@format claude-code\n@id 9d1f6f6e-0000-4000-8000-000000000001\n1 user 1.0 text go about={"sessionId":"9d1f6f6e-0000-4000-8000-000000000002"}',
    check=check,
    references=("formats/claude_code_codex.md 1.6",),
    no_repair_reason="It is normal after a continuation; a new session that a repair writes has its own id in every line.",
    fixed_in_code="Nothing to fix in code.",
)
