"""Sources one of which is a folder of the other: each conversation of the inner one is listed and counted twice."""

from dataclasses import dataclass
from itertools import accumulate

from django.db.models import Q, QuerySet

from inspector.models.conversation import Record
from inspector.models.source import Source
from inspector.sources.places import is_dsn


@dataclass(frozen=True, slots=True)
class Overlap:
    inner: Source
    outer: Source
    conversations: int

    @property
    def sentence(self) -> str:
        count = f"its {self.conversations:,} conversations are" if self.conversations > 1 else "its one conversation is"
        return f"{self.inner.path} is a part of {self.outer.path}, and both are imported: {count} listed twice."


def records_in(outer: Source, path: str) -> QuerySet[Record]:
    """Present records of a source that are in this file or folder below it; `path` is written as those of sources are."""
    key = outer.path.rpartition("/")[2] + path.removeprefix(outer.path)
    known = Record.objects.filter(conversation__source=outer, conversation__is_gone=False)
    return known.filter(Q(key=key) | Q(key__startswith=f"{key}/"))


def overlapping(source: Source) -> tuple[Overlap, ...]:
    """With every source inside or around it that has conversations of it."""
    if source.is_trace or is_dsn(source.path):
        return ()
    around = [Source.oid_of(folder) for folder in accumulate(source.path.split("/")[:-1], "{}/{}".format)]
    # What a database compares may be the same in upper case.
    others = Source.objects.filter(Q(oid__in=around) | Q(path__startswith=f"{source.path}/"), is_trace=False).exclude(pk=source.pk)
    pairs = [
        (source, other) if other.oid in around else (other, source)
        for other in others
        if other.oid in around or other.path.startswith(f"{source.path}/")
    ]
    overlaps = (Overlap(inner, outer, records_in(outer, inner.path).values("conversation").distinct().count()) for inner, outer in pairs)
    return tuple(overlap for overlap in overlaps if overlap.conversations)
