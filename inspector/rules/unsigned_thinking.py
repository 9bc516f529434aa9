"""THINK201: thinking without the signature that its provider wants back."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text
from inspector.programs.pi_openclaw.readers.rows import mapping
from inspector.programs.pi_openclaw.rules.session_calls import has_failed, is_session
from inspector.programs.pi_openclaw.rules.session_effects import SESSIONS
from inspector.programs.rollouts.readers import about
from inspector.rules.base import ANTHROPIC_BLOCKS, ROLLOUTS, Case, Fault, Hit, Rule, Severity


def check(case: Case) -> Iterator[Hit]:
    for message in case.messages:
        unsigned = [chunk for chunk in message.chunks if chunk.kind is Kind.THINKING and not _signed(chunk)]
        if unsigned and message.role == "assistant" and _by_anthropic(case, message) and not has_failed(message):
            yield Hit(
                unsigned,
                f"Thinking at seq {span_text([chunk.seq for chunk in unsigned])} has no signature: " + _then(case),
            )


def _then(case: Case) -> str:
    if case.conversation.format == ROLLOUTS:
        return "rollouts sends it as text between tags."
    if is_session(case):
        return "pi sends it as text, and leaves it out where it is blank; a client that sends it as thinking is refused."
    return "Anthropic refuses it (AN-17, AN-18)."


def _signed(chunk: Chunk) -> bool:
    signature = chunk.payload.get("signature")
    return isinstance(signature, str) and bool(signature.strip())


def _by_anthropic(case: Case, message: Message) -> bool:
    if is_session(case):
        return mapping(message.chunks[0].payload.get("entry")).get("provider") == "anthropic"
    if case.conversation.format != ROLLOUTS:
        return True
    return (about(message, "provider") or case.conversation.fact("provider")) == "anthropic"


RULE = Rule(
    code="THINK201",
    state="RO12",
    name="unsigned-thinking",
    severity=Severity.WARNING,
    silent=False,
    fault=Fault.STREAM,
    summary="thinking has lost its signature",
    why="The signature comes last in a stream, so one that was cut off leaves thinking without it. Anthropic refuses such a block; a signature cannot be made up.",
    example="@format anthropic-request\n1 user 0.0 text go\n2 assistant 1.0 thinking hm\n3 assistant 1.1 text done",
    check=check,
    formats=(*ANTHROPIC_BLOCKS, *SESSIONS),
    references=("AN-17e and AN-18 of the rules on Anthropic", "langchain #29971"),
    repaired_by=("drop-unsigned-thinking", "thinking-to-text"),
    fixed_in_code="Store a thinking block only once its signature has arrived, else as text.",
)
