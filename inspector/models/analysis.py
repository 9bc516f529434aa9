"""What pages show of a large conversation, kept so that none of them reads the whole of it: an overview, its rows in blocks, its findings."""

from django.db import models

from inspector.models.conversation import Conversation
from inspector.models.json_text import JsonText
from inspector.models.visible import Visible


class StoredAnalysis(models.Model):
    """One way to look at one revision. `key` is the digest of what an address chooses, `basis` of all else that the answer depends on."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="analyses", db_index=False)
    key = models.CharField(max_length=64)
    basis = models.CharField(max_length=64)
    is_timed = models.BooleanField()
    """Whether it depends on when the source was read."""
    is_own = models.BooleanField()
    """By the judges of its conversation, of the newest revision then; others are dropped when there are many."""
    headline = models.BinaryField()
    written_at = models.DateTimeField()

    objects = Visible("conversation__source")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("conversation", "key"), name="analysis_key")]

    def __str__(self) -> str:
        return f"analysis of {self.conversation_id}"


class AnalysisBlock(models.Model):
    """Some rows in their order, packed, with what finds a row without unpacking. Of a prompt, positions are those of its table, and `counts` has runs of seqs."""

    analysis = models.ForeignKey(StoredAnalysis, on_delete=models.CASCADE, related_name="blocks", db_index=False)
    number = models.PositiveIntegerField()
    seq_high = models.BigIntegerField()
    position_low = models.PositiveIntegerField()
    position_high = models.PositiveIntegerField()
    counts = JsonText()
    data = models.BinaryField()

    objects = Visible("analysis__conversation__source")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("analysis", "number"), name="block_number")]

    def __str__(self) -> str:
        return f"block {self.number} of {self.analysis_id}"


class AnalysisFinding(models.Model):
    """A finding whole, with its evidence and what repairs it; Finding has what lists and links need, of the newest revision."""

    analysis = models.ForeignKey(StoredAnalysis, on_delete=models.CASCADE, related_name="findings", db_index=False)
    number = models.PositiveIntegerField()
    oid = models.CharField(max_length=12)
    code = models.CharField(max_length=12)
    data = models.BinaryField()

    objects = Visible("analysis__conversation__source")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("analysis", "number"), name="finding_number")]
        indexes = [models.Index(fields=("analysis", "oid"), name="analysis_finding")]

    def __str__(self) -> str:
        return f"{self.code} in analysis {self.analysis_id}"


class StoredPreview(models.Model):
    """What the pages of a repair show of a plan on one revision. `key` is the digest of what is asked, `basis` of all else that the answer depends on."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="previews", db_index=False)
    revision = models.PositiveIntegerField(default=0)
    key = models.CharField(max_length=64)
    basis = models.CharField(max_length=64)
    is_timed = models.BooleanField()
    """Whether it depends on when the source was read."""
    request = JsonText()
    choice = models.CharField(max_length=64, blank=True)
    """Digest of what a person chose on a page that led to the request; "" where none did. The same choice is the same request until the source is read again."""
    data = models.BinaryField()
    written_at = models.DateTimeField()

    objects = Visible("conversation__source")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("conversation", "key"), name="preview_key")]

    def __str__(self) -> str:
        return f"preview of {self.conversation_id}"
