"""What the web interface may read: nothing outside of INSPECTOR_SOURCES, and without it only what a command imported."""

import html
import socket
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import path as url
from pytest_django import Settings

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.import_source import import_targets
from inspector.actions.planning import preview_repair
from inspector.actions.writing import keep
from inspector.middleware import OperatorRequest, accepts
from inspector.models import Conversation, Repair, Source
from inspector.sources import files
from inspector.sources.places import place
from inspector.views import streams
from tests.views.imported import MERGED, rows, store
from tests.views.reaching import WHO, Walk, address_at, below, propose_everywhere, sources_of_every_program, visit, watched

pytestmark = pytest.mark.django_db
OPENING = ("/sources/", "/streams/", "/repairs/")
"""Addresses that open sources today; the walk outside of the roots takes them all."""

NOT_LISTED, NOT_IMPORTED = "at no address, that INSPECTOR_SOURCES lists", "Its links lead to a place that no command imported"
REPAIRS = ("/repairs/",)


@pytest.fixture(autouse=True)
def forget_streams() -> None:
    streams._viewed.cache_clear()


def says(client: Client, address: str, **fields: str) -> str:
    """The page after a POST."""
    answer = client.post(address, fields, follow=True)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def read_again(client: Client, source: Source) -> str:
    return says(client, f"/sources/{source.oid}/import/")


