"""Importing again and again: only what is new is written, old revisions stay what they were, and ids are the same everywhere."""

from pathlib import Path

import pytest

from inspector.models import Conversation, Finding, Payload, Record, Revision, Source, loading
from inspector.sources.problems import SourceProblem
from tests.actions.building import A, Store, U, again, bring, chunk_key, drop, imported, make, merged, put, row, run, texts

pytestmark = pytest.mark.django_db


def counts() -> tuple[int, int, int]:
    return Record.objects.count(), Payload.objects.count(), Revision.objects.count()


def kept(conversation: Conversation, revision: int) -> dict[str, bytes]:
    return {record.key: record.value.data for record in loading.stored(conversation, revision).records}


def test_an_unchanged_store_writes_no_row_and_no_revision(tmp_path: Path) -> None:
    imported(tmp_path / "a.db", merged())
    before, findings = counts(), list(Finding.objects.values())
    (done,) = bring(tmp_path / "a.db")
    assert (done.conversations, done.unchanged, counts()) == (1, 1, before)
    assert list(Finding.objects.values()) == findings


def test_an_append_writes_its_own_rows_and_leaves_the_neighbour_alone(tmp_path: Path) -> None:
    store = merged(merged(), to="c2")
    values = {**store.values, **{f"conv:c1:metrics:{number:010d}": "{}" for number in range(1, 51)}}
    first = imported(tmp_path / "a.db", values)
    records, payloads, revisions = counts()
    for key, value in store.append(U("and more"), now=2000).values.items():
        put(tmp_path / "a.db", key, value)
    second = again(tmp_path / "a.db")
    # One chunk row, counter and meta row; the 50 metrics rows after them in the order of keys stay.
    assert counts() == (records + 3, payloads + 3, revisions + 1)
    assert (first.revision, second.revision) == (1, 2)
    assert Conversation.objects.get(native_id="c2").revision == 1
    assert texts(second) == ["hello", "hi there", "more", "done", "and more"]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda path: drop(path, chunk_key(2)), ["hello", "more", "done"]),
        (lambda path: put(path, chunk_key(3), row("else")), ["hello", "hi there", "else", "done"]),
        (lambda path: put(path, chunk_key(0), row("before")), ["before", "hello", "hi there", "more", "done"]),
    ],
    ids=["deleted", "changed", "inserted at the front"],
)
def test_a_changed_row_is_a_second_revision_and_the_first_reads_as_it_did(tmp_path: Path, change: object, left: list[str]) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    first, records = kept(conversation, 1), Record.objects.count()
    change(tmp_path / "a.db")  # type: ignore[operator]
    conversation = again(tmp_path / "a.db")
    loading._stored.cache_clear()
    assert conversation.revision == 2 and texts(conversation) == left
    assert kept(conversation, 1) == first and texts(conversation, 1) == ["hello", "hi there", "more", "done"]
    assert [record.key for record in loading.stored(conversation, 1).records] == sorted(first)
    assert Record.objects.count() - records <= 1


def test_a_value_that_comes_back_is_stored_once(tmp_path: Path) -> None:
    imported(tmp_path / "a.db", merged())
    payloads = Payload.objects.count()
    for text in ("else", "more"):
        put(tmp_path / "a.db", chunk_key(3), row(text))
        conversation = again(tmp_path / "a.db")
    assert conversation.revision == 3 and Payload.objects.count() == payloads + 2
    assert [texts(conversation, number)[2] for number in (1, 2, 3)] == ["more", "else", "more"]


def test_a_conversation_that_left_the_store_is_marked_and_marked_back(tmp_path: Path) -> None:
    store = merged(merged(), to="c2")
    gone = imported(tmp_path / "a.db", store, "c2")
    run(tmp_path / "a.db", "DELETE FROM kv WHERE key LIKE 'conv:c2:%'")
    put(tmp_path / "a.db", "conv-index", '["c1"]')
    (done,) = bring(tmp_path / "a.db")
    gone.refresh_from_db()
    assert done.gone == 1 and gone.is_gone and texts(gone) == ["hello", "hi there", "more", "done"]
    records = Record.objects.filter(conversation=gone).count()
    for key, value in store.values.items():
        put(tmp_path / "a.db", key, value)
    back = again(tmp_path / "a.db", "c2")
    assert back.pk == gone.pk and not back.is_gone and back.verdict
    assert Record.objects.filter(conversation=gone).count() == records


