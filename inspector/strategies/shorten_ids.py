"""Gives every call an id of nine letters and digits, with its results."""

import re
from collections.abc import Iterator

from inspector.conversation.edits import Edit
from inspector.rules.base import Case
from inspector.strategies.base import Strategy
from inspector.strategies.rename_invalid_ids import renamed

_NINE = re.compile(r"[A-Za-z0-9]{9}")


def propose(case: Case) -> Iterator[Edit]:
    return renamed(case, _NINE)


STRATEGY = Strategy(
    name="shorten-ids",
    safety=frozenset(),
    summary="gives every call an id of exactly nine letters and digits, and its results with it",
    cost="Only ids change; what was called and what came back stays.",
    user_visible_effect="Nothing: ids are not shown.",
    pros="Mistral's tokenizers up to v11, and templates made for them, take no other form.",
    cons="Only Mistral wants this: for a store that goes on with another provider it is noise. A client that maps ids when it sends needs no write.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=240,
)
