"""A conversation as one HTML file: everything is in it, nothing runs in it, and it asks no server."""

import html
import re
import shlex
from pathlib import Path

import pytest
from django.test import Client

from inspector.conversation.model import Chunk, Kind
from inspector.installation import program
from inspector.presentation.conversation.html_file import file_rows
from inspector.rules.base import Finding, Origin, Severity
from tests.commands.running import run
from tests.views.imported import HEALTHY, MERGED, rows, store

pytestmark = pytest.mark.django_db
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def chunk(text: str) -> dict[str, object]:
    return {"chunk": {"type": "text", "text": text}, "role": "user", "msgIdx": 0, "chunkIdx": 0}


def test_it_has_what_was_stored_and_what_was_found_and_asks_for_nothing(tmp_path: Path, client: Client) -> None:
    row = store(tmp_path / "a.db", rows("one", MERGED, title="A title")).conversations.get()
    answer = client.get(f"/conversations/{row.oid}.html")
    assert answer["Content-Disposition"] == f'attachment; filename="{row.identity}.html"'
    text = answer.content.decode()
    for expected in ("A title", "MSG101", "hello", 'id="seq-2"', "dispatch-legacy", "show", str(tmp_path / "a.db")):
        assert expected in text, expected
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(", text)
    assert {link[0] for link in re.findall(r'(?:href|src|action)="([^"]*)"', text)} == {"#"}
    assert "default-src 'none'" in text


def test_hostile_words_are_shown_and_never_run(tmp_path: Path, client: Client) -> None:
    hostile = "</td><script>alert(1)</script><!-- masked --><style>*{}</style>\x1b[31m"
    row = store(tmp_path / "a.db", rows("one", (chunk(hostile), HEALTHY[1]), title=hostile)).conversations.get()
    text = client.get(f"/conversations/{row.oid}.html").content.decode()
    assert "<script" not in text
    assert text.count("<style>") == 1
    assert "&lt;script&gt;alert(1)" in text
    assert "\x1b" not in text


def test_secrets_are_masked_and_the_file_says_so(tmp_path: Path, client: Client) -> None:
    row = store(tmp_path / "a.db", [*rows("with", (chunk(f"token {SECRET}"),)), *rows("without", HEALTHY)])
    text = client.get(f"/conversations/{row.conversations.get(native_id='with').oid}.html").content.decode()
    assert SECRET not in text
    assert "these are not the stored bytes" in text
    text = client.get(f"/conversations/{row.conversations.get(native_id='without').oid}.html").content.decode()
    assert "these are not the stored bytes" not in text


def test_the_command_writes_the_same_file_without_an_import(tmp_path: Path, client: Client) -> None:
    row = store(tmp_path / "a.db", rows("one", (*MERGED, chunk(SECRET)))).conversations.get()
    page = client.get(f"/conversations/{row.oid}.html").content.decode()
    done = run("show", str(tmp_path / "a.db"), "--as", "html")
    assert done.status == 0
    assert " ".join(done.out.split()) == " ".join(page.split())
    exact = run("show", str(tmp_path / "a.db"), "--as", "html", "--exact")
    assert SECRET in exact.out
    assert "these are not the stored bytes" not in exact.out


def test_a_copy_names_the_command_as_a_shell_takes_it(tmp_path: Path, client: Client) -> None:
    """`python manage.py` is two words of it: in quotes as one they name no program."""
    path = tmp_path / "a store.db"
    row = store(path, rows("one", MERGED)).conversations.get()
    page = html.unescape(client.get(f"/conversations/{row.oid}.html").content.decode())
    issue = client.get(f"/conversations/{row.oid}.md").content.decode()
    for command in re.findall(r"<code>(.*)</code></p>\s*</body>", page) + re.findall(r"```sh\n(.*)\n```", issue):
        words, ours = shlex.split(command), program().split()
        assert words[: len(ours)] == ours and str(path) in words, command
    assert page.count("a store.db") and issue.count("```sh") == 1


def numbered(count: int) -> list[Chunk]:
    return [Chunk(f"k{seq}", seq, "user", Kind.TEXT, {"text": str(seq)}) for seq in range(1, count + 1)]


def at(*seqs: int) -> Finding:
    return Finding("MSG101", "merged-messages", Severity.ERROR, True, Origin.READER, "m", seqs, len(seqs), "k", ())


def test_a_short_one_is_whole() -> None:
    shown, after = file_rows(numbered(5), [at(2)], most=5)
    assert [row.chunk.seq for row in shown] == [1, 2, 3, 4, 5]
    assert [bool(row.findings) for row in shown] == [False, True, False, False, False]
    assert after == 0


def test_of_a_long_one_what_is_around_findings_stays_and_the_rest_is_counted() -> None:
    shown, after = file_rows(numbered(100), [at(50)], most=10)
    assert [row.chunk.seq for row in shown] == [1, 2, 3, 47, 48, 49, 50, 51, 52, 53]
    assert [row.left_out for row in shown] == [0, 0, 0, 43, 0, 0, 0, 0, 0, 0]
    assert after == 47
    assert sum(row.left_out + 1 for row in shown) + after == 100


def test_more_findings_than_fit_are_cut_at_the_limit() -> None:
    shown, after = file_rows(numbered(100), [at(*range(1, 101))], most=10)
    assert [row.chunk.seq for row in shown] == list(range(1, 11))
    assert after == 90
