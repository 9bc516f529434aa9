"""How much a conversation is, on its page: bytes of its rows or lines, whatever number of chunks they hold."""

from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo.rollouts_incident import SESSION, incident_files
from inspector.models import Conversation
from tests.actions.building import A, Store, T, U, imported, tc, tr
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u

pytestmark = pytest.mark.django_db


def page(client: Client, conversation: Conversation) -> str:
    return client.get(f"/conversations/{conversation.oid}/").content.decode()


def test_a_line_of_several_chunks_counts_once(client: Client, tmp_path: Path) -> None:
    entries = lines(
        u("u1", None, "w" * 1_000),
        a("a1", "u1", text("x" * 1_000), text("y" * 1_000), call("c1", path="z" * 1_000)),
        r("r1", "a1", "c1", "v" * 1_000),
    )
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(header()) + entries)
    import_targets([str(path)], "test")
    # Without the ends of the lines.
    assert f"<span>{(len(entries) - 3) / 1000:.1f} KB</span>" in page(client, Conversation.objects.get())


def test_a_line_of_a_crashed_session_counts_once(client: Client, tmp_path: Path) -> None:
    """30.7 KB of a file of 8.5 KB."""
    for key, data in incident_files().items():
        place = tmp_path / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    import_targets([str(tmp_path)], "test")
    conversation = Conversation.objects.get(native_id=SESSION)
    size = page(client, conversation).split(" KB</span>")[0].rpartition("<span>")[2]
    stored = sum(len(data) for key, data in incident_files().items() if SESSION in key) / 1000
    assert 0.5 * stored < float(size) <= stored


def test_rows_with_equal_bytes_count_each(client: Client, tmp_path: Path) -> None:
    store = Store()
    for number in range(3):
        store.append(U("w" * 1_000))
        store.append(A("x" * 1_000, tc(f"t{number}")))
        store.append(T(tr(f"t{number}")))
    conversation = imported(tmp_path / "a.db", store)
    size = page(client, conversation).split(" KB</span>")[0].rpartition("<span>")[2]
    assert 6.5 < float(size) < 10
