"""A bundle of any program's conversation is that conversation again: records, messages, findings, verdict, and what links call it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.actions.problems import Refused
from inspector.actions.seal_bundle import seal_imported
from inspector.actions.set_write_back import set_write_back
from inspector.demo import gbrain_incident
from inspector.models import Conversation, loading
from inspector.programs.codex.archives import is_packed
from tests.actions.test_bundle import members
from tests.commands.running import run
from tests.programs.codex.threads import NAME, WHOLE
from tests.programs.gemini_cli.test_kit import SAMPLES as GEMINI_CLI
from tests.programs.opencode.test_opencode import SAMPLES as OPENCODE
from tests.testing.test_own_programs import SAMPLES as OWN

BODY = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant"}]}
SECRET = "ghp_" + "Kx7Hq2Zt9LmXc4Vb8NwRkY3sPdFgTj6UaQeW"


def _body(folder: Path) -> str:
    (folder / "request.json").write_text(json.dumps(BODY))
    return str(folder / "request.json")


def _export(folder: Path) -> str:
    (folder / "gbrain.sql").write_text(gbrain_incident.script())
    return str(folder / "gbrain.sql")


STORES: dict[str, Callable[[Path], str]] = {
    **{sample.format: sample.make for sample in (*GEMINI_CLI.values(), *OPENCODE.values(), *OWN.values()) if not sample.content},
    "gbrain-export": _export,
    "openai-chat-request": _body,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STORES)
def test_it_is_the_same_conversation_again(name: str, db: None, tmp_path: Path, client: Client) -> None:
    (folder := tmp_path / "store").mkdir()
    source = import_targets([STORES[name](folder)], "tester")[0].source
    assert source.format == name
    for row in source.conversations.select_related("source"):
        path = tmp_path / f"{row.oid}.zip"
        path.write_bytes(seal_imported(row, False, "tester"))
        opened = import_targets([str(path)], "tester")[0].source
        again = opened.conversations.select_related("source").get(identity=row.identity)
        before, after = loading.stored(row), loading.stored(again)
        facts = [{fact.name: fact.value for fact in of.conversation.facts.values()} for of in (before, after)]
        assert before.records == after.records and facts[0] == facts[1]
        assert before.conversation == replace(after.conversation, facts=before.conversation.facts)
        assert loading.case(row, row.source.reader).messages == loading.case(again, opened.reader).messages
        kept = [sorted(of.findings.values_list("identity", "code", "message")) for of in (row, again)]
        assert kept[0] == kept[1] and (again.verdict, opened.reader) == (row.verdict, row.source.reader)
        manifest = json.loads(members(path.read_bytes())["manifest.json"])
        assert manifest["source"]["format"] == name and manifest["source"]["program"] == source.program.name
        page = client.get(f"/conversations/{again.oid}/").content.decode()
        assert "bundle.zip" not in page and "sealed from" in page
        for part in ("prompt/", "chunks/0/", "repairs/new/", "trace/"):
            assert client.get(f"/conversations/{again.oid}/{part}").status_code in (200, 404), part
        with pytest.raises(Refused, match="sealed"):
            set_write_back(opened, "tester", True, answers_for_it=True)
        with pytest.raises(Refused, match="already"):
            seal_imported(again, False, "tester")


def test_the_command_seals_a_store_that_nobody_imported(db: None, tmp_path: Path) -> None:
    (folder := tmp_path / "store").mkdir()
    path = STORES["opencode-export"](folder)
    out = tmp_path / "evidence.zip"
    assert run("bundle", path, "--out", out, "--exact").status == 0
    one, other = (
        [(of["code"], of["message"]) for of in run("scan", at, "--json").json["conversations"][0]["findings"]] for at in (path, out)
    )
    assert one == other


def test_what_is_packed_is_masked_within_and_keeps_its_links(db: None, tmp_path: Path) -> None:
    """A secret that zstd hides from every pattern is still in the file."""
    path = tmp_path / f"{NAME}.zst"
    path.write_bytes(
        zstandard.compress(WHOLE.replace(b'"text": "', f'"text": "{SECRET} '.encode()).replace(b'"text":"', f'"text":"{SECRET} '.encode()))
    )
    row = Conversation.objects.select_related("source").get(source=import_targets([str(path)], "tester")[0].source)
    assert any(SECRET in of.text for of in loading.stored(row).conversation.chunks)
    data = seal_imported(row, True, "tester")
    assert SECRET.encode() not in b"".join(members(data).values())
    out = tmp_path / "evidence.zip"
    out.write_bytes(data)
    again = import_targets([str(out)], "tester")[0].source.conversations.get()
    assert (again.identity, again.native_id, again.chunk_count) == (row.identity, row.native_id, row.chunk_count)
    assert not is_packed(loading.stored(again).records[0].value.data)
