"""THINK201: thinking without the signature that its provider wants back."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.programs.base import Trait
from inspector.rules.base import Case, Match, Origin, Rule, Severity

_THEN = "Anthropic refuses it (AN-17, AN-18)."


def check(case: Case) -> Iterator[Match]:
    for message in case.messages:
        unsigned = [chunk for chunk in message.chunks if chunk.kind is Kind.THINKING and not _signed(chunk)]
        if (
            unsigned
            and message.role == "assistant"
            and case.program.providers.answered_by(case, message) == "anthropic"
            and not case.program.calls.has_failed(message)
        ):
            yield Match(
                unsigned,
                f"Thinking at seq {span_text([chunk.seq for chunk in unsigned])} has no signature: "
                + case.program.errors.consequences.get(RULE.name, _THEN),
            )


def _signed(chunk: Chunk) -> bool:
    signature = chunk.payload.get("signature")
    return isinstance(signature, str) and bool(signature.strip())


RULE = Rule(
    code="THINK201",
    state="RO12",
    name="unsigned-thinking",
    severity=Severity.WARNING,
    silent=False,
    origin=Origin.STREAM,
    summary="thinking has lost its signature",
    why="The signature comes last in a stream, so one that was cut off leaves thinking without it. Anthropic refuses such a block; there is no placeholder for a signature.",
    example="@format anthropic-request\n1 user 0.0 text go\n2 assistant 1.0 thinking hm\n3 assistant 1.1 text done",
    check=check,
    trait=Trait.SIGNED_THINKING,
    references=("AN-17e and AN-18 of the rules on Anthropic", "langchain-ai/langchain #29971"),
    repaired_by=("unsigned-thinking-to-text", "drop-unsigned-thinking", "thinking-to-text"),
    fixed_in_code="Store a thinking block only once its signature has arrived, else as text.",
)
