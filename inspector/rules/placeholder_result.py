"""TOOL402: results, and in sessions whole turns, that a program or a repair added, known by their words."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.rules.synthetic_texts import results_by_author


def check(case: Case) -> Iterator[Match]:
    by_program: dict[str, list[Chunk]] = {}
    for result, program in results_by_author(case):
        if program:
            by_program.setdefault(program, []).append(result)
    yield from case.program.synthetic.texts(case)
    for program, chunks in by_program.items():
        what = "A result is" if len(chunks) == 1 else f"{len(chunks)} results are"
        yield Match(
            chunks,
            f"{what} synthetic, added by {program} (seq {queries.span_text([chunk.seq for chunk in chunks])}): no tool returned it.",
            evidence=(("text", chunks[0].text[:160]),),
        )


RULE = Rule(
    code="TOOL402",
    state="RO17",
    name="placeholder-result",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STORE,
    summary="a result was added by a program, not returned by a tool",
    why="It takes the place of the result of an interrupted call, which is in order; it is no evidence that the tool ran and failed.",
    example='@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 tool 2.0 tool-result a "[interrupted]"',
    check=check,
    trait=Trait.PLACEHOLDERS,
    references=(
        "rollouts cd8a0c9 and transform_messages.py",
        "the texts that pi, OpenClaw, gbrain, litellm, pydantic-ai and strands write",
    ),
    no_repair_reason="The real result is nowhere in the history; where one is elsewhere in it, TOOL207 or TOOL208 says so.",
    fixed_in_code="Mark a synthetic result as such next to its text, so that it can be distinguished from one of a tool.",
)
