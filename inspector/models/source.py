"""A source: one store, trace database or journal, by its real path."""

from django.db import models

from inspector.models.identity import short_id
from inspector.models.json_text import JsonText
from inspector.models.visible import Visible
from inspector.presentation.conversation.provenance import last_written, provenance
from inspector.presentation.visible import clipped
from inspector.programs.base import Program
from inspector.programs.registry import program_or_default
from inspector.sources.places import short
from inspector.sources.problems import THE_FILE

OPTION = 40
"""Characters of a name in a choice."""


class Source(models.Model):
    oid = models.CharField(max_length=12, unique=True)
    path = models.TextField()
    """Unique through `oid`, its hash: an index has no room for the longest paths."""
    format = models.CharField(max_length=40)
    is_trace = models.BooleanField(default=False)
    """It holds what was observed, traces or captured streams: it is evidence, and nothing is ever written to it."""
    is_demo = models.BooleanField(default=False)
    write_enabled = models.BooleanField(default=False)
    reader = models.CharField(max_length=80, blank=True)
    projection = models.CharField(max_length=80, blank=True)
    profile = models.CharField(max_length=80, blank=True)
    read_at = models.DateTimeField()
    written_at = models.DateTimeField(null=True)
    """When the file, or the -wal file next to it, was last written, as its file system reported at the import."""
    came_from = models.TextField(blank=True)
    """Where a copy was taken, in the words of the person who imported it."""
    sealed = models.TextField(blank=True)
    """Where the conversation of an evidence bundle was taken and by what; empty for anything else."""
    removed_by = models.TextField(blank=True, db_default="")
    """Who removes it; then it is being removed, and nothing is imported into it (`actions.remove_source`)."""
    removal = models.TextField(blank=True, db_default="")
    """Why, in their words."""
    problems = JsonText(default=list)
    stamp = models.CharField(max_length=64, blank=True)
    """Of the files at the last import (`folders.stamp`): files that have it still are not read again; "" where they have to be."""
    changes = models.BigIntegerField(default=0, db_default=0)
    """Goes up with every write of an import that a page shows, so that a page knows by one number whether it is still right (`news`)."""
    trace_record_count = models.BigIntegerField(default=0)
    """This and the next three are written at each import, so that no page counts rows: its trace records, and its captured streams that its
    file held then, those of them with errors or warnings, and those that it holds no longer."""
    stream_count = models.BigIntegerField(default=0)
    damaged_stream_count = models.BigIntegerField(default=0)
    gone_stream_count = models.BigIntegerField(default=0)
    traces = models.ManyToManyField("self", symmetrical=False, related_name="stores", blank=True)

    objects = Visible("pk")

    class Meta:
        ordering = ("path",)

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return short(self.path)

    @property
    def option(self) -> tuple[str, str]:
        """How a list offers it as a filter."""
        return self.oid, clipped(self.name, OPTION)[0] + (" (demo)" if self.is_demo else "")

    @property
    def is_capture(self) -> bool:
        # Whatever reads streams is imported with it, and most commands read none.
        from inspector.sources.captures import NAMES

        return self.format in NAMES

    @property
    def provenance(self) -> str:
        """How old it was when it was read, and where it came from."""
        return provenance(self.came_from, self.last_written, self.sealed)

    @property
    def last_written(self) -> str:
        """How long before it was read; "" where that is not known."""
        written = None if self.written_at is None else int(self.written_at.timestamp() * 1000)
        return last_written(written, int(self.read_at.timestamp() * 1000))

    @property
    def damage(self) -> str:
        """What SQLite's own check found wrong with the file of a store; rows may then be missing without a trace."""
        return next((problem["reason"] for problem in self.problems if problem["where"] == THE_FILE and not self.is_trace), "")

    @property
    def program(self) -> Program:
        return program_or_default(self.format)

    @staticmethod
    def oid_of(path: str) -> str:
        return short_id("source", path)
