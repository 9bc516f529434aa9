"""Captured streams: a summary for lists, what is wrong with each, and its bytes in our own format."""

from django.db import models
from django.db.models import F

from inspector.models.conversation import Payload
from inspector.models.identity import short_id
from inspector.models.json_text import JsonText
from inspector.models.source import Source
from inspector.models.visible import Visible


class Stream(models.Model):
    """One captured exchange. The other columns are a summary of what was read last."""

    oid = models.CharField(max_length=12, unique=True)
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="streams")
    native_id = models.TextField()
    """As it is shown; looked up by the `oid`, which is made of the exact one."""
    position = models.PositiveIntegerField(default=0)
    """Its place among the exchanges of its file."""
    title = models.TextField(blank=True)
    protocol = models.CharField(max_length=200, blank=True)
    """Of the client's side, else of the backend's; where no machine reads it, what it seems to be."""
    sides = models.CharField(max_length=20)
    """`backend`, `client` or `backend,client`."""
    events = models.PositiveBigIntegerField(default=0)
    """Of all sides together."""
    verdict = models.TextField(blank=True)
    worst = models.CharField(max_length=10, blank=True)
    rank = models.PositiveSmallIntegerField(default=2)
    """Its place in lists by `worst`: 0 with an error, 1 with a warning, 2 with neither."""
    has_silent = models.BooleanField(default=False)
    is_gone = models.BooleanField(default=False)
    """The file did not hold it at the last import; what was read stays."""
    judged_by = models.CharField(max_length=20, blank=True)
    seen_at = models.DateTimeField()
    request_digest = models.CharField(max_length=64, blank=True, db_index=True)
    """Equal for equal request bodies; "" where none was captured."""
    digest = models.CharField(max_length=64)
    """SHA-256 of its lines in our own format."""
    revision = models.PositiveIntegerField(default=1, db_default=1)
    """One more each time its bytes are others."""
    model = models.TextField(blank=True, db_default="")
    """That the answer names, else the one that was asked; "" where neither is known, and of streams that were read before this was kept."""
    problems = JsonText(default=list)
    """What could not be read of it, as sentences."""
    size = models.PositiveBigIntegerField(default=0)
    """Bytes that were read of it, on all sides."""
    is_kept = models.BooleanField(default=True)
    """False: too large to be kept here. Its file is read, as long as that is the same."""
    file_size = models.PositiveBigIntegerField(default=0)
    file_time = models.BigIntegerField(default=0)
    """Of the file as it was read: bytes, and when it was written, in nanoseconds since the epoch."""

    objects = Visible("source")

    class Meta:
        ordering = (F("seen_at").desc(), "id")
        indexes = [
            models.Index(fields=("rank", "-seen_at", "source", "position", "id"), name="stream_listed", condition=models.Q(is_gone=False)),
            models.Index(fields=("events", "id"), name="stream_listed_by_events", condition=models.Q(is_gone=False)),
            models.Index(fields=("file_time", "id"), name="stream_listed_by_capture", condition=models.Q(is_gone=False)),
        ]

    def __str__(self) -> str:
        return self.oid

    @staticmethod
    def oid_of(source: Source, native_id: str) -> str:
        return short_id(source.path, "stream", native_id)

    @property
    def captured_at(self) -> int:
        """Epoch milliseconds: when its file was written, as it was read; where that is not known, when it was read. Captures have no clock of their own."""
        return self.file_time // 10**6 if self.file_time > 0 else int(self.seen_at.timestamp() * 1000)

    @property
    def side_names(self) -> tuple[str, ...]:
        return tuple(self.sides.split(","))


class StreamPart(models.Model):
    """A piece of the capture in our own format, gzipped; pieces end anywhere."""

    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="parts", db_index=False)
    position = models.PositiveIntegerField()
    payload = models.ForeignKey(Payload, on_delete=models.PROTECT, db_constraint=False)

    objects = Visible("stream__source")

    class Meta:
        ordering = ("position",)
        constraints = [models.UniqueConstraint(fields=("stream", "position"), name="stream_part_once")]

    def __str__(self) -> str:
        return f"{self.stream_id}.{self.position}"


class StreamFinding(models.Model):
    """What a row of the table of violations, or a rule on the assembled message, says of a stream."""

    oid = models.CharField(max_length=12, unique=True)
    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="findings")
    code = models.CharField(max_length=12)
    rule = models.CharField(max_length=60)
    severity = models.CharField(max_length=10)
    silent = models.BooleanField()
    origin = models.CharField(max_length=10)
    message = models.TextField()
    side = models.CharField(max_length=10)
    events = JsonText(default=list)
    """The first few events that show it, counted from 0 within the side."""
    total = models.PositiveBigIntegerField(default=0)

    objects = Visible("stream__source")

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=("code",), name="stream_finding_by_code")]

    def __str__(self) -> str:
        return f"{self.code} in {self.stream_id}"

    @property
    def href(self) -> str:
        """The page of its stream at the first event that shows it."""
        address = f"/streams/{self.stream.oid}/"
        return f"{address}?side={self.side}&at={self.events[0]}#e-{self.side}-{self.events[0]}" if self.events else f"{address}#findings"
