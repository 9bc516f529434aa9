"""A link to one chunk loads that chunk: its line or row, and not the conversation."""

from pathlib import Path

import pytest
from django.test import Client

from inspector.models import Conversation, loading
from inspector.models.single_chunk import single_chunk
from tests.actions.test_grown_files import SESSION, import_
from tests.programs.pi_openclaw.session_files import lines, u
from tests.views.imported import example

pytestmark = pytest.mark.django_db


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that a whole conversation was asked for."""
    calls: list[int] = []
    stored = loading.stored

    def counted(row: Conversation, revision: int | None = None):  # type: ignore[no-untyped-def]
        calls.append(row.pk)
        return stored(row, revision)

    monkeypatch.setattr(loading, "stored", counted)
    return calls


def test_each_chunk_of_a_session_file_is_loaded_alone_and_is_the_same(tmp_path: Path, loads: list[int]) -> None:
    row = import_(tmp_path / "s", b"".join(SESSION[:40]))
    chunks = loading.stored(row).conversation.chunks
    loads.clear()
    alone = [single_chunk(row, position) for position in range(len(chunks))]
    assert loads == [] and [(c.key, c.seq, c.role, c.kind, c.raw, c.text, c.at) for c in alone if c] == [
        (c.key, c.seq, c.role, c.kind, c.raw, c.text, c.at) for c in chunks
    ]


def test_each_chunk_of_a_database_is_loaded_alone_and_is_the_same(tmp_path: Path, loads: list[int]) -> None:
    example(tmp_path)
    for row in Conversation.objects.select_related("source"):
        chunks = loading.stored(row).conversation.chunks
        loads.clear()
        assert [single_chunk(row, position) for position in range(len(chunks))] == list(chunks) and loads == []


def test_a_chunk_that_its_line_alone_does_not_tell_is_that_of_the_conversation(tmp_path: Path, loads: list[int]) -> None:
    """The reason names the byte of the file."""
    row = import_(tmp_path / "s", b"".join(SESSION[:3]) + b'{"torn\n' + SESSION[3])
    chunks = loading.stored(row).conversation.chunks
    position = next(number for number, chunk in enumerate(chunks) if chunk.reason)
    loads.clear()
    assert single_chunk(row, position) == chunks[position] and loads == [row.pk]


def test_an_old_revision_has_its_own(tmp_path: Path, loads: list[int]) -> None:
    import_(tmp_path / "s", b"".join(SESSION[:3]) + lines(u("x", "r1", "before")))
    row = import_(tmp_path / "s", b"".join(SESSION[:3]) + lines(u("x", "r1", "after")))
    position = len(loading.stored(row).conversation.chunks) - 1
    loads.clear()
    texts = [chunk.text for number in (1, 2) if (chunk := single_chunk(row, position, number))]
    assert texts == ["before", "after"] and loads == [] and single_chunk(row, position + 1) is None


def test_the_page_of_a_chunk_loads_no_conversation(client: Client, tmp_path: Path, loads: list[int]) -> None:
    row = import_(tmp_path / "s", b"".join(SESSION[:40]))
    chunk = loading.stored(row).conversation.chunks[100]
    loads.clear()
    shown = client.get(f"/conversations/{row.oid}/chunks/100/").content.decode()
    raw = client.get(f"/conversations/{row.oid}/chunks/100/raw/").content
    assert loads == [] and raw == chunk.raw and chunk.text[:50] in shown
    for missing in ("chunks/9999/", "chunks/99999999999999999999/", "chunks/1/?rev=9"):
        assert client.get(f"/conversations/{row.oid}/{missing}").status_code == 404, missing
