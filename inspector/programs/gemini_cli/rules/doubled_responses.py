"""TOOL701: the next resume sends more responses than the model made calls."""

from collections import Counter
from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.programs.gemini_cli.chunks import about
from inspector.programs.gemini_cli.reader import NAME
from inspector.rules.base import Case, Match, Origin, Rule, Severity, cached_per_case


@cached_per_case
def responses(case: Case) -> list[tuple[dict[str, Chunk], list[Chunk]]]:
    """Of each answer with calls that is sent: its calls by their ids, and the results of these before the next answer."""
    pairs: list[tuple[dict[str, Chunk], list[Chunk]]] = []
    for message in case.reading.messages if case.reading.reader == NAME else ():
        if message.role == "assistant":
            pairs.append(({call.call_id: call for call in queries.calls(message)}, []))
        elif pairs:
            pairs[-1][1].extend(result for result in queries.results(message) if result.call_id in pairs[-1][0])
    return pairs


def doubled_results(case: Case) -> list[Chunk]:
    """Results that are sent next to others of their call."""
    doubled: list[Chunk] = []
    for _, results in responses(case):
        counts = Counter(result.call_id for result in results)
        doubled += [result for result in results if counts[result.call_id] > 1]
    return doubled


def check(case: Case) -> Iterator[Match]:
    doubled = {result.key: result for result in doubled_results(case)}
    stored = {chunk.key for chunk in case.conversation.chunks}
    for calls, results in responses(case):
        repeated = [result for result in results if result.key in doubled]
        if not repeated:
            continue
        ids = {result.call_id for result in repeated}
        own = [call for id_, call in calls.items() if id_ in ids]
        where = f"{len(own)} call{'s' if len(own) > 1 else ''} at seq {span_text([call.seq for call in own])}"
        if max(Counter(result.call_id for result in repeated if result.key in stored).values(), default=0) > 1:
            text = (
                f"The next resume by Gemini CLI 0.61.0 sends {len(repeated)} responses for {where}, and the chat holds them several times already: "
                "Gemini refuses a turn in which the numbers of responses and calls differ, on every turn from then on."
            )
            yield Match(own, text)
        else:
            text = (
                f"The chat is whole, and the next resume by Gemini CLI 0.61.0 sends {len(repeated)} responses for {where}: it takes each result from "
                "the record of its call and from the record after it, and writes both back."
            )
            yield Match(own, text, Origin.READER, Severity.NOTE)


def holds_copies(chunk: Chunk) -> bool:
    """Whether a resume takes results from the record of the call, now or at the one after the next."""
    return bool(about(chunk).get("copies") or about(chunk).get("only"))


RULE = Rule(
    code="TOOL701",
    state="GC1",
    name="doubled-responses",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a resume sends results more than once",
    why=(
        "Gemini CLI keeps each result with its call and in a record after it. Its loader of 0.61.0 sends both, and writes the doubled list back: "
        "4 responses for 2 calls at the first resume, 8 from the second on."
    ),
    example=(
        '@format gemini-cli\n1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 tool 2.0 tool-result a "f" name=ls\n4 tool 3.0 tool-result a "f" name=ls'
    ),
    check=check,
    references=("google-gemini/gemini-cli #29365", "@google/gemini-cli 0.61.0, run: three resumes", "GE-3 of the rules on Gemini"),
    repaired_by=("record-results-once",),
    fixed_in_code="Take results from toolCalls only where no later record holds them (#29366, #29400, not merged).",
)
