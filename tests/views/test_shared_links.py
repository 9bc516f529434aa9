"""A link in an issue opens on a colleague's machine, whatever the path of the store and however often it was imported there."""

import re
import shutil
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions import purge
from inspector.actions.import_source import import_targets
from inspector.models import Conversation, Finding, Problem, Source
from tests.views.imported import HEALTHY, MERGED, rows, store

pytestmark = pytest.mark.django_db


def two_copies(folder: Path) -> tuple[Source, Source]:
    first = store(folder / "dispatch.db", [*rows("merged", MERGED), *rows("healthy", HEALTHY)])
    shutil.copy(folder / "dispatch.db", folder / "copy.db")
    return first, import_targets([str(folder / "copy.db")], "tester")[0].source


def test_copies_of_a_store_share_an_id_and_are_two_sources(tmp_path: Path) -> None:
    first, second = two_copies(tmp_path)
    ours, theirs = (source.conversations.get(native_id="merged") for source in (first, second))
    assert ours.identity == theirs.identity
    assert ours.oid != theirs.oid
    assert ours.identity not in {ours.oid, theirs.oid}


def test_what_differs_has_another_id(tmp_path: Path) -> None:
    source = store(tmp_path / "a.db", [*rows("one", MERGED), *rows("two", MERGED)])
    other = store(tmp_path / "b.db", [*rows("one", ({**MERGED[0], "chunk": {"type": "text", "text": "another beginning"}}, MERGED[1]))])
    ids = [row.identity for row in Conversation.objects.filter(source__in=(source, other))]
    assert len(set(ids)) == 3


def test_numbers_that_a_repair_changes_and_later_words_leave_the_id(tmp_path: Path) -> None:
    before = store(tmp_path / "a.db", rows("one", MERGED)).conversations.get()
    renumbered = tuple({**chunk, "msgIdx": number + 5} for number, chunk in enumerate(MERGED))
    after = store(tmp_path / "b.db", rows("one", (*renumbered, HEALTHY[1]))).conversations.get()
    assert before.identity == after.identity


def test_a_shared_link_leads_to_the_only_copy_with_its_query(tmp_path: Path, client: Client) -> None:
    row = store(tmp_path / "a.db", rows("one", MERGED)).conversations.get()
    for rest in ("/", ".json", ".md", "/prompt/", "/chunks/0/"):
        answer = client.get(f"/conversations/{row.identity}{rest}?kind=text")
        assert answer.status_code == 302, rest
        assert answer["Location"] == f"/conversations/{row.oid}{rest}?kind=text"
        assert client.get(answer["Location"]).status_code == 200, rest


def test_the_revision_of_another_machine_is_left_out(tmp_path: Path, client: Client) -> None:
    row = store(tmp_path / "a.db", rows("one", MERGED)).conversations.get()
    assert client.get(f"/conversations/{row.identity}/?rev=1&kind=text")["Location"].endswith("/?rev=1&kind=text")
    for foreign in ("7", "-1", "x", "9" * 400):
        assert client.get(f"/conversations/{row.identity}/?rev={foreign}&kind=text")["Location"].endswith("/?kind=text")


def test_a_finding_is_opened_by_the_id_that_all_copies_share(tmp_path: Path, client: Client) -> None:
    first, second = two_copies(tmp_path)
    ours, theirs = (Finding.objects.get(conversation__source=source, code="MSG101") for source in (first, second))
    assert ours.identity == theirs.identity
    purge.purge(theirs.conversation, "tester", "not needed")
    assert client.get(f"/findings/{ours.identity}/")["Location"] == f"/findings/{ours.oid}/"
    there = client.get(f"/conversations/{ours.conversation.identity}/?finding={ours.identity}")["Location"]
    assert there == f"/conversations/{ours.conversation.oid}/?finding={ours.oid}"
    foreign = client.get(f"/conversations/{ours.conversation.identity}/?finding=000000000000")["Location"]
    assert foreign == f"/conversations/{ours.conversation.oid}/"


