"""TOOL605: a call that has its result is given another one by the client."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.pairing import answered
from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    synthetic = {
        chunk.key.partition(":")[2]
        for message in case.reading.messages
        for chunk in message.chunks
        if message.synthetic and chunk.kind is Kind.TOOL_RESULT
    }
    twice = [(answer.call, answer.results[0]) for answer in answered(case.messages) if answer.results and answer.call.key in synthetic]
    if twice:
        results: list[Chunk] = [result for _, result in twice]
        what = "A call that has its result" if len(twice) == 1 else f"{len(twice)} calls that have their results"
        yield Match(
            results,
            f"{what} (seq {span_text(sorted(chunk.seq for chunk in results))}) {'is' if len(twice) == 1 else 'are'} given another one by {case.reading.reader}: "
            "the SDK joins the two and lets them pass, and providers refuse the second.",
            evidence=tuple((f"seq {call.seq}", f"{call.tool_name[:60]} {call.call_id[:40]!r}") for call, _ in twice[:8]),
        )


RULE = Rule(
    code="TOOL605",
    state="GB5",
    name="second-result-sent",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.READER,
    summary="the client puts a second result in for a call that has its own",
    why=(
        "Pull request 1934 adds results after every message with calls, whether or not they follow; gbrain since #2820 does so where they do not follow at once. "
        "Anthropic refuses two results of one call (AN-6), and others give the model the same thing twice."
    ),
    example="@format gbrain\n@reader gbrain-head\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {}\n3 user 2.0 text and?\n4 tool 3.0 tool-result a f",
    check=check,
    references=("gbrain pull request 1934: row 8 of the conformance table", "AN-6 of the rules on Anthropic"),
    no_repair_reason="The stored results are right where they are; a late one is reported by TOOL207.",
    fixed_in_code="Look whether the history answers a call before a result is put in for it.",
)
