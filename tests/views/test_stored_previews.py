"""The preview of a large conversation is kept in our database: the next page of the plan, in whatever process it is made, reads none of the conversation."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.test import Client, RequestFactory

from inspector import background, large_pages
from inspector.actions import shown_previews
from inspector.actions.kept_previews import key_of
from inspector.actions.planning import preview_of, request_for, shown_digest
from inspector.actions.problems import Refused
from inspector.actions.shown_previews import Shown
from inspector.models import Conversation, Repair, Source, StoredPreview, loading, previews
from inspector.presentation.packed import packed, unpacked
from inspector.presentation.repair.preview_part import preview_part
from inspector.sources import unchanged
from inspector.strategies.catalogue import STRATEGIES
from inspector.views import repairs
from tests.actions.building import A, U, again, bring, broken, chunk_key, imported, proposed, put
from tests.actions.building import row as row_of
from tests.counting import counted
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u
from tests.views.test_kept_previews import of_plan
from tests.views.test_repairs import seen

pytestmark = pytest.mark.django_db
CHOSEN = {"strategy": "insert-interrupted-result", "mode": "in-place"}
OTHER = {"strategy": "renumber-messages", "mode": "in-place"}
NUL_AND_HALF = "half \ud800 a pair, NUL \x00, <b>"


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_previews, "LARGE", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def conversation(path: Path) -> Conversation:
    store = broken()
    store.append(U(NUL_AND_HALF)), store.append(A("so?"))
    row = imported(path, store)
    Source.objects.update(write_enabled=True)
    return row


def page(client: Client, row: Conversation, chosen: dict[str, str] | None = None) -> str:
    """As a process makes it that has nothing in memory, keeps it, and ends."""
    loading.forget()
    address, query = f"/conversations/{row.oid}/repairs/new/", chosen or CHOSEN
    answer = client.get(address, query).content.decode()
    large_pages._keep(RequestFactory().get(address, query).environ)
    return answer


@contextmanager
def expecting(previews_made: int, records_read: int | None = None) -> Iterator[None]:
    with counted(preview_part, loading.read_records) as counts:
        yield
    assert counts["preview_part"] == previews_made
    assert records_read is None or counts["read_records"] == records_read


def test_the_next_page_is_the_same_and_neither_plans_nor_reads(client: Client, conversation: Conversation) -> None:
    with expecting(1):
        first = page(client, conversation)
    # What can be chosen comes from the import of a really large one.
    with expecting(0, 1):
        again_shown = page(client, conversation)
    assert of_plan(again_shown) == of_plan(first) and "half" in first


def test_the_page_of_a_repair_shows_what_was_kept_before_it_was_proposed(client: Client, conversation: Conversation) -> None:
    first = page(client, conversation)
    assert client.post(seen(client, conversation, **CHOSEN), CHOSEN).status_code == 302
    repair = Repair.objects.get()
    loading.forget()
    assert repairs.is_page_kept(repair)
    with expecting(0, 0):
        shown = client.get(f"/repairs/{repair.oid}/").content.decode()
    assert repair.plan_digest[:12] in shown
    diff = '<div class="diff"'
    assert of_plan(shown).partition(diff)[2].partition("<details>")[0] == of_plan(first).partition(diff)[2].partition("<details>")[0]


def test_the_page_of_a_repair_that_a_command_proposed_is_kept_too(client: Client, conversation: Conversation) -> None:
    repair = proposed(conversation, "insert-interrupted-result", mode="in-place")
    for is_kept in (False, True):
        loading.forget()
        assert repairs.is_page_kept(repair) == is_kept
        with expecting(not is_kept):
            client.get(f"/repairs/{repair.oid}/")
        large_pages._keep(RequestFactory().get(f"/repairs/{repair.oid}/").environ)


def test_the_server_makes_a_page_itself_where_everything_on_it_is_kept(
    client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/conversations/{conversation.oid}/repairs/new/"
    chosen, other = (RequestFactory().get(address, query).environ for query in (CHOSEN, OTHER))
    page(client, conversation)
    assert client.post(seen(client, conversation, **CHOSEN), CHOSEN).status_code == 302
    repair = Repair.objects.get()
    for module in (large_pages, background):
        monkeypatch.setattr(module, "LARGE", 1)
    # What can be chosen, which the import keeps of a really large conversation, is in memory.
    assert not large_pages.reads_whole(chosen)
    # A task computes what is not kept, and does what is posted.
    assert not large_pages.reads_whole(other) and not large_pages.reads_whole(RequestFactory().post(address, CHOSEN).environ)
    loading.forget()
    assert large_pages.reads_whole(chosen)
    assert not large_pages.reads_whole(RequestFactory().get(f"/repairs/{repair.oid}/").environ)
    assert large_pages.reads_whole(RequestFactory().get(f"/repairs/{repair.oid}.json").environ)
    Repair.objects.update(state=Repair.State.VERIFIED)
    # Its page compares with the store, unless a task can: not before its files rest.
    monkeypatch.setattr(unchanged, "SETTLED_NS", 2**62)
    assert large_pages.reads_whole(RequestFactory().get(f"/repairs/{repair.oid}/").environ)
    monkeypatch.setattr(unchanged, "SETTLED_NS", 0)
    assert not large_pages.reads_whole(RequestFactory().get(f"/repairs/{repair.oid}/").environ)


def test_another_choice_is_another_preview(client: Client, conversation: Conversation) -> None:
    page(client, conversation)
    with expecting(1):
        other = page(client, conversation, OTHER)
    with expecting(0):
        assert of_plan(page(client, conversation, OTHER)) == of_plan(other) != of_plan(page(client, conversation))
    assert StoredPreview.objects.count() == 2


def test_a_refusal_is_kept_as_well(client: Client, conversation: Conversation) -> None:
    chosen = {"strategy": "system-first", "mode": "in-place"}
    first = page(client, conversation, chosen)
    assert "Nothing to do" in first and StoredPreview.objects.count() == 1
    with counted(preview_of) as counts:
        assert "Nothing to do" in page(client, conversation, chosen)
    assert counts == {"preview_of": 0}


@pytest.mark.parametrize("change", ["the store", "the code", "nothing"])
def test_a_kept_preview_ends_with_what_it_was_made_of(client: Client, conversation: Conversation, path: Path, change: str) -> None:
    page(client, conversation)
    if change == "the store":
        put(path, chunk_key(20), row_of("a new one", msg_idx=20))
        conversation = again(path)
    elif change == "the code":
        StoredPreview.objects.update(basis="another")
    with expecting(change != "nothing"):
        page(client, conversation)


def test_of_what_may_still_run_it_matters_when_the_store_was_read(client: Client, path: Path) -> None:
    values = broken().values
    row = imported(path, {**values, "conv:c1:meta": str(values["conv:c1:meta"]).replace('"idle"', '"active"')})
    page(client, row, OTHER)
    with expecting(0):
        page(client, row, OTHER)
    Source.objects.update(read_at=Source.objects.get().read_at.replace(year=2001))
    with expecting(1):
        page(client, row, OTHER)


def test_of_what_does_not_run_it_does_not_matter(client: Client, conversation: Conversation) -> None:
    first = page(client, conversation)
    Source.objects.update(read_at=Source.objects.get().read_at.replace(year=2001))
    with expecting(0):
        assert of_plan(page(client, conversation)) == of_plan(first)


def test_only_the_last_previews_of_a_conversation_are_kept(
    client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "KEPT", 1)
    page(client, conversation)
    page(client, conversation, OTHER)
    assert StoredPreview.objects.count() == 1
    with expecting(0):
        page(client, conversation, OTHER)


@pytest.mark.parametrize("is_proposed", [False, True])
def test_of_an_earlier_revision_only_that_of_a_repair_that_waits_is_kept(
    client: Client, conversation: Conversation, path: Path, is_proposed: bool
) -> None:
    page(client, conversation)
    if is_proposed:
        proposed(conversation, CHOSEN["strategy"], mode=CHOSEN["mode"])
    earlier = conversation.revision
    put(path, chunk_key(99), row_of("one more", "user", 9))
    page(client, again(path))
    assert StoredPreview.objects.filter(revision=earlier).exists() is is_proposed
    assert StoredPreview.objects.filter(revision__gt=earlier).count() == 1


def test_one_that_is_too_large_is_not_kept(client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "MOST_BYTES", 100)
    page(client, conversation)
    assert not StoredPreview.objects.exists()


def damaged_session(tmp_path: Path) -> Conversation:
    """A session with most kinds of content, and several things to repair."""
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    data = [header(), u("u0", None, "<b> {{ go }} ü"), a("a0", "u0", thought, text("so"), call("c0", path="x"), call("c1"))]
    data += [r("r0", "a0", "c0", "words"), u("u1", "r0", "and?"), a("a1", "u1", text(""), image, call("bad id!"), call("c0"))]
    data += [r("r1", "a1", "nobody", "lost"), a("a2", "r1", {"type": "text"}, text("end"))]
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.jsonl").write_bytes(lines(*data))
    bring(tmp_path / "s")
    return Conversation.objects.select_related("source").get()


@pytest.mark.parametrize("store", ["session", "database"])
def test_every_strategy_has_a_preview_that_reads_back_as_it_was(store: str, tmp_path: Path, conversation: Conversation) -> None:
    row = conversation
    if store == "session":
        row.source.delete()
        row = damaged_session(tmp_path)
    stored, format_, count = loading.stored(row), loading.format_of(row.source), 0
    for strategy in STRATEGIES:
        for mode in format_.modes:
            request = request_for(row.source, stored, [strategy.name], mode.name)
            try:
                preview = preview_of(loading.case(row, request.reader), stored, format_, row.source.path, request)
            except Refused:
                continue
            shown = shown_previews._without_records(Shown(preview_part(preview), shown_digest(preview), "", row.source.read_at))
            assert unpacked(Shown, packed(shown)) == shown, (strategy.name, mode.name)
            assert shown_previews._key_of_json(json.loads(json.dumps(key_of(request)))) == key_of(request)
            count += 1
    assert count >= 5


def test_of_a_large_conversation_what_the_kept_preview_comes_to_is_advised(
    client: Client, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is tried for the page: "recommended" was a promise that nobody had looked at."""
    monkeypatch.setattr(shown_previews, "LARGEST", 0)
    before = shown_previews.offered(conversation, "")
    assert before.recommended and not before.advice and before.word == "suggested"
    background.prepare_ahead([conversation], waits=True)
    after = shown_previews.offered(conversation, "")
    assert after.recommended == before.recommended
    assert (after.word, tuple(line.words for line in after.advice)) == (
        "recommended",
        ("Passes: `strip-error-chunks` and `insert-interrupted-result`, but adds what is stored nowhere and takes something stored away.",),
    )
