"""TOOL303: a call whose arguments were still being written when it was stored."""

from collections.abc import Iterator

from inspector.conversation.model import Chunk, Kind
from inspector.programs.pi_openclaw.readers.rows import PI, mapping
from inspector.programs.pi_openclaw.rules.session_calls import has_failed
from inspector.programs.pi_openclaw.rules.session_effects import effects
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

_WORDS = {"missing": "has no arguments at all", "null": "has null for its arguments", "wrong-type": "has arguments that are no object"}


def check(case: Case) -> Iterator[Match]:
    """Not in answers that failed, which are expected to hold such calls and which TOOL209 names; arguments that are text are TOOL301's."""
    calls = [chunk for message in case.messages if message.role == "assistant" and not has_failed(message) for chunk in message.chunks]
    yield from bounded(match for chunk in calls if chunk.kind is Kind.TOOL_CALL and (match := _match(case, chunk)))


def _match(case: Case, call: Chunk) -> Match | None:
    partial = mapping(call.payload.get("extra")).get("partialJson")
    start = f"The call of {call.tool_name[:60]} at seq {call.seq}"
    no_input = call.payload.get("noInput")
    if isinstance(no_input, str):
        quoted = (("partialJson", partial[:200]),) if isinstance(partial, str) else ()
        return Match(
            (call,), f"{start} {_WORDS.get(no_input, 'has no arguments that can be sent')}.", evidence=(*quoted, *effects("arguments"))
        )
    if not isinstance(partial, str) or isinstance(call.payload.get("input"), str):
        return None
    if _value(partial) == call.payload.get("input"):
        weight = Severity.NOTE if case.conversation.format == PI else Severity.WARNING
        text = f"{start} still has the scratch text of its arguments next to them; they are complete, but OpenClaw drops such a call."
        return Match((call,), text, severity=weight, evidence=effects("arguments"))
    text = f"{start} was stored while its arguments were being written: what is stored is not what the model was about to say."
    return Match((call,), text, evidence=(("partialJson", partial[:200]), *effects("arguments")))


def _value(text: str) -> object:
    try:
        return jsontext.parse(text)
    except Unreadable:
        return None


RULE = Rule(
    code="TOOL303",
    state="OP9",
    name="half-written-arguments",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STREAM,
    summary="a call was stored before its arguments were complete",
    why=(
        "The stream ended inside of the arguments. Anthropic refuses a call without input, on every later request; OpenClaw drops the call, "
        "and with it the answer where nothing else is in it."
    ),
    example='@format pi\n1 user 1.0 text go\n2 assistant 2.0 tool-call payload={"type":"tool-call","toolCallId":"c","toolName":"ls","input":{},"noInput":"null"}\n3 tool 3.0 tool-result c f',
    check=check,
    references=("openclaw/openclaw #5857", "earendil-works/pi #8386", "pi until 0.67.2 left partialJson in its files"),
    no_repair_reason="What the model was about to say is not known; its result, where there is one, says what was run. Repair the arguments by hand, on a copy, or go back to before the call.",
    fixed_in_code="Store a call once its arguments are complete, and mark an answer whose stream ended early as failed.",
)
