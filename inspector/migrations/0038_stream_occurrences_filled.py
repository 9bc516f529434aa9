"""Fills problems and their occurrences from the findings of captured streams, as the import of captures does from now on.

A few thousand rows are in memory at a time; days and problems stay until the end, of which there are few.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby, islice
from typing import Any

from django.db import migrations
from django.utils import timezone

BATCH = 2000
OPEN, GONE = 0, 3
RANKS = {"error": 0, "warning": 2, "note": 4}


def fill(apps: Any, schema_editor: Any) -> None:
    filling = _Filling(apps)
    occurrences = filling.occurrences()
    while batch := list(islice(occurrences, BATCH)):
        filling.models["Occurrence"].objects.bulk_create(batch)
    for row in (*filling.days.values(), *filling.problems.values()):
        row.save()


class _Filling:
    def __init__(self, apps: Any) -> None:
        self.models = {name: apps.get_model("inspector", name) for name in ("Problem", "ProblemDay", "Occurrence", "StreamFinding")}
        self.problems: dict[tuple[int, str], Any] = {}
        self.days: dict[tuple[Any, ...], Any] = {}
        self.now = timezone.now()

    def occurrences(self) -> Iterator[Any]:
        about = ("stream__source_id", "stream__source__oid", "stream__is_gone", "stream__position", "stream__file_time", "stream__seen_at")
        findings = self.models["StreamFinding"].objects.order_by("stream_id", "code")
        rows = findings.values_list("stream_id", "code", "rule", "severity", "silent", *about)
        for (pk, code), group in groupby(rows.iterator(chunk_size=BATCH), key=lambda row: row[:2]):
            found = list(group)
            source, source_oid, is_gone, position, file_time, seen_at = found[0][5:]
            rank = min(RANKS[row[3]] + (not row[4]) for row in found)
            at = file_time // 10**6 if file_time > 0 else int(seen_at.timestamp() * 1000)
            if (source, code) not in self.problems:
                seen = {"first_seen": at, "last_seen": at, "repaired_at": self.now}
                self.problems[source, code] = self.models["Problem"].objects.create(
                    oid=_short_id("problem", source_oid, code), source_id=source, code=code, rule=found[0][2], rank=rank, **seen
                )
            problem = self.problems[source, code]
            problem.total += 1
            if not is_gone:
                problem.rank = rank if not problem.conversations else min(problem.rank, rank)
                problem.conversations += 1
                problem.findings += len(found)
                problem.repaired_at = None
            problem.first_seen, problem.last_seen = min(problem.first_seen, at), max(problem.last_seen, at)
            yield self.models["Occurrence"](
                problem=problem, stream_id=pk, state=GONE if is_gone else OPEN, rank=rank, place=position, findings=len(found),
                first_at=at, day=self._day(problem, at), closed_at=self.now if is_gone else None, closed_revision=int(is_gone),
            )  # fmt: skip

    def _day(self, problem: Any, at: int) -> Any:
        key = (problem.pk, datetime.fromtimestamp(at / 1000, UTC).date())
        if key not in self.days:
            self.days[key] = self.models["ProblemDay"].objects.create(problem=problem, day=key[1], client_version="", model="")
        self.days[key].occurrences += 1
        return self.days[key]


def _short_id(*parts: str) -> str:
    """As `identity.short_id` made it when this was written."""
    sha = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()[:12]


class Migration(migrations.Migration):
    dependencies = [("inspector", "0037_stream_occurrences")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
