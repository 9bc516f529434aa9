"""Mistral chat messages: as OpenAI's, but thinking is a block of the content and a result names its tool."""

from functools import partial

from inspector.projections.base import MISTRAL, with_as_sent
from inspector.projections.openai_chat import convert

PROJECTIONS = with_as_sent(
    MISTRAL,
    "Mistral chat messages",
    "As OpenAI's, but thinking is a block of the content and a result names its tool.",
    partial(convert, wire=MISTRAL),
    "one message for each of the body",
    "One message for each of the body.",
)
