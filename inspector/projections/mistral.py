"""Mistral chat messages: as OpenAI's, but thinking is a block of the content and a result names its tool."""

from functools import partial

from inspector.projections.base import AS_SENT, MISTRAL, Projection
from inspector.projections.openai_chat import convert


def variants() -> tuple[Projection, ...]:
    sent = f"{MISTRAL}+{AS_SENT}"
    return (
        Projection(
            MISTRAL,
            "Mistral chat messages",
            "As OpenAI's, but thinking is a block of the content and a result names its tool.",
            partial(convert, MISTRAL, MISTRAL, False, False),
            ((AS_SENT, "one message for each of the body"),),
            MISTRAL,
        ),
        Projection(
            sent,
            "Mistral chat messages, as sent",
            "One message for each of the body.",
            partial(convert, sent, MISTRAL, True, False),
            wire=MISTRAL,
        ),
    )
