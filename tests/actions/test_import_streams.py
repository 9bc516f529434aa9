"""Captures in the database: what is kept of them, what a second import changes, and what a page gets back."""

import gzip
import json
from pathlib import Path

import pytest

from inspector.actions import import_streams
from inspector.actions.import_source import AnotherFormat, import_targets
from inspector.models import AuditEntry, Payload, Source, Stream, StreamFinding, StreamPart, loading
from inspector.sources.captures import WentOn
from inspector.streams.model import Exchange, Read, Side
from tests.streams.spoken import DONE, ROLE, chunk, sse, text
from tests.streams.test_golden_tables import FOLDER

pytestmark = pytest.mark.django_db

BUG = FOLDER / "the-bug-O-L.jsonl"
WHOLE = sse(ROLE, text("Hi "), text("there."), chunk({}, "stop"), DONE)


def brought(path: Path) -> list[Stream]:
    (done,) = import_targets([str(path)], "tester")
    return list(done.source.streams.order_by("position"))


def bytes_of(exchange: Exchange, side: Side) -> bytes:
    return b"".join(each.data for each in exchange.happenings() if isinstance(each, Read) and each.side is side)


def har(path: Path, *bodies: bytes) -> Path:
    entries = [
        {
            "request": {"method": "POST", "url": f"https://api.example.com/{number}"},
            "response": {"status": 200, "content": {"mimeType": "text/event-stream", "text": body.decode()}},
        }
        for number, body in enumerate(bodies)
    ]
    path.write_text(json.dumps({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": entries}}))
    return path


def test_a_capture_of_both_sides_is_judged_and_given_back_as_it_was() -> None:
    (stream,) = brought(BUG)

    assert (stream.side_names, stream.protocol, stream.events) == (("backend", "client"), "ollama-chat", 8)
    assert (
        stream.verdict.startswith("Ended too early: the client's terminal came at input 3 of 6 of the backend") and stream.worst == "error"
    )
    assert stream.has_silent and stream.is_kept and not stream.is_gone
    first = stream.findings.first()
    assert first is not None
    assert (first.code, first.rule, first.severity, first.side, first.origin) == (
        "STREAM101",
        "premature-terminal",
        "error",
        "client",
        "stream",
    )
    exchange = loading.exchange(stream)
    lines = [json.loads(line) for line in BUG.read_bytes().splitlines()]
    assert exchange.request == lines[0]["request"] and exchange.keeps_reads
    assert len([each for each in exchange.happenings() if isinstance(each, Read)]) == sum("b64" in line for line in lines)
    assert loading.analysis(stream).verdict == stream.verdict


def test_the_source_is_evidence_and_the_audit_trail_counts_its_streams() -> None:
    (stream,) = brought(BUG)

    assert stream.source.is_trace and stream.source.is_capture and stream.source.format == "stream-capture"
    entry = AuditEntry.objects.get()
    assert entry.detail == {"conversations": 0, "records": 0, "streams": 1}


def test_every_exchange_of_a_file_is_a_stream(tmp_path: Path) -> None:
    streams = brought(har(tmp_path / "x.har", WHOLE, sse(ROLE, text("Hi"))))

    assert [(each.native_id, each.position) for each in streams] == [("x.har#0", 0), ("x.har#1", 1)]
    assert [each.worst for each in streams] == ["", "error"]
    assert bytes_of(loading.exchange(streams[0]), Side.BACKEND) == WHOLE


def test_the_same_bytes_again_change_nothing(tmp_path: Path) -> None:
    path = har(tmp_path / "x.har", WHOLE, WHOLE)
    before = {stream.oid: stream.pk for stream in brought(path)}
    findings = StreamFinding.objects.count(), StreamPart.objects.count()
    (done,) = import_targets([str(path)], "tester")

    assert (done.streams, done.unchanged, done.gone) == (2, 2, 0)
    assert {stream.oid: stream.pk for stream in Stream.objects.all()} == before
    assert (StreamFinding.objects.count(), StreamPart.objects.count()) == findings


def test_what_changed_is_judged_anew_and_what_went_is_marked(tmp_path: Path) -> None:
    path = har(tmp_path / "x.har", WHOLE, WHOLE)
    old = brought(path)
    har(path, sse(ROLE, text("Hi")))
    (done,) = import_targets([str(path)], "tester")
    first, second = (Stream.objects.get(pk=each.pk) for each in old)

    assert (done.streams, done.unchanged, done.gone) == (1, 0, 1)
    assert first.worst == "error" and first.digest != old[0].digest and second.is_gone
    assert bytes_of(loading.exchange(first), Side.BACKEND) == sse(ROLE, text("Hi"))
    assert bytes_of(loading.exchange(second), Side.BACKEND) == WHOLE
    assert loading.analysis(first).worst == "error"


def test_other_rules_judge_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = har(tmp_path / "x.har", WHOLE)
    brought(path)
    monkeypatch.setattr("inspector.__version__", "99")
    (done,) = import_targets([str(path)], "tester")

    assert done.unchanged == 0 and Stream.objects.get().judged_by == "99"


def test_it_is_kept_in_parts_that_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_streams, "PART_SIZE", 100)
    (stream,) = brought(har(tmp_path / "x.har", WHOLE))

    assert stream.parts.count() > 5
    assert all(payload.size <= 100 and gzip.decompress(bytes(payload.data)) for payload in Payload.objects.all())
    assert bytes_of(loading.exchange(stream), Side.BACKEND) == WHOLE


def test_a_large_file_stays_where_it_is_until_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_streams, "LARGEST_KEPT", 10)
    path = tmp_path / "x.sse"
    path.write_bytes(WHOLE)
    (stream,) = brought(path)

    assert not stream.is_kept and not stream.parts.exists() and stream.size == len(WHOLE)
    assert bytes_of(loading.exchange(stream), Side.BACKEND) == WHOLE
    path.write_bytes(WHOLE + b"data: {}\n\n")
    with pytest.raises(WentOn, match=r"has changed since it was imported.* import it again\.$"):
        loading.exchange(stream)
    import_targets([str(path)], "tester")
    assert bytes_of(loading.exchange(Stream.objects.get()), Side.BACKEND).endswith(b"data: {}\n\n")


def test_what_could_not_be_read_is_kept_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x.sse.gz"
    path.write_bytes(gzip.compress(WHOLE * 40)[:-30])
    (stream,) = brought(path)

    assert any("ends before its end mark" in problem for problem in stream.problems)
    assert any("ends before its end mark" in problem for problem in loading.exchange(stream).problems)


def test_several_captures_of_one_id_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "twice.capture.jsonl"
    path.write_bytes(BUG.read_bytes() * 2)
    streams = brought(path)

    assert len({each.oid for each in streams}) == 2 and streams[1].native_id == f"{streams[0].native_id} (2)"


def test_a_path_keeps_its_kind(tmp_path: Path) -> None:
    path = har(tmp_path / "x.har", WHOLE)
    brought(path)
    path.write_bytes(BUG.read_bytes())
    with pytest.raises(AnotherFormat, match="is known as har, and holds stream-capture now"):
        import_targets([str(path)], "tester")
    assert Source.objects.get().format == "har"


def test_nothing_is_imported_where_one_of_several_cannot_be(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.har"
    wrong.write_text('{"log": {"entries": []}}')
    with pytest.raises(Exception, match="cannot be read as a capture"):
        import_targets([str(BUG), str(wrong)], "tester")
    assert not Source.objects.exists()
