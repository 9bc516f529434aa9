"""Keys of a Dispatch store that are not as they should be: unknown names, ids that look like keys, ids with lone surrogates."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inspector.conversation.model import Chunk, Kind
from inspector.demo.creation import write_dispatch_store
from inspector.programs.dispatch.format import DISPATCH, TABLE, chunk_key
from inspector.programs.dispatch.rows import row_text
from inspector.programs.dispatch.rules.id_prefix_collision import RULE as BLEEDING
from inspector.programs.formats import Cell, KnowsKeys, Record, WriteRefused
from inspector.rules.base import case_of, findings
from inspector.sources.problems import Moved
from inspector.sources.writing import commit
from tests.programs.dispatch.appended_stores import A, Store, U, appended, tc
from tests.programs.dispatch.previews import preview_of


def unknown(*keys: str) -> tuple[str, ...]:
    assert isinstance(DISPATCH, KnowsKeys)
    return DISPATCH.unknown([Record(key, Cell(b"1")) for key in keys])


def test_keys_that_the_program_is_known_to_write_are_not_named() -> None:
    store = appended([U("hello")])
    known = ("workspace:default", "vision-settings", "conv:c1:metrics:0000000001", "conv:c1:metrics-seq", "conv:c1:image-transcriptions")
    assert unknown(*store.values, *known, "conv:c1:msg:0000000000", "conv:c1:compact-percent") == ()


def test_keys_without_a_known_meaning_are_counted_and_the_first_are_named() -> None:
    (one,) = unknown("conv:c1:chunk:0000000001", "conv:c1:drafts")
    assert one.startswith('1 key of this namespace has a name that Inspector does not know: "conv:c1:drafts".')
    (many,) = unknown(*(f"queue:{number}" for number in range(7)))
    assert many.startswith("7 keys of this namespace have a name that Inspector does not know:") and many.count("queue:") == 5
    assert "and 2 more" in many


def test_an_unknown_key_cannot_break_the_line_it_is_named_in() -> None:
    (sentence,) = unknown("a\nb\x1b[31m\udcff" + "x" * 5000)
    assert sentence.isprintable() and len(sentence) < 300


def test_an_id_with_a_lone_surrogate_is_one_conversation_in_keys_and_index() -> None:
    # As UTF-8 of the keys has it, three bytes that are none; as JSON of the index has it, an escape.
    spelled = b"c\xed\xa0\x80".decode("utf-8", "surrogateescape")
    records = [
        Record("conv-index", Cell(rb'["c\ud800"]')),
        Record(chunk_key(spelled, 1), Cell(b'{"chunk":{"type":"text","text":"hi"},"role":"user","msgIdx":0,"chunkIdx":0}')),
    ]
    (only,) = DISPATCH.read(records)
    assert only.conversation.native_id == spelled and only.conversation.fact("index") == "listed"
    assert len(only.conversation.chunks) == 1


@pytest.fixture
def namesakes() -> Store:
    """A conversation `a`, merged, beside one whose id goes on as its row keys do."""
    store = Store()
    for native_id in ("a", "a:chunk:b"):
        store.append(U("hello"), to=native_id).append(A("hi"), to=native_id)
    return store


def test_an_id_that_looks_like_a_row_of_another_is_named_as_bleeding(namesakes: Store) -> None:
    assert DISPATCH.bleeding("a", ["a", "a:chunk:b", "ab", "b"]) == ("a:chunk:b",)
    assert DISPATCH.bleeding("a:chunk:b", ["a", "a:chunk:b"]) == ()
    assert DISPATCH.bleeding("_", ["A:CHUNK:b", "x", "xy"]) == ("A:CHUNK:b", "x")
    case = case_of(namesakes.conversation("a"), "exact", bleeding=("a:chunk:b",))
    (finding,) = findings(case, (BLEEDING,))
    assert "takes what follows :chunk: in another id for the number of a row" in finding.message


def test_a_conversation_can_be_repaired_beside_one_whose_id_goes_on_as_its_row_keys_do(tmp_path: Path, namesakes: Store) -> None:
    path = tmp_path / "dispatch.db"
    write_dispatch_store(path, [("conversation-store", key, value) for key, value in namesakes.values.items()])
    stored = namesakes.stored("a")
    changes = preview_of(stored, "same-rows", ["renumber-messages"]).changes
    commit(path, TABLE, *DISPATCH.guard(stored), changes)
    now = rows(path)
    assert {key for key in now if now[key] != namesakes.values[key]} == {change.key for change in changes}
    assert all(key.startswith("conv:a:chunk:00") for key in (change.key for change in changes))


@pytest.mark.parametrize("key", ["conv:a:chunk:0000000003", "conv:a:chunk:3", "conv:a:chunk:9999999999"])
def test_a_row_that_came_since_the_preview_stops_the_write(tmp_path: Path, namesakes: Store, key: str) -> None:
    path = tmp_path / "dispatch.db"
    stored = namesakes.stored("a")
    changes = preview_of(stored, "same-rows", ["renumber-messages"]).changes
    write_dispatch_store(path, [("conversation-store", name, value) for name, value in {**namesakes.values, key: "{}"}.items()])
    with pytest.raises(Moved, match="is new"):
        commit(path, TABLE, *DISPATCH.guard(stored), changes)


def test_a_row_whose_number_is_none_must_be_as_previewed_too(tmp_path: Path, namesakes: Store) -> None:
    namesakes.values["conv:a:chunk:"] = "{}"
    namesakes.values["conv:a:chunk:x"] = "{}"
    stored = namesakes.stored("a")
    changes = preview_of(stored, "new-conversation", ["renumber-messages"]).changes
    for key in ("conv:a:chunk:", "conv:a:chunk:x"):
        path = tmp_path / f"{len(key)}.db"
        write_dispatch_store(
            path, [("conversation-store", name, "[]" if name == key else value) for name, value in namesakes.values.items()]
        )
        with pytest.raises(Moved, match="has another value"):
            commit(path, TABLE, *DISPATCH.guard(stored), changes)


@pytest.mark.parametrize("last", ["3", "9999999999"])
def test_nothing_is_inserted_where_the_order_of_the_keys_would_put_it_elsewhere(last: str) -> None:
    call = row_text(Chunk("", 3, "assistant", Kind.TOOL_CALL, tc("a"), 2, 0))
    store = appended([U("go"), A("look")])
    store.values[f"conv:c1:chunk:{last}"] = call
    with pytest.raises(WriteRefused, match=r"not numbers of 10 digits.*--mode fork"):
        preview_of(store.stored(), "same-rows", ["insert-interrupted-result"])
    forked = preview_of(store.stored(), "new-conversation", ["insert-interrupted-result"])
    kinds = [chunk.kind for chunk in forked.after.case.conversation.chunks]
    assert kinds == [Kind.TEXT, Kind.TEXT, Kind.TOOL_CALL, Kind.TOOL_RESULT]


def rows(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, value FROM kv"))
