"""One long session: its rows are those of a session that is written at once, and neither process holds the file several times."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.actions import revisions
from inspector.actions.import_source import import_targets
from inspector.models import AnalysisBlock, ChunkRow, Conversation, Finding, Record, Revision, SearchText, Source, loading
from inspector.planning.preview import digest
from inspector.presentation.conversation import work
from inspector.presentation.conversation.revision_content import RecordContent
from inspector.sources import workers
from inspector.sources.files import FileContent
from inspector.sources.problems import Changing
from inspector.text.pieces import pieces
from tests.actions.test_import_streamed import session

ROOT = Path(__file__).resolve().parents[2]
TURNS = 8_000
TAKES = """
import os, resource, sys
from django.core.management import call_command
import django
django.setup()
call_command("import_source", sys.argv[1])
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) >> 10, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)
"""


def long_session() -> bytes:
    """24 MB, 1.5 KB a line."""
    words = b"what was asked and answered at length " * 30
    return session(1, TURNS).replace(b'"text":"', b'"text":"' + words)


def rows() -> dict[str, list[Any]]:
    return {
        "revisions": list(Revision.objects.values_list("number", "digest")),
        "records": list(Record.objects.order_by("pk").values_list("key", "position", "storage", "payload_id", "since", "until")),
        "chunks": list(
            ChunkRow.objects.order_by("pk").values_list("seq", "key", "check_sum", "payload", "start", "size", "since", "until")
        ),
        "texts": list(SearchText.objects.order_by("position").values_list("position", "count", "size", "digest", "since", "until")),
        "findings": list(Finding.objects.order_by("code", "key").values_list("code", "key", "message")),
        "blocks": list(AnalysisBlock.objects.order_by("number").values_list("number", "counts", "data")),
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.slow
def test_a_long_session_is_written_and_grows_as_a_short_one(processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "processors", lambda: processes)
    monkeypatch.setattr("inspector.actions.import_source.LEAST_FOR_WORKERS", 0)
    monkeypatch.setattr("inspector.text.pieces._COLLECTED", 50_000)
    monkeypatch.setattr(revisions, "_BYTES_AT_ONCE", 100_000)
    path = tmp_path / "2026-09-21T14-13-20-000Z_s0001.jsonl"
    written = []
    for least, huge in ((1 << 40, 1 << 40), (1, 1 << 40), (1, 1)):
        monkeypatch.setattr(work, "LONG", least)
        monkeypatch.setattr(work, "HUGE", huge)
        Source.objects.all().delete()
        path.write_bytes(session(1, 1_500))
        import_targets([str(path)], "test")
        first = rows()
        path.write_bytes(session(1, 1_600))
        import_targets([str(path)], "test")
        written.append((first, rows()))
    assert written[0] == written[1] == written[2]
    first, grown = written[1]
    assert len(first["chunks"]) == 3_000 and len(first["blocks"]) == 30 and len(first["texts"]) > 5
    assert len(grown["chunks"]) == 3_200 and len(grown["texts"]) < 2 * len(first["texts"])


def test_a_file_that_is_another_when_it_is_written_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    data = session(1, 300)
    path.write_bytes(data)
    record = RecordContent("session.jsonl", None, "file", FileContent(path, len(data)), pieces(data, ()))
    assert b"".join(revisions._bytes_of(record, piece) for piece in record.pieces) == data
    path.write_bytes(data + b"{}\n")
    assert b"".join(revisions._bytes_of(record, piece) for piece in record.pieces) == data
    path.write_bytes(data.replace(b"user 299", b"user 298"))
    with pytest.raises(Changing):
        revisions._bytes_of(record, record.pieces[-1])


@pytest.mark.django_db(transaction=True)
def test_every_revision_is_of_one_state_though_its_file_is_replaced_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a revision that the database knows, pieces are compared with the file once more: it may be another by then, of the same size."""
    monkeypatch.setattr(work, "LONG", 1)
    path = tmp_path / "2026-09-21T14-13-20-000Z_s0001.jsonl"
    path.write_bytes(session(1, 400))
    import_targets([str(path)], "test")
    grown = session(1, 410)
    path.write_bytes(grown)

    def replaced(progress: object) -> None:
        """It was read and is not written yet."""
        path.write_bytes(grown.replace(b"user 70 ", b"USER 70 "))

    import_targets([str(path)], "test", report=replaced)
    loading.forget()
    conversation = Conversation.objects.get()
    kept = {revision.number: digest(loading.stored(conversation, revision.number)) for revision in Revision.objects.all()}
    assert kept == dict(Revision.objects.values_list("number", "digest"))
    assert loading.stored(conversation).records[0].value.data == path.read_bytes()


def test_a_file_that_is_read_when_asked_has_the_pieces_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    data = session(1, 300) + b"x" * 100_000
    path.write_bytes(data)
    assert pieces(FileContent(path, len(data)), ()) == pieces(data, ())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_of_the_import_of_a_long_session(tmp_path: Path) -> None:
    """MB, with 24 MB in a single file: when a line was kept five times it took the main process 236 and a worker 282."""
    path = tmp_path / "2026-09-21T14-13-20-000Z_s0001.jsonl"
    path.write_bytes(long_session())
    environment = {**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{tmp_path / 'inspector.sqlite3'}", "DJANGO_SECRET_KEY": "x"}
    environment["DJANGO_SETTINGS_MODULE"] = "inspector.settings"
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
    answer = subprocess.run([sys.executable, "-c", TAKES, str(path)], cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    main, worker = map(int, answer.stdout.splitlines()[-1].split())
    assert 50 < main < 180 and 50 < worker < 196
