"""Pages and twins of what does not change: answered with 304 without being made, and made again as soon as anything is different."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

import inspector
from inspector import installation
from inspector.actions.import_source import import_targets
from inspector.actions.planning import preview_repair
from inspector.actions.writing import keep
from inspector.demo.stream_incident import PREMATURE, capture_files
from inspector.models import Conversation, Finding, Repair, Source, Stream, loading
from inspector.sources import unchanged
from inspector.views import analysis, streams
from tests.accounts import account
from tests.actions.building import WHO, again, applied, approved, chunk_key, imported, merged, put, row
from tests.actions.test_hot_journal import in_delete_mode, killed_writer
from tests.folding import in_one_test
from tests.operators import OperatorClient

pytestmark = pytest.mark.django_db

HEAVY = re.compile(r'FROM "inspector_(record|chunkrow|searchtext|payload|analysisblock|tracerecord|streampart|repairchange)"')
"""Tables that contain what was stored, sent or captured."""
OF_A_CONVERSATION = (
    "chunks/0/",
    "chunks/0/?rev=1",
    "diff/1..1/",
    "diff/1..1.json",
    "",
    "prompt/",
    "prompt.json",
    "trace/",
    "trace.json",
    "trace/body/{body}/",
    ".json",
    ".md",
)
MESSAGE = re.compile(rb'<p class="note [^"]*" role="status">')
STORED = OF_A_CONVERSATION[:4]
"""What is read of these has its place in the revision alone."""


@pytest.fixture
def client() -> Client:
    """With the cookie of its form token."""
    client = OperatorClient()
    client.get("/explain/")
    return client


def address(conversation: Conversation, path: str) -> str:
    if "{body}" in path:
        shown = OperatorClient().get(f"/conversations/{conversation.oid}/trace/").content.decode()
        path = path.format(body=re.findall(r"trace/body/(\w+)/", shown)[0])
    return f"/conversations/{conversation.oid}{'' if path.startswith('.') else '/'}{path}"


def etag(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200, (path, answer.status_code)
    return str(answer.headers["ETag"])


def is_unchanged(client: Client, path: str, known: str, **headers: str) -> bool:
    answer = client.get(path, headers={"if-none-match": known, **headers})
    assert answer.status_code in (200, 304)
    return bool(answer.status_code == 304)


def tags(client: Client, conversation: Conversation, paths: Iterable[str]) -> dict[str, str]:
    """Address -> ETag."""
    return {found: etag(client, found) for found in (address(conversation, path) for path in paths)}


def unchanged_of(client: Client, known: dict[str, str]) -> list[str]:
    """Those of these addresses that are unchanged."""
    return [path for path, tag in known.items() if is_unchanged(client, path, tag)]


def loads(client: Client, path: str, **headers: str) -> tuple[HttpResponse, list[str]]:
    """The answer with nothing kept in memory, and the queries for it."""
    loading.forget()
    streams._viewed.cache_clear()
    analysis._analysis.cache_clear()
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(path, headers=headers)
    return answer, [query["sql"] for query in queries]


def without_loading(client: Client, path: str) -> HttpResponse:
    """The second answer; asserts that nothing of the content was read for it."""
    first, queries = loads(client, path)
    assert first.status_code == 200 and any(map(HEAVY.search, queries)), path
    answer, queries = loads(client, path, **{"if-none-match": first.headers["ETag"]})
    assert (answer.status_code, answer.content) == (304, b""), path
    assert not any(map(HEAVY.search, queries)) and len(queries) <= 16, queries
    return answer


@in_one_test("path", OF_A_CONVERSATION)
def test_a_page_of_a_conversation_is_answered_without_loading_it(client: Client, incident: Conversation, path: str) -> None:
    answer = without_loading(client, address(incident, path))
    first = client.get(address(incident, path))
    for name in ("ETag", "Cache-Control"):
        assert answer.headers[name] == first.headers[name]
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert "Cookie" in first.headers["Vary"] and "Cookie" in answer.headers["Vary"]


@in_one_test("ending", ["/", ".json", ".md"])
def test_so_is_a_finding(client: Client, incident: Conversation, ending: str) -> None:
    without_loading(client, f"/findings/{Finding.objects.filter(conversation=incident).first().oid}{ending}")  # type: ignore[union-attr]


@pytest.fixture
def stream(db: None, tmp_path: Path) -> Stream:
    for name, data in capture_files().items():
        (tmp_path / name).write_bytes(data)
    import_targets([str(tmp_path / name) for name in capture_files()], "tester")
    return Stream.objects.get(native_id=PREMATURE)


@in_one_test("path", ["/", ".json", ".md", "/corrected/", "/?kind=text"])
def test_so_is_a_stream(client: Client, stream: Stream, path: str) -> None:
    without_loading(client, f"/streams/{stream.oid}{path}")


def test_so_is_a_repair_that_has_ended(client: Client, tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    paths = [f"/repairs/{repair.oid}{ending}" for ending in ("/", ".json", ".md")]
    for path in paths:
        known = client.get(path).headers.get("ETag", "")
        _, queries = loads(client, path, **{"if-none-match": known})
        assert any(map(HEAVY.search, queries)), f"undo is still possible: {path} looks into the store"
    Source.objects.update(write_enabled=True)
    client.post(f"/repairs/{repair.oid}/undo/")
    assert Repair.objects.get().state == "undone"
    client.get("/rules/")
    for path in paths:
        without_loading(client, path)


Change = Callable[[Client, Conversation, Path], None]


def _new_chunk(_: Client, conversation: Conversation, folder: Path) -> None:
    put(folder / "a.db", chunk_key(5), row("and then this", msg_idx=4))
    again(folder / "a.db")


def _another_user(client: Client, *_: object) -> None:
    client.force_login(account("grace"))


def _another_token(client: Client, *_: object) -> None:
    client.cookies.clear()
    client.get("/rules/")


def _another_host(client: Client, *_: object) -> None:
    client.defaults["HTTP_HOST"] = "127.0.0.1"


def _title(_: Client, conversation: Conversation, folder: Path) -> None:
    Conversation.objects.update(title="another title")


def _path(*_: object) -> None:
    Source.objects.update(came_from="another machine")


def _import_again(_: Client, conversation: Conversation, folder: Path) -> None:
    again(folder / "a.db")


def _another_reader(*_: object) -> None:
    Source.objects.update(reader="exact")


def _neighbor(_: Client, conversation: Conversation, folder: Path) -> None:
    """A conversation of the same source came: ids of others are evidence."""
    source = conversation.source
    Conversation.objects.create(oid="neighbor", source=source, native_id="c2", revision=1)


def _trace(_: Client, conversation: Conversation, folder: Path) -> None:
    source = Source.objects.get(pk=conversation.source_id)
    source.traces.add(Source.objects.create(oid="trace", path="/t", format="x", is_trace=True, read_at=source.read_at))


def _repair(_: Client, conversation: Conversation, folder: Path) -> None:
    applied(conversation, "renumber-messages")


EVERYWHERE: tuple[Change, ...] = (_new_chunk, _another_user, _another_host, _title, _path, _another_reader)
AROUND: tuple[Change, ...] = (_import_again, _neighbor, _trace, _repair)


@pytest.mark.parametrize("change", EVERYWHERE, ids=lambda change: change.__name__)
def test_what_every_page_depends_on(client: Client, tmp_path: Path, change: Change) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    paths = ("", "chunks/0/", "diff/1..1.json", "prompt.json", "prompt/", ".json", "trace/")
    known = tags(client, conversation, paths)
    assert unchanged_of(client, known) == [*known]
    change(client, conversation, tmp_path)
    assert unchanged_of(client, known) == []


@pytest.mark.parametrize("change", AROUND, ids=lambda change: change.__name__)
def test_what_pages_of_an_analysis_depend_on(client: Client, tmp_path: Path, change: Change) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    known = tags(client, conversation, ("", "prompt.json", "prompt/", ".json", ".md", "trace.json"))
    change(client, conversation, tmp_path)
    assert unchanged_of(client, known) == []


@pytest.mark.parametrize("change", [_import_again, _neighbor, _trace], ids=lambda change: change.__name__)
def test_an_import_that_brings_nothing_leaves_stored_rows_unchanged(client: Client, tmp_path: Path, change: Change) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    known = tags(client, conversation, STORED)
    change(client, conversation, tmp_path)
    assert unchanged_of(client, known) == [*known]


def test_a_comparison_shows_the_repairs_between(client: Client, tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    path = address(repair.conversation, "diff/1..2/")
    known = etag(client, path)
    Repair.objects.update(state="undone")
    assert not is_unchanged(client, path, known)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INSPECTOR_LOCAL", False),
        ("INSPECTOR_WRITE_BACK", True),
        ("INSPECTOR_REQUIRE_SECOND_APPROVER", True),
        ("INSPECTOR_BASE_URL", "https://inspector.example.org"),
        ("INSPECTOR_SOURCES", (Path("/srv"),)),
    ],
)
def test_every_setting_of_ours(client: Client, tmp_path: Path, settings: Settings, name: str, value: object) -> None:
    client.force_login(account("ada"))
    client.get("/rules/")
    path = address(imported(tmp_path / "a.db", merged()), "diff/1..1.json")
    known = etag(client, path)
    setattr(settings, name, value)
    assert not is_unchanged(client, path, known)


@pytest.fixture
def other_templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Call it, and the templates are others, as after an update of Inspector."""

    def change() -> None:
        (tmp_path / "templates").mkdir()
        (tmp_path / "templates" / "chunk.html").write_text("another")
        monkeypatch.setattr(installation, "PAGE_FILES", (tmp_path / "templates",))
        installation.page_files_digest.cache_clear()

    yield change
    installation.page_files_digest.cache_clear()


