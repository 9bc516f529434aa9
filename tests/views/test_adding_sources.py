"""Sources are added from the browser: what may be read and nothing else, files and texts that are kept closed, and the demo that counts for nothing."""

import json
import os
import re
import shlex
import stat
import sys
from html import escape, unescape
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from inspector import background, environment
from inspector.actions.add_source import roots
from inspector.actions.import_source import import_targets
from inspector.demo.branch_incident_pi import pi_files
from inspector.demo.creation import write_dispatch_store
from inspector.demo.stream_incident import capture_files
from inspector.installation import PACKAGE
from inspector.metrics import text as metrics
from inspector.models import AuditEntry, Source, Watch
from inspector.programs.registry import programs
from inspector.sources import uploads
from inspector.sources.places import place
from inspector.text.shell_words import shell_word
from tests.accounts import account
from tests.commands.running import make
from tests.operators import OperatorClient
from tests.programs.opencode import stores as opencode
from tests.views.imported import HEALTHY, MERGED, rows, store

pytestmark = pytest.mark.django_db(transaction=True)
SESSION = "\n".join(
    json.dumps(each)
    for each in (
        {"type": "session", "version": 3, "id": "abc", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/x"},
        {"type": "message", "id": "m1", "parentId": None, "timestamp": "2026-01-01T00:00:01.000Z", "message": {"role": "user", "content": "hi", "timestamp": 1}},
    )
)  # fmt: skip
BODY = '{"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant"}]}'


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    # On every database at once, in this process.
    monkeypatch.setattr(background, "_begin", lambda pk, kind: background.run(pk))
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    return tmp_path / "var"


def said(client: Client, **fields: object) -> str:
    return client.post("/sources/add/", fields, follow=True).content.decode().replace("&#x27;", "'")


def test_a_path_below_a_listed_folder_is_imported_and_no_other(tmp_path: Path, client: Client, settings: Settings) -> None:
    listed, outside = tmp_path / "listed", tmp_path / "outside"
    for folder in (listed, outside):
        (folder / "in").mkdir(parents=True)
        write_dispatch_store(folder / "in" / "a.db", rows("one", MERGED))
    (listed / "link.db").symlink_to(outside / "in" / "a.db")
    (listed / "out").symlink_to(outside)
    settings.INSPECTOR_SOURCES = [listed, place("postgresql://brain@db.example/brain")]
    page = client.get("/sources/add/", {"folder": str(listed)}).content.decode()
    assert ">in/<" in page and "link.db" not in page and ">out/<" not in page, "links that lead out are not shown"
    assert "postgresql://brain@db.example/brain" in client.get("/sources/add/").content.decode()
    assert [entry["name"] for entry in client.get("/sources/add.json", {"folder": str(listed / "in")}).json()["entries"]] == ["a.db"]
    wrong = [
        outside,
        outside / "in" / "a.db",
        listed / ".." / "outside" / "in" / "a.db",
        listed / "link.db",
        listed / "out" / "in" / "a.db",
        "/etc/passwd",
    ]
    for path in wrong:
        assert "may not read" in said(client, path=str(path)), path
        assert client.get("/sources/add.json", {"folder": str(path)}).status_code == 400, path
    assert said(client, path="postgresql://brain@other.example/brain").count("may not read") and "whole path" in said(client, path="a.db")
    missing = (said(client, path=str(outside / "nothing")), said(client, path=str(outside / "in" / "a.db")))
    assert missing[0].replace("nothing", "in/a.db").count("may not read") == missing[1].count("may not read"), (
        "it does not say what is there"
    )
    assert not Source.objects.exists()
    assert "is imported" in said(client, path=str(listed / "in" / "a.db"))
    assert Source.objects.get().path == str(listed / "in" / "a.db") and AuditEntry.objects.get().verb == "import"
    client.post(f"/sources/{Source.objects.get().oid}/import/")


def test_what_was_typed_is_there_again_with_the_sentence_next_to_it(
    tmp_path: Path, client: Client, settings: Settings, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    answer = client.post("/sources/add/", {"path": "a.db"})
    page = answer.content.decode()
    assert answer.status_code == 409 and 'value="a.db"' in page and 'id="path-path-problem">Write the whole path, from / on.' in page
    # A file where the folder of uploads is to be: nothing can be kept.
    (own_folder / "uploads").write_text("")
    text = "password = hunter2-and-more\n" * 100
    answer = client.post("/sources/add/", {"text": text, "name": "mine.jsonl"})
    page = answer.content.decode()
    assert answer.status_code == 409 and text in page and 'value="mine.jsonl"' in page, "masked, it would be imported so"
    assert 'id="text-text-problem">No file can be kept' in page and answer["Cache-Control"] == "no-store"
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    settings.INSPECTOR_SOURCES = []
    assert not roots() and "only what is in the folders" in said(client, path="/etc/passwd")


def test_a_refused_path_comes_with_the_setting_that_allows_it(tmp_path: Path, client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path, place("postgresql://brain@db.example/brain")]
    listed = f"INSPECTOR_SOURCES={tmp_path},postgresql://brain@db.example/brain,"
    first = client.get("/sources/add/").content.decode()
    assert f"{listed}PATH" in first and f"{listed}ADDRESS" in first, "what is allowed now, and the place of what is to be"
    assert "INSPECTOR_SOURCES" in first and "db.example.org" not in first.partition("INSPECTOR_SOURCES")[2].partition("</pre>")[0]
    assert f"{listed}/srv/other/in" in said(client, path="/srv/other/in/a.db"), "the folder of a file"
    assert f"{listed}/srv/other" in said(client, path="/srv/other")
    assert "import_source /srv/other/in/a.db</pre>" in said(client, path="/srv/other/in/a.db", do="try"), "tried, and not imported either"
    page = said(client, path="/srv/other", do="try")
    assert re.search(r'id="path-path"[^>]*value="/srv/other"', page), "where it was tested, it is there again"
    assert page.index("Test without importing</button>") < page.index("Import this path</button>"), "the safe step comes first"
    head, _, card = page.partition('id="elsewhere"')
    assert "/srv/other</span> is not allowed here yet</h3>" in head and "open" in opened(page, "elsewhere"), "the answer is not folded"
    assert card.index("import_source /srv/other</pre>") < card.index('data-copies="to-import"') < card.index("Or allow it for this page")
    for command in re.findall(r'id="to-(?:test|import)">([^<]*)</pre>', page):
        assert command.startswith(f"{sys.executable} {PACKAGE.parent}/manage.py "), "from any folder"
    assert [name for name in re.findall(r'data-copies="([\w-]+)"', page) if name != "to-allow-address"][:3] == [
        "to-test",
        "to-import",
        "to-allow",
    ]
    address = said(client, path="postgresql://me:hunter2@other.example/brain")
    assert "import_source postgresql://me@other.example/brain</pre>" in address and 'id="elsewhere"' not in address
    assert f"{listed}postgresql://me@other.example/brain" in address, "its password is no part of it"
    assert f"INSPECTOR_SOURCES='{listed.partition('=')[2]}/srv/a b'" in said(client, path="/srv/a b"), "one word of a shell"


def listing(page: str) -> str:
    """What the line that allows what was typed sets; "" where there is none."""
    words = [shlex.split(unescape(line)) for line in re.findall(r'id="to-allow">([^<]*)</pre>', page)]
    return "".join(line[0].removeprefix("INSPECTOR_SOURCES=") for line in words)


@pytest.mark.parametrize(("path", "listed"), [
    ("/srv/my.project", "/srv/my.project"),
    ("/srv/v1.2", "/srv/v1.2"),
    ("/srv/.hidden", "/srv/.hidden"),
    ("/srv/in/a.sqlite3", "/srv/in"),
    ("/srv/in/A.JSONL", "/srv/in"),
    ("/srv/in/a,b.jsonl", "/srv/in"),
    ("/session", "/session"),
    ("postgresql://me@one.example,two.example/brain", "postgresql://me@/brain?host=one.example%2Ctwo.example&port=%2C"),
])  # fmt: skip
def test_the_line_that_allows_a_place_is_read_back_as_that_place(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, listed: str
) -> None:
    two_hosts = place("postgresql://brain@a.example,b.example/brain")
    settings.INSPECTOR_SOURCES, settings.INSPECTOR_OWN_DATABASE_NAMED = [tmp_path, two_hosts], False
    line = listing(said(client, path=path))
    assert line.endswith(f",{listed}")
    monkeypatch.setenv("SAMPLE", line)
    assert [str(each) for each in environment.sources("SAMPLE")] == [str(tmp_path), str(two_hosts), str(place(listed))]


@pytest.mark.parametrize(("path", "sentence"), [
    ("/srv/a,b", "INSPECTOR_SOURCES cannot list /srv/a,b: a comma or : ends a place there."),
    ("/srv/a:b/in", "INSPECTOR_SOURCES cannot list /srv/a:b/in: "),
    ("/srv/a,b/in.jsonl", "INSPECTOR_SOURCES cannot list /srv/a,b: "),
    ("/srv/a /in.jsonl", "INSPECTOR_SOURCES cannot list /srv/a : "),
    ("/session.jsonl", "/session.jsonl is in no folder, and with / in the list pages could read all of this machine"),
])  # fmt: skip
def test_a_place_that_no_list_can_have_says_so_instead_of_a_line(
    tmp_path: Path, client: Client, settings: Settings, path: str, sentence: str
) -> None:
    settings.INSPECTOR_SOURCES, settings.INSPECTOR_OWN_DATABASE_NAMED = [tmp_path], False
    page = said(client, path=path)
    assert sentence in page and not listing(page)
    assert f"import_source {shell_word(path)}</pre>" in page, "the command reads it all the same"
    assert f"INSPECTOR_SOURCES={tmp_path},ADDRESS" in page and "with the address in place of ADDRESS" in page
    settings.INSPECTOR_SOURCES = [tmp_path / "a,b"]
    page = client.get("/sources/add/").content.decode()
    assert f"cannot list {tmp_path}/a,b" in page and "PATH serve" not in page and "ADDRESS serve" not in page, (
        "one that is listed by a link"
    )


def test_a_first_list_ends_what_pages_read_without_one_and_says_so(tmp_path: Path, client: Client, settings: Settings) -> None:
    ends = "What commands imported from places that are not in the list is not read by pages any more: add those places too."
    settings.INSPECTOR_SOURCES = []
    assert ends in said(client, path="/srv/in") and ends not in said(client, path="/srv/a,b").partition('id="elsewhere"')[2]
    settings.INSPECTOR_SOURCES = [tmp_path]
    assert ends not in said(client, path="/srv/in"), "it is so already"


@pytest.mark.parametrize("do", ["try", "commands", "lines", ""])
@pytest.mark.parametrize(("path", "shown"), [
    ("/srv/a\u202eb", r"/srv/a\u202eb"),
    ("/srv/a\u200b", r"/srv/a\u200b"),
    ("/srv/a\x1bb", r"/srv/a\x1bb"),
    ("/srv/a\xa0b", r"/srv/a\xa0b"),
])  # fmt: skip
def test_a_path_with_a_character_that_does_not_show_is_in_no_command(
    tmp_path: Path, client: Client, settings: Settings, path: str, shown: str, do: str
) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    answer = client.post("/sources/add/", {"path": path, "do": do})
    page = answer.content.decode()
    assert answer.status_code == 409 and f"would name another place: {shown}. Type it without the characters that do not show." in page
    assert not re.findall(r"<pre[^>]*>[^<]*srv[^<]*</pre>", page) and "is not allowed here yet" not in page
    plain = client.post("/sources/add/", {"path": "/srv/\xe4\u4e2d\\u202e", "do": do}).content.decode()
    assert "would name another place" not in plain and "import_source '/srv/\xe4\u4e2d\\u202e'</pre>" in plain.replace("&#x27;", "'")


@pytest.mark.parametrize("is_named", [True, False])
def test_a_command_in_another_terminal_has_the_database_of_this_one(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    """Without the variable it reported success, and imported into another database."""
    settings.INSPECTOR_OWN_DATABASE_NAMED = is_named
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.sqlite3")
    page = client.get("/sources/add/").content.decode()
    (command,) = re.findall(r'id="to-import">([^<]*)</pre>', page)
    assert command.endswith("import_source PATH") and command.startswith("INSPECTOR_DATABASE_URL=") is is_named
    lines = re.findall(r'id="to-allow[a-z-]*">([^<]*)</pre>', page)
    assert len(lines) == 2 and all(line.startswith("INSPECTOR_DATABASE_URL=") is is_named for line in lines), "a restart opens the same one"


def test_the_address_of_a_database_that_may_have_a_password_is_in_no_command(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_OWN_DATABASE_NAMED = True
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.postgresql")
    monkeypatch.setitem(settings.DATABASES["default"], "PASSWORD", "hunter2")
    page = client.get("/sources/add/").content.decode()
    assert "Set INSPECTOR_DATABASE_URL there first" in page and "INSPECTOR_DATABASE_URL=" not in page and "hunter2" not in page


def test_what_is_allowed_is_said_before_and_what_is_missing_there_too(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = []
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (".claude/projects", ".codex/sessions", ".pi/agent/sessions", ".gemini/tmp"):
        (tmp_path / folder).mkdir(parents=True)
    hint = re.findall(r'<p class="hint" id="path-path-hint">([^<]*)</p>', client.get("/sources/add/").content.decode())
    assert hint == [
        f"Allowed here: {', '.join(map(str, roots()[:3]))} and {len(roots()) - 3} more, with what is below, and what is imported already. For any other path you get the commands."
    ]
    missing = said(client, path=str(tmp_path / ".claude/projects/none"), do="try")
    assert f"{tmp_path}/.claude/projects/none does not exist" in missing and "is not allowed here yet" not in missing
    (tmp_path / "there").mkdir()
    there, nothing = (said(client, path=str(tmp_path / name), do="try").replace(name, "X") for name in ("there", "absent"))
    for page in (there, nothing):
        assert "This page does not look whether it exists." in page and "does not exist" not in page
        assert page.count("may not read") == there.count("may not read")


def opened(page: str, way: str) -> str:
    """What says that a way is not folded; "" where it is."""
    (found,) = re.findall(rf'<details class="card[\w ]* way"([^>]*)>(?:(?!<details).)*?<div id="{way}">', page, re.DOTALL)
    return found.strip()


def panel(page: str) -> str:
    """The words of the program that was chosen."""
    text = re.sub(r"<[^>]+>", " ", page.partition('id="program"')[2].partition("</section>")[0].removeprefix(">"))
    return " ".join(text.replace(f"{sys.executable} {PACKAGE.parent}/manage.py", "inspector").split())


@pytest.mark.parametrize(("program", "sentences"), [
    ("codex-cli", ["Not found on this machine. It keeps its sessions in ~/.codex/sessions , or where CODEX_HOME says.",
                   "On another machine A file below ~/.codex/sessions, at most 64 MB", "Test without importing Upload and import",
                   "scp -rp HOST:.codex/sessions copy Copy", "inspector import_source copy --from HOST Copy",
                   "In another folder of this machine", "with the path in place of PATH", "Formats that are read: codex ."]),
    ("gbrain", ["It keeps its sessions in a PostgreSQL database.", "Its address, without the password Show the commands to test and import Or allow it for this page",
                "with the address in place of ADDRESS", "Without a login Ask who has one to run this",
                "pg_dump -t minion_jobs -t &#x27;subagent_*&#x27; postgresql://reader@db.example.org/agents &gt; gbrain.sql",
                "The file gbrain.sql, at most 64 MB"]),
    ("pi-and-openclaw", ["scp -rp HOST:.pi/agent/sessions copy Copy"]),
    ("opencode", ["Copy the store here", "The file ~/.local/share/opencode/opencode*.db, at most 64 MB", "Is it an SQLite database in use?"]),
    ("request-bodies", ["What a client sent to a provider, as JSON.", "It has no usual place: upload a file, paste the text or type its path ."]),
    ("evidence-bundle", ["One conversation sealed with its trace, a zip that somebody made with Inspector.", "It has no usual place: upload a file or type its path ."]),
    ("captured-streams", ["It has no usual place: upload a file, paste the text or type its path .", "all kinds"]),
])  # fmt: skip
def test_a_program_that_is_chosen_says_what_to_do_for_it(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, program: str, sentences: list[str]
) -> None:
    settings.INSPECTOR_SOURCES = []
    monkeypatch.setenv("HOME", str(tmp_path))
    page = client.get(f"/sources/add/?program={program}").content.decode()
    for sentence in sentences:
        assert sentence in panel(page), sentence
    assert f'href="?program={program}" aria-current="true">' in page and page.count('href="?program=') == len(programs()) + 1


def test_a_file_of_something_else_is_answered_in_words_of_the_page(client: Client) -> None:
    def tested(text: bytes, program: str) -> str:
        upload = SimpleUploadedFile("a.jsonl", text)
        page = client.post(f"/sources/add/?program={program}", {"file": upload, "do": "try"}).content.decode()
        return " ".join(re.sub(r"<[^>]+>", "", page.partition('id="tested"')[2].partition("</section>")[0]).split())

    wrong = tested(b'{"a": 1}\n', "codex-cli")
    assert "Nothing of Codex CLI was read in it: choose one of ~/.codex/sessions below, or at the top what this is of." in wrong
    assert "no request body or list of messages that is known here. " in wrong and "--format" not in wrong and "`formats`" not in wrong
    assert "Nothing of" not in tested(b'{"a": 1}\n', ""), "no program was chosen"
    assert "Nothing of" not in tested(SESSION.encode(), "codex-cli"), "another program's session is recognized as what it is"
    several = tested(b'{"messages": [{"role": "user", "content": "hi"}]}', "request-bodies")
    assert "the same in several wire shapes: " in several and "--format" not in several


def test_a_program_whose_sessions_are_here_is_tested_right_there(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = []
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude/projects/--x--").mkdir(parents=True)
    (tmp_path / ".claude/projects/--x--/a.jsonl").write_text(SESSION)
    page = client.get("/sources/add/?program=claude-code").content.decode()
    assert "Found on this machine. Test it first, then import it:" in panel(page) and "Not found" not in panel(page)
    assert f"{tmp_path}/.claude/projects 1 file, {len(SESSION)} B" in panel(page)
    assert 'value="try"' in page.partition('id="program"')[2].partition("</section>")[0]
    chips = re.findall(r'href="\?program=([\w-]+)"[^>]*>(.*?)</a>', page)
    words = {program: " ".join(re.sub("<[^>]+>", "", chip).split()) for program, chip in chips}
    assert chips[0][0] == "claude-code" and words["claude-code"] == "Claude Code 1 file here"
    assert words["codex-cli"] == "Codex CLI" and words["request-bodies"] == "Request bodies", "it has no usual place"
    assert 'id="program"' not in client.get("/sources/add/?program=zzz").content.decode()


def test_a_program_without_sessions_has_its_path_and_command_in_its_card_and_the_rest_folded(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = []
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".claude/projects"
    folder.mkdir(parents=True)

    def split(answer: str) -> tuple[str, str]:
        card, _, rest = answer.partition('id="program"')[2].partition("</section>")
        return card, rest

    card, rest = split(client.get("/sources/add/?program=claude-code").content.decode())
    assert re.search(r'id="path-path"[^>]*value=""', card) and 'value="try"' in card and "Import this path" in card
    assert 'id="path-path"' not in rest and not any(opened(rest, way) for way in ("paste", "database"))
    assert 'id="file-file"' in card and re.findall(r'<button class="btn main"[^>]*>([^<]*)<', card) == ["Test without importing"]
    assert "PATH</pre>" not in card + rest, "a path is typed first, and is in the commands"
    card, rest = split(client.get("/sources/add/?program=codex-cli").content.decode())
    assert 'value="commands"' in card and "Import this path" not in card, "pages may not open it"
    assert 'placeholder="/.../.codex/sessions"' in card and "claude" not in card.partition("<details")[0], "no folder of another program"
    assert 'id="path-path"' not in rest and "PATH</pre>" not in card + rest
    for asked in ("try", "commands"):
        answer = client.post("/sources/add/?program=codex-cli", {"path": "/srv/x", "do": asked})
        card, rest = split(answer.content.decode())
        assert answer.status_code == (409 if asked == "try" else 200) and ("may not read" in card) is (asked == "try")
        assert 'value="/srv/x"' in card and "PATH</pre>" not in card + rest
        assert card.index("scan /srv/x</pre>") < card.index("import_source /srv/x</pre>"), "the answer is where it was asked for"
    wrong = client.post("/sources/add/?program=codex-cli", {"path": "x", "do": "commands"})
    assert wrong.status_code == 409 and 'id="path-path-problem">Write the whole path' in split(wrong.content.decode())[0]


def test_where_a_list_says_what_pages_may_read_nothing_is_said_not_to_be_found(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    words = panel(client.get("/sources/add/?program=claude-code").content.decode())
    assert words.startswith("Claude Code It keeps its sessions in ~/.claude/projects") and "Not found" not in words
    monkeypatch.setenv("HOME", str(tmp_path))
    page = client.get("/sources/add/?program=claude-code").content.decode()
    assert f'value="{tmp_path}/.claude/projects"' in page


def test_each_card_says_what_is_on_this_machine_and_one_test_is_not_folded(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = []
    monkeypatch.setenv("HOME", str(tmp_path))

    def cards() -> dict[str, str]:
        tiles = client.get("/sources/add/").content.decode().partition('class="tiles"')[2].partition("</nav>")[0]
        return {name: re.sub(r"<[^>]+>", "", words) for name, words in re.findall(r'\?program=([\w-]+)"><b>[^<]*</b> (.*?)</a>', tiles)}

    def test_first() -> list[str]:
        page = client.get("/sources/add/").content.decode()
        return [way for way in ("path", "upload", "paste", "database", "elsewhere") if opened(page, way)]

    assert {words.rpartition(" not ")[2] for name, words in cards().items() if name in ("claude-code", "codex-cli", "rollouts")} == {
        "found"
    }
    assert cards()["gbrain"] == "a PostgreSQL database", "nothing was looked for"
    assert test_first() == ["upload"], "no path may be opened"
    (tmp_path / ".codex/sessions").mkdir(parents=True)
    assert cards()["codex-cli"] == "~/.codex/sessions empty" and test_first() == ["path"]
    (tmp_path / ".codex/sessions/rollout-1.jsonl").write_text("{}")
    assert next(iter(cards().items())) == ("codex-cli", "~/.codex/sessions found: 1 file"), "what is found comes first"
    assert test_first() == [], "the test of what is found is on top"
    settings.INSPECTOR_SOURCES = [tmp_path]
    assert cards()["codex-cli"] == "~/.codex/sessions" and test_first() == ["path"], "not looked at"


def test_each_way_has_a_card_and_the_command_of_a_database_comes_when_it_is_asked_for(client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = []
    page = client.get("/sources/add/").content.decode()
    ways = page.partition('class="ways two"')[2]
    tiles = page.partition('class="tiles"')[2].partition("</nav>")[0]
    assert len(re.findall(r'href="\?program=', tiles)) == len(programs()) + 1 and "~/<wbr>.claude/<wbr>projects" in tiles
    assert [re.sub(r"<[^>]+>", "", title) for title in re.findall(r"<h3>(.*?)</h3>", ways)] == [
        "A path on this machine", "A file on your computer", "Text that you paste",
        "A PostgreSQL database", "A path that this page may not open",
    ]  # fmt: skip
    database = ways.partition('id="database"')[2].partition("</details>")[0]
    assert "import_source" not in database and "import_source PATH</pre>" in ways
    database = (
        said(client, path="postgresql://reader@db.example/brain", do="lines").partition('id="database"')[2].partition("</details>")[0]
    )
    own = client.post("/sources/add/?program=gbrain", {"path": "postgresql://reader@db.example/brain", "do": "lines"}).content.decode()
    assert "import_source postgresql://reader@db.example/brain</pre>" in own.partition('id="program"')[2].partition("</section>")[0]
    assert own.count('id="database"') == 1, "its own card has it"
    assert "scan postgresql://reader@db.example/brain</pre>" in database
    assert "import_source postgresql://reader@db.example/brain</pre>" in database


@pytest.mark.parametrize("program", ["", "?program=gbrain"])
def test_an_address_that_is_none_is_there_again_with_the_sentence_next_to_it(client: Client, settings: Settings, program: str) -> None:
    settings.INSPECTOR_SOURCES = []
    for typed, sentence in (
        ("postgresq://reader@db.example/brain", "The address of the database cannot be read"),
        ("brain", "Write the whole path"),
    ):
        answer = client.post(f"/sources/add/{program}", {"path": typed, "do": "lines"})
        field, below = re.findall(r'(<input[^>]*id="elsewhere-path"[^>]*>)(.*?)</div>', answer.content.decode(), re.DOTALL)[0]
        assert answer.status_code == 409 and f'value="{typed}"' in field and "autofocus" in field
        assert f'id="elsewhere-path-problem">{sentence}' in below
    page = client.get(f"/sources/add/{program}").content.decode()
    assert re.search(r'<input[^>]*id="elsewhere-path"[^>]*value=""', page), "nothing was typed"
    right = client.post(f"/sources/add/{program}", {"path": "postgresql://me:hunter2@db.example/brain", "do": "lines"}).content.decode()
    assert re.search(r'id="elsewhere-path"[^>]*value="postgresql://me@db.example/brain"', right) and "hunter2" not in right
    other = client.post(f"/sources/add/{program}", {"path": "a.db"}).content.decode()
    assert re.search(r'<input[^>]*id="elsewhere-path"[^>]*value=""', other), "that was typed in another field"


def test_a_database_that_is_not_allowed_has_three_ways_to_its_import(client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = []
    page = said(client, path="postgresql://reader@db.example/brain", do="lines")
    assert client.post("/sources/add/", {"path": "a.db", "do": "lines"}).status_code == 409, "no place at all"
    place_, elsewhere = page[page.index('id="path"') : page.index('id="database"')], page[page.index('id="database"') :]
    assert "may not read" not in page and 'id="elsewhere"' not in page and ' main"' not in place_, "the command is the answer"
    assert "import_source postgresql://reader@db.example/brain</pre>" in elsewhere
    assert re.search(r"INSPECTOR_SOURCES=\S*postgresql://reader@db.example/brain \S+", elsewhere)
    export = "pg_dump -t minion_jobs -t 'subagent_*' {} > gbrain.sql"
    assert f"{escape(export.format('postgresql://reader@db.example/brain'), quote=False)}</pre>" in elsewhere, "without access to it"
    assert export.format("postgresql://USER@HOST/gbrain") in (Path(__file__).parents[2] / "docs/how-to/postgresql.md").read_text(), (
        "the same as in the guide"
    )


def test_a_path_is_tried_without_an_import(tmp_path: Path, client: Client, settings: Settings) -> None:
    (tmp_path / "outside").mkdir()
    folder = tmp_path / "listed"
    folder.mkdir()
    settings.INSPECTOR_SOURCES = [folder, place("postgresql://brain@db.example/brain")]
    write_dispatch_store(folder / "a.db", rows("one", MERGED))
    (folder / "notes.txt").write_text("milk")
    page = said(client, path=str(folder / "a.db"), do="try")
    assert (
        "Tested, not imported" in page and "Recognized as" in page and ">dispatch</span>" in page and "<b>1 conversations</b>" not in page
    )
    assert "<b>1 conversation</b>" in page and page.count(f'name="path" value="{folder / "a.db"}"') == 1
    unknown = said(client, path=str(folder / "notes.txt"), do="try")
    assert (
        ">not read</span>" in unknown
        and "is no store" in unknown
        and '<button class="btn main">Import' not in unknown
        and '<button class="btn main">Import</button>' in page
    )
    assert "a login there" in said(client, path="postgresql://brain@db.example/brain", do="try")
    assert "may not read" in said(client, path=str(tmp_path / "outside"), do="try")
    database, tree = opencode.database(folder, opencode.KILLED), opencode.tree(folder, opencode.CLEAN)
    both = said(client, path=str(folder), do="try")
    assert database in both and tree in both
    assert not Source.objects.exists() and not AuditEntry.objects.exists()


def test_a_tried_folder_says_which_files_are_read_and_what_is_wrong_with_them(tmp_path: Path, client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    folder = tmp_path / "sessions" / "--x--"
    folder.mkdir(parents=True)
    (folder / "2026-01-01T00-00-00-000Z_abc.jsonl").write_text(SESSION)
    (folder / "notes.txt").write_text("milk")
    page = re.sub(r"\s+", " ", said(client, path=str(folder), do="try"))
    assert f"<b>1 conversation</b> in 1 file, {len(SESSION)} B, last written <time" in page
    assert "1 other file there is not of this format." in page
    database = tmp_path / "a.db"
    write_dispatch_store(database, [*rows("one", MERGED), ("conversation-store", "conv:one:unknown<b>", "{}")])
    page = re.sub(r"\s+", " ", said(client, path=str(database), do="try"))
    assert "<b>1 conversation</b> in 1 file, " in page and "other file" not in page
    assert '<span class="mono">its keys</span>' in page and "unknown&lt;b&gt;" in page


def test_a_tried_store_says_what_becomes_of_its_newest_conversations(tmp_path: Path, client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    make(tmp_path / "a.db")
    page = said(client, path=str(tmp_path / "a.db"), do="try")
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "All were examined: 5 of 6 damaged or rejected , 1 of 41 chunks cannot be read ." in words
    assert (
        "2026-06-28 14 rejected at messages.1 OC-2 of openai-chat Messages of different roles are read as one user message; the last turn"
        in words
    )
    titles = re.findall(r'<td class="what">\s*<b>(.*?)</b>', page)
    assert titles[:2] == ["hello", "Summarise the open pull requests"] and len(titles) == 6
    assert "A row holds no readable JSON, and 1 more problem." in words
    assert not Source.objects.exists()


def test_a_test_says_what_is_lost_silently_as_lists_do(tmp_path: Path, client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    for name, text in pi_files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text)

    def outcomes(page: str) -> list[str]:
        return re.findall(r'<td class="next"[^>]*>\s*<span class="caution"><b>(.*?)</b>', page)

    tested = outcomes(said(client, path=str(tmp_path), do="try"))
    assert tested == ["content lost"] * len(tested) and tested
    import_targets([str(tmp_path)], "tester")
    assert outcomes(client.get("/conversations/").content.decode()) == tested


def test_a_test_lists_damaged_conversations_first_and_counts_what_it_does_not_list(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    conversations = [("old", MERGED, 1), ("new", HEALTHY, 4), ("older", HEALTHY, 2), ("newer", MERGED, 3)]
    write_dispatch_store(tmp_path / "a.db", [row for name, chunks, at in conversations for row in rows(name, chunks, at=at)])

    def listed(most: int) -> tuple[list[str], list[str]]:
        monkeypatch.setattr("inspector.actions.try_source.SHOWN", most)
        page = said(client, path=str(tmp_path / "a.db"), do="try")
        left = re.findall(r"Not shown: .*?\.", re.sub(r"<[^>]+>", "", page))
        return re.findall(r'<td class="what">\s*<b>(.*?)</b>', page), left

    assert listed(4) == (["newer", "old", "new", "older"], [])
    assert listed(3) == (["newer", "old", "new"], ["Not shown: 1 undamaged."])
    assert listed(1) == (["newer"], ["Not shown: 1 damaged or rejected, 2 undamaged."])


def test_what_a_test_counts_is_what_the_import_counts(tmp_path: Path, client: Client, settings: Settings) -> None:
    """What only its provider rejects has no finding."""
    settings.INSPECTOR_SOURCES = [tmp_path]
    call = {"id": "c" * 65, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "x"},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"model": "gpt-4.1", "messages": turns}))
    page = said(client, path=str(tmp_path / "a.json"), do="try")
    assert "1 of 1 damaged or rejected" in re.sub(r"<[^>]+>", "", page) and "nothing found" not in page
    said(client, path=str(tmp_path / "a.json"))
    row = Source.objects.get().conversations.get()
    assert row.is_damaged and not row.findings.exists()


def test_the_first_step_is_the_test_and_after_it_the_import(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = []
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (".pi/agent/sessions", ".claude/projects"):
        (tmp_path / folder / "--x--").mkdir(parents=True)
        (tmp_path / folder / "--x--" / "2026-01-01T00-00-00-000Z_abc.jsonl").write_text(SESSION)

    def main_buttons(page: str) -> list[str]:
        return re.findall(r'<button class="btn main"[^>]*>([^<]*)</button>', page)

    assert main_buttons(client.get("/sources/add/").content.decode()) == ["Test", "Test"], "one for each row"
    tested = said(client, path=str(tmp_path / ".pi/agent/sessions"), do="try")
    assert main_buttons(tested) == ["Import"] and tested.count('<a class="link" href="#tested">tested</a>') == 1


def test_of_a_path_that_is_a_source_already_its_test_says_so(tmp_path: Path, client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [tmp_path]
    (tmp_path / "--x--").mkdir()
    (tmp_path / "--x--" / "2026-01-01T00-00-00-000Z_abc.jsonl").write_text(SESSION)
    assert "already: an import" not in said(client, path=str(tmp_path), do="try")
    import_targets([str(tmp_path)], "tester")
    known = Source.objects.get()
    assert f'<a class="link" href="/sources/{known.oid}/">{known.name}</a> already: an import reads what has changed' in said(
        client, path=str(tmp_path), do="try"
    )


def test_of_a_large_folder_the_newest_are_examined(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is too large for a look is none of them, though it is the newest of all."""
    settings.INSPECTOR_SOURCES = [tmp_path]
    folder = tmp_path / "sessions" / "--x--"
    folder.mkdir(parents=True)
    for number in range(8):
        path = folder / f"2026-01-01T00-00-0{number}-000Z_s{number}.jsonl"
        path.write_text(SESSION.replace("abc", f"abc{number}") + "\n" * (2_000 if number == 7 else 0))
        os.utime(path, (1_760_000_000 + number, 1_760_000_000 + number))
    monkeypatch.setattr("inspector.actions.try_source.EXAMINED", 5 * len(SESSION) + 100)
    page = " ".join(said(client, path=str(tmp_path / "sessions"), do="try").split())
    assert "<b>8 conversations</b>" in page and "The 5 newest that can be read in a moment were examined:" in page
    assert "Not shown: <b>3</b> not examined." in page
    monkeypatch.setattr("inspector.actions.try_source.EXAMINED", 9)
    assert "None was examined: they are too large" in said(client, path=str(tmp_path / "sessions"), do="try")
    assert [f"abc{number}<" in page for number in range(8)] == [False, False, True, True, True, True, True, False]


@pytest.mark.parametrize(("is_local", "chosen", "on"), [(True, "1", None), (True, "0", False), (False, "1", True), (False, "0", None)])
def test_what_is_imported_is_watched_as_it_was_chosen(
    tmp_path: Path, client: Client, settings: Settings, is_local: bool, chosen: str, on: bool | None
) -> None:
    """None: it is by default as it was chosen, and nothing is kept or audited."""
    settings.INSPECTOR_LOCAL, settings.INSPECTOR_SOURCES = is_local, [tmp_path]
    if not is_local:
        client.force_login(account("boss", "admin"))
    write_dispatch_store(tmp_path / "a.db", rows("one", MERGED))
    box = '<input type="checkbox" name="watch" value="1"' + (" checked>" if is_local else ">")
    assert box in client.get("/sources/add/").content.decode()
    client.post("/sources/add/", {"path": str(tmp_path / "a.db"), "watch": ["0", "1"] if chosen == "1" else "0"})
    watch = Watch.objects.filter(source=Source.objects.get()).first()
    assert (watch.is_on if watch else None) is on
    assert AuditEntry.objects.filter(verb="watch").exists() is (on is True)


def test_a_folder_becomes_a_source_for_each_store_in_it(tmp_path: Path, client: Client, settings: Settings) -> None:
    folder = tmp_path / "listed"
    folder.mkdir()
    settings.INSPECTOR_SOURCES = [folder]
    database, tree = opencode.database(folder, opencode.KILLED), opencode.tree(folder, opencode.CLEAN)
    assert "is imported" in said(client, path=str(folder))
    assert sorted(Source.objects.values_list("path", flat=True)) == [database, tree]


def test_in_local_mode_without_a_list_only_the_folders_of_programs_are_offered(
    tmp_path: Path, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INSPECTOR_SOURCES = []
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    sessions = tmp_path / "home" / ".pi" / "agent" / "sessions" / "--x--"
    sessions.mkdir(parents=True)
    (sessions / "2026-01-01T00-00-00-000Z_abc.jsonl").write_text(SESSION)
    write_dispatch_store(tmp_path / "a.db", rows("one", MERGED))
    assert "only what is in the folders where programs keep" in said(client, path=str(tmp_path / "a.db")) and not Source.objects.exists()
    (tmp_path / "home" / ".claude" / "projects").mkdir(parents=True)
    page = client.get("/sources/add/").content.decode()
    empty = str(tmp_path / "home" / ".claude" / "projects")
    here = page.partition('id="found"')[2].partition("</section>")[0]
    assert f"{empty} is empty." in panel(client.get("/sources/add/?program=claude-code").content.decode())
    assert "Claude Code, /" not in page and "<b>Claude Code</b>" not in here
    assert "Browse the folder" not in page, "each folder that is allowed is listed with its program"
    assert "<b>pi and OpenClaw</b>" in here and f">1 file, {len(SESSION)} B</td>" in here
    assert f'value="{sessions.parent}"' in page and page.index("pi and OpenClaw") < page.index("Claude Code") < page.index("Codex CLI")
    assert "is imported" in said(client, path=str(sessions.parent))
    source = Source.objects.get()
    again = client.get("/sources/add/").content.decode()
    assert f'<a class="btn" href="/sources/{source.oid}/">Imported</a>' in again and f'value="{sessions.parent}"' not in again
    # A foreign site has neither the token of the link nor that of the form.
    other = Client(enforce_csrf_checks=True)
    assert other.post("/sources/add/", {"path": str(sessions)}).status_code in (401, 403)
    assert (
        OperatorClient(enforce_csrf_checks=True).post("/sources/add/", {"text": BODY}, HTTP_ORIGIN="https://evil.example").status_code
        == 403
    )


def test_a_file_is_kept_closed_under_a_safe_name_and_goes_with_its_source(own_folder: Path, client: Client, settings: Settings) -> None:
    settings.INSPECTOR_SOURCES = [own_folder.parent / "listed"]
    for name, expected in (
        ("../../../etc/cron.d/x\x00.json", "x-.json"),
        (".ssh", "ssh"),
        ("a b;rm -rf.json", "a-b-rm--rf.json"),
        ("x.db-wal", "x.db_wal"),
    ):
        assert uploads.safe_name(name) == expected
    assert uploads.safe_name("é") == "pasted" and len(uploads.safe_name("x" * 500 + ".jsonl")) < 90
    upload = SimpleUploadedFile("../up load.json", BODY.encode())
    assert "is imported" in said(client, file=upload)
    source = Source.objects.get()
    path = Path(source.path)
    assert path.name == "up-load.json" and path.parent.parent == (own_folder / "uploads").resolve()
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (own_folder / "uploads", path.parent, path)]
    assert modes == [0o700, 0o700, 0o600]
    assert client.get(f"/conversations/{source.conversations.get().oid}/").status_code == 200
    assert "1 conversation" in said(client, file=SimpleUploadedFile("up load.json", BODY.encode())) and Source.objects.count() == 1, (
        "the same again"
    )
    assert "uploaded" in client.get(f"/sources/{source.oid}/remove/").content.decode()
    client.post(f"/sources/{source.oid}/remove/", {"confirm": source.name})
    assert not Source.objects.exists() and not path.parent.exists()


def test_what_cannot_be_read_or_is_too_large_is_not_kept(own_folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "recogni" in said(client, file=SimpleUploadedFile("x.bin", b"\x00\x01 nothing"))
    assert "nothing in it" in said(client, file=SimpleUploadedFile("x.json", b"")) or not Source.objects.exists()
    for name, content in (("notes.db", b"SQLite format 3\x00 and no more"), ("notes.txt", b"no store"), ("cut.jsonl", b'{"type": "sess')):
        answer = said(client, file=SimpleUploadedFile(name, content))
        assert name in answer and str(own_folder) not in answer, answer
    assert not Source.objects.exists()
    monkeypatch.setattr(uploads, "LARGEST", 10)
    assert "is over" in said(client, file=SimpleUploadedFile("x.json", BODY.encode()))
    assert not list((own_folder / "uploads").iterdir()) and not Source.objects.exists()
    left = own_folder / "uploads" / "left"
    left.mkdir()
    monkeypatch.setattr(uploads, "YOUNG", -1)
    monkeypatch.setattr(uploads, "LARGEST", 1000)
    said(client, text=BODY)
    assert not left.exists() and Source.objects.count() == 1, "of an import that was ended in the middle nothing stays"


def test_text_is_imported_as_it_was_pasted(own_folder: Path, client: Client) -> None:
    assert "is imported" in said(client, text=SESSION.replace("\n", "\r\n"), name="../mine.jsonl")
    path = Path(Source.objects.get().path)
    assert path.read_text() == SESSION and path.name == "mine.jsonl"


@pytest.mark.parametrize("way", ["file", "text"])
def test_what_is_brought_is_tested_and_then_imported_without_being_sent_again(own_folder: Path, client: Client, way: str) -> None:
    def sent() -> dict[str, object]:
        return {"text": SESSION, "name": "mine.jsonl"} if way == "text" else {"file": SimpleUploadedFile("mine.jsonl", SESSION.encode())}

    kept = own_folder / "uploads"
    page = said(client, **sent(), do="try")
    assert "Tested, not imported: " in page and "1 conversation</b>" in page and str(own_folder) not in page
    assert not Source.objects.exists() and len(list(kept.iterdir())) == 1
    (brought,) = re.findall(r'name="brought" value="([0-9a-f]{16}/mine.jsonl)"', page)
    assert 'name="watch"' not in page[page.index('id="tested"') : page.index('id="path"')], "nobody writes to it"
    (folder,) = kept.iterdir()
    os.utime(folder, (0, 0))
    said(client, **sent(), do="try")
    client.get("/sources/add/")
    assert folder.exists(), "tested again a moment ago"
    os.utime(folder, (0, 0))
    client.get("/sources/add/")
    assert not folder.exists(), "of a test an hour ago nothing stays"
    assert "It is not kept any more: send the file or the text again." in said(client, brought=brought)
    said(client, **sent(), do="try")
    assert "is imported" in said(client, brought=brought)
    assert Path(Source.objects.get().path).read_text() == SESSION
    assert Source.objects.get().name == "mine.jsonl", "without a folder of ours"
    os.utime(folder, (0, 0))
    client.get("/sources/add/")
    assert Path(Source.objects.get().path).exists(), "a source needs it"
    Source.objects.update(path=str(folder))
    client.get("/sources/add/")
    assert folder.exists(), "and one that is the folder"


def test_of_what_is_brought_only_its_own_name_is_read(own_folder: Path, client: Client) -> None:
    said(client, text=SESSION, name="mine.jsonl", do="try")
    (own_folder / "key").write_text(SESSION)
    folder = next((own_folder / "uploads").iterdir()).name
    for name in ("../key", f"{folder}/../../key", "/etc/passwd", f"{folder}/", f"{folder}/none", "\x00", ""):
        assert "It is not kept any more" in said(client, brought=name), name
    assert not Source.objects.exists()


def test_what_cannot_be_imported_is_not_kept_after_its_test(own_folder: Path, client: Client) -> None:
    page = said(client, text="no store", name="notes.txt", do="try")
    assert "notes.txt is no store" in page and "--format" not in page and str(own_folder) not in page and 'name="brought"' not in page
    assert not list((own_folder / "uploads").iterdir())


def test_adding_takes_an_admin_of_all(client: Client, settings: Settings, tmp_path: Path) -> None:
    shown = store(tmp_path / "a.db", rows("one", MERGED))
    settings.INSPECTOR_LOCAL = False
    for name, given in (("ann", {"role": "approver"}), ("ada", {"role": "admin", "source": shown})):
        client.force_login(account(name, **given))
        assert (client.get("/sources/add/").status_code, client.get("/sources/add.json").status_code) == (403, 403), name
        assert (
            client.post("/sources/add/", {"text": BODY}).status_code == 403
            and client.post("/sources/demo/", {"on": "1"}).status_code == 403
        )
        assert "Add a source" not in client.get("/sources/").content.decode()
    assert Source.objects.count() == 1 and not (Path(settings.VAR_DIR) / "uploads").exists()
    client.force_login(account("boss", "admin"))
    assert "Add a source" in client.get("/sources/").content.decode() and "is imported" in said(client, text=BODY)


def counts(client: Client) -> dict[str, object]:
    inbox, trends = client.get("/index.json").json(), client.get("/trends.json", {"by": "source"}).json()
    return {
        "conversations": inbox["conversations"],
        "streams": inbox["streams"]["total"],
        "problems": len(inbox["problems"]),
        "trends": [row["name"] for row in trends["rows"]],
        "metrics": metrics().decode().count("inspector_source_info{"),
    }


def test_the_demo_is_not_counted_with_others_and_is_where_it_is_alone(client: Client, tmp_path: Path, settings: Settings) -> None:
    demo = store(tmp_path / "demo.db", rows("one", MERGED, at=1782000000000))
    name, data = next(iter(capture_files().items()))
    (tmp_path / name).write_bytes(data)
    import_targets([str(tmp_path / name)], "tester")
    Source.objects.update(is_demo=True)
    alone = counts(client)
    assert alone["problems"] and alone["trends"] and alone["metrics"] == 2
    own = store(tmp_path / "own.db", [*rows("two", MERGED), *rows("three", MERGED)])
    both = counts(client)
    assert (alone["conversations"], both["conversations"]) == (1, 2) and (alone["streams"], both["streams"]) == (1, 0)
    assert both["trends"] == [own.name] and both["metrics"] == 1
    assert {
        row["source"]["id"] if isinstance(row["source"], dict) else row["source"] for row in client.get("/index.json").json()["problems"]
    } == {own.oid}
    assert client.get("/index.json", {"source": demo.oid}).json()["problems"], "who asks for it sees it"
    assert "not counted with the others" in client.get("/sources/").content.decode()
    settings.INSPECTOR_LOCAL = False
    client.force_login(account("ann", "viewer", source=demo))
    assert counts(client)["trends"] == [demo.name], "who sees nothing else"


def test_text_that_is_no_store_is_there_again_and_diagnose_takes_it(client: Client) -> None:
    def tested(page: str) -> str:
        return page.partition('id="tested"')[2].partition("</section>")[0]

    text = "password = hunter2-and-more\nof mine"
    answer = client.post("/sources/add/", {"text": text, "name": "pasted.jsonl", "do": "try"})
    page = answer.content.decode()
    assert '<q class="mono">password = [masked' in tested(page) and "of mine" not in tested(page)
    assert (
        ">the pasted text</span></h2>" in tested(page)
        and "The pasted text is no store" in tested(page)
        and "pasted.jsonl" not in tested(page)
    )
    assert "open" in opened(page, "paste") and f">{text}</textarea>" in page, "masked, it would be tested so"
    assert answer["Cache-Control"] == "no-store"
    assert '<button class="link" form="pasting" formaction="/diagnose/">Diagnose it</button>' in tested(page)
    assert "csrfmiddlewaretoken" in page.partition('id="pasting"')[2].partition("</form>")[0]
    named = said(client, text="some notes", name="notes.txt", do="try")
    assert "notes.txt is no store" in tested(named) and 'value="notes.txt"' in named
    file = said(client, file=SimpleUploadedFile("notes.txt", b"some notes"), do="try")
    assert "notes.txt is no store" in tested(file) and 'href="/diagnose/"' in tested(file) and "open" in opened(file, "upload")
    known = said(client, text=SESSION, name="a.jsonl", do="try")
    assert "Recognized as" in tested(known) and "It begins with" not in tested(known) and not opened(known, "paste")
    password = "7JoC2uCv" * 60
    secret = said(client, text=f"postgres://u:{password}@h/db", name="notes.txt", do="try")
    assert password[:8] not in tested(secret)
    assert "It begins with" not in tested(said(client, text="x" * 70_000, name="notes.txt", do="try"))