def test_of_several_copies_one_is_chosen(tmp_path: Path, client: Client) -> None:
    first, _ = two_copies(tmp_path)
    row = first.conversations.get(native_id="merged")
    answer = client.get(f"/conversations/{row.identity}/?kind=text")
    assert answer.status_code == 300
    links = re.findall(r'href="(/conversations/[0-9a-f]{12}/\?kind=text)"', answer.content.decode())
    assert [client.get(link).status_code for link in links] == [200, 200]
    assert "copy.db" in answer.content.decode()
    assert len(client.get(f"/conversations/{row.identity}.json").json()["copies"]) == 2


def test_an_id_that_nothing_has_is_missing_as_before(tmp_path: Path, client: Client) -> None:
    store(tmp_path / "a.db", rows("one", MERGED))
    for path in ("/conversations/0123456789ab/", "/findings/0123456789ab/", "/conversations/0123456789ab.json"):
        assert client.get(path).status_code == 404


def test_the_shared_link_of_a_purged_conversation_says_so_once_no_copy_is_left(tmp_path: Path, client: Client) -> None:
    first, second = two_copies(tmp_path)
    ours, theirs = (source.conversations.get(native_id="merged") for source in (first, second))
    finding = Finding.objects.get(conversation=ours, code="MSG101")
    purge.purge(ours, "tester", "asked for")
    assert client.get(f"/conversations/{theirs.identity}/")["Location"] == f"/conversations/{theirs.oid}/"
    purge.purge(theirs, "tester", "asked for")
    for path in (f"/conversations/{ours.identity}/", f"/findings/{finding.identity}/"):
        answer = client.get(path)
        assert answer.status_code == 410
        assert "asked for" in answer.content.decode()
    purge.allow_import(ours.oid, "tester")
    import_targets([first.path], "tester")
    assert client.get(f"/conversations/{ours.identity}/").status_code == 302


def test_the_markdown_copy_names_store_version_and_command_and_no_address_that_others_cannot_open(tmp_path: Path, client: Client) -> None:
    row = store(tmp_path / "a store.db", rows("one", MERGED)).conversations.get()
    finding = row.findings.get(code="MSG101")
    for path in (f"/conversations/{row.oid}.md", f"/findings/{finding.oid}.md"):
        text = client.get(path).content.decode()
        assert "testserver" not in text
        assert "127.0.0.1" not in text
        assert f"/conversations/{row.identity}/" in text
        assert re.search(r"by Inspector \d+\.\d+", text), text[-400:]
        assert f"scan '{row.source.path}' --conversation one --reader dispatch-legacy" in text


def test_where_others_can_open_it_the_copy_has_the_address(tmp_path: Path, client: Client, settings: pytest.FixtureRequest) -> None:
    settings.INSPECTOR_BASE_URL = "https://inspector.example.org/"  # type: ignore[attr-defined]
    row = store(tmp_path / "a.db", rows("one", MERGED)).conversations.get()
    assert f"<https://inspector.example.org/conversations/{row.identity}/" in client.get(f"/conversations/{row.oid}.md").content.decode()


def test_a_problem_is_opened_by_an_id_that_all_copies_of_its_store_share(tmp_path: Path, client: Client) -> None:
    source = store(tmp_path / "a.db", [*rows("merged", MERGED), *rows("healthy", HEALTHY)])
    problem = Problem.objects.get(code="MSG101")
    identity = source.conversations.get(native_id="merged").identity
    copy = client.get(f"/problems/{problem.oid}.md").content.decode()
    assert f"/problems/{identity}-MSG101/" in copy and f"/problems/{problem.oid}/" not in copy
    assert f"From `{tmp_path / 'a.db'}` (`dispatch`), by Inspector" in copy and f"scan {tmp_path / 'a.db'}" in copy
    for rest in ("/", ".json", ".md", "/repair/"):
        assert client.get(f"/problems/{identity}-MSG101{rest}?page=1")["Location"] == f"/problems/{problem.oid}{rest}?page=1"
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    import_targets([str(tmp_path / "b.db")], "tester")
    answer = client.get(f"/problems/{identity}-MSG101/")
    assert answer.status_code == 300 and answer.content.decode().count('href="/problems/') == 2
    assert client.get(f"/problems/{identity}-MSG999/").status_code == client.get(f"/problems/{'0' * 12}-MSG101/").status_code == 404
