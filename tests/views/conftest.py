"""The example store with its trace, imported, and a client to look at its pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.actions.import_source import import_targets
from inspector.demo import dispatch_incident
from inspector.demo.creation import write_dispatch_store, write_trace_store
from inspector.models import Conversation, loading


@pytest.fixture(autouse=True)
def forget_what_was_read() -> Iterator[None]:
    """Each test rolls its rows back, and the next one gets the same ids again."""
    yield
    for kept in (loading._stored, loading._trace, loading.body):
        kept.cache_clear()


@pytest.fixture
def incident(db: None, tmp_path: Path) -> Conversation:
    """The conversation of the incident, its store and its trace imported from real files."""
    store, traces = tmp_path / "dispatch.db", tmp_path / "traces.db"
    write_dispatch_store(store, dispatch_incident.store_rows())
    write_trace_store(traces, dispatch_incident.trace_records())
    import_targets([str(store), str(traces)], "tester")
    return Conversation.objects.get(native_id=dispatch_incident.CONVERSATION)
