"""The rows S-1 to S-34 of upstream's tests of its store, as far as something that only reads, projects and repairs can answer them."""

import pytest

from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.programs.formats import Cell, Record
from inspector.text import jsontext
from tests.programs.dispatch.appended_stores import A, Said, Store, T, U, appended, tc, th, tr
from tests.programs.dispatch.previews import covered, preview_of, read, rows, shown

LEFT_OUT = (
    ("S-12", "the frontend's read since a number: only the server answers it"),
    ("S-13", "which numbers the frontend's read takes: only the server answers it"),
    ("S-18", "windows of the frontend's read: only the server answers it"),
    ("S-19", "empty windows of the frontend's read: only the server answers it"),
    ("S-20", "invalid windows of the frontend's read: only the server answers it"),
    ("S-21", "the empty window object: only the server answers it"),
    ("S-27", "replaceHistory deletes and appends rows on the server; nothing here compacts"),
    ("S-28", "the order of the server's list; here conversations come in the order of their ids"),
)
NAMES = ("dispatch-legacy", "dispatch-role-split", "exact")


def said(store: Store, reader: str = "dispatch-legacy", native_id: str = "c1") -> list[Said]:
    messages = read(store.conversation(native_id), reader).messages
    return [Said(message.role, tuple(dict(chunk.payload) for chunk in message.chunks)) for message in messages]


def ids(store: Store) -> list[str]:
    return [stored.conversation.native_id for stored in DISPATCH.read(store.records())]


def with_meta(text: str) -> Store:
    store = appended([U("hi")])
    store.values["conv:c1:meta"] = text
    return store


def test_s1_an_id_without_rows_reads_as_empty() -> None:
    store = Store({"conv-index": '["ghost"]'})
    assert said(store, native_id="ghost") == []
    assert ids(Store()) == []


@pytest.mark.parametrize("reader", NAMES)
def test_s2_one_message(reader: str) -> None:
    assert said(appended([U("a")]), reader) == [U("a")]


@pytest.mark.parametrize("reader", NAMES)
def test_s3_two_messages(reader: str) -> None:
    assert said(appended([U("a"), A("b")]), reader) == [U("a"), A("b")]


@pytest.mark.parametrize("reader", NAMES)
def test_s4_two_appends_of_two(reader: str) -> None:
    assert said(appended([U("a"), A("b")], [U("c"), A("d")]), reader) == [U("a"), A("b"), U("c"), A("d")]


@pytest.mark.parametrize("reader", NAMES)
def test_s5_ten_in_order(reader: str) -> None:
    history = [U(f"message {number}") for number in range(10)]
    assert said(appended(history), reader) == history


def test_s6_two_conversations_are_apart() -> None:
    store = Store().append(U("a"), to="one").append(U("b"), to="two")
    assert (said(store, native_id="one"), said(store, native_id="two")) == ([U("a")], [U("b")])


def test_s6_ids_that_a_like_pattern_would_mix_are_apart() -> None:
    store = Store().append(U("a"), to="a_b").append(U("b"), to="aXb").append(U("c"), to="A_B").append(U("d"), to="x:chunk:y")
    assert {native_id: said(store, native_id=native_id) for native_id in ids(store)} == {
        "A_B": [U("c")],
        "aXb": [U("b")],
        "a_b": [U("a")],
        "x:chunk:y": [U("d")],
    }


@pytest.mark.parametrize("reader", NAMES)
def test_s7_a_dangling_call_gets_an_error_result(reader: str) -> None:
    messages = said(appended([U("a"), A(tc("x"))]), reader)
    assert len(messages) == 3
    assert messages[-1].blocks[-1]["isError"] is True


@pytest.mark.parametrize("reader", NAMES)
def test_s8_a_call_and_its_result(reader: str) -> None:
    assert said(appended([A(tc("x")), T(tr("x"))]), reader) == [A(tc("x")), T(tr("x"))]


def test_s9_chunks_are_numbered_from_1() -> None:
    chunks = appended([A("a", th(), "b")]).conversation().chunks
    assert [(chunk.seq, chunk.chunk_idx) for chunk in chunks] == [(1, 0), (2, 1), (3, 2)]


