"""STORE702: a line of a chat that Gemini CLI skips without a word."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_SHOWN = 80


def check(case: Case) -> Iterator[Match]:
    for chunk in case.conversation.chunks:
        if chunk.kind is Kind.UNREADABLE and chunk.msg_idx is None:
            begin = repr(chunk.raw[:_SHOWN])[2:-1]
            yield Match(
                (chunk,),
                f"Gemini CLI skips the line at seq {chunk.seq} without a word ({chunk.reason}): what it says is not in the chat.",
                evidence=(("bytes", f"{len(chunk.raw):,}"), ("begins with", begin)),
            )


RULE = Rule(
    code="STORE702",
    state="GC3",
    name="skipped-line",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="a line of a chat cannot be read and is skipped",
    why="Lines are appended without a lock and without fsync. The loader catches the error of each line and goes on, so that a message is missing and nobody is told.",
    example='@format gemini-cli\n1 user 0.0 text go\n2 - - unreadable "{\\"id\\":\\"m" damage=torn reason="not JSON"',
    check=check,
    references=("@google/gemini-cli 0.61.0, loadConversationRecord",),
    no_repair_reason="The message of the line is lost; the other lines are read as before.",
    fixed_in_code="Report lines that cannot be read.",
)
