"""TOOL209: an answer that failed or was aborted with calls in it, which programs leave out without its results."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Message
from inspector.conversation.queries import span_text
from inspector.programs.pi_openclaw.readers.result_pairing import stop_reason
from inspector.programs.pi_openclaw.rules.session_calls import failed_turns
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded


def results_of_failed(case: Case) -> list[Chunk]:
    return [result for _, results in failed_turns(case) for result in results]


def check(case: Case) -> Iterator[Match]:
    alone = {chunk.key for _, chunk in queries.orphaned_results(case.reading.messages)}
    yield from bounded(_match(message, list(results), alone) for message, results in failed_turns(case))


def _match(message: Message, results: list[Chunk], alone: set[str]) -> Match:
    calls = queries.calls(message)
    start = f"The answer at seq {span_text(message.seqs)} is marked {stop_reason(message)} and holds {'a call' if len(calls) == 1 else f'{len(calls)} calls'}"
    if not results:
        text = f"{start} without a result: most programs leave the whole answer out, others send it as it is and are refused."
        return Match(calls, text, evidence=effects("failed"))
    where = f"{'a result' if len(results) == 1 else f'{len(results)} results'} of it (seq {span_text([result.seq for result in results])})"
    refused = any(result.key in alone for result in results)
    then = (
        "this reader leaves the answer out and sends the results alone, which providers refuse."
        if refused
        else "pi leaves the answer out and not these, which providers refuse."
    )
    return Match(
        [*calls, *results],
        f"{start}; there {'is' if len(results) == 1 else 'are'} {where}: {then}",
        severity=Severity.ERROR if refused else None,
        evidence=effects("failed"),
    )


RULE = Rule(
    code="TOOL209",
    state="OP8",
    name="failed-turn-with-calls",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STORE,
    summary="an answer that failed holds tool calls, and programs leave it out of requests",
    why=(
        "Half an answer is no use to the model, so pi and OpenClaw leave it out of every request. pi does so without the results of its calls: they are alone then, "
        "and every later request is refused. A client that replays the path as stored sends calls that nobody answered."
    ),
    example='@format pi\n1 user 1.0 text go\n2 assistant 2.0 tool-call c ls {} about={"stopReason":"aborted"}\n3 tool 3.0 tool-result c half',
    check=check,
    references=("openclaw/openclaw #12112", "openclaw/openclaw #9769", "openclaw/openclaw #4598", "pi transformMessages 1.5.2, measured"),
    repaired_by=("drop-failed-turns", "keep-failed-turn"),
    fixed_in_code="Leave the results of a failed answer out together with it.",
)
