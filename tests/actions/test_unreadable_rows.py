"""Whatever a row holds, it is imported as a chunk that can be seen, with the reason why it cannot be read."""

from pathlib import Path

import pytest
from django.test import Client

from inspector.conversation.model import Kind
from inspector.models import ChunkRow, Record, loading
from tests.actions.building import again, bring, chunk_key, imported, merged, put, row, run

pytestmark = pytest.mark.django_db

DEEP = b'{"chunk":' * 100_000 + b"1" + b"}" * 100_000
ROWS: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"{this is not valid json", "not JSON"),
    "empty": (b"", "not JSON"),
    "null": (b"null", "the row is JSON null"),
    "an array": (b"[1]", "array, not an object"),
    "no chunk": (b'{"role":"user","msgIdx":0,"chunkIdx":0}', "the row has no chunk"),
    "no role": (b'{"chunk":{"type":"text","text":"a"},"msgIdx":0,"chunkIdx":0}', "the row has no role"),
    "no msgIdx": (b'{"chunk":{"type":"text","text":"a"},"role":"user","chunkIdx":0}', "the row has no msgIdx"),
    "no chunkIdx": (b'{"chunk":{"type":"text","text":"a"},"role":"user","msgIdx":0}', "the row has no chunkIdx"),
    "null chunk": (b'{"chunk":null,"role":"user","msgIdx":0,"chunkIdx":0}', "chunk is JSON null"),
    "chunk a string": (b'{"chunk":"a","role":"user","msgIdx":0,"chunkIdx":0}', "chunk is a JSON string"),
    "role a number": (b'{"chunk":{"type":"text","text":"a"},"role":7,"msgIdx":0,"chunkIdx":0}', "role is 7"),
    "msgIdx a string": (b'{"chunk":{"type":"text","text":"a"},"role":"user","msgIdx":"0","chunkIdx":0}', 'msgIdx is "0"'),
    "msgIdx a fraction": (b'{"chunk":{"type":"text","text":"a"},"role":"user","msgIdx":0.5,"chunkIdx":0}', "msgIdx is 0.5"),
    "text a list": (
        b'{"chunk":{"type":"text","text":["a"]},"role":"user","msgIdx":0,"chunkIdx":0}',
        "text of the text chunk is a JSON array",
    ),
    "unknown type": (b'{"chunk":{"type":"hologram"},"role":"user","msgIdx":0,"chunkIdx":0}', "hologram"),
    "too deep": (DEEP, "nested more than 400 levels deep"),
    "a huge integer": (
        b'{"chunk":{"type":"text","text":"a"},"role":"user","msgIdx":' + b"9" * 5000 + b',"chunkIdx":0}',
        "integer of over 4,300 digits",
    ),
    "not UTF-8": (b'{"chunk":{"type":"text","text":"\xff"},"role":"user","msgIdx":0,"chunkIdx":0}', "not UTF-8: byte 0xff"),
    "NUL outside of a string": (b"\x00{}", "not JSON"),
}


def test_unreadable_rows_are_seen_with_their_reasons_and_bytes(tmp_path: Path, client: Client) -> None:
    first = 5
    conversation = imported(
        tmp_path / "a.db", {**merged().values, **{chunk_key(seq): value for seq, (value, _) in enumerate(ROWS.values(), start=first)}}
    )
    page = client.get(f"/conversations/{conversation.oid}/")
    assert page.status_code == 200 and len(page.content) < 200_000
    chunks = loading.stored(conversation).conversation.chunks
    for seq, (name, (value, reason)) in enumerate(ROWS.items(), start=first):
        chunk = chunks[seq - 1]
        assert chunk.kind is Kind.UNREADABLE and reason in chunk.reason and chunk.raw == value, name
        record = Record.objects.get(conversation=conversation, key=chunk_key(seq))
        row = ChunkRow.objects.get(conversation=conversation, key=chunk_key(seq))
        assert (row.kind, row.payload, row.size) == ("unreadable", record.payload_id if value else "", len(value)), name
        assert bytes(record.payload.data) == value, name
        assert reason in page.content.decode().replace("&quot;", '"'), name
        one = client.get(f"/conversations/{conversation.oid}/chunks/{seq - 1}/")
        assert one.status_code == 200 and "This row cannot be read" in one.content.decode(), name
        assert reason in one.content.decode().replace("&quot;", '"'), name
        assert client.get(f"/conversations/{conversation.oid}/chunks/{seq - 1}/raw/").content == value, name
    for ending in ("json", "md"):
        assert client.get(f"/conversations/{conversation.oid}.{ending}").status_code == 200
    assert bring(tmp_path / "a.db")[0].unchanged == 1


