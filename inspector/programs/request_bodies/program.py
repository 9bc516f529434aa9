"""Request bodies: what a client sent to a provider, in one format for each wire shape."""

from inspector.conversation import queries
from inspector.conversation.model import Kind, Message
from inspector.programs.base import Program, Trait
from inspector.programs.request_bodies import readers as as_sent
from inspector.programs.request_bodies.format import REQUEST_BODIES, start_of
from inspector.wires.names import WIRES

_ANY = frozenset({Trait.EMPTY_MESSAGES, Trait.REPEATED_RUNS, Trait.SIGNATURES, Trait.PLACEHOLDERS})
_ITEMS = "openai-responses-request"
_BLOCKS = frozenset({Trait.BLOCK_ORDER, Trait.SIGNED_THINKING})
_BY_FORMAT = {"anthropic-request": _BLOCKS, "bedrock-request": _BLOCKS, "gemini-request": frozenset({Trait.EMPTY_TEXT_ACCEPTED})}


def _more_calls(before: Message, after: Message) -> bool:
    """Words after a call are refused, so that only calls go on with a turn."""
    return bool(queries.calls(before)) and all(chunk.kind is Kind.TOOL_CALL for chunk in after.chunks)


def _any_calls(before: Message, after: Message) -> bool:
    return bool(queries.calls(before) and queries.calls(after))


PROGRAM = Program(
    name="request-bodies",
    title="Request bodies",
    about="what a client sent to a provider, as JSON",
    package=__name__.rpartition(".")[0],
    formats=tuple(REQUEST_BODIES),
    readers=(as_sent.READER,),
    readers_of={format_.name: (as_sent.NAME,) for format_ in REQUEST_BODIES},
    traits={
        format_.name: _ANY
        | _BY_FORMAT.get(format_.name, frozenset())
        | (frozenset() if format_.name == _ITEMS else frozenset({Trait.NEIGHBORS}))
        for format_ in REQUEST_BODIES
    },
    # Anthropic and Gemini accepted a call in each of two messages and both results after them; clients of Bedrock merge such messages.
    continues_turn={"anthropic-request": _more_calls, "bedrock-request": _more_calls, "gemini-request": _any_calls},
    wires=WIRES,
    start_of=start_of,
    single_items=frozenset({_ITEMS}),
)
