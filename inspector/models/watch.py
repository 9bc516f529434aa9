"""What is watched: for each source whether and how often, and how the last looks ended; and the one process that looks.

These are rows of their own: an import writes the row of its source, and a look must not.
"""

from datetime import timedelta

from django.db import models
from django.utils import timezone

from inspector.models.source import Source
from inspector.models.visible import Visible
from inspector.sources.processes import has_ended

ALIVE = timedelta(seconds=10)
"""How often the watcher says that it is there."""
LOST = 6 * ALIVE
"""For so long another one waits, unless it knows that the process has ended."""
SELDOM = 30
"""Seconds between two looks from which on each look is written down; of others the watcher is heard of often enough."""


class Watch(models.Model):
    """A source without a row is one that nobody decided about and no look found anything to say of."""

    source = models.OneToOneField(Source, on_delete=models.CASCADE, related_name="watch")
    is_on = models.BooleanField(null=True)
    """None: as the installation has it (`actions.watching.is_on`)."""
    every = models.PositiveIntegerField(default=0)
    """Seconds between two looks; 0: as often as a look is cheap."""
    pace = models.PositiveIntegerField(default=0)
    """Seconds that are between two looks now; 0 before the first."""
    mark = models.CharField(max_length=64, blank=True)
    """Of what the last import read (`watched.Look.mark`), also of one that failed; "" where more may have been written meanwhile."""
    looked_at = models.DateTimeField(null=True)
    """Only where looks are SELDOM."""
    brought_at = models.DateTimeField(null=True)
    """When an import by the watcher last brought something."""
    problem = models.TextField(blank=True)
    """Why it cannot be read now, as a sentence; "" as soon as it can."""
    failed_at = models.DateTimeField(null=True)
    """Since when there is a problem."""

    objects = Visible["Watch"]("source")

    def __str__(self) -> str:
        return f"watch of {self.source_id}"


class Watcher(models.Model):
    """One row: the process that looks at all watched sources, and when it was last heard of."""

    by = models.TextField(blank=True)
    """As `sources.processes` names it; "" of one that ended in good order."""
    alive_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.by or "nobody"

    @property
    def is_alive(self) -> bool:
        return bool(self.by) and self.alive_at > timezone.now() - LOST and not has_ended(self.by)

    @classmethod
    def now(cls) -> "Watcher | None":
        return cls.objects.filter(pk=1).first()


def take_watch(by: str) -> bool:
    """Whether this process is the one that looks, from now on or still. Exactly one is: the row is changed only where it is as it was read."""
    now = timezone.now()
    row = Watcher.now() or Watcher.objects.get_or_create(pk=1, defaults={"by": "", "alive_at": now})[0]
    if row.by == by and now - ALIVE < row.alive_at <= now:
        return True
    if row.by != by and row.is_alive:
        return False
    return bool(Watcher.objects.filter(pk=1, by=row.by, alive_at=row.alive_at).update(by=by, alive_at=now))


def leave_watch(by: str) -> None:
    Watcher.objects.filter(pk=1, by=by).update(by="")
