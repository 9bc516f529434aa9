"""`demo` and `import_source`: real files, imported together, and kept when they are there."""

from pathlib import Path

import pytest
from pytest_django import Settings

from inspector.demo.branch_incident import BRANCHED, SESSIONS, openclaw_files
from inspector.demo.branch_incident_pi import FOLDER, FUSED
from inspector.demo.stream_incident import LEAKED, PREMATURE, REPAIRED
from inspector.models import Conversation, Source, Stream
from tests.commands.running import CONVERSATION, Ran, everything, incident, make, run, traces
from tests.kept import Kept

pytestmark = pytest.mark.django_db


def session(id_: str, parent: str = "") -> bytes:
    above = f',"parentSession":"{parent}"' if parent else ""
    return f'{{"type":"session","version":3,"id":"{id_}","timestamp":"2026-02-01T10:00:00.000Z","cwd":"/home/dev"{above}}}\n'.encode()


# Notes beside the sessions, a session of somebody's own, and one that a program forked from a session of the demo.
FOREIGN = [
    ("openclaw/notes.txt", b"mine"),
    ("pi/a/b/c/d/e/f/g/h/notes.txt", b"mine"),
    (f"openclaw/{SESSIONS}/mine.jsonl", session("0e6bd2a4-0000-4000-8000-000000000001")),
    (f"openclaw/{SESSIONS}/fork.jsonl", session("9f0c2f5e-1111-4000-8000-000000000002", f"/x/{BRANCHED}.jsonl")),
    (f"pi/{FOLDER}/2026-02-01T10-00-00-000Z_9f0c.jsonl", session("9f0c2f5e-1111-5000-8000-000000000003", "/x/other.jsonl")),
    ("gbrain.sql", b"-- mine"),
    (f"openclaw/{SESSIONS}/copy.jsonl", openclaw_files()[f"{SESSIONS}/{BRANCHED}.jsonl"]),
]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def demo(db: None, kept: Kept, settings: Settings) -> Ran:
    """What the first `demo` printed; its files and rows are there."""

    def build(folder: Path) -> Ran:
        settings.VAR_DIR = folder
        return run("demo", "--json")

    settings.VAR_DIR = kept.root / "demo"
    return kept("demo", build)


@pytest.fixture
def store(demo: Ran, settings: Settings) -> Path:
    return settings.VAR_DIR / "demo" / "dispatch.db"


def test_demo_writes_and_imports_the_incident(demo: Ran) -> None:
    ran = demo
    assert ran.status == 0 and ran.json["written"] == ["dispatch.db", "traces.db", "rollouts", "openclaw", "pi", "gbrain.sql", "streams"]
    assert ran.json["conversations"] == 6
    conversation = Conversation.objects.get(oid=ran.json["incident"])
    assert conversation.native_id == CONVERSATION and conversation.read_count == 3
    assert all(source.is_demo for source in Source.objects.all()) and conversation.source.traces.count() == 1
    shown = run("show", ran.json["incident"], "--as", "messages", "--json", "--reader", "dispatch-legacy").json
    assert [message["seqs"] for message in shown["messages"]] == [list(range(1, 12)), [12], [13]]
    assert [dropped["seqs"] for dropped in shown["dropped"]] == [[14]] and list(shown["report"].values()) == [0, None, 0, 1]
    assert Conversation.objects.get(oid=ran.json["refused"]).source.traces.count() == 0
    branched = Conversation.objects.get(oid=ran.json["branched"])
    assert Conversation.objects.get(oid=ran.json["job"]).native_id == "4107"
    assert branched.native_id == BRANCHED and [found.code for found in branched.findings.all()] == ["TREE106"]


def test_demo_writes_and_imports_three_captures(demo: Ran, store: Path) -> None:
    ran = demo
    found = {stream.native_id: stream for stream in Stream.objects.all()}
    assert set(found) == {PREMATURE, REPAIRED, LEAKED} and found[PREMATURE].oid == ran.json["premature"]
    codes = {name: [finding.rule for finding in stream.findings.all()] for name, stream in found.items()}
    assert codes[PREMATURE] == ["premature-terminal", "content-lost"] and codes[REPAIRED] == []
    assert "tool-text-in-reasoning" in codes[LEAKED]
    mine = store.parent / "streams" / f"{PREMATURE}.capture.jsonl"
    mine.write_bytes(mine.read_bytes().replace(PREMATURE.encode(), b"my-own"))
    refused = run("demo", "--fresh")
    assert refused.status == 2 and "is not a file of the demo" in refused.err and b"my-own" in mine.read_bytes()


def test_demo_keeps_files_that_were_repaired_unless_fresh(demo: Ran, store: Path) -> None:
    incident_id = demo.json["incident"]
    rows = everything(store)
    assert run("repair", incident_id, "--strategy", "renumber-messages", "--apply").status == 0
    repaired = everything(store)
    again = run("demo")
    assert everything(store) == repaired != rows and "--fresh writes them again" in again.out
    assert run("demo", "--fresh").status == 0 and everything(store) == rows


