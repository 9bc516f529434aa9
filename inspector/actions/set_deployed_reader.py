"""Says which client's loading code is deployed on a source; every conversation of it is then judged anew with that reader."""

from inspector.actions import audit
from inspector.actions.import_source import examine
from inspector.actions.problems import Refused
from inspector.models import Source
from inspector.models.transactions import one_writer
from inspector.readers.catalogue import UnknownReader, names, reader


def set_deployed_reader(source: Source, operator: str, name: str) -> int:
    """How many conversations were judged anew: all of the source that its store still holds. Raises Refused."""
    if source.is_trace:
        raise Refused("A trace is read by no client; choose the reader of the store that it belongs to.")
    try:
        found = reader(name)
    except UnknownReader as problem:
        raise Refused(str(problem)) from None
    if found.format != source.format and name not in names(source.format):
        raise Refused(f"{name} reads {found.format}, and this source is {source.format}; choose one of its own readers.")
    with one_writer():
        before, source.reader = source.reader, found.name
        source.save(update_fields=["reader"])
        held = source.conversations.filter(is_gone=False).select_related("source")
        count = 0
        for conversation in held.iterator(chunk_size=500):
            examine(conversation)
            count += 1
        audit.record(operator, "set reader", source_path=source.path, before=before, after=found.name, conversations=count)
    return count
