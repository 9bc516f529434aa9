"""The example store with its trace, imported, and a client to look at its pages."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo import dispatch_incident
from inspector.demo.creation import write_dispatch_store, write_trace_store
from inspector.models import Conversation
from tests.kept import Kept
from tests.operators import OperatorClient

BLANKS = re.compile(rb"(<(pre|textarea)\b.*?</\2>)|\s+", re.DOTALL)


class Folding(OperatorClient):
    """White space folded as a browser does it: where a template breaks its lines is nobody's business."""

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        if response.headers.get("Content-Type", "").startswith("text/html") and not response.streaming:
            response.content = BLANKS.sub(lambda match: match[1] or b" ", response.content)
        return response


@pytest.fixture
def client() -> Client:
    return Folding()


def _imported(folder: Path) -> None:
    store, traces = folder / "dispatch.db", folder / "traces.db"
    write_dispatch_store(store, dispatch_incident.store_rows())
    write_trace_store(traces, dispatch_incident.trace_records())
    import_targets([str(store), str(traces)], "tester")


@pytest.fixture
def incident(db: None, kept: Kept) -> Conversation:
    """The conversation of the incident, its store and its trace imported from real files."""
    kept("incident", _imported)
    return Conversation.objects.get(native_id=dispatch_incident.CONVERSATION)