@pytest.mark.parametrize("mode", ["replay-suffix", "new-session"])
@pytest.mark.parametrize(
    ("folder", "session", "strategy"), [("pi", FUSED, "split-fused-line"), ("openclaw", BRANCHED, "reparent-to-result")]
)
def test_demo_keeps_its_sessions_with_what_a_repair_wrote_and_fresh_writes_them_anew(
    store: Path, folder: str, session: str, strategy: str, mode: str
) -> None:
    sessions = store.with_name(folder)
    written = contents(sessions)
    assert run("repair", sessions, "--conversation", session, "--strategy", strategy, "--mode", mode, "--apply").status == 0
    repaired = contents(sessions)
    assert run("demo").status == 0 and contents(sessions) == repaired != written
    assert run("demo", "--fresh").status == 0 and contents(sessions) == written


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--fresh",)])
@pytest.mark.parametrize(("name", "data"), FOREIGN)
def test_demo_leaves_a_folder_alone_in_which_somebody_keeps_a_file(store: Path, name: str, data: bytes, more: tuple[str, ...]) -> None:
    place = store.parent / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    before = contents(store.parent)
    ran = run("demo", *more)
    assert ran.status == 2 and "and stays as it is: name another --folder" in ran.err and ran.err.count("\n") == 1
    assert contents(store.parent) == before


@pytest.mark.parametrize("more", [(), ("--fresh",)])
def test_demo_neither_opens_nor_removes_sessions_that_are_not_its_own(tmp_path: Path, more: tuple[str, ...]) -> None:
    mine = tmp_path / "openclaw" / SESSIONS / "mine.jsonl"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(session("0e6bd2a4-0000-4000-8000-000000000001"))
    ran = run("demo", "--folder", tmp_path, *more)
    assert ran.status == 2 and "is not the demo's folder" in ran.err
    assert contents(tmp_path) == {f"openclaw/{SESSIONS}/mine.jsonl": mine.read_bytes()} and not Source.objects.exists()


@pytest.mark.parametrize("more", [(), ("--fresh",)])
def test_demo_neither_opens_nor_removes_a_store_that_is_not_its_own(tmp_path: Path, more: tuple[str, ...]) -> None:
    real, junk = incident(tmp_path / "real" / "dispatch.db"), tmp_path / "junk" / "traces.db"
    junk.parent.mkdir()
    junk.write_bytes(b"somebody's file")
    rows = everything(real)
    for path in (real, junk):
        ran = run("demo", "--folder", path.parent, *more)
        assert ran.status == 2 and "is not a file of the demo and stays as it is" in ran.err and ran.err.count("\n") == 1
        assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert everything(real) == rows and junk.read_bytes() == b"somebody's file" and not Source.objects.exists()


def test_demo_knows_its_files_by_what_they_hold(tmp_path: Path) -> None:
    make(tmp_path / "dispatch.db")
    traces(tmp_path / "traces.db")
    assert run("demo", "--folder", tmp_path).status == 0 and run("demo", "--folder", tmp_path, "--fresh").status == 0


@pytest.mark.parametrize(("folder", "words"), [("", "Name a folder"), ("a\0b", "no file can have that name")])
def test_demo_refuses_a_folder_that_cannot_be(folder: str, words: str) -> None:
    ran = run("demo", "--folder", folder)
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1


def test_demo_says_what_to_try(store: Path) -> None:
    out = run("demo").out
    assert "manage.py scan" in out and "manage.py serve" in out


def test_import_loads_all_or_nothing(tmp_path: Path) -> None:
    store, observed = incident(tmp_path / "dispatch.db"), traces(tmp_path / "traces.db")
    refused = run("import_source", store, tmp_path / "missing.db")
    assert refused.status == 2 and not Source.objects.exists()
    ran = run("import_source", store, "--traces", observed, "--json")
    assert [(each["format"], each["conversations"], each["records"]) for each in ran.json["sources"]] == [
        ("dispatch", 1, 0),
        ("dispatch-traces", 0, 55),
    ]
    assert Source.objects.get(is_trace=False).traces.count() == 1


def test_a_store_named_as_traces_is_refused(tmp_path: Path) -> None:
    store, other = incident(tmp_path / "dispatch.db"), make(tmp_path / "other.db")
    ran = run("import_source", store, "--traces", other)
    assert ran.status == 2 and "no traces: name it as a target" in ran.err and not Source.objects.exists()


def test_a_format_that_is_named_is_that_of_the_stores(tmp_path: Path) -> None:
    store, observed = incident(tmp_path / "dispatch.db"), traces(tmp_path / "traces.db")
    ran = run("import_source", store, "--format", "dispatch", "--traces", observed, "--json")
    assert [each["format"] for each in ran.json["sources"]] == ["dispatch", "dispatch-traces"]


def test_import_by_id_reads_the_source_again(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    run("import_source", store)
    again = run("import_source", CONVERSATION, "--json").json["sources"]
    assert [(each["path"], each["unchanged"]) for each in again] == [(str(store), 6)]


def test_import_refuses_what_it_cannot_name(tmp_path: Path) -> None:
    assert "has no path to be known by" in run("import_source", "-").err
    ran = run("import_source", incident(tmp_path / "dispatch.db"), "--conversation", CONVERSATION)
    assert ran.status == 2 and "leave --conversation out" in ran.err and not Source.objects.exists()


def test_an_id_that_many_share_must_be_longer(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("import_source", incident(tmp_path / f"{name}.db"))
    ran = run("show", CONVERSATION)
    assert ran.status == 2 and "may be any of 2 imported conversations" in ran.err
