"""One value of 100 MB, the largest that has been seen, where the operator raised the limit: imported whole, shown in part, given back to the byte."""

import hashlib
from pathlib import Path

import pytest
from django.test import Client

from inspector.text import limits
from tests.actions.building import chunk_key, imported, merged

pytestmark = pytest.mark.django_db

SIZE = 100_000_000


@pytest.mark.slow
def test_a_value_of_100_mb_is_imported_shown_in_part_and_given_back_whole(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LARGEST_VALUE", 128 << 20)
    monkeypatch.setenv(limits.VALUE_NAME, "128")
    head, tail = b'{"chunk":{"type":"text","text":"', b'"},"role":"assistant","msgIdx":1,"chunkIdx":0}'
    value = head + b"words " * ((SIZE - len(head) - len(tail)) // 6) + tail
    conversation = imported(tmp_path / "a.db", {**merged().values, chunk_key(5): value})
    for path in ("", "chunks/4/", "repairs/new/?strategy=renumber-messages"):
        page = client.get(f"/conversations/{conversation.oid}/{path}")
        assert page.status_code == 200 and len(page.content) < 2_000_000, path
    one = client.get(f"/conversations/{conversation.oid}/chunks/4/").content.decode()
    assert "the download has all 100.0 MB" in " ".join(one.split())
    whole = client.get(f"/conversations/{conversation.oid}/chunks/4/raw/")
    assert hashlib.sha256(whole.content).digest() == hashlib.sha256(value).digest()
