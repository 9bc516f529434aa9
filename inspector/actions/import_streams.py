"""Loads captured streams into the models. Every stream is read and judged before the first row is written: of a large one that takes a minute."""

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

import inspector
from inspector.models import Payload, Source, Stream, StreamFinding, StreamPart, news, occurrences
from inspector.models.bulk import insert
from inspector.models.identity import short_id
from inspector.presentation.stream.report import StreamAnalysis, analysed
from inspector.presentation.visible import visible
from inspector.sources import files, places
from inspector.sources.captures import Captures
from inspector.streams.captures import own
from inspector.streams.model import Exchange, Read
from inspector.streams.repeated_requests import request_digest

LARGEST_KEPT = 64 * 2**20
"""Bytes of the largest file whose streams are kept; larger ones stay where they are."""
PART_SIZE = 4 * 2**20
"""Bytes of a part, unpacked."""
PROBLEMS_KEPT = 50
TITLE_KEPT, MODEL_KEPT = 300, 60
_MOST_UNPACKED = 4 * LARGEST_KEPT
RANKED = ("error", "warning")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class PackedPart:
    digest: str
    packed: bytes
    size: int


@dataclass(slots=True)
class PreparedStream:
    """One exchange as it will be stored; `analysis` is None where it is stored already, and was judged by these rules."""

    exchange: Exchange
    position: int
    oid: str
    digest: str
    size: int
    analysis: StreamAnalysis | None
    parts: tuple[PackedPart, ...] | None = None
    """None: too large to be kept."""


@dataclass(slots=True)
class PreparedCaptures:
    captures: Captures
    streams: list[PreparedStream] = field(default_factory=list)
    stamp: tuple[int, int] = (0, 0)


def prepared(captures: Captures) -> PreparedCaptures:
    """Reads every exchange to its end. Writes nothing. Raises SourceProblem where the file goes away meanwhile."""
    source = Source(path=visible(places.real(captures.path)))
    done = PreparedCaptures(captures, stamp=captures.stamp)
    known_streams = _known_streams(source.path)
    for position, exchange in enumerate(captures.exchanges):
        oid = Stream.oid_of(source, exchange.native_id)
        digest, size, parts = _packed(exchange, files.status(captures.path).st_size <= LARGEST_KEPT)
        is_same = known_streams.get(oid) == (digest, inspector.__version__, parts is not None)
        analysis = None if is_same else analysed(exchange)
        done.streams.append(PreparedStream(exchange, position, oid, digest, size, analysis and analysis.without_words(), parts))
    return done


def _known_streams(path: str) -> dict[str, tuple[str, str, bool]]:
    rows = Stream.objects.filter(source__oid=Source.oid_of(path), is_gone=False).values_list("oid", "digest", "judged_by", "is_kept")
    return {oid: (digest, version, is_kept) for oid, digest, version, is_kept in rows}


def _packed(exchange: Exchange, keeps: bool) -> tuple[str, int, tuple[PackedPart, ...] | None]:
    """Digest, bytes read, and the parts where they are kept. One pass; held are the parts, packed."""
    sha, total, size = hashlib.sha256(), 0, 0
    parts: list[PackedPart] | None = [] if keeps else None
    buffer = bytearray()

    def counted() -> Iterator[Any]:
        nonlocal size
        for happening in exchange.happenings():
            size += len(happening.data) if isinstance(happening, Read) else 0
            yield happening

    for line in own.written(replace(exchange, happenings=counted)):
        sha.update(line)
        total += len(line)
        if parts is None:
            continue
        if total > _MOST_UNPACKED:
            parts, buffer = None, bytearray()
            continue
        buffer += line
        while len(buffer) >= PART_SIZE:
            parts.append(_part(bytes(buffer[:PART_SIZE])))
            del buffer[:PART_SIZE]
    if parts is not None:
        parts.append(_part(bytes(buffer)))
    return sha.hexdigest(), size, None if parts is None else tuple(parts)


def _part(data: bytes) -> PackedPart:
    packer = zlib.compressobj(wbits=31)
    return PackedPart(hashlib.sha256(data).hexdigest(), packer.compress(data) + packer.flush(), len(data))


