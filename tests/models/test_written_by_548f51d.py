"""A database that Inspector wrote at 548f51d, with its stores: imports of every kind, applied repairs, forks, one undone and one proposed repair.

Engineers paste links to findings, conversations and repairs into issues, and repaired stores stay under Inspector's undo for as long as its
database lives: whatever is renamed or moved since, this one opens as it did.
"""

import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings

from tests.commands.running import run_in_process

WRITTEN = Path(__file__).with_name("written_by_548f51d.tar.gz")
FOLDER = Path("/tmp/inspector-at-548f51d")
"""Where it was written: ids of sources and conversations are made of paths, so that it opens nowhere else."""

ASK = """
import io, json, sys
from django.core.management import call_command
from django.test import Client
from inspector.access_token import bearer
asked = json.load(sys.stdin)
client = Client(headers={"host": "localhost", **bearer()})
statuses = {link: client.get(link, follow=True).status_code for link in asked["links"]}
answers = []
for command, repair in asked["commands"]:
    out = io.StringIO()
    call_command(command, repair, "--json", stdout=out)
    answers.append([command, repair, out.getvalue()])
print(json.dumps([statuses, answers]))
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(FOLDER, ignore_errors=True)
        with tarfile.open(WRITTEN) as packed:
            packed.extractall(FOLDER, filter="data")
        yield FOLDER / "inspector.sqlite3"
        shutil.rmtree(FOLDER)


def _links(path: Path) -> list[str]:
    """Every link that a page at 548f51d offered for a row."""
    kinds = {"conversation": ("/", ".json", ".md", "/prompt/", "/trace.json", "/chunks/1/"), "finding": ("/", ".json", ".md")}
    kinds |= {"repair": ("/", ".json", ".md"), "source": ("/", ".json"), "stream": ("/", ".json", ".md", "/corrected/")}
    links = ["/", "/conversations/", "/streams/", "/repairs/", "/sources/", "/audit/", "/rules/", "/strategies/", "/whatif/", "/formats/"]
    with closing(sqlite3.connect(path)) as own:
        for kind, ends in kinds.items():
            for (oid,) in own.execute(f"SELECT oid FROM inspector_{kind}"):
                links += [f"/{kind}s/{oid}{end}" for end in ends]
    return links


def _repairs(path: Path, state: str) -> list[str]:
    with closing(sqlite3.connect(path)) as own:
        return [oid for (oid,) in own.execute("SELECT oid FROM inspector_repair WHERE state = ? ORDER BY id", (state,))]


@pytest.mark.slow
def test_its_links_lead_where_they_did_and_its_repairs_are_verified_and_undone(database: Path) -> None:
    links, verified = _links(database), _repairs(database, "verified")
    assert (len(verified), len(_repairs(database, "undone")), len(_repairs(database, "proposed"))) == (8, 1, 1)
    assert len(links) > 250
    assert run_in_process(database, "migrate").status == 0

    commands = [("verify", repair) for repair in verified] + [("undo", repair) for repair in reversed(verified)]
    ran = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "-v", "0", "-c", ASK],
        input=json.dumps({"links": links, "commands": commands}), capture_output=True, text=True, timeout=600,
        env={**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{database}"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    statuses, answers = json.loads(ran.stdout)
    assert {link: status for link, status in statuses.items() if status != 200} == {}
    assert [(command, repair, json.loads(answer)["state"]) for command, repair, answer in answers] == [
        (command, repair, "verified" if command == "verify" else "undone") for command, repair in commands
    ]
    assert len(_repairs(database, "undone")) == 9
    assert len(list(FOLDER.glob("demo/pi/*/*.jsonl"))) == 2  # The new session is gone again.


COMPARE = """
import json
from inspector.models import ChunkRow, Conversation, Revision, SearchText, loading
from inspector.models.searching import conversations_with
from inspector.planning.preview import digest
different, revisions, chunks = [], 0, 0
for row in Conversation.objects.select_related("source"):
    for revision in Revision.objects.filter(conversation=row):
        stored = loading.stored(row, revision.number)
        rows = ChunkRow.objects.filter(ChunkRow.at(revision.number), conversation=row).order_by("position")
        texts = SearchText.objects.filter(SearchText.at(revision.number), conversation=row)
        own = [(chunk.seq, chunk.msg_idx, chunk.chunk_idx, chunk.kind) for chunk in stored.conversation.chunks]
        revisions, chunks = revisions + 1, chunks + len(own)
        if (
            digest(stored) != revision.digest
            or list(rows.values_list("seq", "msg_idx", "chunk_idx", "kind")) != own
            or sum(texts.values_list("count", flat=True)) != len(own)
            or not Conversation.objects.filter(conversations_with(row.title.upper()), pk=row.pk).exists()
        ):
            different.append([row.oid, revision.number])
print(json.dumps([different, revisions, chunks]))
"""


@pytest.mark.slow
def test_its_revisions_load_byte_for_byte_and_have_rows_for_their_chunks(database: Path) -> None:
    assert run_in_process(database, "migrate").status == 0
    ran = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "shell", "-v", "0", "-c", COMPARE],
        capture_output=True, text=True, timeout=600, env={**os.environ, "INSPECTOR_DATABASE_URL": f"sqlite:///{database}"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [[], 31, 352]
