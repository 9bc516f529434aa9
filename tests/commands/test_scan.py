"""`scan`: what it finds, the shape of its JSON, and the status that it ends with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from inspector.models import AuditEntry, Conversation, Finding, Source
from tests.commands.running import CONVERSATION, incident, make, run, run_in_process, traces
from tests.programs.claude_code import session_lines as cc
from tests.sources.stores import other_process

UNSIGNED = {"type": "thinking", "thinking": "which file?"}

ROW = '{"chunk":{"type":"text","text":"hello"},"role":"user","msgIdx":0,"chunkIdx":0}'


def healthy(path: Path) -> Path:
    meta = '{"createdAt":1,"lastActivityAt":1,"title":"hello","status":"idle"}'
    rows = [("conv:c:chunk:0000000001", ROW), ("conv:c:meta", meta), ("conv:c:seq", "1"), ("conv-index", '["c"]')]
    return make(path, [("conversation-store", key, value) for key, value in rows])


def interrupted(path: Path) -> Path:
    """Warnings and notes, no errors."""
    call = '{"chunk":{"type":"tool-call","toolCallId":"a","toolName":"t","input":{}},"role":"assistant","msgIdx":0,"chunkIdx":0}'
    rows = [("conv:c:chunk:0000000001", ROW.replace('"msgIdx":0', '"msgIdx":1')), ("conv:c:chunk:0000000002", call), ("conv:c:seq", "2")]
    return make(path, [("conversation-store", key, value) for key, value in rows])


def test_json_has_exactly_the_fields_that_scripts_rely_on(tmp_path: Path) -> None:
    store = incident(tmp_path / "dispatch.db")
    scanned = run("scan", store, "--json", "--profile", "all").json
    assert set(scanned) == {"source", "conversations", "streams"}
    assert scanned["source"] == {"path": str(store), "format": "dispatch", "findings": [], "problems": []}
    (conversation,) = scanned["conversations"]
    assert list(conversation) == [
        "id",
        "native_id",
        "format",
        "reader",
        "chunks",
        "messages",
        "messages_stored",
        "messages_read",
        "messages_sent",
        "verdict",
        "findings",
        "profiles",
        "recorded",
    ]
    assert (conversation["native_id"], conversation["reader"], conversation["chunks"], conversation["messages"]) == (
        CONVERSATION,
        "dispatch-legacy",
        14,
        4,
    )
    # Before the reader's own repair there are 4; it drops the one whose words are thinking alone.
    assert [conversation[f"messages_{name}"] for name in ("stored", "read", "sent")] == [9, 3, 3]
    for found in conversation["findings"]:
        assert set(found) == {
            "code",
            "rule",
            "severity",
            "silent",
            "origin",
            "ruled_out",
            "seqs",
            "total",
            "message",
            "repaired_by",
            "no_repair_reason",
        }
    judgement = conversation["profiles"]["openai-chat"]
    assert set(judgement) == {"sendable", "prefix_valid", "first_bad", "violations"}
    assert set(judgement["violations"][0]) == {"id", "path", "seqs", "text"}
    merged = conversation["findings"][0]
    assert (merged["code"], merged["origin"], merged["silent"], merged["total"]) == ("MSG101", "reader", True, 11)


def test_profiles_are_those_that_were_asked_for(tmp_path: Path) -> None:
    assert run("scan", incident(tmp_path / "dispatch.db"), "--json").json["conversations"][0]["profiles"] == {}
    assert "There is no profile 'nobody'" in run("scan", tmp_path / "dispatch.db", "--profile", "nobody").err


def test_a_conversation_is_one_line_with_its_state_and_the_verdict(tmp_path: Path) -> None:
    ran = run("scan", incident(tmp_path / "dispatch.db"))
    (conversation,) = run("scan", tmp_path / "dispatch.db", "--json").json["conversations"]
    first = ran.out.splitlines()[0]
    assert first.startswith(f"{conversation['native_id']} ({conversation['id']}) ")
    assert first.endswith(f" cannot be resumed: {conversation['verdict']}")
    assert "MSG101 merged-messages: error, silent, wrong in the reader, seq 1-11" in ran.out
    body = tmp_path / "request.json"
    body.write_text('{"model": "m", "messages": [{"role": "user", "content": "hi"}]}')
    assert run("scan", body).out.startswith("request (") and "resumed" not in run("scan", body).out


def test_findings_of_one_rule_are_a_count_and_the_first_of_them(tmp_path: Path) -> None:
    """A session that lost the result of each call: 1,284 lines for one such folder say no more than three do."""
    turns = [
        line
        for turn in range(30)
        for line in (cc.a(f"a{turn}", f"u{turn}", f"m{turn}", cc.call(f"t{turn}")), cc.u(f"u{turn + 1}", f"a{turn}", "go on"))
    ]
    path = cc.write(tmp_path / "projects", {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(cc.u("u0", None, "run it"), *turns)})
    ran = run("scan", path)
    assert "  TOOL102 unanswered-call: error, raises an error, wrong in the store, 30 times, the first at seq 2, line 2\n" in ran.out
    assert ran.out.count("repaired by insert-interrupted-result (invented)") == 1 and ran.out.count("\n") < 10
    everything = run("scan", path, "--all")
    assert everything.out.count("TOOL102 unanswered-call") == 30 and "seq 60, line 60" in everything.out
    assert len(run("scan", path, "--json").json["conversations"][0]["findings"]) == 30
    assert run("scan", path, "--json", "--all").out == run("scan", path, "--json").out


def test_the_count_of_a_rule_has_the_places_that_one_finding_sums_up(tmp_path: Path) -> None:
    lines = [cc.u("u0", None, "run it"), *([b"{torn"] * 50), cc.a("a0", "u0", "m0", cc.text("done"))]
    path = cc.write(tmp_path / "projects", {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(*lines)})
    (line,) = [line for line in run("scan", path).out.splitlines() if "STORE" in line and ", the first at " in line]
    assert ", 50 times, the first at " in line


def test_a_pending_call_at_the_end_is_no_rejection(tmp_path: Path) -> None:
    """A tool may run at this moment: `doctor` gives the same answer in the same words."""
    lines = [cc.u("u1", None, "run it"), cc.a("a1", "u1", "m1", cc.call("t1"))]
    path = cc.write(tmp_path / "projects", {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(*lines)})
    ran = run("scan", path)
    assert " can be resumed: Nothing is damaged; the session can be resumed, its last call (seq 2) is pending.\n" in ran.out
    assert (ran.status, run("doctor", path).status) == (0, 0) and "rejected" not in ran.out
    both = cc.write(tmp_path / "two", {f"{cc.PROJECT}/{name}.jsonl": cc.lines(*lines) for name in ("one", "two")})
    assert run("scan", both).out == "Healthy: 2 of 2 conversations (2 notes on them; --fail-on note shows them).\n"
    # Another call in the middle is damage, which a resume leaves out.
    rejected = [*lines, cc.u("u2", "a1", "go on"), cc.a("a2", "u2", "m2", cc.call("t2"))]
    path = cc.write(tmp_path / "rejected", {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(*rejected)})
    assert " can be resumed and has damage: " in run("scan", path).out
    assert " cannot be resumed: " in run("scan", path, "--reader", "claude-code-running").out


def test_healthy_conversations_are_one_line(tmp_path: Path) -> None:
    ran = run("scan", make(tmp_path / "dispatch.db"))
    assert ran.out.endswith("Healthy: 1 of 6 conversations.\n")
    assert "7c0d3f5e" not in ran.out


@pytest.mark.parametrize(
    ("make_store", "threshold", "status"),
    [
        (incident, None, 1),
        (incident, "never", 0),
        (interrupted, None, 0),
        (interrupted, "error", 0),
        (interrupted, "warning", 1),
        (interrupted, "note", 1),
        (interrupted, "never", 0),
        (healthy, "note", 0),
    ],
)
def test_fail_on_decides_the_status(tmp_path: Path, make_store: object, threshold: str | None, status: int) -> None:
    store = make_store(tmp_path / "dispatch.db")  # type: ignore[operator]
    for more in ((), ("--json",)):
        assert run("scan", store, *(("--fail-on", threshold) if threshold else ()), *more).status == status


@pytest.mark.parametrize(
    ("first", "threshold", "status"),
    [(UNSIGNED, None, 1), (UNSIGNED, "error", 1), (UNSIGNED, "warning", 1), (UNSIGNED, "never", 0), (cc.text("I look."), "error", 0)],
)
def test_what_the_provider_rejects_fails_though_its_rule_is_a_warning(
    first: dict[str, str], threshold: str | None, status: int, tmp_path: Path
) -> None:
    answer = cc.a("a1", "u1", "m1", first), cc.a("a2", "a1", "m1", cc.text("ok"))
    path = cc.write(tmp_path, {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(cc.u("u1", None, "hi"), *answer, cc.u("u2", "a2", "and now?"))})
    ran = run("scan", path, *(("--fail-on", threshold) if threshold else ()))
    assert ran.status == status and ("cannot be resumed" in ran.out) == (first is UNSIGNED) and ": error," not in ran.out


MISSING = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1."
TOO_LONG = "prompt is too long: 213000 tokens > 200000 maximum"


@pytest.mark.parametrize(
    ("error", "more", "is_told"), [(MISSING, [], True), (TOO_LONG, [], False), (MISSING, [cc.a("a3", "e1", "m3", cc.text("ok"))], False)]
)
def test_a_rejection_that_a_restart_ends_is_said_with_the_restart(
    error: str, more: list[dict[str, str]], is_told: bool, tmp_path: Path
) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    asked = cc.u("u1", None, "hi"), cc.a("a1", "u1", "m1", call), cc.u("u2", "a1", "and now?")
    refused = cc.a("e1", "u2", "m2", cc.text(f"API Error: 400 {error}"), isApiErrorMessage=True)
    path = cc.write(tmp_path, {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(*asked, refused, *more)})
    for command in ("scan", "doctor"):
        ran = run(command, path)
        assert ("`claude --resume " in ran.out) == is_told and "cannot be resumed" not in ran.out


def test_traces_add_what_was_observed(tmp_path: Path) -> None:
    store, observed = incident(tmp_path / "dispatch.db"), traces(tmp_path / "traces.db")
    ran = run("scan", store, "--traces", observed, "--json")
    assert ran.status == 1 and ran.json["conversations"][0]["findings"]
    swapped = run("scan", observed)
    assert swapped.status == 2 and "--traces" in swapped.err
    assert "holds conversations (dispatch), no traces" in run("scan", store, "--traces", store).err


def not_sqlite(path: Path) -> Path:
    path.write_text("hello, I am a text\n")
    return path


def truncated(path: Path) -> Path:
    data = make(path).read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def empty(path: Path) -> Path:
    path.write_bytes(b"")
    return path


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["scan", "show", "import_source"])
@pytest.mark.parametrize("broken", [not_sqlite, truncated, empty, lambda path: path, lambda path: path.parent])
def test_a_source_that_cannot_be_read_is_one_sentence_and_leaves_nothing(tmp_path: Path, command: str, broken: object) -> None:
    path = broken(tmp_path / "dispatch.db")  # type: ignore[operator]
    before = [model.objects.count() for model in (Source, Conversation, Finding, AuditEntry)]
    ran = run(command, path)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert str(path) in ran.err and ran.err.endswith(".\n")
    assert [model.objects.count() for model in (Source, Conversation, Finding, AuditEntry)] == before


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["scan", "import_source"])
def test_a_store_that_another_process_holds_is_named(tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.sources.locks.WAIT", 0.1)
    store = make(tmp_path / "dispatch.db")
    with other_process(store, "PRAGMA journal_mode=DELETE", "PRAGMA locking_mode=EXCLUSIVE", "BEGIN EXCLUSIVE"):
        ran = run(command, store)
    assert ran.status == 2 and "is locked exclusively by another process" in ran.err and ran.err.count("\n") == 1
    assert not Source.objects.exists()


def test_a_store_without_conversations_says_so(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db", [])
    assert run("scan", store) == (0, f"{store} holds no conversations.\n", "")
    assert run("scan", store, "--json").json["conversations"] == []
    assert "holds no conversations; give the store" in run("show", store).err


@pytest.mark.slow
def test_statuses_and_pipes_of_a_real_process(tmp_path: Path) -> None:
    """Without any database set up: reading a path needs none."""
    store, database = incident(tmp_path / "dispatch.db"), tmp_path / "none" / "inspector.sqlite3"
    assert run_in_process(database, "scan", store, "--json").status == 1
    piped = run_in_process(database, "scan", "-", stdin=store.read_bytes())
    assert (piped.status, piped.err.count("\n")) == (2, 1) and "cannot come through a pipe" in piped.err
    assert "--traces -" in run_in_process(database, "scan", "-", stdin=b'{"kind":"log"}\n').err
    journal = b'{"kind":"log","timestamp":1,"extensionId":"e","level":"info","msg":"m"}\n'
    assert run_in_process(database, "scan", store, "--traces", "-", "--json", stdin=journal).status == 1
    refused = run_in_process(database, "scan", store, "--traces", "-", stdin=b"nothing of ours")
    assert refused.status == 2 and "Standard input holds no journal" in refused.err
    missing = run_in_process(database, "scan", tmp_path / "missing.db")
    assert missing.status == 2 and "does not exist" in missing.err and "Traceback" not in missing.err


@pytest.mark.slow
def test_a_reader_that_goes_away_causes_no_complaint(tmp_path: Path) -> None:
    store = make(tmp_path / "dispatch.db")
    script = f"cd '{settings.BASE_DIR}' && '{sys.executable}' manage.py scan '{store}' --json; echo $? >&2"
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(["/bin/sh", "-c", script], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(writing)
    assert ran.stderr == "141\n"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", "-shm"])
def test_our_own_database_is_no_source(tmp_path: Path, suffix: str) -> None:
    database = tmp_path / "inspector.sqlite3"
    make(database)
    Path(f"{database}{suffix}").touch()
    link = tmp_path / "link.db"
    link.hardlink_to(f"{database}{suffix}")
    ran = run_in_process(database, "scan", link)
    assert ran.status == 2 and "belongs to Inspector's own database" in ran.err


@pytest.mark.django_db
def test_our_own_database_cannot_be_imported_or_be_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import connection

    if connection.vendor != "sqlite":
        pytest.skip("no file of ours to name: tests/postgres/test_own_database.py names the address of a server's")
    own, store = make(tmp_path / "own.db"), incident(tmp_path / "dispatch.db")
    monkeypatch.setitem(connection.settings_dict, "NAME", str(own))
    for ran in (run("import_source", own), run("scan", store, "--traces", own), run("import_source", store, own)):
        assert ran.status == 2 and "belongs to Inspector's own database" in ran.err
    assert not Source.objects.exists()


def test_json_is_ascii(tmp_path: Path) -> None:
    row = json.dumps({"chunk": {"type": "text", "text": "日本"}, "role": "user", "msgIdx": 0, "chunkIdx": 0}, ensure_ascii=False)
    store = make(tmp_path / "dispatch.db", [("conversation-store", "conv:日:chunk:0000000001", row)])
    assert run("scan", store, "--json").out.isascii()
