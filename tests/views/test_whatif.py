"""If a loader fix ships: counts a reader, rows a conversation, and the facts of the incident on the page."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from django.test import Client

from inspector.models import Conversation
from inspector.sources.creation import write_dispatch_store
from tests.views.imported import HEALTHY, INCIDENT, MERGED, example, many, rows, store

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[object]]
EXACT = "reader=dispatch-legacy&reader=exact"


def test_without_conversations_it_says_how_to_load_some(client: Client) -> None:
    text = client.get("/whatif/").content.decode()
    assert "Nothing is loaded" in text and "import_source" in text
    assert client.get("/whatif.json").json()["conversations"] == 0


def test_each_reader_has_its_counts(client: Client, tmp_path: Path) -> None:
    example(tmp_path)
    found = client.get(f"/whatif.json?{EXACT}").json()
    counts = {each["reader_b"]: (each["better"]["count"], each["worse"]["count"], each["merged"]["count"]) for each in found["readers"]}
    assert counts == {
        "dispatch-legacy": (0, 0, 3),
        "dispatch-role-split": (3, 1, 0),
        "dispatch-global-index": (0, 0, 3),
        "exact": (3, 1, 0),
    }
    assert (found["reader_b"], found["become_sendable"]["count"], found["counted"], found["total"]) == ("exact", 2, 6, 6)


def test_a_row_says_where_the_readers_part_and_what_changes(client: Client, tmp_path: Path) -> None:
    example(tmp_path)
    incident = Conversation.objects.get(native_id=INCIDENT)
    text = client.get(f"/whatif/?{EXACT}").content.decode()
    assert "exact instead of dispatch-legacy: 3 of 6 conversations get better, 2 become sendable, 1 gets worse, 0 stay merged" in text
    assert "message 1: user, seq 1-11" in text and "gone: MSG101" in text
    assert f'href="/conversations/{incident.oid}/?reader=exact"' in text and 'href="/whatif.json?reader=dispatch-legacy' in text
    first = next(each for each in client.get(f"/whatif.json?{EXACT}").json()["differences"])
    assert first["worse"], "what a fix would break stands first"


@pytest.mark.parametrize(("show", "count"), [("worse", 1), ("sendable", 2), ("merged", 0), ("all", 3), ("nonsense", 3)])
def test_the_rows_can_be_chosen(client: Client, tmp_path: Path, show: str, count: int) -> None:
    example(tmp_path)
    assert len(client.get(f"/whatif.json?{EXACT}&show={show}").json()["differences"]) == count
    assert client.get(f"/whatif/?{EXACT}&show={show}").status_code == 200


def test_what_stays_merged_is_listed_though_it_reads_the_same(client: Client, tmp_path: Path) -> None:
    example(tmp_path)
    found = client.get("/whatif.json?reader=dispatch-legacy&reader=dispatch-global-index").json()
    assert found["differ"]["count"] == 0 and len(found["differences"]) == 3
    assert all(each["still_merged"] for each in found["differences"])


def test_rows_come_in_pages_and_the_queries_do_not_grow(client: Client, tmp_path: Path, django_assert_max_num_queries: MaxQueries) -> None:
    many(tmp_path / "a.db", 60)
    address = f"/whatif.json?{EXACT}"
    first, second = client.get(address).json(), client.get(f"{address}&page=2").json()
    assert (first["pages"], len(first["differences"]), len(second["differences"])) == (2, 25, 5)
    assert not {each["id"] for each in first["differences"]} & {each["id"] for each in second["differences"]}
    assert "reader=dispatch-legacy&amp;reader=exact&amp;page=2" in client.get(f"/whatif/?{EXACT}").content.decode()
    # What was compared is kept by content; only the rows of the page are read again.
    with django_assert_max_num_queries(9 * 25):
        client.get(address)


def test_a_store_that_changed_is_compared_anew(client: Client, tmp_path: Path) -> None:
    from inspector.actions.import_source import import_targets

    path = tmp_path / "a.db"
    store(path, rows("one", MERGED))
    assert client.get(f"/whatif.json?{EXACT}").json()["differ"]["count"] == 1
    path.unlink()
    write_dispatch_store(path, rows("one", HEALTHY))
    import_targets([str(path)], "tester")
    assert client.get(f"/whatif.json?{EXACT}").json()["differ"]["count"] == 0


@pytest.mark.parametrize("query", ["reader=nobody", "reader=exact&reader=no<b>", "profile=nobody"])
def test_an_unknown_name_is_a_page_that_says_so(client: Client, query: str) -> None:
    answer = client.get(f"/whatif/?{query}")
    assert answer.status_code == 404 and "There is no" in answer.content.decode() and "no<b>" not in answer.content.decode()


def test_a_hostile_title_is_shown_and_not_run(client: Client, tmp_path: Path) -> None:
    store(tmp_path / "a.db", rows('<img src=x onerror="x">', MERGED, "<script>alert(1)</script>\u202e\ud800"))
    text = client.get(f"/whatif/?{EXACT}").content.decode()
    assert "<script>alert" not in text and "<img src=x" not in text and "\\u202e\\ud800" in text


def test_inbox_and_rules_lead_there(client: Client, tmp_path: Path) -> None:
    example(tmp_path)
    for address in ("/", "/rules/"):
        assert 'href="/whatif/"' in client.get(address).content.decode()


def test_equal_findings_are_counted_and_not_repeated(client: Client, tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": {}}
    turn = [
        {"chunk": {"type": "text", "text": "go"}, "role": "user", "msgIdx": 0, "chunkIdx": 0},
        {"chunk": call, "role": "assistant", "msgIdx": 0, "chunkIdx": 0},
        *(
            {"chunk": {**call, "type": "tool-result", "content": "x", "isError": False}, "role": "tool", "msgIdx": 1, "chunkIdx": 0},
            {"chunk": {"type": "text", "text": "done"}, "role": "assistant", "msgIdx": 0, "chunkIdx": 0},
        ),
    ]
    store(tmp_path / "a.db", rows("one", turn * 3, "One"))
    text = client.get(f"/whatif/?{EXACT}").content.decode()
    assert text.count("gone: MSG102") == 1 and "gone: MSG102 ×" in text


def test_the_navigation_leads_there(client: Client) -> None:
    assert '<a href="/whatif/" aria-current="page">What if</a>' in client.get("/whatif/").content.decode()
