"""Trace records as imported; trees are built when a page asks."""

from django.db import models

from inspector.models.json_text import JsonText
from inspector.models.source import Source
from inspector.models.visible import Visible


class TraceRecord(models.Model):
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="trace_records", db_index=False)
    record_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=20)
    timestamp = models.BigIntegerField()
    order = models.BigIntegerField()
    conversation_id = models.TextField(blank=True, db_index=True)
    """The native id as `indexed` has it."""
    turn_id = models.TextField(blank=True)
    body = models.CharField(max_length=64, null=True)  # noqa: DJ001 (None: the record has no body)
    fields = JsonText()
    """Everything else of the record, as the core's TraceRecord has it."""

    objects = Visible("source")

    class Meta:
        ordering = ("timestamp", "order")
        constraints = [models.UniqueConstraint(fields=("source", "record_id"), name="trace_record_once")]

    def __str__(self) -> str:
        return self.record_id
