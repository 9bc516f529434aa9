"""Stores words as a block of text where they were stored as a bare JSON string, which gbrain cannot load."""

from collections.abc import Iterator

from inspector.conversation.edits import Edit, Replace
from inspector.programs.gbrain.readers import unparsed
from inspector.programs.gbrain.strategies.decode_double_encoded import decoded
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """A string that parses is left alone: gbrain loads it as its JSON value, not as these words."""
    return (Replace(chunk, decoded(chunk)) for chunk in unparsed(case.conversation))


STRATEGY = Strategy(
    name="wrap-bare-text",
    safety=frozenset(),
    summary="stores the words of a message as an array with one block of text, where they were stored as a bare string that gbrain cannot load",
    cost="No word changes: only how the row's content is encoded.",
    user_visible_effect="The job can be loaded again, with these words where they always were.",
    pros="gbrain parses a string that it loads as JSON and throws on words, so that every retry ends before any request. The row keeps its words, role and index.",
    cons="Whoever put the words there may have meant another place for them, and the model will now read them.",
    write_kind="content",
    propose=propose,
    order=60,
)
