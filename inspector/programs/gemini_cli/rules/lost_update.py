"""STORE703: a later state of a chat lacks what an earlier one had, and nobody took it back."""

from collections.abc import Iterator

from inspector.programs.gemini_cli.chunks import about
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for chunk in case.conversation.chunks:
        names = about(chunk).get("lostCalls")
        if names:
            calls = ", ".join(map(str, names))[:80]
            yield Match(
                (chunk,),
                f"The answer at seq {chunk.seq} was written again without calls that an earlier line has ({calls}): another process overwrote it.",
            )
        if about(chunk).get("isHole"):
            text = f"A list that was written later lacks the message at seq {chunk.seq}, and has those before and after it: another process overwrote it."
            yield Match((chunk,), text)


RULE = Rule(
    code="STORE703",
    state="GC4",
    name="lost-update",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="another process overwrote a part of a chat",
    why="Each process keeps the chat in memory and writes whole records and lists without looking at the file: two that have it open take back each other's messages.",
    example=(
        "@format gemini-cli\n1 user 0.0 text go\n"
        '2 assistant 1.0 text payload={"type":"text","text":"x","chat":{"why":"replaced","isHole":true}}\n3 user 2.0 text on'
    ),
    check=check,
    references=("@google/gemini-cli 0.61.0, updateMessagesFromHistory",),
    no_repair_reason="Which of the two states was meant is for a person to say; the lines of both are in the file.",
    fixed_in_code="Lock the file of a chat, or read it again before a list is written.",
)
