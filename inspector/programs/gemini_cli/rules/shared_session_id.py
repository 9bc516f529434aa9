"""STORE702: two files of one session id."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    others, empty = case.conversation.fact("sameId"), case.conversation.fact("sameIdEmpty")
    if not others or not case.reading.messages:
        return
    if empty:
        yield Match(
            (),
            f"The next start of Gemini CLI that does not resume this chat deletes it: its clean-up takes {empty}, which has the same session id and no "
            "conversation, and deletes every file whose name ends with that id.",
            severity=Severity.ERROR,
            no_repair_reason=f"Delete {empty} before you start Gemini CLI again, or switch general.sessionRetention off: that file holds no conversation.",
        )
    else:
        yield Match(
            (),
            f"Another file has the same session id ({others}): Gemini CLI lists the one that was changed last, and deletes the files of an id together.",
        )


RULE = Rule(
    code="STORE702",
    state="GC3",
    name="shared-session-id",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="two chats have one session id",
    why=(
        "Each resume begins a second file of the same id without a conversation. The clean-up at the start, which is on by default, deletes files without a "
        "conversation together with all whose names end with the same part of an id: the real chat is gone, without a word."
    ),
    example="@format gemini-cli\n@sameId session-2026-11-22T17-33-4c59aa92.jsonl\n1 user 0.0 text go",
    check=check,
    references=(
        "google-gemini/gemini-cli #27368",
        "google-gemini/gemini-cli #28036",
        "@google/gemini-cli 0.61.0, run: resumed once, then `--list-sessions`: the chat was deleted",
    ),
    no_repair_reason="Which file is the real one is for a person to say: copy this one, then delete the file without a conversation.",
    fixed_in_code="Begin no file before it is known which session is resumed.",
)
