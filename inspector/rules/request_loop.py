"""TRACE201: a turn asks for the same again and again: the same call, on a prompt that is the one before or only its tail longer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.text import jsontext
from inspector.traces import observe
from inspector.traces.model import Step, Trace

LEAST = 4
COMPARED = 40
"""Prompts of one run that are compared; bodies are large, and what repeats forty times need not be read further."""


@dataclass(frozen=True, slots=True)
class Round:
    """A step with what the rows say it called and got, ids left out."""

    step: Step
    chunks: tuple[Chunk, ...]
    called: str
    results: tuple[str, ...]


def check(case: Case) -> Iterator[Match]:
    if case.trace is None:
        return
    rows: dict[str, list[Chunk]] = {}
    for chunk in case.conversation.chunks:
        if chunk.step_id is not None and chunk.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT):
            rows.setdefault(chunk.step_id, []).append(chunk)
    for turn in case.trace.turns:
        for run in _runs([_round(step, rows.get(step.step_id, [])) for step in turn.steps]):
            for shown in _unbroken(case.trace, run):
                yield _match(case.trace, shown)


def _round(step: Step, chunks: Sequence[Chunk]) -> Round:
    calls = [[chunk.tool_name, chunk.payload.get("input")] for chunk in chunks if chunk.kind is Kind.TOOL_CALL]
    results = tuple(chunk.text for chunk in chunks if chunk.kind is Kind.TOOL_RESULT)
    return Round(step, tuple(chunks), jsontext.compact(calls) if calls else "", results)


def _runs(rounds: Sequence[Round]) -> Iterator[list[Round]]:
    """Neighbors that called the same, at least LEAST of them."""
    run: list[Round] = []
    for step_round in [*rounds, None]:
        if step_round is not None and step_round.called and (not run or run[-1].called == step_round.called):
            run.append(step_round)
            continue
        if len(run) >= LEAST:
            yield run
        run = [step_round] if step_round is not None and step_round.called else []


def _unbroken(trace: Trace, run: Sequence[Round]) -> Iterator[list[Round]]:
    """Parts of a run whose prompts the trace shows to go on from one another. After COMPARED the rest is taken for more of it."""
    part = [run[0]]
    before: list[Any] | None = None
    for at, (first, second) in enumerate(pairwise(run)):
        same = (
            first.step.prompt is not None
            and second.step.prompt is not None
            and first.step.prompt.body == second.step.prompt.body is not None
        )
        if at >= COMPARED or same:
            part.append(second)
            continue
        before = before if before is not None else _messages(trace, first.step)
        after = _messages(trace, second.step)
        if before is not None and after is not None and after[: len(before)] == before:
            part.append(second)
        else:
            if len(part) >= LEAST:
                yield part
            part = [second]
        before = after
    if len(part) >= LEAST:
        yield part


def _messages(trace: Trace, step: Step) -> list[Any] | None:
    """Messages of the step's prompt, else of its request; None where neither body can be read."""
    body = observe.prompt_body(trace, step) or observe.parsed_request(trace, step)
    messages = body.get("messages") if body else None
    return messages if isinstance(messages, list) else None


def _match(trace: Trace, run: Sequence[Round]) -> Match:
    first, last = run[0].step, run[-1].step
    chunks = [chunk for step_round in run for chunk in step_round.chunks]
    same = len({step_round.results for step_round in run}) == 1
    input_tokens, output_tokens = _tokens(run, "usage.inputTokens"), _tokens(run, "usage.outputTokens")
    milliseconds = max(0, (last.span.end or last.span.start) - first.span.start)
    tokens = f", {input_tokens:,} tokens in and {output_tokens:,} out" if input_tokens or output_tokens else ""
    called = next((chunk for chunk in chunks if chunk.kind is Kind.TOOL_CALL), chunks[0])
    results_text = "and got the same result each time" if same else "and got different results: it may be waiting for something"
    return Match(
        chunks,
        f"{len(run)} requests in a row ({first.step_id[:60]} to #{last.index}) made the same call of {called.tool_name[:60] or 'a tool'} {results_text}: "
        f"{milliseconds / 1000:,.0f} s{tokens}.",
        severity=None if same else Severity.NOTE,
        evidence=(
            ("call", run[0].called[:200]),
            *(((f"result of {step_round.step.step_id[:60]}"), " | ".join(step_round.results)[:120]) for step_round in run[:5]),
        ),
        ruled_out=(("each prompt was another question", "each is the one before, or the one before with more at its end"),),
    )


def _tokens(run: Sequence[Round], name: str) -> int:
    counts = [step_round.step.span.attributes.get(name) for step_round in run]
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count > 0)


_TURN = "turn-1782590000000-a"


def _example() -> str:
    rows, steps, prompts = ["1 user 0.0 text go"], [], []
    for number in range(LEAST):
        seq, step = 2 + 2 * number, f"{_TURN}#{number}"
        prompts += [f"prompt {step} {row}" for row in rows]
        rows += [
            f'{seq} assistant 0.0 tool-call c{number} ls {{}} step="{step}"',
            f'{seq + 1} tool 1.0 tool-result c{number} nothing name=ls step="{step}"',
        ]
        steps.append(f"step {step} tokens=900/20")
    return "\n".join([*rows, *steps, *prompts])


RULE = Rule(
    code="TRACE201",
    state="Q1",
    name="request-loop",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.REQUEST,
    summary="the same request is made again and again",
    why=(
        "Every single request succeeds, so nothing errors, while each one carries the whole history again. "
        "A model that does not see its own calls, or a tool that answers with nothing, gets into this and stays in it until the limit of steps."
    ),
    example=_example(),
    check=check,
    references=("derived from the step spans of Dispatch run-turn.ts 1444bc1",),
    no_repair_reason="The requests are done; the loop is ended in the program, not in its store.",
    fixed_in_code="End a turn, or tell the model, when a call with equal input was answered equally several times in a row.",
)
