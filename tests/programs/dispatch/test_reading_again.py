"""Records that a plan leaves as they are keep the chunks that they were read as; what changed is read."""

from dataclasses import replace

import pytest

from inspector.programs.dispatch import format as dispatch_format
from inspector.programs.dispatch.format import DISPATCH, chunk_key
from inspector.programs.formats import Cell, Change, Record, Stored, after
from inspector.text.at_hand import at_work
from tests.actions.building import merged, row


def records() -> list[Record]:
    values = {key if isinstance(key, str) else bytes(key).decode(): value for key, value in merged().values.items()}  # type: ignore[arg-type]
    return [Record(key, Cell(str(value).encode())) for key, value in sorted(values.items())]


def read(these: list[Record]) -> Stored:
    return next(DISPATCH.read(these))


def changed(stored: Stored, *changes: Change) -> list[Record]:
    return after(stored.records, changes)


@pytest.mark.parametrize(
    "change",
    [
        Change(chunk_key("c1", 2), None, Cell(row("another answer", "assistant", 0, 0).encode())),
        Change(chunk_key("c1", 2), None, None),
        Change(chunk_key("c1", 2), None, Cell(b"{broken")),
        Change(chunk_key("c1", 9), None, Cell(row("one more").encode())),
        Change(chunk_key("c1", 2), None, Cell(row("hi there").encode(), "blob")),
    ],
)
def test_what_is_read_at_work_is_what_is_read_alone(change: Change) -> None:
    alone = read(changed(read(records()), change))
    with at_work():
        again = read(changed(read(records()), change))
    assert again == alone


def test_only_what_changed_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    read_chunk = dispatch_format.read_chunk
    monkeypatch.setattr(dispatch_format, "read_chunk", lambda record, seq: (parsed.append(record.key), read_chunk(record, seq))[1])
    with at_work():
        stored = read(records())
        parsed.clear()
        later = read(changed(stored, Change(chunk_key("c1", 2), None, Cell(row("another").encode()))))
    assert parsed == [chunk_key("c1", 2)] and later.conversation.chunks[0] is stored.conversation.chunks[0]


def test_the_same_key_with_other_bytes_is_another_row() -> None:
    """Two stores hold a conversation of one id."""
    with at_work():
        first = read(records())
        others = [replace(record, value=Cell(record.value.data.replace(b"hello", b"bonjour"))) for record in records()]
        assert read(others) != first
    assert "bonjour" in read(others).conversation.chunks[0].text