def test_s10_numbers_go_on_over_appends_and_the_load_that_upstream_does_not_assert_merges() -> None:
    store = appended([U("a", "b")], [A("c", "d", "e")])
    assert [chunk.seq for chunk in store.conversation().chunks] == [1, 2, 3, 4, 5]
    assert shown(read(store.conversation()).messages) == [("user", (1, 2, 3, 4, 5))]
    assert shown(read(store.conversation(), "exact").messages) == store.truth["c1"]


def test_s11_each_row_has_its_seq_role_and_chunk() -> None:
    chunks = appended([U("a"), A("b")]).conversation().chunks
    assert [(chunk.seq, chunk.role, chunk.payload["text"]) for chunk in chunks] == [(1, "user", "a"), (2, "assistant", "b")]


@pytest.mark.parametrize("reader", NAMES)
def test_s14_a_whole_turn(reader: str) -> None:
    history = [U("a"), A("b", th(), "c", tc("x")), T(tr("x"))]
    assert said(appended(history), reader) == history


@pytest.mark.parametrize("reader", NAMES)
def test_s15_user_after_user_in_one_append(reader: str) -> None:
    assert said(appended([U("a"), U("b"), A("c")]), reader) == [U("a"), U("b"), A("c")]


@pytest.fixture
def corrupt() -> Store:
    store = appended([U("do it"), A("calling", tc("call_x", "t"))])
    store.values["conv:c1:chunk:0000000002"] = "{this is not valid json"
    return store


@pytest.mark.parametrize("reader", NAMES)
def test_s16_a_corrupt_row_is_skipped_with_a_warning(corrupt: Store, reader: str) -> None:
    made_up = T(tr("call_x", INTERRUPTED, "t", error=True))
    assert said(corrupt, reader) == [U("do it"), A(tc("call_x", "t")), made_up]
    reading = read(corrupt.conversation(), reader)
    assert [dropped.seqs for dropped in reading.dropped] == [(2,)]
    assert reading.warnings == ("skipping corrupt chunk row conv:c1:chunk:0000000002",)


@pytest.mark.parametrize("repair", ["r1", "r2"])
def test_s16_older_loaders_throw_on_it(corrupt: Store, repair: str) -> None:
    reading = read(corrupt.conversation(), f"dispatch-legacy+{repair}")
    assert reading.failure.startswith("load throws: row seq 2 is not JSON")
    assert reading.messages == ()


def test_s17_step_ids_are_kept_and_give_the_time() -> None:
    step = "turn-1782600000000-abc123#4"
    chunks = appended([A(tc("x", step=step)), T(tr("x", step=step))]).conversation().chunks
    assert [(chunk.step_id, chunk.at) for chunk in chunks] == [(step, 1782600000000)] * 2


def test_s22_metrics_rows_are_counted_and_leave_the_chunks_alone() -> None:
    store = appended([U("a")])
    store.values |= {f"conv:c1:metrics:{number:010d}": '{"turnId":"t"}' for number in (1, 2, 3)} | {"conv:c1:metrics-seq": "3"}
    assert said(store) == [U("a")]
    assert store.conversation().fact("metrics rows") == "3"


def test_s23_a_load_that_repairs_says_so() -> None:
    report = read(appended([U("a"), A(tc("x"), tc("y"))]).conversation()).report
    assert (report["repairedCount"], report["firstRepairedToolCallId"]) == (2, "x")


def test_s24_a_load_of_a_valid_history_has_nothing_to_say() -> None:
    assert not any(read(appended([U("a"), A(tc("x")), T(tr("x"))]).conversation()).report.values())


def test_s25_settings_are_read_per_conversation() -> None:
    store = appended([U("a")]).append(U("b"), to="c2")
    settings = {"cwd": "/w", "reasoning-effort": "high", "model": "key/model", "computer": "box"}
    store.values |= {f"conv:c1:{name}": value for name, value in settings.items()}
    assert {name: store.conversation().fact(name) for name in settings} == settings
    assert {store.conversation("c2").fact(name) for name in settings} == {None}


@pytest.mark.parametrize("model", [None, "key/model"])
def test_s26_a_fork_copies_the_model_and_what_is_absent_stays_absent(model: str | None) -> None:
    store = appended([U("a")], [A("b")])
    if model is not None:
        store.values["conv:c1:model"] = model
    preview = preview_of(store.stored(), "new-conversation", ["renumber-messages"])
    assert preview.after.case.conversation.fact("model") == model