@pytest.mark.slow
@pytest.mark.parametrize(("state", "kinds"), [("proposed", ()), ("approved", REPAIRS), ("interrupted", REPAIRS), ("applied", REPAIRS)])
def test_no_address_opens_anything_outside_of_the_roots(
    client: Client, tmp_path: Path, settings: Settings, state: str, kinds: tuple[str, ...]
) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    inside.mkdir()
    sources = sources_of_every_program(outside)
    repairs = propose_everywhere()
    assert {each.conversation.source.format for each in repairs} >= {"dispatch", "rollouts", "openclaw", "pi", "openai-chat-request"}
    for repair in repairs:
        if state != "proposed":
            approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
        if state == "interrupted":
            # As its process was killed between the intent and the write: pages compare store and intent before anything else.
            keep(repair, preview_repair(repair).changes)
            Repair.objects.filter(pk=repair.pk).update(intent=Repair.Intent.APPLY)
        if state == "applied":
            apply_repair(repair, WHO, interactive=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        address_at(server.getsockname()[1])
        settings.INSPECTOR_SOURCES = [inside]
        with watched() as opened:
            walk = Walk()
            visit(client, walk, walk.addresses(*kinds))
        assert below(opened, outside) == []
        with pytest.raises(BlockingIOError):
            server.accept()
    # Where the folder is listed, every source is opened: the watching sees what it is to see.
    settings.INSPECTOR_SOURCES = [outside]
    # A source that nobody wrote to since its import is not opened for the next one.
    Source.objects.update(stamp="")
    with watched() as opened:
        visit(client, walk, walk.addresses(*(kinds or OPENING)))
    everything = [Path(source.path) for source in sources if source.path != str(outside / "gbrain.sql")]
    read = [Path(repair.conversation.source.path) for repair in repairs] if kinds else everything
    # The page of a repair that is only approved shows the preview that was kept.
    assert state == "approved" or [each for each in read if not below(opened, each)] == []
    assert kinds or below(opened, outside / "journal.jsonl.1")


@pytest.mark.slow
def test_without_roots_what_a_command_imported_is_read_and_nothing_that_a_link_put_in_its_place(
    client: Client, tmp_path: Path, settings: Settings
) -> None:
    settings.INSPECTOR_SOURCES = []
    sources = sources_of_every_program(tmp_path / "imported")
    assert propose_everywhere()
    for source in sources:
        assert "may not read" not in read_again(client, source), source.path
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for each in list((tmp_path / "imported").rglob("*")):
        if any(each == Path(source.path) for source in sources):
            (elsewhere / each.name).parent.mkdir(exist_ok=True)
            each.rename(elsewhere / each.name)
            each.symlink_to(elsewhere / each.name)
    with watched() as opened:
        walk = Walk()
        visit(client, walk, walk.addresses(*OPENING))
    assert below(opened, elsewhere) == []
    for source in sources:
        assert f"The web interface may not read {source.path}. {NOT_IMPORTED}" in read_again(client, source)
        import_targets([source.path], WHO)
    for source in sources:
        # Now a command imported what the link leads to.
        assert "may not read" not in read_again(client, source)


def test_without_roots_what_is_in_var_is_read(client: Client, tmp_path: Path, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES, settings.VAR_DIR = [], tmp_path / "var"
    (tmp_path / "var" / "demo").mkdir(parents=True)
    source = store(tmp_path / "a.db", rows("one", MERGED))
    (tmp_path / "a.db").rename(tmp_path / "var" / "demo" / "a.db")
    (tmp_path / "a.db").symlink_to(tmp_path / "var" / "demo" / "a.db")
    assert "may not read" not in read_again(client, source)


def test_the_sentence_is_the_same_whether_or_not_the_file_is_there(client: Client, tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "roots").mkdir()
    settings.INSPECTOR_SOURCES = [tmp_path / "roots"]
    source = store(tmp_path / "a.db", rows("one", MERGED))
    first = read_again(client, source)
    (tmp_path / "a.db").write_bytes(b"no store at all")
    second = read_again(client, source)
    (tmp_path / "a.db").unlink()
    third = read_again(client, source)
    (tmp_path / "a.db").mkdir()
    fourth = read_again(client, source)
    (tmp_path / "a.db").rmdir()
    (tmp_path / "a.db").symlink_to(tmp_path / "a.db")
    sentence = f"The web interface may not read {tmp_path}/a.db."
    for page in (first, second, third, fourth, read_again(client, source)):
        assert sentence in page and NOT_LISTED in page and "does not exist" not in page


def test_a_link_inside_of_a_root_does_not_lead_out_of_it_and_is_not_told_where_it_leads(
    client: Client, tmp_path: Path, settings: Settings
) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret"
    sources = sources_of_every_program(root)
    secret.mkdir()
    settings.INSPECTOR_SOURCES = [root]
    (secret / "wal").write_bytes(b"w" * 100)
    (secret / "old").write_bytes((root / "journal.jsonl.1").read_bytes())
    (root / "dispatch.db-wal").symlink_to(secret / "wal")
    (root / "journal.jsonl.1").unlink()
    (root / "journal.jsonl.1").symlink_to(secret / "old")
    (root / "request.json").rename(secret / "request.json")
    (root / "request.json").symlink_to(secret / "request.json")
    refused = ("dispatch.db", "journal.jsonl", "request.json")
    with watched() as opened:
        pages = {source.path: read_again(client, source) for source in sources}
    assert below(opened, secret) == []
    for name in refused:
        assert NOT_LISTED in pages[str(root / name)], name
    assert all("may not read" not in page for path, page in pages.items() if Path(path).name not in refused)
    assert not any(str(secret) in page for page in pages.values())


def test_a_write_does_not_follow_a_folder_that_became_a_link(client: Client, tmp_path: Path, settings: Settings) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret"
    sources_of_every_program(root)
    (repair,) = (each for each in propose_everywhere() if each.conversation.source.format == "rollouts")
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    (root / "rollouts").rename(secret)
    (root / "rollouts").symlink_to(secret)
    before = {each: each.read_bytes() for each in secret.rglob("*") if each.is_file()}
    settings.INSPECTOR_SOURCES = [root]
    assert NOT_LISTED in says(client, f"/repairs/{repair.oid}/apply/")
    assert {each: each.read_bytes() for each in secret.rglob("*") if each.is_file()} == before
    assert Repair.objects.get(pk=repair.pk).state == Repair.State.APPROVED


def test_a_repair_outside_of_the_roots_says_so_on_its_page_and_a_command_still_carries_it_out(
    client: Client, tmp_path: Path, settings: Settings
) -> None:
    sources_of_every_program(tmp_path / "stores")
    repair = next(each for each in propose_everywhere() if each.conversation.source.format == "dispatch")
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    settings.INSPECTOR_SOURCES = [tmp_path / "other"]
    assert NOT_LISTED in says(client, f"/repairs/{repair.oid}/apply/")
    apply_repair(repair, WHO, interactive=True)
    assert NOT_LISTED in html.unescape(client.get(f"/repairs/{repair.oid}/").content.decode())
    assert NOT_LISTED in says(client, f"/repairs/{repair.oid}/undo/")
    settings.INSPECTOR_SOURCES = [tmp_path / "stores"]
    assert "every record holds its bytes from before the repair" in says(client, f"/repairs/{repair.oid}/undo/")


def test_the_page_of_a_source_says_that_it_is_not_read_and_offers_no_reading(client: Client, tmp_path: Path, settings: Settings) -> None:
    source = store(tmp_path / "a.db", rows("one", MERGED))
    assert "Import again" in client.get(f"/sources/{source.oid}/").content.decode()
    assert client.get(f"/sources/{source.oid}.json").json()["web_may_read"] is True
    settings.INSPECTOR_SOURCES = [tmp_path / "other"]
    page = html.unescape(client.get(f"/sources/{source.oid}/").content.decode())
    assert NOT_LISTED in page and "Import again" not in page
    assert client.get(f"/sources/{source.oid}.json").json()["web_may_read"] is False
    conversation = Conversation.objects.get()
    # What was imported is in our own database.
    assert client.get(f"/conversations/{conversation.oid}/").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("listed", [True, False, None])
def test_an_address_is_connected_to_where_it_is_listed_or_nothing_is(
    client: Client, tmp_path: Path, settings: Settings, listed: bool | None
) -> None:
    """`listed`: None = INSPECTOR_SOURCES is not set."""
    sources_of_every_program(tmp_path / "imported")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        source = address_at(server.getsockname()[1])
        settings.INSPECTOR_SOURCES = {True: [tmp_path, place(source.path)], False: [tmp_path, place(f"{source.path}2")], None: []}[listed]
        page = read_again(client, source)
        if listed is False:
            assert NOT_LISTED in page
            with pytest.raises(BlockingIOError):
                server.accept()
        else:
            assert "may not read" not in page
            server.accept()


@accepts("GET", "POST")
def reads_by_itself(request: OperatorRequest) -> HttpResponse:
    """A view that nobody gave a thought to."""
    return HttpResponse(files.read_bytes(Path(request.GET["path"])))


urlpatterns = [url("anything/", reads_by_itself), *__import__("inspector.urls").urls.urlpatterns]


def test_a_view_that_opens_a_file_by_itself_is_refused_with_a_sentence(client: Client, tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "a.txt").write_text("secret")
    settings.ROOT_URLCONF = __name__
    for roots in ([], [tmp_path / "b"]):
        settings.INSPECTOR_SOURCES = roots
        for ask in (client.get, client.post):
            answer = ask(f"/anything/?path={tmp_path / 'a.txt'}")
            assert answer.status_code == 403 and "may not read" in answer.content.decode() and "secret" not in answer.content.decode()
    settings.INSPECTOR_SOURCES = [tmp_path]
    assert client.get("/anything/", {"path": tmp_path / "a.txt"}).content == b"secret"