def write(source: Source, ready: PreparedCaptures) -> tuple[int, int, int]:
    """Counts of streams: all, those that are as they were, those that are no longer there. Within the caller's transaction."""
    source.problems = [asdict(problem) for problem in ready.captures.problems[:PROBLEMS_KEPT]]
    source.save()
    remaining = {stream.oid: stream for stream in source.streams.all()}
    now, unchanged, touched = timezone.now(), 0, set()
    for entry in ready.streams:
        stream = remaining.pop(entry.oid, None) or Stream(oid=entry.oid, source=source)
        is_moved = stream.is_gone or stream.position != entry.position
        stream.position, stream.seen_at, stream.is_gone = entry.position, now, False
        stream.file_size, stream.file_time = ready.stamp
        stream.request_digest = request_digest(entry.exchange.request)
        if entry.analysis is None and stream.pk:
            unchanged += 1
            touched |= {stream.pk} if is_moved else set()
            stream.save(update_fields=["position", "seen_at", "is_gone", "file_size", "file_time", "request_digest"])
            continue
        # Somebody else may have removed it since it was looked at.
        _fill(stream, entry, entry.analysis or analysed(ready.captures.exchanges[entry.position]))
        touched.add(stream.pk)
    touched |= {stream.pk for stream in remaining.values() if not stream.is_gone}
    gone_count = Stream.objects.filter(pk__in=[stream.pk for stream in remaining.values()], is_gone=False).update(is_gone=True)
    occurrences.renew_streams(sorted(touched))
    present = source.streams.filter(is_gone=False).aggregate(all=Count("pk"), damaged=Count("pk", filter=Q(rank__lt=len(RANKED))))
    source.stream_count, source.damaged_stream_count = present["all"], present["damaged"]
    source.gone_stream_count = source.streams.filter(is_gone=True).count()
    source.save(update_fields=["stream_count", "damaged_stream_count", "gone_stream_count"])
    if gone_count or unchanged < len(ready.streams):
        news.changes(source.pk)
    return len(ready.streams), unchanged, gone_count


def _fill(stream: Stream, entry: PreparedStream, analysis: StreamAnalysis) -> None:
    exchange = entry.exchange
    if stream.pk and stream.digest != entry.digest:
        stream.revision += 1
    is_other = stream.digest != entry.digest or stream.is_kept != (entry.parts is not None)
    stream.native_id, stream.title = visible(exchange.native_id), visible(exchange.title)[:TITLE_KEPT]
    stream.sides = ",".join(side.value for side in exchange.sides)
    stream.protocol, stream.events, stream.verdict = visible(analysis.protocol)[:200], analysis.events, visible(analysis.verdict)
    stream.model = _model(exchange, analysis)
    stream.worst = analysis.worst.value if analysis.worst else ""
    stream.rank = RANKED.index(stream.worst) if stream.worst in RANKED else len(RANKED)
    stream.has_silent = any(finding.silent and finding.severity.value != "note" for finding in analysis.findings)
    stream.judged_by, stream.digest, stream.size, stream.is_kept = inspector.__version__, entry.digest, entry.size, entry.parts is not None
    stream.problems = [visible(problem) for problem in exchange.problems[:PROBLEMS_KEPT]]
    stream.save()
    if is_other:
        _keep(stream, entry.parts or ())
    stream.findings.all().delete()
    StreamFinding.objects.bulk_create(_findings(stream, analysis), batch_size=_BATCH)


def _model(exchange: Exchange, analysis: StreamAnalysis) -> str:
    answered = analysis.main.assembled.model if analysis.main else ""
    requested = (exchange.request or {}).get("model")
    return visible(answered or (requested if isinstance(requested, str) else ""))[:MODEL_KEPT]


def _keep(stream: Stream, parts: tuple[PackedPart, ...]) -> None:
    stream.parts.all().delete()
    insert(
        Payload,
        ("digest", "data", "gzipped", "size"),
        ((part.digest, part.packed, True, part.size) for part in parts),
        ignore_known=True,
    )
    StreamPart.objects.bulk_create(
        [StreamPart(stream=stream, position=number, payload_id=part.digest) for number, part in enumerate(parts)], batch_size=_BATCH
    )


def _findings(stream: Stream, analysis: StreamAnalysis) -> list[StreamFinding]:
    counts: dict[tuple[str, str], int] = {}
    rows = []
    for finding in analysis.findings:
        anchor = (finding.code, finding.side)
        counts[anchor] = counts.get(anchor, 0) + 1
        rows.append(
            StreamFinding(
                oid=short_id("stream-finding", stream.oid, *anchor, str(counts[anchor])),
                stream=stream,
                code=finding.code,
                rule=finding.rule,
                severity=finding.severity.value,
                silent=finding.silent,
                origin=finding.origin.value,
                message=visible(finding.message),
                side=finding.side,
                events=list(finding.events),
                total=finding.total,
            )
        )
    return rows
