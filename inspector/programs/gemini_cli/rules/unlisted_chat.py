"""STORE704: a chat that Gemini CLI does not list."""

from collections.abc import Iterator

from inspector.programs.gemini_cli.reader import why
from inspector.programs.gemini_cli.records import EMPTIED, EMPTY, LOST, MARKED
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_RESTORE = "restore-cleared-messages"
_FIRST = "Without its first line the chat has no id: copy the first line of another chat of the folder to the front, and put this chat's id into it."
_MARKED = "Save the file without the byte order mark, which is its first three bytes."


def check(case: Case) -> Iterator[Match]:
    reason = case.conversation.fact("problem")
    if not reason or not case.program.is_resumed(case.conversation):
        return
    cleared = [chunk for chunk in case.conversation.chunks if why(chunk) in (EMPTIED, LOST)]
    if cleared and reason == EMPTY:
        last = f"{reason}. What was said up to seq {cleared[-1].seq} is still in the file, and was cleared"
        yield Match(cleared, f"`gemini --resume` says that there is no such session: {last}.", repaired_by=(_RESTORE,))
    else:
        by_hand = _MARKED if reason == MARKED else _FIRST
        yield Match((), f"`gemini --resume` says that there is no such session: {reason}.", repaired_by=(), no_repair_reason=by_hand)


RULE = Rule(
    code="STORE704",
    state="GC5",
    name="unlisted-chat",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="the chat is not in the list of Gemini CLI, so that nobody can resume it",
    why=(
        "It lists chats whose first line it can read, and that have a message for a resume: `--resume` does not find another one, and its clean-up deletes a "
        "chat without messages."
    ),
    example='@format gemini-cli\n@problem "it has no message that a resume keeps"\n1 user 0.0 text payload={"type":"text","text":"go","chat":{"why":"emptied"}}',
    check=check,
    blocks_resume=True,
    references=("@google/gemini-cli 0.61.0, run", "@google/gemini-cli 0.61.0, hasResumableConversationContent"),
    repaired_by=(_RESTORE,),
    fixed_in_code="List a chat that cannot be resumed, and say why.",
)