def test_another_version_of_the_pages(client: Client, tmp_path: Path, other_templates: Callable[[], None]) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "diff/1..1.json")
    known = etag(client, path)
    other_templates()
    assert not is_unchanged(client, path, known)


def test_another_version_of_the_code(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "diff/1..1.json")
    known = etag(client, path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "added.py").write_text("pass\n")
    with monkeypatch.context() as patch:
        # One module more in our package.
        patch.setattr(inspector, "__path__", [*inspector.__path__, str(tmp_path / "code")])
        unchanged.code.cache_clear()
        assert not is_unchanged(client, path, known)
    unchanged.code.cache_clear()
    assert is_unchanged(client, path, known)


def test_an_interrupted_write_that_every_page_reports(client: Client, tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    path = address(conversation, "chunks/0/")
    known = etag(client, path)
    repair = approved(conversation, "renumber-messages")
    assert is_unchanged(client, path, known)
    in_delete_mode(tmp_path / "a.db")
    keep(repair, preview_repair(repair).changes)
    Repair.objects.update(intent=Repair.Intent.APPLY, applied_by=WHO)
    killed_writer(tmp_path / "a.db")
    assert b"Finish or take it back" in client.get(path).content
    assert not is_unchanged(client, path, known)


def test_another_form_token(client: Client, tmp_path: Path) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "chunks/0/")
    known = etag(client, path)
    client.cookies.clear()
    first = client.get(path, headers={"if-none-match": known})
    assert first.status_code == 200 and "ETag" not in first.headers, "its token is of use only with the cookie that it brings"
    assert not is_unchanged(client, path, known)


