"""`repair`, `undo` and `verify`: plans, copies, and a write that can be taken back byte for byte."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from inspector.models import AuditEntry, Repair, Source
from inspector.strategies.catalogue import strategy
from tests.commands.running import CONVERSATION, everything, incident, make, run, run_in_process
from tests.programs.claude_code.session_lines import ID, a, lines, text, u
from tests.sources.stores import prints

RENUMBER = ("--strategy", "renumber-messages")
FIELDS = [
    *("conversation", "base_digest", "plan_digest", "mode", "safety", "cost", "warnings", "edits"),
    *("findings_before", "findings_after", "profiles", "diff", "request"),
]


@pytest.mark.django_db
def test_a_plan_changes_and_imports_nothing(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    before = prints(store)
    plan = run("repair", store, *RENUMBER, "--plan", "--json").json
    assert list(plan) == FIELDS
    assert plan["mode"] == "new-conversation" and plan["safety"] == [] and len(plan["edits"]) == 14
    assert plan["edits"][0]["op"] == "replace" and plan["edits"][0]["seq"] == 1
    assert (plan["edits"][0]["before"]["msgIdx"], plan["edits"][0]["after"]["msgIdx"]) == (0, 1)
    assert {found["code"] for found in plan["findings_before"]} - {found["code"] for found in plan["findings_after"]} == {
        "MSG101",
        "TOOL202",
    }
    assert plan["profiles"] == {"openai-chat": {"before": "rejected at messages.1 (OC-2)", "after": "passes all known rules"}}
    assert plan["diff"].startswith(f"--- {CONVERSATION}")
    assert prints(store) == before and not Source.objects.exists()


def test_the_same_plan_in_place_has_the_same_digest_each_time(tmp_path: Path) -> None:
    """The base is the same; the plan's own digest covers the time and the fresh id, so that each proposal is signed on its own."""
    store = incident(tmp_path / "dispatch.db")
    first, second = (run("repair", store, *RENUMBER, "--mode", "in-place", "--plan", "--json").json for _ in range(2))
    assert first["base_digest"] == second["base_digest"] and first["edits"] == second["edits"]


