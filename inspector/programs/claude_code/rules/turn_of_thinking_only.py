"""THINK401 and THINK402: a turn whose answer is thinking and nothing else, and a tool call written in thinking before the answer went on."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.conversation.queries import turns
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.rules.tool_call_in_thinking import answer_part, declared, leaks
from inspector.streams.leaked_calls import leaked
from inspector.streams.leaked_scan import marker_of

_THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)


def thinking_only(case: Case) -> Iterator[Match]:
    """The last message of a turn, where all of it is thinking: records of a longer answer are joined before."""
    for turn in turns(case.messages)[: -1 if case.running else None]:
        last = turn[-1]
        if last.role == "assistant" and all(chunk.kind in _THINKING for chunk in last.chunks) and not leaks(case, turn):
            yield Match(
                last.chunks,
                f"The turn ends at seq {last.chunks[-1].seq} with thinking alone: the answer was cut off before its first word or call.",
            )


def call_in_thinking(case: Case) -> Iterator[Match]:
    """Not where the turn ended with it: THINK301 says so."""
    for turn in turns(case.messages):
        ending = {chunk.key for chunk, _ in leaks(case, turn)}
        for message in turn:
            for chunk in message.chunks if message.role == "assistant" else ():
                if chunk.kind is not Kind.THINKING or chunk.key in ending or "<" not in chunk.text:
                    continue
                calls = list(leaked([answer_part(chunk)], declared(case, turn), "stop"))
                if calls:
                    marker = marker_of(chunk.text, calls[0][1].start)
                    yield Match(
                        (chunk,),
                        f"The thinking at seq {chunk.seq} holds a tool call written as text, {marker}..., which was not run; the answer went on after it.",
                    )


RULE = (
    Rule(
        code="THINK401",
        state="CC-K1",
        name="turn-of-thinking-only",
        severity=Severity.NOTE,
        silent=True,
        origin=Origin.STREAM,
        summary="a turn ends with thinking and nothing else",
        why="The stream ended or the user interrupted it before the model said or did anything. The user sees no answer; the next turn goes on from thoughts that led nowhere.",
        example="@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 thinking well\n3 user 3.0 text and?",
        check=thinking_only,
        references=("17 of 240 real sessions (market study of 2026-08)",),
        repaired_by=("strip-thinking",),
        fixed_in_code="Say so where an answer ends without words or calls.",
    ),
    Rule(
        code="THINK402",
        state="CC-K2",
        name="call-text-in-thinking",
        severity=Severity.NOTE,
        silent=True,
        origin=Origin.STREAM,
        summary="thinking holds a tool call written as text, and the answer went on",
        why="The model wrote a call where no program looks for one, and then answered all the same. Where that repeats, its calls get lost in the end (THINK301).",
        example='@format claude-code\n1 user 1.0 text go\n2 assistant 2.0 thinking "<function=run>" about={"message":{"id":"m1"}}\n3 assistant 3.0 text done about={"message":{"id":"m1"}}',
        check=call_in_thinking,
        references=("Dispatch notes/tool-call-in-thinking-bug.md, 2026-06-28",),
        no_repair_reason="Nothing is missing: the answer went on. Thinking is signed, so that its words cannot be changed.",
        fixed_in_code="See THINK301: a stream parser that knows the text forms of a call.",
    ),
)