def test_a_blob_is_no_text_and_comes_back_as_a_blob(tmp_path: Path) -> None:
    imported(tmp_path / "a.db", merged())
    run(tmp_path / "a.db", "UPDATE kv SET value = CAST(value AS BLOB) WHERE key = CAST(? AS TEXT)", chunk_key(2))
    conversation = again(tmp_path / "a.db")
    chunk = loading.stored(conversation).conversation.chunks[1]
    assert conversation.revision == 2 and chunk.reason == "stored as BLOB, not as text"
    assert Record.objects.get(conversation=conversation, key=chunk_key(2), until=None).storage == "blob"
    assert bring(tmp_path / "a.db")[0].unchanged == 1


HOSTILE = {
    "NUL in a string": (b'{"chunk":{"type":"text","text":"a\\u0000b"},"role":"user","msgIdx":0,"chunkIdx":0}', "a\x00b", 0),
    "a lone surrogate, escaped": (b'{"chunk":{"type":"text","text":"\\ud800"},"role":"user","msgIdx":0,"chunkIdx":0}', "\ud800", 0),
    "a lone surrogate, raw": (b'{"chunk":{"type":"text","text":"\xed\xa0\x80"},"role":"user","msgIdx":0,"chunkIdx":0}', "\ud800", 0),
    "msgIdx beyond 64 bits": (row("far", msg_idx=10**30).encode(), "far", 10**30),
    "msgIdx of 4,000 digits": (row("far", msg_idx=10**3999).encode(), "far", 10**3999),
    "msgIdx as JavaScript may print it": (row("far", msg_idx=1.0).encode(), "far", 1),
}


@pytest.mark.parametrize(("value", "text", "msg_idx"), HOSTILE.values(), ids=HOSTILE)
def test_a_readable_row_of_hostile_values_is_read_exactly(tmp_path: Path, client: Client, value: bytes, text: str, msg_idx: int) -> None:
    conversation = imported(tmp_path / "a.db", {**merged().values, chunk_key(5): value})
    chunk = loading.stored(conversation).conversation.chunks[4]
    assert (chunk.kind, chunk.text, chunk.msg_idx, chunk.raw) == (Kind.TEXT, text, msg_idx, value)
    record = Record.objects.get(conversation=conversation, key=chunk_key(5))
    row = ChunkRow.objects.get(conversation=conversation, key=chunk_key(5))
    assert row.msg_idx == (msg_idx if msg_idx < 2**63 else None) and bytes(record.payload.data) == value
    for path in ("/", ".json", ".md", "/chunks/4/", "/prompt/", "/prompt.json"):
        assert client.get(f"/conversations/{conversation.oid}{path}").status_code == 200, path


@pytest.mark.parametrize("number", ["", "abc", "-5", "9" * 3000, "9" * 5000, "0000000002 "])
def test_a_key_without_a_usable_number_is_still_a_chunk(tmp_path: Path, client: Client, number: str) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    put(tmp_path / "a.db", f"conv:c1:chunk:{number}", row("odd one"))
    conversation = again(tmp_path / "a.db")
    assert conversation.chunk_count == 5
    page = client.get(f"/conversations/{conversation.oid}/")
    assert page.status_code == 200 and "odd one" in page.content.decode()
