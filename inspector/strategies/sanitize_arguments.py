"""Makes the input of every stored call a value: the one that its text encodes, or a hint that holds the start of the text."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Kind
from inspector.rules.base import Case
from inspector.strategies.arrangement import by_message
from inspector.strategies.base import Strategy
from inspector.text import js_json, jsontext
from inspector.text.jsontext import Unreadable

_HINT_UNITS = 200


def propose(case: Case) -> Iterator[Edit]:
    for chunk in case.conversation.chunks:
        text = chunk.payload.get("input")
        extra = chunk.payload.get("extra")
        if chunk.kind is Kind.TOOL_CALL and isinstance(text, dict) and isinstance(extra, Mapping) and extra.get("object") is True:
            # OpenAI wants arguments as text (OC-8): the note that they were none goes.
            kept_extra = {name: value for name, value in extra.items() if name != "object"}
            yield Replace(chunk, replace(chunk, payload={**chunk.payload, "extra": kept_extra}))
            continue
        if chunk.kind is not Kind.TOOL_CALL or not isinstance(text, str):
            continue
        try:
            value = sanitized(text)
            # Dispatch's converter sends any value; a provider of messages wants an object (AN-26).
            payload = {**chunk.payload, "input": value if isinstance(value, dict) or by_message(case) else _hint(text)}
            jsontext.parse(jsontext.compact({"chunk": payload}))
        except Unreadable:
            continue
        yield Replace(chunk, replace(chunk, payload=payload))


def sanitized(text: str) -> Any:
    """The value of argument text, numbers as JavaScript keeps them; of text that is no JSON the hint that upstream's sanitizer (b58fb83) sends.

    Text that encodes a text is read again. Raises Unreadable where it is over what is read here: the program may well read it.
    """
    try:
        value = jsontext.parse(text)
        while isinstance(value, str):
            text = value
            value = jsontext.parse(text)
    except Unreadable as problem:
        if problem.damage != "not-json":
            raise
        return _hint(text)
    try:
        return jsontext.parse(js_json.stringify(value))
    except ValueError as problem:
        raise Unreadable("too-deep", str(problem)) from None


def _hint(text: str) -> dict[str, str]:
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * _HINT_UNITS]
    return {"_malformed_arguments": units.decode("utf-16-le", "surrogatepass")}


STRATEGY = Strategy(
    name="sanitize-arguments",
    safety=frozenset({Safety.LOSSY}),
    summary="makes the input of a call that is stored as text the value that it encodes, or a hint with its first 200 characters",
    cost="Of text that is no JSON object, what follows the first 200 characters leaves the history. Only the input changes.",
    user_visible_effect="The call shows its arguments as fields, or the hint, after a reload.",
    pros="It is what the newest converter sends for such a call on every request; written once, older converters and other readers are not refused either.",
    cons="The text is evidence of what the model wrote; with a converter that sanitizes, nothing needs to be written.",
    write_kind="content",
    propose=propose,
    order=110,
)
