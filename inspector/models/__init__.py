"""What Inspector keeps in its own database."""

from inspector.models.access import Grant, SourceGroup
from inspector.models.analysis import AnalysisBlock, AnalysisFinding, StoredAnalysis, StoredPreview
from inspector.models.background import BackgroundTask
from inspector.models.conversation import (
    ChunkRow,
    Conversation,
    ConversationCount,
    ConversationRule,
    Finding,
    Payload,
    Record,
    Revision,
    RuleCount,
    SearchText,
)
from inspector.models.jobs import JobResult
from inspector.models.notification import Delivery, Notifier, NotifierSecret
from inspector.models.problem import Occurrence, Problem, ProblemDay, ProblemEvent, SavedView
from inspector.models.repair import AuditEntry, Repair, RepairChange, RepairComment, RepairGroup
from inspector.models.share import ShareLink
from inspector.models.sign_in import ApiToken, FailedSignIn, Identity, OpenSession
from inspector.models.source import Source
from inspector.models.stream import Stream, StreamFinding, StreamPart
from inspector.models.tombstone import Tombstone
from inspector.models.trace import TraceRecord
from inspector.models.watch import Watch, Watcher

__all__ = [
    "AnalysisBlock",
    "AnalysisFinding",
    "ApiToken",
    "AuditEntry",
    "BackgroundTask",
    "ChunkRow",
    "Conversation",
    "ConversationCount",
    "ConversationRule",
    "Delivery",
    "FailedSignIn",
    "Finding",
    "Grant",
    "Identity",
    "JobResult",
    "Notifier",
    "NotifierSecret",
    "Occurrence",
    "OpenSession",
    "Payload",
    "Problem",
    "ProblemDay",
    "ProblemEvent",
    "Record",
    "Repair",
    "RepairChange",
    "RepairComment",
    "RepairGroup",
    "Revision",
    "RuleCount",
    "SavedView",
    "SearchText",
    "ShareLink",
    "Source",
    "SourceGroup",
    "StoredAnalysis",
    "StoredPreview",
    "Stream",
    "StreamFinding",
    "StreamPart",
    "Tombstone",
    "TraceRecord",
    "Watch",
    "Watcher",
]
