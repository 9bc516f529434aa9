"""TOOL402: results, and in sessions whole turns, that a program or a repair made up, in the words of which it is known."""

from collections.abc import Iterator

from inspector.conversation import queries
from inspector.conversation.model import Chunk
from inspector.programs.pi_openclaw.rules.session_calls import is_session
from inspector.programs.pi_openclaw.rules.session_effects import SESSIONS
from inspector.programs.request_bodies.names import WIRES
from inspector.rules.base import GBRAIN, ROLLOUTS, Case, Fault, Hit, Rule, Severity
from inspector.rules.synthetic_texts import CAP_NOTE, placeholder_of, written_by


def check(case: Case) -> Iterator[Hit]:
    by_program: dict[str, list[Chunk]] = {}
    for message in case.messages:
        for result in queries.results(message):
            if program := written_by(result):
                by_program.setdefault(program, []).append(result)
    yield from _placeholders(case)
    yield from _notes(case)
    for program, chunks in by_program.items():
        what = "A result is" if len(chunks) == 1 else f"{len(chunks)} results are"
        yield Hit(
            chunks,
            f"{what} made up by {program} (seq {queries.span_text([chunk.seq for chunk in chunks])}): no tool said it.",
            evidence=(("text", chunks[0].text[:160]),),
        )


def _placeholders(case: Case) -> Iterator[Hit]:
    """Only of sessions: elsewhere somebody may have said these words."""
    by_text: dict[tuple[str, str], list[Chunk]] = {}
    for message in case.messages if is_session(case) else ():
        for chunk in message.chunks:
            if program := placeholder_of(chunk):
                by_text.setdefault((program, chunk.text.strip()), []).append(chunk)
    for (program, text), chunks in by_text.items():
        what = "A text stands" if len(chunks) == 1 else f"{len(chunks)} texts stand"
        yield Hit(
            chunks,
            f"{what} in the place of something that was lost or refused (seq {queries.span_text([chunk.seq for chunk in chunks])}): {program} puts {text!r} there, nobody said it.",
        )


def _notes(case: Case) -> Iterator[Hit]:
    """Only of gbrain, whose users' messages hold them."""
    for message in case.messages if case.conversation.format in GBRAIN else ():
        for chunk in message.chunks:
            if message.role == "user" and CAP_NOTE.match(chunk.text):
                yield Hit(
                    (chunk,),
                    f"The text at seq {chunk.seq} is gbrain's own note to the model about an answer that was cut off: no user said it.",
                )


RULE = Rule(
    code="TOOL402",
    state="RO17",
    name="made-up-result",
    severity=Severity.NOTE,
    silent=True,
    fault=Fault.STORE,
    summary="a result was made up by a program, not given by a tool",
    why="It stands in for the result of an interrupted call, which is in order; it is no evidence that the tool ran and failed.",
    example='@format rollouts\n1 user 0.0 text go\n2 assistant 1.0 tool-call a ls {}\n3 tool 2.0 tool-result a "[interrupted]"',
    check=check,
    formats=(ROLLOUTS, *SESSIONS, *WIRES, *GBRAIN),
    references=(
        "rollouts cd8a0c9 and transform_messages.py",
        "the texts that pi, OpenClaw, gbrain, litellm, pydantic-ai and strands write",
    ),
    unmended="The real result is nowhere in the history; where one stands elsewhere in it, TOOL207 or TOOL208 says so.",
    fixed_in_code="Mark a made-up result as such beside its text, so that it can be told from one of a tool.",
)
