"""A refused request body by itself: as a file, through a pipe, imported, repaired and taken back."""

import json
from pathlib import Path

import pytest
from django.test import Client

from inspector.models import Conversation
from tests.commands.running import run, run_in_process
from tests.profiles.evidence import evidence

pytestmark = pytest.mark.only_settles

BODY = b"""\xef\xbb\xbf{"model": "claude-opus-4", "max_tokens": 1e3, "messages": [
  {"role": "user", "content": "gr\\u00fc\\u00dfe"},\r
  {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "x", "input": {"n": 1.50}},
     {"type":"tool_use","id":"t2","name":"x","input":{}}], "id": "m1"},
  {"role": "user", "content": [ {"type": "tool_result", "tool_use_id": "t1", "content": "fine"} , {"type":"text","text":"go on"}]},
  {"role": "assistant", "content": "bye"}
]}
"""
INTERRUPTED = ("--strategy", "insert-interrupted-result")


@pytest.fixture
def body(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_bytes(BODY)
    return path


def is_repaired(data: bytes) -> bool:
    """One result more, and not one other byte."""
    start, end = data.index(b' , {"type":"tool_result","tool_use_id":"t2"'), data.index(b' , {"type":"text"')
    return data[:start] + data[end:] == BODY


def test_a_file_is_detected_judged_and_shown(body: Path) -> None:
    ran = run("scan", body, "--profile", "anthropic-2026-07", "--json")
    (conversation,) = ran.json["conversations"]
    assert ran.json["source"]["format"] == "anthropic-request" and conversation["native_id"] == "request"
    assert [violation["id"] for violation in conversation["profiles"]["anthropic-2026-07"]["violations"]] == ["AN-1"]
    shown = run("show", body, "--as", "anthropic+as-sent")
    assert json.loads(shown.out) == json.loads(BODY.decode("utf-8-sig"))["messages"]


def test_a_repaired_copy_differs_in_the_repair_alone(body: Path, tmp_path: Path) -> None:
    out = tmp_path / "repaired.json"
    assert run("repair", body, *INTERRUPTED, "--out", out).status == 0
    assert is_repaired(out.read_bytes()) and body.read_bytes() == BODY
    assert "already exists" in run("repair", body, *INTERRUPTED, "--out", out).err


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_a_file_is_imported_looked_at_repaired_and_taken_back(body: Path, client: Client) -> None:
    assert run("import_source", body).status == 0
    conversation = Conversation.objects.get()
    assert (conversation.title, conversation.model, conversation.chunk_count, conversation.refused) == (
        "request.json",
        "claude-opus-4",
        6,
        True,
    )
    page = client.get(f"/conversations/{conversation.oid}/")
    assert page.status_code == 200 and "grüße" in page.content.decode()
    assert client.get(f"/conversations/{conversation.oid}/prompt/").status_code == 200
    applied = run("repair", conversation.oid, *INTERRUPTED, "--apply")
    assert applied.status == 0 and "is verified" in applied.out
    assert is_repaired(body.read_bytes())
    conversation.refresh_from_db()
    assert not conversation.refused and conversation.chunk_count == 7
    assert run("undo", applied.out.split("Repair ")[1].split()[0]).status == 0
    assert body.read_bytes() == BODY


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_a_file_that_was_changed_since_is_not_written(body: Path) -> None:
    run("import_source", body)
    changed = BODY.replace(b"1e3", b"2e3")
    body.write_bytes(changed)
    refused = run("repair", Conversation.objects.get().oid, *INTERRUPTED, "--apply")
    assert refused.status == 2 and "request.json has another value" in refused.err and body.read_bytes() == changed


@pytest.mark.only_settles(False)
@pytest.mark.django_db
def test_a_plan_is_carried_to_the_file(body: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(run("repair", body, *INTERRUPTED, "--plan", "--json").out)
    assert run("repair", "--apply-plan", plan).status == 0
    assert is_repaired(body.read_bytes())


@pytest.mark.slow
def test_standard_input_is_a_body(tmp_path: Path) -> None:
    database = tmp_path / "own.sqlite3"
    scanned = run_in_process(database, "scan", "-", stdin=BODY)
    assert scanned.status == 1 and "AN-1" in scanned.out
    assert "go on" in run_in_process(database, "show", "-", stdin=BODY).out
    plan = run_in_process(database, "repair", "-", *INTERRUPTED, "--plan", "--json", stdin=BODY)
    assert plan.json["profiles"]["anthropic-2026-07"]["after"] == "passes all known rules"
    printed = run_in_process(database, "repair", "-", *INTERRUPTED, "--out", "-", stdin=BODY.replace(b"\\u00fc", b"\\ud800"))
    assert printed.status == 0 and is_repaired(printed.out.encode().replace(b"\\ud800", b"\\u00fc"))
    out = tmp_path / "out.json"
    assert run_in_process(database, "repair", "-", *INTERRUPTED, "--out", out, stdin=BODY).status == 0
    assert is_repaired(out.read_bytes()) and not list(tmp_path.glob("*.inspector-new"))
    asked = run_in_process(database, "scan", "-", "--format", "openai-chat-request", "--json", stdin=b'[{"role": "user", "content": "x"}]')
    assert (asked.json["source"]["path"], asked.json["source"]["format"]) == ("-", "openai-chat-request")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (("scan", "-"), b"", "Standard input is empty"),
        (("scan", "-"), b"[1, 2]", "Standard input is JSON, but no request body"),
        (("scan", "-"), b"plain words", "Standard input holds no request body"),
        (("scan", "-"), b"<html>", "Standard input is HTML or XML, no JSON"),
        (("scan", "-"), b'{"messages": [{"role": "user", "cont', "is cut off at its end"),
        (("scan", "-"), b'[{"role": "user", "content": "x"}]', "--format NAME"),
        (("scan", "-", "--format", "dispatch"), b"{}", "Only a request body"),
        (("scan", "-", "--format", "nothing"), b"{}", "no format"),
        (("scan", "-", "--traces", "-"), BODY, "not both"),
        (("repair", "-", *INTERRUPTED, "--apply"), BODY, "cannot be written back"),
        (("repair", "-", *INTERRUPTED, "--out", "-", "--json"), BODY, "nothing else"),
    ],
)
def test_what_cannot_be_done_with_standard_input_is_one_sentence(
    arguments: tuple[str, ...], stdin: bytes, said: str, tmp_path: Path
) -> None:
    ran = run_in_process(tmp_path / "own.sqlite3", *arguments, stdin=stdin)
    assert ran.status == 2 and said in ran.err and ran.err.count("\n") == 1 and "Traceback" not in ran.err


