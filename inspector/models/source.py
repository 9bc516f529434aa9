"""A source: one store, trace database or journal, by its real path."""

from django.db import models

from inspector.models.identity import short_id


class Source(models.Model):
    oid = models.CharField(max_length=12, unique=True)
    path = models.TextField(unique=True)
    format = models.CharField(max_length=40)
    is_trace = models.BooleanField(default=False)
    is_demo = models.BooleanField(default=False)
    write_enabled = models.BooleanField(default=False)
    reader = models.CharField(max_length=80, blank=True)
    projection = models.CharField(max_length=80, blank=True)
    profile = models.CharField(max_length=80, blank=True)
    read_at = models.DateTimeField()
    problems = models.JSONField(default=list)
    traces = models.ManyToManyField("self", symmetrical=False, related_name="stores", blank=True)

    class Meta:
        ordering = ("path",)

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """File and folder: stores of one program are all called the same."""
        return "/".join(self.path.rsplit("/", 2)[-2:])

    @staticmethod
    def oid_of(path: str) -> str:
        return short_id("source", path)
