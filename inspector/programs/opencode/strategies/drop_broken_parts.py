"""Takes out what ends every run: rows that cannot be parsed, and members of a tool that cannot be sent; and messages of no known role, at which an import ends."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Remove, Replace, Safety
from inspector.conversation.model import Kind
from inspector.programs.opencode.chunks import ABOUT, about
from inspector.programs.opencode.reader import stopping
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    broken = [chunk for chunk, _ in stopping(case.conversation)]
    # Nothing says of whom these messages are, and so their parts go with them; opencode sends nothing of them.
    messages = {about(chunk).get("message") for chunk in case.conversation.chunks if not about(chunk).get("role")}
    for chunk in case.conversation.chunks:
        if about(chunk).get("message") in messages or (chunk in broken and chunk.kind is Kind.UNREADABLE):
            yield Remove(chunk)
        elif chunk in broken:
            notes = {name: value for name, value in about(chunk).items() if name != "breaks"}
            yield Replace(chunk, replace(chunk, payload={**chunk.payload, ABOUT: notes}))


STRATEGY = Strategy(
    name="drop-broken-parts",
    safety=frozenset({Safety.LOSSY}),
    summary="takes out parts that cannot be read, messages of no known role and attachments that are no files, and gives an ended tool the time and output that it lacks",
    cost="What was in these rows is not in the new session.",
    user_visible_effect="The session can be continued again, as a new one without these parts.",
    pros="All other parts stay as they are.",
    cons="A torn text may hold words that are nowhere else: the finding shows its bytes.",
    write_kind="W2",
    propose=propose,
    order=30,
)
