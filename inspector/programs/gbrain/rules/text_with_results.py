"""MSG501: words in a message of results, which the client leaves out."""

from collections.abc import Iterator

from inspector.conversation.model import Kind
from inspector.conversation.queries import span_text
from inspector.programs.gbrain.facts import LEGACY, PATH
from inspector.programs.gbrain.readers import TEXT_WITH_RESULTS
from inspector.rules.base import Case, Match, Origin, Rule, Severity


def check(case: Case) -> Iterator[Match]:
    for dropped in case.reading.dropped:
        words = [chunk for chunk in dropped.chunks if chunk.kind is Kind.TEXT and chunk.text.strip()]
        if dropped.why == TEXT_WITH_RESULTS and words:
            direct = case.conversation.fact(PATH) == LEGACY
            own = " The job ran on the direct Anthropic path, which sends them; the gateway would not." if direct else ""
            yield Match(
                words,
                f"The words at seq {span_text([chunk.seq for chunk in words])} are in a message of results: the gateway sends its results alone, and the model never sees them.{own}",
                severity=Severity.NOTE if direct else None,
                evidence=(("words", words[0].text[:160]),),
            )


RULE = Rule(
    code="MSG501",
    state="GB10",
    name="text-with-results",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.READER,
    summary="words that are next to results in one message never reach the model",
    why=(
        "The direct Anthropic path writes a note after the results of a turn that was cut off at the output cap (#2778). A job that goes on over the gateway loses it: the conversion to the SDK "
        "makes a tool message of the results and keeps nothing else."
    ),
    example='@format gbrain\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {}\n3 tool 2.0 tool-result a f\n4 user 2.1 text "Be brief."',
    check=check,
    references=("gbrain toModelMessages, run", "garrytan/gbrain #2778"),
    no_repair_reason="The words are whole in the store. A row of their own would need an index after the results that is free, and the index after is the answer's.",
    fixed_in_code="Make a user message of what follows the results of such a message.",
)
