"""Work on large conversations that a page asked for and does not wait for."""

from collections.abc import Iterable
from datetime import datetime

from django.db import models

from inspector.models.conversation import Conversation
from inspector.models.json_text import JsonText
from inspector.models.source import Source
from inspector.models.visible import Visible
from inspector.rules.base import Severity

LARGE = 5_000
"""Chunks of a conversation from which on a page does not wait for work on the whole of it."""


class BackgroundTask(models.Model):
    """`key` is the digest of what is asked: asked again, it is the same task. It ended with an `answer`, or with the sentence that says why there is none."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, related_name="tasks")
    """None of what is done for several."""
    key = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=20)
    arguments = JsonText(default=dict)
    operator = models.TextField(blank=True)
    back = models.TextField(blank=True)
    """The address of the page that shows what came of it."""
    started_at = models.DateTimeField()
    by = models.TextField(blank=True)
    """The process that does it or will, as `sources.processes` names it, or `job NUMBER` of the queue."""
    ended_at = models.DateTimeField(null=True)
    seconds = models.FloatField(null=True)
    """Of the processor, of the process that did nothing else."""
    answer = models.TextField(blank=True)
    error = models.TextField(blank=True)
    source = models.ForeignKey(Source, on_delete=models.CASCADE, null=True, related_name="+")
    """Whose task it is for: whoever may see the source may see it. None is a task of its operator alone."""

    objects = Visible("source", own="operator")

    def __str__(self) -> str:
        return f"{self.kind} of {self.conversation_id}"


def judged_since(begun: datetime, sources: Iterable[Source]) -> "models.QuerySet[Conversation]":
    """Large conversations of these sources that were judged since, and need a repair: of notes nothing is damaged, and a call that is pending waits for nobody."""
    rows = Conversation.objects.filter(source__in=[source.pk for source in sources], chunk_count__gte=LARGE, is_gone=False).exclude(
        worst__in=("", Severity.NOTE.value)
    )
    return rows.filter(analyses__is_own=True, analyses__written_at__gte=begun).select_related("source").distinct()
