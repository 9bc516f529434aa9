"""Says which client's loading code is deployed on a source; every conversation of it is then judged again with that reader."""

from inspector.access.permits import acts
from inspector.actions import audit
from inspector.actions.examining import examine
from inspector.actions.planning import reader_named
from inspector.actions.problems import Refused
from inspector.models import Source, loading
from inspector.models.transactions import one_writer


@acts("reader")
def set_deployed_reader(source: Source, operator: str, name: str) -> int:
    """How many conversations were judged again: all of the source that its store still holds. Raises Refused."""
    if source.is_trace:
        raise Refused("A trace is read by no client; choose the reader of the store that it belongs to.")
    name = reader_named(loading.format_of(source), name)
    with one_writer():
        before, source.reader = source.reader, name
        source.save(update_fields=["reader"])
        conversations = source.conversations.filter(is_gone=False).select_related("source")
        count = 0
        for conversation in conversations.iterator(chunk_size=500):
            examine(conversation)
            count += 1
        audit.record(operator, "set reader", source_path=source.path, before=before, after=name, conversations=count)
    return count
