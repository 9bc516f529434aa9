"""Opens one store to writes from the pages, or closes it: a deliberate act that the audit log keeps."""

from inspector.access.permits import acts
from inspector.actions import audit
from inspector.actions.problems import Refused
from inspector.models import Source
from inspector.models.transactions import one_writer
from inspector.sources.own_program import read_only


@acts("write back")
def set_write_back(source: Source, operator: str, on: bool, answers_for_it: bool = False) -> None:
    """`answers_for_it`: the person confirmed it at the same moment; closing needs no confirmation. Raises Refused."""
    if source.is_trace:
        raise Refused("Nothing is ever written to a trace, so there is no switch; open the store that it belongs to.")
    if on and (reason := read_only(source.format)):
        raise Refused(reason)
    if on and not answers_for_it:
        raise Refused("Tick \u201cI answer for writes to this store\u201d first: an approved repair then changes the store's own bytes.")
    with one_writer():
        Source.objects.filter(pk=source.pk).update(write_enabled=on)
        audit.record(operator, "open for writes" if on else "close for writes", source_path=source.path, was_open=source.write_enabled)
    source.refresh_from_db()
