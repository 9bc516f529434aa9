"""The ledger's lane and the job's panel on the page of a gbrain job: beside which call a run stands, what has none, and texts that are hostile."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.demo import gbrain_incident
from inspector.models import Conversation, loading
from inspector.programs.gbrain.ledger_lane import CELLS_SHOWN
from inspector.programs.gbrain.tables import EXECUTIONS, JOBS, MESSAGES
from tests.programs.gbrain.conformance_rows import ROWS, Case, Run, call, records, text
from tests.views.imported import INCIDENT, example

pytestmark = pytest.mark.django_db
ASKED = ("user", [text("go")])


def page(client: Client, conversation: Conversation, query: str = "") -> str:
    answer = client.get(f"/conversations/{conversation.oid}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def job(folder: Path, row: Case, **more: Any) -> Conversation:
    """A row of the table as JSON lines, imported."""
    rows: dict[str, list[str]] = {}
    for record in records(row, **more):
        rows.setdefault(record.key.partition(":")[0], []).append(record.value.data.decode())
    folder = folder / "export"
    folder.mkdir()
    for table in (JOBS, MESSAGES, EXECUTIONS):
        (folder / f"{table}.jsonl").write_text("".join(f"{line}\n" for line in rows.get(table, ())))
    (imported,) = import_targets([str(folder)], "tester")
    return imported.source.conversations.get()


@pytest.fixture
def incident(tmp_path: Path) -> dict[str, Conversation]:
    path = tmp_path / "gbrain.sql"
    path.write_text(gbrain_incident.script())
    (imported,) = import_targets([str(path)], "tester")
    return {found.native_id: found for found in imported.source.conversations.all()}


def lane(shown: str) -> dict[int, list[str]]:
    """Words of each ledger cell by the seq of its row."""
    found = {}
    for seq, row in re.findall(r'<tr id="seq-(\d+)"(.*?)</tr>', shown, re.DOTALL):
        cell = re.search(r'<td class="ledger">(.*?)</td>', row, re.DOTALL)
        assert cell is not None
        runs = cell.group(1).split('<div class="run')[1:]
        found[int(seq)] = [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", f"<div{run}")).split()) for run in runs]
    return found


def panel(shown: str) -> dict[str, str]:
    return {name: html.unescape(said) for name, said in re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", shown, re.DOTALL)}


def test_each_run_stands_in_the_row_of_its_call(client: Client, incident: dict[str, Conversation]) -> None:
    found = lane(page(client, incident["4107"]))
    assert [len(found[seq]) for seq in sorted(found)] == [0, 0, 1, 1, 1]
    assert found[4][0].startswith('complete 1.1 {"open":3,"total_eur":18240} 06-07 06:31:01, took 9.0 s 01974a0b-')
    assert found[5][0].startswith("failed 1.2 calendar: 503 Service Unavailable 06-07 06:31:01, took 31.0 s")


def test_what_one_finding_says_of_several_calls_has_one_color(client: Client, incident: dict[str, Conversation]) -> None:
    lacking = re.findall(r'<span class="why ([^"]*)">no result stored</span>', page(client, incident["4107"]))
    assert lacking == ["severity error"] * 3


def test_the_panel_says_what_is_known_of_the_job(client: Client, incident: dict[str, Conversation]) -> None:
    failed, gapped, doubled = (panel(page(client, incident[number])) for number in ("4107", "4098", "4064"))
    assert failed["job"].startswith("4107, failed: at rest") and failed["attempts"] == "3 of 3 used"
    assert failed["ledger"] == "3 runs of tools: 2 complete, 1 failed" and "AI_MissingToolResultsError" in failed["error_text"]
    assert gapped["path"] == "the gateway loop before #2820 (2026-07-16)" and gapped["gaps"].startswith("no row at index 2, 4,")
    assert "gaps" not in failed and doubled["encoded twice"].startswith("the blocks at index 1 ")


def test_a_run_that_has_not_ended_and_a_call_without_a_run(client: Client, incident: dict[str, Conversation], tmp_path: Path) -> None:
    assert "pending 1.0 06-07 09:16:01, not ended" in lane(page(client, incident["4119"]))[2][0]
    found = lane(page(client, job(tmp_path, ROWS[1])))
    assert found[2][0].startswith("failed 1.0 boom") and found[3] == ["no row in the ledger: whether the tool ran is not known"]


def test_the_search_finds_words_and_calls_in_any_block_of_a_row(client: Client, incident: dict[str, Conversation]) -> None:
    call = next(chunk.call_id for chunk in loading.stored(incident["4107"]).conversation.chunks if chunk.call_id)
    for wanted in (call, "list_invoices", "I fetch all three"):
        found = client.get("/conversations.json", {"q": wanted}).json()["conversations"]
        assert "4107" in [row["native_id"] for row in found], wanted


def test_oneshot_runs_are_no_orphans(client: Client, incident: dict[str, Conversation]) -> None:
    shown = page(client, incident["4136"])
    assert [run.split(" {")[0] for run in lane(shown)[2]] == [
        f"complete put_page 1.{place} oneshot: written without a call of the model, by design" for place in (0, 1)
    ]
    assert "2 runs</th>" in shown and "without a call</span>" not in shown


def test_runs_of_no_call_stand_behind_the_message_before_them(client: Client, tmp_path: Path) -> None:
    runs = [Run(3, place, f"z{place}", "body", output=place) for place in range(CELLS_SHOWN + 5)]
    shown = page(client, job(tmp_path, Case("x", "lost turn", {0: ASKED, 1: ("assistant", [text("done")])}, runs)))
    found = lane(shown)
    assert found[1] == [] and len(found[2]) == CELLS_SHOWN + 1 and found[2][0].startswith("complete body 3.0 no message holds its call 0 ")
    assert found[2][-1] == "and 5 more runs of no call" and f"{CELLS_SHOWN + 5} without a call</span>" in shown


def test_runs_of_a_job_without_messages_stand_in_the_panel(client: Client, tmp_path: Path) -> None:
    shown = page(client, job(tmp_path, Case("x", "no messages", {}, [Run(1, 0, "a", "head", output="kept")])))
    assert "Runs that belong after no stored message" in shown and "kept" in shown and 'class="ledger"' in shown


@pytest.mark.parametrize("words", ["<script>alert(1)</script>", "\u202eevil", "x" * 100_000, "\x00\x1b[2J"])
def test_hostile_texts_are_shown_and_never_run(client: Client, tmp_path: Path, words: str) -> None:
    said = words.replace("\x00", "")
    row = Case("x", "", {0: ASKED, 1: ("assistant", [call("a", "head")])}, [Run(1, 0, "a", "head", "failed", error=said)])
    shown = page(client, job(tmp_path, row, error=said))
    assert "<script>alert" not in shown and "\u202e" not in shown and "\x1b" not in shown and "x" * 2000 not in shown


def test_the_twins_hold_job_and_ledger(client: Client, incident: dict[str, Conversation]) -> None:
    oid = incident["4107"].oid
    report = json.loads(client.get(f"/conversations/{oid}.json").content)
    assert report["job"]["attempts"] == "3 of 3 used" and len(report["ledger_lines"]) == 3
    assert "@execution 1.2 call_7d1f0a2e get_calendar failed" in client.get(f"/conversations/{oid}.md").content.decode()


def test_other_stores_have_neither(client: Client, tmp_path: Path) -> None:
    found = example(tmp_path, traces=False).conversations.get(native_id=INCIDENT)
    shown = page(client, found, "?stage=ledger")
    assert 'class="ledger"' not in shown and 'id="job"' not in shown and 'data-stage="stored"' in shown
    assert "ledger_lines" not in json.loads(client.get(f"/conversations/{found.oid}.json").content)


def test_the_calls_that_an_error_names_lead_to_their_job(client: Client, incident: dict[str, Conversation]) -> None:
    error = "[chat(glm)] Tool results are missing for tool calls call_7d1f0a2c, call_7d1f0a2d"
    shown = client.get("/explain/", {"error": error}).content.decode()
    assert shown.count("Explain the error there") == 2, "each call is in one job"
    assert f"target={incident['4107'].oid}" in shown
    assert not any(f"target={found.oid}" in shown for name, found in incident.items() if name != "4107")
    shown = client.get("/explain/", {"error": "Tool results are missing for tool calls none"}).content.decode()
    assert "the next request is rejected so" in shown and "Name it here" in shown and "Explain the error there" not in shown


def test_a_repair_of_an_export_is_a_script_and_cannot_be_proposed(client: Client, incident: dict[str, Conversation]) -> None:
    shown = client.get(f"/conversations/{incident['4107'].oid}/repairs/new/", {"strategy": "insert-ledger-results"}).content.decode()
    assert "Nothing is written into an export" in shown and "3 chunks inserted" in shown
    assert "gbrain.sql --conversation 4107 --strategy insert-ledger-results --out repair.sql" in shown
    assert "Propose this repair" not in shown and "is switched off" not in shown
    source = incident["4107"].source
    assert "never: read only" in client.get("/sources/").content.decode()
    shown = client.get(f"/sources/{source.oid}/").content.decode()
    assert "Switch writes on" not in shown and ".backup" not in shown