@pytest.mark.parametrize(
    "data",
    [
        b"[1, 2, 3]",
        b"[]",
        b"{}",
        b"[" * 10_000,
        b"[" * 10_000 + b"]" * 10_000,
        b'{"messages": [{"role": "user", "content": "\xff"}]}',
        b'{"messages": [{"role": "us',
        b"<!DOCTYPE html>",
        b"NaN",
        b"[NaN]",
        b"7",
        pytest.param(b"[" + b"1," * (25 << 20) + b"1]", marks=pytest.mark.slow),
    ],
    ids=[
        "numbers",
        "empty list",
        "empty object",
        "half of it deep",
        "deep",
        "not utf-8",
        "half",
        "html",
        "nan",
        "nan in it",
        "scalar",
        "50 MB",
    ],
)
def test_a_file_that_is_no_request_gets_one_sentence(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    ran = run("scan", path)
    assert ran.status == 2 and ran.err.startswith(str(path)) and ran.err.endswith(".\n") and ran.err.count("\n") == 1


def test_a_folder_is_no_body(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(BODY)
    assert "is a folder" in run("scan", tmp_path, "--format", "anthropic-request").err


TELEMETRY = "raw_113dac95-c719-4579-8825-d558eaad1965.request.json"


def test_a_body_that_telemetry_masked_is_unknown_and_not_whole() -> None:
    ran = run("scan", evidence(TELEMETRY, "examples/traces/agents/claude-code"), "--profile", "anthropic-2026-07", "--json")
    (conversation,) = ran.json["conversations"]

    assert conversation["verdict"].startswith("Telemetry masked the thinking at seq 11-12, and what was sent is unknown; ")
    assert [(found["code"], found["severity"], found["repaired_by"]) for found in conversation["findings"]] == [("MSG503", "warning", [])]
    judged = conversation["profiles"]["anthropic-2026-07"]
    assert not judged["sendable"] and [violation["id"] for violation in judged["violations"]] == ["AN-17m", "AN-17r"]


def test_a_mask_is_never_made_words_of_the_model(tmp_path: Path) -> None:
    block = {"type": "thinking", "thinking": "<REDACTED>", "signature": "EqQBCkgI"}
    body = {
        "model": "claude-opus-4",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": [block]}],
    }
    (tmp_path / "a.json").write_text(json.dumps(body))
    ran = run("repair", tmp_path / "a.json", "--strategy", "thinking-to-text", "--plan")
    assert ran.status == 1
