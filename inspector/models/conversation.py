"""A conversation with its revisions: each distinct content is kept, and re-import writes only what is new."""

from django.db import models
from django.db.models import F, Q

from inspector.models.identity import short_id
from inspector.models.json_text import JsonText
from inspector.models.source import Source
from inspector.programs.registry import crash_prefix_of


class Payload(models.Model):
    """Content-addressed bytes: record values as stored, and bodies of trace records (which may stay gzipped)."""

    digest = models.CharField(max_length=64, primary_key=True)
    data = models.BinaryField()
    gzipped = models.BooleanField(default=False)
    size = models.BigIntegerField()

    def __str__(self) -> str:
        return self.digest


class Conversation(models.Model):
    """The columns next to the identity are a summary of the newest revision, for lists."""

    oid = models.CharField(max_length=12, unique=True)
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="conversations")
    native_id = models.TextField()
    """Lone surrogates and NUL are escaped here; the exact id is in the record keys, and looked up by the `oid` that is made of it."""
    title = models.TextField(blank=True)
    model = models.TextField(blank=True)
    status = models.CharField(max_length=20, blank=True)
    last_activity = models.BigIntegerField(null=True)
    revision = models.PositiveIntegerField(default=0)
    is_gone = models.BooleanField(default=False)
    """The store did not hold it at the last import; what was read stays."""
    chunk_count = models.PositiveIntegerField(default=0)
    message_count = models.PositiveIntegerField(default=0)
    read_count = models.PositiveIntegerField(default=0)
    verdict = models.TextField(blank=True)
    worst = models.CharField(max_length=10, blank=True)
    has_silent = models.BooleanField(default=False)
    refused = models.BooleanField(default=False)
    judged_by = models.CharField(max_length=20, blank=True)
    """Version of Inspector whose rules gave verdict and findings; another version judges again at the next import."""
    projection = models.CharField(max_length=60, blank=True)
    profile = models.CharField(max_length=60, blank=True)
    """By which it was judged; "" of one that was judged before this was kept: those of its source."""

    class Meta:
        ordering = (F("last_activity").desc(nulls_last=True), "id")

    def __str__(self) -> str:
        return self.oid

    @property
    def is_crash(self) -> bool:
        """Whether it is a crash file: evidence of a request, next to the sessions."""
        return bool(crash_prefix_of(self.source.format, self.native_id))

    @staticmethod
    def oid_of(source: Source, native_id: str) -> str:
        return short_id(source.path, source.format, native_id)

    @property
    def judges(self) -> tuple[str, str]:
        """(projection, profile) where nobody asks for others."""
        return (self.projection, self.profile) if self.profile else (self.source.projection, self.source.profile)

    @property
    def short_native_id(self) -> str:
        return self.native_id[:8] if len(self.native_id) > 16 else self.native_id


class Revision(models.Model):
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    seen_at = models.DateTimeField()
    shared_facts = JsonText(default=dict)
    """Facts that are in records which the conversation shares with others (the index)."""

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=("conversation", "number"), name="revision_number")]

    def __str__(self) -> str:
        return f"{self.conversation} revision {self.number}"


class Record(models.Model):
    """One stored record, valid from revision `since` to `until` (None: still). The chunk columns are empty on fact records."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="records")
    key = models.TextField()
    key_bytes = models.BinaryField(null=True)
    """Only where the key does not survive as text."""
    position = models.PositiveIntegerField()
    storage = models.CharField(max_length=10, default="text")
    payload = models.ForeignKey(Payload, on_delete=models.PROTECT, db_constraint=False)
    since = models.PositiveIntegerField()
    until = models.PositiveIntegerField(null=True)
    seq = models.BigIntegerField(null=True)
    msg_idx = models.BigIntegerField(null=True)
    chunk_idx = models.BigIntegerField(null=True)
    role = models.CharField(max_length=20, blank=True)
    kind = models.CharField(max_length=20, blank=True)
    text = models.TextField(blank=True)
    """The first part of its words, with escapes, for search."""

    class Meta:
        ordering = ("position", "id")
        indexes = [models.Index(fields=("conversation", "since"), name="record_by_revision")]

    def __str__(self) -> str:
        return self.key

    @staticmethod
    def at(revision: int) -> Q:
        return Q(since__lte=revision) & (Q(until__isnull=True) | Q(until__gte=revision))


class Finding(models.Model):
    """A finding as the source's reader has it; other readers are judged when a page asks. One that is no longer found stays, for its links."""

    oid = models.CharField(max_length=12, unique=True)
    is_open = models.BooleanField(default=True)
    """Found in the newest revision."""
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="findings")
    revision = models.PositiveIntegerField()
    """The last in which it was found."""
    reader = models.CharField(max_length=80, blank=True)
    code = models.CharField(max_length=12)
    rule = models.CharField(max_length=60)
    severity = models.CharField(max_length=10)
    silent = models.BooleanField()
    origin = models.CharField(max_length=10)
    message = models.TextField()
    seqs = JsonText()
    total = models.PositiveIntegerField()
    key = models.TextField()

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=("code",), name="finding_by_code")]

    def __str__(self) -> str:
        return f"{self.code} in {self.conversation_id}"