def test_a_kept_page_has_a_form_token_that_is_accepted(tmp_path: Path) -> None:
    """The mask in a page that the browser kept is another one than the newest, and its secret the same."""
    client = OperatorClient(enforce_csrf_checks=True)
    client.get("/rules/")
    conversation = imported(tmp_path / "a.db", merged())
    path = address(conversation, "chunks/0/")
    page = client.get(path)
    (token,) = re.findall(rb'x-csrftoken": "(\w+)"', page.content)
    assert is_unchanged(client, path, page.headers["ETag"])
    assert client.post("/explain/", {"csrfmiddlewaretoken": token.decode()}).status_code == 302
    assert client.post("/explain/", {"csrfmiddlewaretoken": token.decode()[::-1]}).status_code == 403


def test_a_client_without_cookies_gets_twins_unchanged_too(tmp_path: Path) -> None:
    path = address(imported(tmp_path / "a.db", merged()), ".json")
    assert is_unchanged(OperatorClient(), path, etag(OperatorClient(), path))


def test_a_part_of_a_page_is_not_the_page(client: Client, tmp_path: Path) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "prompt/")
    assert not is_unchanged(client, path, etag(client, path), **{"hx-request": "true"})


def test_another_query_is_another_answer(client: Client, tmp_path: Path) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "prompt.json")
    assert not is_unchanged(client, f"{path}?reader=exact", etag(client, path))


def test_a_page_with_a_message_is_shown_once(client: Client, tmp_path: Path) -> None:
    repair = applied(imported(tmp_path / "a.db", merged()), "renumber-messages")
    Source.objects.update(write_enabled=True)
    client.post(f"/repairs/{repair.oid}/undo/")
    path = f"/repairs/{repair.oid}/"
    with_message = client.get(path)
    assert MESSAGE.search(with_message.content) and "ETag" not in with_message.headers
    without = client.get(path)
    assert not MESSAGE.search(without.content) and is_unchanged(client, path, without.headers["ETag"])
    client.post(f"/repairs/{repair.oid}/undo/")
    assert not is_unchanged(client, path, without.headers["ETag"]), "a message waits"


@in_one_test("path", ["chunks/99/", "chunks/0/?rev=9", "diff/1..9/", "prompt/?reader=nosuch"])
def test_what_is_not_there_has_no_tag(client: Client, incident: Conversation, path: str) -> None:
    answer = client.get(address(incident, path))
    assert answer.status_code == 404 and "ETag" not in answer.headers


def test_a_compressed_page_is_unchanged_too(client: Client, tmp_path: Path) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "prompt/")
    answer = client.get(path, headers={"accept-encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip" and answer.headers["ETag"].startswith('W/"')
    assert is_unchanged(client, path, answer.headers["ETag"], **{"accept-encoding": "gzip"})


def test_in_debug_mode_every_page_is_made(client: Client, tmp_path: Path, settings: Settings) -> None:
    path = address(imported(tmp_path / "a.db", merged()), "chunks/0/")
    settings.DEBUG = True
    _, queries = loads(client, path, **{"if-none-match": client.get(path).headers["ETag"]})
    assert any(map(HEAVY.search, queries))
