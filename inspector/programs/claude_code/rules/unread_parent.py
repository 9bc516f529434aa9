"""TREE208: a line that hangs below a line of a type that a resume does not read."""

from collections.abc import Iterator

from inspector.conversation.queries import span_text
from inspector.programs.claude_code.chain import chain_of, chunks_of, name
from inspector.programs.claude_code.detours import detours
from inspector.programs.claude_code.versions import CHAIN, known_defects
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text.counted import counted

_SHOWN = 8
_NEAR = "No request depends on it: choose relink-past-unread-line where another program reads the session too."


def check(case: Case) -> Iterator[Match]:
    lines = [detour for detour in detours(case) if detour.is_unread]
    if not lines:
        return
    far = [detour for detour in lines if not detour.is_near]
    types = ", ".join(dict.fromkeys(detour.below.type[:40] for detour in lines))
    seqs = span_text([detour.entry.chunks[0].seq for detour in lines])
    start = f"{counted(len(lines), 'line')} (seq {seqs}) {'hangs' if len(lines) == 1 else 'hang'} below {types}, of which Claude Code 2.1.332 reads no parent"
    is_repeated = any(detour.is_repeated for detour in lines)
    if far:
        text = f"{start}: a resume begins at seq {far[-1].entry.chunks[0].seq} and has forgotten what was said before"
    elif is_repeated:
        text = f"{start}, and that have one uuid several times: 2.1.332 goes on by the times of the lines, and versions that go by the uuid lose what is between two of them"
    else:
        text = f"{start}: it goes on to the message before, which is at most 5 seconds older, so that nothing is lost"
    yield Match(
        chunks_of([detour.entry for detour in lines]),
        f"{text}; {chain_of(case).reach} here.",
        severity=None if far else Severity.WARNING if is_repeated else Severity.NOTE,
        evidence=(
            *(
                (name(detour.entry), f"{detour.below.type[:40]} {name(detour.below)}, which hangs below {name(detour.parent)}")
                for detour in lines[:_SHOWN]
            ),
            *known_defects(lines[0].entry.about.get("version"), CHAIN),
        ),
        repaired_by=None if far or is_repeated else (),
        no_repair_reason="" if far or is_repeated else _NEAR,
    )


RULE = Rule(
    code="TREE208",
    state="CC24",
    name="unread-parent",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="lines hang below lines of a type that a resume does not read, such as saved_hook_context",
    unnoticed="history hidden",
    why=(
        "A version wrote the context of hooks into the chain of parents, all of a session with one uuid. A version that leaves such lines out takes what hangs below them for the beginning "
        "of the session; one that reads them goes round in a circle, or past all that is between two of them."
    ),
    example=(
        "@format claude-code\n1 user 1.0 text go entry=u1\n2 assistant 2.0 text done entry=a1\n"
        '3 - 3.- control entry=h parent=a1 about={"type":"saved_hook_context"}\n4 user 4.0 text more entry=u2 parent=h'
    ),
    check=check,
    references=("Claude Code 2.1.332, run", "anthropics/claude-code #22526, #24304", "formats/claude_code_codex.md, F10"),
    repaired_by=("relink-past-unread-line",),
    fixed_in_code="Hang messages below messages, and draw a new uuid for each line, also of hooks.",
)
