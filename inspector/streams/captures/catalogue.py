"""The kinds of captures, in the order in which they are tried: those with a mark of their own first, plain bytes last."""

from collections.abc import Iterator

from inspector.streams.captures import chunk_lines, gemini_responses, har, own, raw, recorded_fixture, txtar, vcr
from inspector.streams.captures.base import BOM, LOADED, CaptureKind, NoCapture, Opened, head_of
from inspector.streams.model import Exchange

HEAD = 2**16
"""First bytes by which a capture is recognized."""

_WHOLE = f"{LOADED // 2**20} MB"

KINDS = (
    CaptureKind(
        "stream-capture",
        "Inspector's capture: both sides, with times",
        own.sniff,
        own.exchanges,
        '{"v":1,"kind":"stream-capture","sides":["backend","client"]}',
    ),
    CaptureKind("har", "HTTP archive (HAR)", har.sniff, har.exchanges, '{"log":{"version":"1.2","entries":[]}}', _WHOLE),
    CaptureKind(
        "vcr",
        "VCR cassette (YAML or JSON)",
        vcr.sniff,
        vcr.exchanges,
        "interactions: [{request: {…}, response: {…}}]",
        f"{_WHOLE}, in YAML {vcr.YAML_LOADED // 2**20} MB",
    ),
    CaptureKind(
        "gemini-responses",
        "recorded answers of gemini-cli",
        gemini_responses.sniff,
        gemini_responses.exchanges,
        '{"method":"generateContentStream","response":[]}',
    ),
    CaptureKind(
        "recorded-fixture",
        "recorded fixture of Dispatch",
        recorded_fixture.sniff,
        recorded_fixture.exchanges,
        '{"request":{"url":"https://…"},"response":{"status":200}}',
        _WHOLE,
    ),
    CaptureKind("txtar", "text archive with a section `streaming`", txtar.sniff, txtar.exchanges, "-- streaming --", _WHOLE),
    CaptureKind(
        "chunk-lines",
        "one JSON event a line, without SSE",
        chunk_lines.sniff,
        chunk_lines.exchanges,
        '{"type":"message_start","message":{"id":"msg_…"}}',
    ),
    CaptureKind(
        "raw", "bytes of one answer: SSE or lines of JSON", raw.sniff, raw.exchanges, 'data: {"choices":[{"delta":{"content":"hello"}}]}'
    ),
)


def kind_named(name: str) -> CaptureKind:
    """Raises KeyError."""
    return {kind.name: kind for kind in KINDS}[name]


def exchanges(opened: Opened, name: str = "") -> Iterator[Exchange]:
    """What a capture of any kind holds. Raises NoCapture where it looks like none."""
    kind = sniffed(opened, name)
    if kind is None:
        raise NoCapture(
            f"It looks like no capture that is known here ({', '.join(kind.name for kind in KINDS)}): see docs/reference/captures.md."
        )
    yield from kind.exchanges(opened, name)


def sniffed(opened: Opened, name: str = "") -> CaptureKind | None:
    """What the first bytes look like; None where they look like no capture."""
    head = head_of(opened, HEAD).removeprefix(BOM)
    return next((kind for kind in KINDS if kind.sniff(head, name)), None)
