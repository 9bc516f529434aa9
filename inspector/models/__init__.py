"""What Inspector keeps in its own database."""

from inspector.models.conversation import Conversation, Finding, Payload, Record, Revision
from inspector.models.repair import AuditEntry, Repair, RepairChange
from inspector.models.source import Source
from inspector.models.stream import Stream, StreamFinding, StreamPart
from inspector.models.trace import TraceRecord

__all__ = [
    "AuditEntry",
    "Conversation",
    "Finding",
    "Payload",
    "Record",
    "Repair",
    "RepairChange",
    "Revision",
    "Source",
    "Stream",
    "StreamFinding",
    "StreamPart",
    "TraceRecord",
]
