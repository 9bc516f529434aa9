"""STORE702: two files of one session id."""

from collections.abc import Iterator

from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    others = case.conversation.fact("sameId")
    if others and case.reading.messages:
        yield Match(
            (),
            f"Another file has the same session id ({others}): Gemini CLI lists one of them, and deletes the files of an id together.",
        )


RULE = Rule(
    code="STORE702",
    state="GC3",
    name="shared-session-id",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="two chats have one session id",
    why="Each resume begins a second file of the same id without a conversation. Where the list keeps that one, or a clean-up takes both for one, the real chat goes.",
    example="@format gemini-cli\n@sameId session-2026-11-22T17-33-4c59aa92.jsonl\n1 user 0.0 text go",
    check=check,
    references=("gemini-cli #27368", "gemini-cli #28036", "@google/gemini-cli 0.61.0, run: each resume in another minute"),
    no_repair_reason="Which file is the real one is for a person to say: copy this one, then delete the file without a conversation.",
    fixed_in_code="Begin no file before it is known which session is resumed.",
)
