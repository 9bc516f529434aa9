"""The example store: the incident of 2026-06-28 with its trace, and five other conversations."""

from inspector.demo.appending import Row, index_row, workspace_row
from inspector.demo.dispatch_incident_rows import CONVERSATION, CWD, TURNS, incident_rows
from inspector.demo.dispatch_incident_trace import LogRecord, trace_records
from inspector.demo.dispatch_others import OTHERS, other_rows

__all__ = ["CONVERSATION", "LogRecord", "Row", "store_rows", "trace_records"]


def store_rows() -> list[Row]:
    """(namespace, key, value text) of every row of dispatch.db; the incident is the conversation last active."""
    shared = [index_row([*OTHERS, CONVERSATION]), workspace_row("default", CWD, 1780995600000, TURNS[-1].end)]
    return [*other_rows(), *incident_rows(), *shared]