def test_nothing_to_do_is_status_1(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    ran = run("repair", store, "--strategy", "fix-counter", "--plan")
    assert (ran.status, ran.out) == (1, "") and "Nothing to do" in ran.err
    quiet = make(tmp_path / "quiet.db")
    assert run("repair", quiet, "--conversation", "7c0d3f5e", "--for", "openai-chat", "--plan").status == 1


def test_a_profile_that_refuses_nothing_leaves_the_choice_with_what_rules_report(tmp_path: Path) -> None:
    """`no rule names a strategy` was said next to a warning that named one."""
    folder = tmp_path / "projects" / "-home-dev-app"
    folder.mkdir(parents=True)
    answer = (a("a1", "u1", "msg_1", text("x"), 1), u("u2", "a1", [text(""), text("and?")], 2))
    (folder / f"{ID}.jsonl").write_bytes(lines(u("u1", None), *answer) + b"\n")
    ran = run("repair", folder, "--for", "anthropic-2026-07", "--plan")
    assert ran.status == 1 and "with --strategy. MSG406 empty-block: drop-empty-blocks." in ran.err
    (folder / f"{ID}.jsonl").write_bytes(lines(u("u1", None), answer[0], u("u2", "a1", "and?", 2)) + b"\n")
    ran = run("repair", folder, "--for", "anthropic-2026-07", "--plan")
    assert ran.status == 1 and "no rule reports anything at warning or above" in ran.err


def test_for_a_profile_composes_what_the_findings_name(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    ran = run("repair", store, "--conversation", "52f8c6d9", "--for", "openai-chat", "--plan")
    assert ran.status == 0 and ran.out.startswith("insert-interrupted-result on 52f8c6d9")
    lossy = run("repair", store, "--conversation", "b93e1d04", "--for", "openai-chat", "--plan", "--json").json
    assert lossy["safety"] == ["lossy"] and [edit["op"] for edit in lossy["edits"]] == ["remove"]


def test_the_head_of_a_plan_says_what_its_mode_writes_and_what_its_edits_do(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    asked = ("repair", store, "--conversation", "52f8c6d9", "--strategy", *("insert-interrupted-result", "renumber-messages"))
    head = run(*asked, "--mode", "in-place", "--plan").out.splitlines()
    assert head[1] == "  same-rows: edits the rows of the conversation itself, in one short transaction"
    assert head[2].startswith("  1 chunk inserted, ") and "; 1 record inserted, " in head[2] and head[3] == "  invented"
    costs = [line for line in head if line.startswith("  cost: ")]
    assert costs == [f"  cost: insert-interrupted-result: {strategy('insert-interrupted-result').cost}"]
    assert "  warning: renumber-messages changes nothing in this plan: leave it out." in head
    assert run(*asked, "--plan", "--json").json["cost"] == [costs[0].removeprefix("  cost: ")]
    copy = run(*asked, "--out", tmp_path / "copy.db").out.splitlines()
    assert copy[1] == head[2] and copy[2] == "  invented"


@pytest.mark.django_db
def test_a_warning_is_printed_once(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    asked = ("repair", store, "--conversation", "52f8c6d9", "--strategy", "insert-interrupted-result", "renumber-messages")
    applied = run(*asked, "--apply")
    assert (applied.out + applied.err).count("renumber-messages changes nothing in this plan") == 1


def test_a_plan_says_what_becomes_of_the_next_request_and_that_what_it_takes_out_is_kept(tmp_path: Path) -> None:
    """In the words of the pages: what the provider accepts may lack a message all the same."""
    store = make(tmp_path / "dispatch.db")
    kept = "  cost: The original keeps what leaves the history."
    safe = run("repair", store, "--conversation", "1a997b08", *RENUMBER, "--plan").out.splitlines()
    assert "  next request: rejected → wrong silently (without seq 14)" in safe and kept not in safe
    lossy = ("repair", store, "--conversation", "1a997b08", "--strategy", "drop-leaked-call")
    assert kept in run(*lossy, "--plan").out.splitlines()
    assert kept not in run(*lossy, "--out", tmp_path / "copy.db").out.splitlines(), "of a copy nothing is kept"


def test_the_costs_of_several_strategies_are_printed_with_their_names(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    names = ("renumber-messages", "insert-interrupted-result")
    plan = run("repair", store, "--conversation", "52f8c6d9", "--strategy", *names, "--plan", "--json").json
    assert plan["cost"] == [f"{name}: {strategy(name).cost}" for name in names]


def test_an_inserted_row_is_shown_with_its_number(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    plan = run(
        "repair", store, "--conversation", "52f8c6d9", "--strategy", "insert-interrupted-result", "--mode", "in-place", "--plan", "--json"
    ).json
    (insert,) = [edit for edit in plan["edits"] if edit["op"] == "insert"]
    assert insert["seq"] == 3 and insert["before"] is None and insert["after"]["kind"] == "tool-result"


@pytest.mark.django_db
def test_a_command_asks_for_no_statement_and_its_repair_says_so(tmp_path: Path, client: Client) -> None:
    ran = run("repair", incident(tmp_path / "dispatch.db"), *RENUMBER, "--apply", "--json")
    assert ran.status == 0 and AuditEntry.objects.get(verb="approve").detail["statement"] == "not-asked"
    page = " ".join(client.get(f"/repairs/{ran.json['repair']}/").content.decode().split())
    assert "<b>Stated on approval:</b> nothing; a command approved it" in page and "Fix the program that did the damage" in page


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["fork", "in-place"])
def test_apply_verify_undo_gives_back_every_row(tmp_path: Path, mode: str) -> None:
    store = incident(tmp_path / "dispatch.db")
    rows = everything(store)
    applied = run("repair", store, *RENUMBER, "--mode", mode, "--apply", "--json")
    assert applied.status == 0 and "A server that is not fixed merges again" in applied.err
    assert list(applied.json) == [*FIELDS, "repair", "state"] and applied.json["state"] == "verified"
    assert everything(store) != rows
    oid = applied.json["repair"]
    assert run("verify", oid).status == 0
    undone = run("undo", oid[:6], "--json")
    assert undone.status == 0 and undone.json["state"] == "undone"
    assert everything(store) == rows
    assert run("verify", oid).status == 1
    assert run("undo", oid).status == 2


@pytest.mark.django_db
def test_verify_and_undo_see_that_the_store_went_on(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    oid = run("repair", store, *RENUMBER, "--mode", "in-place", "--apply", "--json").json["repair"]
    with closing(sqlite3.connect(store)) as connection, connection:
        key = f"conv:{CONVERSATION}:chunk:0000000015"
        connection.execute(
            "INSERT INTO kv SELECT namespace, ?, value FROM kv WHERE key = ?", (key, f"conv:{CONVERSATION}:chunk:0000000001")
        )
    rows = everything(store)
    verified = run("verify", oid, "--json")
    assert verified.status == 1 and verified.json["holds"] is False and "is new" in verified.json["sentence"]
    refused = run("undo", oid)
    assert refused.status == 2 and "Undo is refused" in refused.err and everything(store) == rows


@pytest.mark.django_db
def test_an_imported_conversation_that_moved_on_is_stale(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    run("import_source", store)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE kv SET value = '13' WHERE key = ?", (f"conv:{CONVERSATION}:seq",))
    ran = run("repair", CONVERSATION, *RENUMBER, "--apply")
    assert ran.status == 2 and "The store moved" in ran.err and not Repair.objects.exists()


@pytest.mark.django_db
def test_a_store_in_use_is_not_written_and_the_repair_is_withdrawn(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    with closing(sqlite3.connect(store)) as connection, connection:
        sql = "UPDATE kv SET value = json_set(value, '$.lastActivityAt', ?) WHERE key = ?"
        connection.execute(sql, (int(time.time() * 1000), f"conv:{CONVERSATION}:meta"))
    rows = everything(store)
    ran = run("repair", store, *RENUMBER, "--apply")
    assert ran.status == 2 and "wait a minute" in ran.err and everything(store) == rows
    repair = Repair.objects.get()
    assert repair.state == "rejected"
    text = repair.comments.get(verdict="reject").text
    assert text.startswith("Not written, and withdrawn by the command: ") and "wait a minute" in text


@pytest.mark.django_db
def test_with_a_second_approver_it_stops_at_proposed(tmp_path: Path, settings: Settings) -> None:
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    settings.INSPECTOR_BASE_URL = "https://inspector.example.org"
    store = incident(tmp_path / "dispatch.db")
    rows = everything(store)
    ran = run("repair", store, *RENUMBER, "--apply", "--json")
    oid = Repair.objects.get().oid
    assert ran.status == 2 and f"https://inspector.example.org/repairs/{oid}/" in ran.err
    assert ran.json["state"] == "proposed" and everything(store) == rows


def test_a_copy_of_a_folder_makes_no_folder_around_itself(tmp_path: Path) -> None:
    folder, out = tmp_path / "projects" / "-home-dev-app", tmp_path / "missing" / "copy"
    folder.mkdir(parents=True)
    (folder / f"{ID}.jsonl").write_bytes(
        lines(u("u1", None), a("a1", "u1", "msg_1", text("x"), 1), u("u2", "a1", [text(""), text("b")], 2)) + b"\n"
    )
    ran = run("repair", folder, "--strategy", "drop-empty-blocks", "--out", out)
    assert ran.status == 2 and "does not exist" in ran.err and not out.parent.exists()


@pytest.mark.django_db
def test_out_writes_a_repaired_copy_and_leaves_the_store(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    bytes_before, folder = store.read_bytes(), tmp_path / "out"
    folder.mkdir()
    copy = folder / "copy.db"
    written = run("repair", store, *RENUMBER, "--out", copy, "--json")
    assert written.status == 0 and written.json["mode"] == "same-rows"
    assert store.read_bytes() == bytes_before and [file.name for file in tmp_path.iterdir() if file.is_file()] == ["dispatch.db"]
    assert [file.name for file in folder.iterdir()] == ["copy.db"]
    codes = {found["code"] for found in run("scan", copy, "--json").json["conversations"][0]["findings"]}
    assert "MSG101" not in codes and codes
    assert not Source.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--out", "dispatch.db"), "already exists and is left as it is"),
        (("--out", "none/copy.db"), "does not exist"),
        (("--out", "copy.db", "--mode", "fork"), "leave --mode out"),
        (("--plan", "--mode", "sideways"), "it offers new-conversation (fork), same-rows (in-place)"),
        (("--plan", "--reader", "nobody"), "There is no reader"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    store = incident(tmp_path / "dispatch.db")
    monkeypatch.chdir(tmp_path)
    before = prints(store)
    ran = run("repair", store, *RENUMBER, *arguments)
    assert ran.status == 2 and words in ran.err and prints(store) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("--plan",),
        (*RENUMBER,),
        (*RENUMBER, "--for", "openai-chat", "--plan"),
        (*RENUMBER, "--plan", "--apply"),
        (*RENUMBER, "--apply", "--out", "x"),
    ],
)
def test_what_and_how_must_be_said_once(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert run("repair", tmp_path / "dispatch.db", *arguments).status == 2


def test_unknown_names_are_said_before_anything_is_read(tmp_path: Path) -> None:
    assert "There is no strategy 'magic'; `strategies` lists them." in run("repair", tmp_path, "--strategy", "magic", "--plan").err
    assert "There is no profile 'nobody'; `profiles` lists them." in run("repair", tmp_path, "--for", "nobody", "--plan").err


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["undo", "verify"])
def test_a_repair_that_is_not_there_is_one_sentence(command: str) -> None:
    ran = run(command, "abcdef")
    assert ran.status == 2 and "There is no repair 'abcdef'" in ran.err


@pytest.mark.slow
def test_a_whole_round_in_processes_of_its_own(tmp_path: Path) -> None:
    store, database = incident(tmp_path / "dispatch.db"), tmp_path / "var" / "inspector.sqlite3"
    unready = run_in_process(database, "repair", store, *RENUMBER, "--apply")
    assert unready.status == 2 and "python manage.py migrate" in unready.err and unready.err.strip().count("Traceback") == 0
    assert run_in_process(database, "migrate", "--verbosity", "0").status == 0
    rows = everything(store)
    applied = run_in_process(database, "repair", store, *RENUMBER, "--apply", "--json")
    assert applied.status == 0 and everything(store) != rows
    assert run_in_process(database, "undo", applied.json["repair"]).status == 0 and everything(store) == rows
