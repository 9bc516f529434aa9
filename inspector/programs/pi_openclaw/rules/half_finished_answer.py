"""MSG405: an answer that seems to have been cut off, though it is stored as complete."""

from collections.abc import Iterator, Mapping, Set
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Kind, Message
from inspector.conversation.queries import span_text
from inspector.programs.pi_openclaw.readers.result_pairing import stop_reason
from inspector.programs.pi_openclaw.readers.rows import mapping
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded

_ENDED = ("stop", "endTurn", "end_turn")


def check(case: Case) -> Iterator[Match]:
    answers = [message for message in case.messages if message.role == "assistant"]
    # A provider that never says what an answer cost proves nothing by that.
    counting = {_model(message) for message in answers if _tokens(message)}
    yield from bounded(
        Match(
            message.chunks, f"The answer at seq {span_text(message.seqs)} may be cut off: it is marked {stop_reason(message)}, and {why}."
        )
        for message in answers
        if (why := _why(message, counting))
    )


def _why(message: Message, counting: Set[tuple[object, object]]) -> str:
    reason = stop_reason(message)
    if reason == "pending":
        return "that is the mark of an answer that is still coming"
    if reason not in _ENDED:
        return ""
    kinds = {chunk.kind for chunk in message.chunks}
    if kinds <= {Kind.THINKING, Kind.REDACTED_THINKING}:
        return "holds nothing but thinking"
    if _tokens(message) == 0 and _model(message) in counting:
        return "not a single token was counted for it, though others of its model are counted"
    text = "\n".join(chunk.text for chunk in message.chunks if chunk.kind is Kind.TEXT)
    fences = sum(line.lstrip().startswith("```") for line in text.split("\n")) if "```" in text else 0
    if fences % 2 and not queries.calls(message):
        return "ends inside a block of code"
    return ""


def _about(message: Message) -> Mapping[str, Any]:
    return mapping(message.chunks[0].payload.get("entry"))


def _model(message: Message) -> tuple[object, object]:
    about = _about(message)
    provider, model = about.get("provider"), about.get("model")
    return (provider, model) if isinstance(provider, str) and isinstance(model, str) else ("", "")


def _tokens(message: Message) -> int | None:
    """Tokens of the answer; None where nothing was counted."""
    count = mapping(_about(message).get("usage")).get("output")
    return int(count) if isinstance(count, int | float) and not isinstance(count, bool) and count == count else None


RULE = Rule(
    code="MSG405",
    state="OP10",
    name="half-finished-answer",
    severity=Severity.NOTE,
    silent=True,
    origin=Origin.STREAM,
    summary="an answer is stored as complete and looks cut off",
    why="A stream that ends early without an error is stored like one that is done. The model takes half a sentence for its own words, and the user for its answer. A rule of thumb.",
    example='@format pi\n1 user 1.0 text go\n2 assistant 2.0 thinking hm about={"stopReason":"stop"}',
    check=check,
    references=("openclaw/openclaw #149854", "openclaw/openclaw #97994", "earendil-works/pi #8059", "earendil-works/pi #11227"),
    no_repair_reason="What was to come is nowhere: ask again from the message before it.",
    fixed_in_code="Take a stream for complete only when its last event says so, and store it as failed otherwise.",
)