def test_one_bad_target_and_nothing_at_all_is_imported(tmp_path: Path) -> None:
    make(tmp_path / "good.db", merged().values)
    (tmp_path / "bad.db").write_bytes(b"this is no database\n" * 100)
    with pytest.raises(SourceProblem, match=r"bad\.db"):
        bring(tmp_path / "good.db", tmp_path / "bad.db")
    assert (Source.objects.count(), *counts()) == (0, 0, 0, 0)


def test_ids_are_the_same_in_another_database(tmp_path: Path) -> None:
    make(tmp_path / "other.db", merged(to="other").values)
    first = imported(tmp_path / "a.db", merged())
    ids = (first.oid, first.source.oid, set(Finding.objects.values_list("oid", flat=True)))
    Source.objects.all().delete()
    bring(tmp_path / "other.db")
    others = set(Finding.objects.values_list("oid", flat=True))
    second = again(tmp_path / "a.db")
    assert (second.oid, second.source.oid, set(Finding.objects.values_list("oid", flat=True)) - others) == ids
    assert ids[2] and first.pk != second.pk


def test_conversations_come_from_keys_and_from_the_index_alike(tmp_path: Path) -> None:
    values = {**merged().values, "conv-index": '["c1","listed-only","listed-only"]'}
    values |= {f"conv:unlisted{key.removeprefix('conv:c1')}": value for key, value in merged().values.items() if ":chunk:" in key}
    imported(tmp_path / "a.db", values)
    states = {found.native_id: loading.stored(found).conversation.fact("index") for found in Conversation.objects.all()}
    assert states == {"c1": "listed", "listed-only": "listed", "unlisted": "not listed"}
    empty = Conversation.objects.get(native_id="listed-only")
    assert empty.chunk_count == 0 and texts(empty) == [] and empty.verdict
    put(tmp_path / "a.db", "conv-index", '["c1","unlisted"]')
    assert loading.stored(again(tmp_path / "a.db", "unlisted")).conversation.fact("index") == "listed"


ODD_IDS = [
    *("a_b", "aXb", "A_B", "a%b", "a", "%"),
    *("a:chunk:b", "x:seq", "../../etc/passwd", 'it\'s "quoted"', "sp ace", "ünï", "<script>", ""),
]


def test_ids_that_a_like_would_mix_up_stay_apart(tmp_path: Path) -> None:
    store = Store()
    for native_id in ODD_IDS:
        store.append(U(f"in {native_id}"), A("answer"), to=native_id)
    make(tmp_path / "a.db", store.values)
    (done,) = bring(tmp_path / "a.db")
    assert done.conversations == len(ODD_IDS)
    for native_id in ODD_IDS:
        assert texts(Conversation.objects.get(native_id=native_id)) == [f"in {native_id}", "answer"]
    assert bring(tmp_path / "a.db")[0].unchanged == len(ODD_IDS)


def test_ids_that_differ_in_hidden_characters_only_are_conversations_of_their_own(tmp_path: Path) -> None:
    ids = [b"n\x00l", b"n\\x00l", b"s\xed\xa0\x80", b"s\\udced\\udca0\\udc80", b"b\xff", b"b\\udcff", b"l\nf", b"bidi\xe2\x80\xae"]
    make(tmp_path / "a.db", {b"conv:" + native_id + b":chunk:0000000001": row(str(native_id)) for native_id in ids})
    (done,) = bring(tmp_path / "a.db")
    rows = {texts(found)[0]: found for found in Conversation.objects.all()}
    assert done.conversations == 8 and set(rows) == {str(native_id) for native_id in ids}
    exact = {loading.stored(found).conversation.native_id.encode("utf-8", "surrogateescape") for found in rows.values()}
    assert exact == set(ids)
    assert rows[str(b"bidi\xe2\x80\xae")].native_id == "bidi\\u202e"
    assert bring(tmp_path / "a.db")[0].unchanged == 8


def test_a_time_that_no_calendar_has_is_no_time(tmp_path: Path) -> None:
    store = merged()
    for number, time in enumerate(("999999999999999", "-5", "1e300", "null")):
        meta = f'{{"createdAt":1,"lastActivityAt":{time},"title":"t","status":"idle"}}'
        store.values |= {f"conv:t{number}:chunk:0000000001": row("x"), f"conv:t{number}:meta": meta}
    imported(tmp_path / "a.db", store)
    assert set(Conversation.objects.exclude(native_id="c1").values_list("last_activity", flat=True)) == {None}