def test_s29_meta_of_a_first_append() -> None:
    conversation = Store().append(U("first words"), now=7).conversation()
    facts = {name: conversation.fact(name) for name in ("createdAt", "lastActivityAt", "title", "status", "workspaceId")}
    assert facts == {"createdAt": "7", "lastActivityAt": "7", "title": "first words", "status": "idle", "workspaceId": "default"}
    assert conversation.title == "first words"


@pytest.mark.parametrize(
    "meta",
    [
        "{broken",
        "null",
        "[]",
        "5",
        '{"title":"t"}',
        '{"createdAt":"1","lastActivityAt":2,"title":"t"}',
        '{"createdAt":1,"lastActivityAt":2}',
    ],
)
def test_s30_a_meta_row_that_upstream_counts_as_missing_says_nothing(meta: str) -> None:
    conversation = with_meta(meta).conversation()
    assert [conversation.fact(name) for name in ("title", "status", "createdAt")] == [None, None, None]
    assert conversation.fact("meta") == meta


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1.5", "-3", "1e15"])
def test_s30_any_number_will_do_as_a_time(number: str) -> None:
    conversation = with_meta(f'{{"createdAt":{number},"lastActivityAt":{number},"title":"t","status":"active"}}').conversation()
    assert conversation.fact("title") == "t"


@pytest.mark.parametrize(("length", "title"), [(80, "x" * 80), (81, "x" * 80 + "…"), (100, "x" * 80 + "…")])
def test_s31_a_title_is_read_at_the_length_it_was_cut_to(length: int, title: str) -> None:
    assert appended([U("x" * length)]).conversation().title == title


def test_s32_the_title_is_what_meta_says_and_never_guessed_from_rows() -> None:
    store = appended([A("hello")])
    assert store.conversation().title == "Untitled"
    assert store.append(U("words")).append(U("later")).conversation().title == "words"


def test_s33_a_meta_row_of_before_there_was_a_status_is_idle() -> None:
    assert with_meta('{"createdAt":1,"lastActivityAt":2,"title":"t"}').conversation().fact("status") == "idle"


@pytest.mark.parametrize(
    ("stored", "status"), [("active", "active"), ("idle", "idle"), ("closed", "closed"), ("queued", "idle"), (5, "idle")]
)
def test_s34_status_is_one_of_three(stored: object, status: str) -> None:
    meta = jsontext.compact({"createdAt": 1, "lastActivityAt": 2, "title": "t", "status": stored})
    assert with_meta(meta).conversation().fact("status") == status


def test_every_row_is_covered_or_left_out_for_a_reason() -> None:
    tested = covered(globals(), "S")
    left_out = {name for name, reason in LEFT_OUT if reason}
    assert tested | left_out == rows("S", 34)
    assert not tested & left_out


def test_conversations_without_an_index_entry_are_found_and_told_apart_from_listed_ones() -> None:
    store = appended([U("a")]).append(U("b"), to="hidden")
    store.values["conv-index"] = '["c1","ghost","c1"]'
    assert {stored.conversation.native_id: stored.conversation.fact("index") for stored in DISPATCH.read(store.records())} == {
        "c1": "listed",
        "ghost": "listed",
        "hidden": "not listed",
    }


def test_a_value_that_is_no_text_is_an_unreadable_chunk() -> None:
    record = Record("conv:c1:chunk:0000000001", Cell(b'{"chunk":1}', "blob"))
    (stored,) = DISPATCH.read([record])
    assert [(chunk.damage, chunk.reason) for chunk in stored.conversation.chunks] == [("not-text", "stored as BLOB, not as text")]


@pytest.mark.parametrize(("text", "seq"), [("0000000012", 12), ("7", 7), ("12abc", 12), ("abc", 0), ("٣", 0), ("", 0)])
def test_the_number_in_a_key_counts_as_javascript_counts_it(text: str, seq: int) -> None:
    (stored,) = DISPATCH.read([Record(f"conv:c1:chunk:{text}", Cell(b"{}"))])
    assert stored.conversation.chunks[0].seq == seq
