"""What our writer makes of a session of opencode: a file for its import."""

from inspector.conversation.edits import Plan
from inspector.planning.preview import compose
from inspector.programs.opencode.reader import NAME
from inspector.rules.base import case_of
from inspector.sources.places import place
from inspector.sources.reading import read_store
from inspector.strategies.catalogue import strategy
from tests.programs.opencode.stores import CREATED

LATER = CREATED + 3_600_000


def import_file(path: str, *strategies: str) -> tuple[str, bytes]:
    """The id of the new session, and its file."""
    store = read_store(place(path))
    (stored,) = store.conversations
    edits = compose(case_of(stored.conversation, NAME, taken_at=LATER), [strategy(name) for name in strategies])
    options = store.format.options("import-file", stored, "a fresh id")
    plan = Plan(path, stored.conversation.native_id, "import-file", strategies, frozenset(), "", edits, options)
    (change,) = store.format.write(plan, stored)
    assert change.before is None and change.after is not None
    return options["fork_id"], change.after.data
