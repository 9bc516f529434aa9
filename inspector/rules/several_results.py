"""TOOL208: one call has several results, and they differ."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.rules.base import Case, Match, Origin, Rule, Severity, answered, cached_per_case
from inspector.rules.repeated_output import superfluous
from inspector.rules.synthetic_texts import is_synthetic, written_by


@cached_per_case
def kept_and_dropped(case: Case) -> list[tuple[Chunk, list[Chunk]]]:
    """Of the results of each call the one that stays: the first real one of its batch, else the first real one, else the first."""
    pairs = []
    for answer in answered(case):
        if len(answer.results) < 2:
            continue
        real = [result for result in answer.results if not is_synthetic(result)] or list(answer.results)
        kept_result = next((result for result in real if result.key in answer.batch), real[0])
        pairs.append((kept_result, [result for result in answer.results if result is not kept_result]))
    return pairs


def differing(case: Case) -> Iterator[tuple[Chunk, list[Chunk]]]:
    """Without results that repeat another one byte for byte, which is TOOL206."""
    same = {chunk.key for chunks in superfluous(case) for chunk in chunks}
    for kept_result, dropped in kept_and_dropped(case):
        different = [chunk for chunk in dropped if chunk.key not in same]
        if different:
            yield kept_result, different


def check(case: Case) -> Iterator[Match]:
    for kept_result, others in differing(case):
        seqs = span_text(sorted(chunk.seq for chunk in (kept_result, *others)))
        synthetic_results = [chunk for chunk in (kept_result, *others) if is_synthetic(chunk)]
        synthetic_note = (
            ""
            if not synthetic_results
            else f" {len(synthetic_results)} of them {'is' if len(synthetic_results) == 1 else 'are'} synthetic."
        )
        yield Match(
            others,
            f"The call {kept_result.call_id[:60]!r} has {len(others) + 1} results that differ (seq {seqs}): providers take one and refuse the rest.{synthetic_note}",
            evidence=(
                *((f"seq {chunk.seq}", _words(chunk)) for chunk in (kept_result, *others[:7])),
                *case.program.errors.effects("several"),
            ),
        )


def _words(chunk: Chunk) -> str:
    program = written_by(chunk)
    return f"synthetic, by {program}: {chunk.text[:120]}" if program else chunk.text[:160]


RULE = Rule(
    code="TOOL208",
    state="RO8",
    name="several-results",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="one tool call has several results that differ",
    why="Providers answer 400 to a second result of one call, on every request from then on. Where one of them is synthetic, the real one is the one to keep.",
    example="@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 tool 2.0 tool-result a f\n4 tool 3.0 tool-result a g",
    check=check,
    references=("rollouts transform_messages.py 0779491: rows 6 to 8 of its golden table", "AN-6 of the rules on Anthropic"),
    repaired_by=("keep-first-result",),
    fixed_in_code="Look for the result of a call before one is stored or added for it.",
)
