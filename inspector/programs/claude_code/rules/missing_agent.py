"""STORE904: agents whose results are in the session, and whose own files are not in the folder."""

from collections.abc import Iterator

from inspector.programs.claude_code.around import MISSING_AGENTS
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.counted import counted

_SHOWN = 200


def check(case: Case) -> Iterator[Match]:
    """Of a session whose folder was read: of a file that was opened alone, nobody knows what is next to it."""
    missing = (case.tree or case.conversation).fact(MISSING_AGENTS)
    if missing:
        ids = missing.split(", ")
        text = f"Results of {counted(len(ids), 'agent')} are in the session, and {'its file is' if len(ids) == 1 else 'their files are'} not in the folder: what {'it' if len(ids) == 1 else 'they'} did in between cannot be shown."
        yield Match((), text, evidence=(("agents", missing[:_SHOWN]),))


RULE = Rule(
    code="STORE904",
    state="CC22",
    name="missing-agent",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="a result names an agent whose file is not in the folder",
    why="An agent writes its lines into a file of its own. A cleanup, a copy of single files or a move leaves it out; the session itself has the result, and is resumed as before.",
    example='@format claude-code\n@missingAgents "a21e2f5, ac47f8c"\n1 user 1.0 text go',
    check=check,
    references=("formats/claude_code_codex.md 1.1, 9 (side.missing_subagent)",),
    no_repair_reason="What the agent said is in no file here: look among backups of the folder. No request of this session depends on it.",
    fixed_in_code="Remove the files of a session and of its agents together.",
)
