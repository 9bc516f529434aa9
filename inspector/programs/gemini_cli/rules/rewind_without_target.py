"""STORE701: a `$rewindTo` that names no record cleared the chat."""

from collections.abc import Iterator

from inspector.programs.gemini_cli.reader import why
from inspector.programs.gemini_cli.records import LOST
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    chunks = [chunk for chunk in case.conversation.chunks if why(chunk) == LOST]
    if chunks:
        messages = len({chunk.msg_idx for chunk in chunks})
        lines = case.conversation.fact("badRewinds") or "of the file"
        yield Match(
            chunks,
            f"The $rewindTo on line {lines} names no record that is there, and Gemini CLI then drops all before it: {messages} "
            f"message{'s' if messages > 1 else ''} from seq {chunks[0].seq} on are not sent any more. The lines are still in the file.",
        )


RULE = Rule(
    code="STORE701",
    state="GC2",
    name="rewind-without-target",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a rewind to a record that is not there cleared the chat",
    unnoticed="history lost",
    why="The loader drops the named record and all after it, and every record where it does not know the name. Nothing says so: the chat seems to begin later.",
    example='@format gemini-cli\n@badRewinds 3\n1 user 0.0 text payload={"type":"text","text":"go","chat":{"why":"lost"}}',
    check=check,
    references=("@google/gemini-cli 0.61.0, loadConversationRecord",),
    repaired_by=("restore-cleared-messages",),
    fixed_in_code="Refuse a rewind to an id that is not in the list.",
)
