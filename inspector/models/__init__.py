"""What Inspector keeps in its own database."""

from inspector.models.analysis import AnalysisBlock, AnalysisFinding, StoredAnalysis
from inspector.models.conversation import Conversation, Finding, Payload, Record, Revision
from inspector.models.repair import AuditEntry, Repair, RepairChange
from inspector.models.source import Source
from inspector.models.stream import Stream, StreamFinding, StreamPart
from inspector.models.trace import TraceRecord

__all__ = [
    "AnalysisBlock",
    "AnalysisFinding",
    "AuditEntry",
    "Conversation",
    "Finding",
    "Payload",
    "Record",
    "Repair",
    "RepairChange",
    "Revision",
    "Source",
    "StoredAnalysis",
    "Stream",
    "StreamFinding",
    "StreamPart",
    "TraceRecord",
]
