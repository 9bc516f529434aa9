"""Replaces halves of characters, which no provider can read, by the sign for an unknown one."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Kind
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.text.surrogates import without_surrogates


def propose(case: Case) -> Iterator[Edit]:
    """Not in thinking that is signed: its signature covers the words."""
    for chunk in case.conversation.chunks:
        if chunk.kind is Kind.UNREADABLE or (chunk.kind is Kind.THINKING and chunk.payload.get("signature")):
            continue
        payload = without_surrogates(dict(chunk.payload))
        if payload != dict(chunk.payload):
            yield Replace(chunk, replace(chunk, payload=payload))


STRATEGY = Strategy(
    name="replace-surrogates",
    safety=frozenset({Safety.LOSSY}),
    summary="replaces lone halves of characters by U+FFFD, the sign for an unknown character",
    cost="Which half was there is lost; a tool or a cut had broken the character before.",
    user_visible_effect="A question mark in a diamond appears where half a character was.",
    pros="A request with a lone surrogate is no valid JSON for the provider, so every request with this history is rejected.",
    cons="Nothing is won where the client replaces them itself when it sends.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=130,
)
