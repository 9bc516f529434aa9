"""A new session of OpenClaw is finished when the program lists and opens it: the entry in sessions.json, or the step that the plan asks for before."""

import json
import re
from html import unescape
from pathlib import Path
from time import sleep

import pytest
from django.test import Client

from inspector.models import Conversation, Repair, loading
from tests.commands.running import Ran, run
from tests.programs.pi_openclaw.session_files import ID, a, call, header, lines, text, u

pytestmark = pytest.mark.django_db
BROKEN = lines(header(), u("u1", None, "list it"), a("a1", "u1", text("well"), call("c1")), u("u2", "a1", "and?"))
ENTRY = {"sessionId": ID, "updatedAt": 1763660000000, "model": "m", "totalTokens": 1.0}
LIST = json.dumps({"agent:work:main": ENTRY, "agent:work:cron:x": {"sessionId": "other"}}, indent=2).encode()


def store(tmp_path: Path, index: bytes | None = LIST, folder: str = "agents/work/sessions", name: str = f"{ID}.jsonl") -> Path:
    place = tmp_path / folder
    place.mkdir(parents=True)
    (place / name).write_bytes(BROKEN)
    (place / "other.jsonl").write_bytes(lines(header(id="other"), u("u1", None, "hi")))
    if index is not None:
        (place / "sessions.json").write_bytes(index)
    return place


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def repaired(folder: Path, *how: str) -> Ran:
    how = how or ("--apply",)
    return run(
        "repair",
        folder,
        "--conversation",
        ID,
        "--format",
        "openclaw",
        "--strategy",
        "insert-interrupted-result",
        "--mode",
        "new-session",
        *how,
        "--json",
    )


def codes(folder: Path) -> dict[str, set[str]]:
    found = run("scan", folder, "--format", "openclaw", "--json").json["conversations"]
    return {each["native_id"]: {finding["code"] for finding in each["findings"]} for each in found}


def test_a_new_session_is_in_the_list_and_undo_takes_out_that_entry_alone(tmp_path: Path) -> None:
    folder = store(tmp_path)
    before = contents(folder)
    applied = repaired(folder)
    assert applied.status == 0 and applied.json["state"] == "verified"
    fork = applied.json["request"]["options"]["fork_id"]
    after = contents(folder)
    assert after.keys() == before.keys() | {f"{fork}.jsonl"}
    assert after["sessions.json"].startswith(LIST[:-2] + b",\n  ") and after["sessions.json"].endswith(b"\n  }\n}")
    entry = json.loads(after["sessions.json"])[f"agent:work:explicit:{fork}"]
    assert entry["sessionId"] == fork and entry["updatedAt"] == entry["sessionStartedAt"] == entry["lastInteractionAt"] > 1763660000000
    assert "STORE506" not in codes(folder)[fork] | codes(folder)[ID]
    assert loading.stored(Conversation.objects.get(native_id=fork)).conversation.fact("sessionKey") == f"agent:work:explicit:{fork}"
    assert run("verify", applied.json["repair"]).status == 0
    (folder / "sessions.json").write_bytes(after["sessions.json"].replace(b'"updatedAt": 1763660000000', b'"updatedAt": 1763660000001'))
    assert run("undo", applied.json["repair"]).status == 0
    assert contents(folder) == before | {"sessions.json": LIST.replace(b"1763660000000", b"1763660000001")}


def test_the_plan_says_before_how_the_session_is_opened(tmp_path: Path) -> None:
    planned = repaired(store(tmp_path), "--plan").json
    fork = planned["request"]["options"]["fork_id"]
    (warning,) = (each for each in planned["warnings"] if "explicit" in each)
    assert f"`openclaw tui --session agent:work:explicit:{fork}`" in warning and "Stop the gateway before you apply this plan" in warning
    # The entry of a session that is older than the last daily reset opens an empty one: the time is that of the plan, and the approver signs it.
    assert planned["request"]["options"]["listed_at"].isdecimal()


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (None, "There is no sessions.json next to the file"),
        (b"{broken", "sessions.json cannot be read"),
        (b"[]", "sessions.json cannot be read"),
    ],
)
def test_where_no_entry_can_be_written_the_plan_says_before_what_to_do(tmp_path: Path, index: bytes | None, reason: str) -> None:
    folder = store(tmp_path, index)
    planned = repaired(folder, "--plan").json
    fork = planned["request"]["options"]["fork_id"]
    (warning,) = (each for each in planned["warnings"] if each.startswith(reason))
    assert f'"agent:work:explicit:{fork}": {{"sessionId": "{fork}"' in warning and "Stop the gateway" in warning
    before = contents(folder)
    applied = repaired(folder)
    assert applied.json["state"] == "verified"
    assert contents(folder).keys() == before.keys() | {f"{fork}.jsonl"} and contents(folder).get("sessions.json") == index
    assert run("undo", applied.json["repair"]).status == 0 and contents(folder) == before


@pytest.mark.parametrize(
    ("folder", "index", "agent"),
    [
        ("agents/Work/sessions", {"agent:other:main": ENTRY}, "work"),
        ("custom", {"agent:other:main": ENTRY}, "other"),
        ("custom", {"+4915112345": ENTRY}, "main"),
        ("custom", {}, "main"),
    ],
)
def test_the_key_names_the_agent_whose_folder_it_is(tmp_path: Path, folder: str, index: dict[str, object], agent: str) -> None:
    applied = repaired(store(tmp_path, json.dumps(index).encode(), folder))
    fork = applied.json["request"]["options"]["fork_id"]
    assert f"agent:{agent}:explicit:{fork}" in json.loads((tmp_path / folder / "sessions.json").read_bytes())


def test_a_new_session_next_to_a_file_with_a_time_in_its_name_has_the_name_that_its_entry_stands_for(tmp_path: Path) -> None:
    """OpenClaw looks for ID.jsonl; versions differ in how they read a sessionFile that says otherwise."""
    folder = store(tmp_path, name=f"2026-11-20T17-33-07-691Z_{ID}.jsonl")
    applied = repaired(folder)
    assert (folder / f"{applied.json['request']['options']['fork_id']}.jsonl").exists()


def test_other_modes_leave_the_list_alone(tmp_path: Path) -> None:
    folder = store(tmp_path)
    ran = run(
        "repair", folder, "--conversation", ID, "--strategy", "insert-interrupted-result", "--mode", "replay-suffix", "--apply", "--json"
    )
    assert ran.status == 0 and contents(folder)["sessions.json"] == LIST and not any("gateway" in each for each in ran.json["warnings"])


def test_an_entry_that_the_program_changed_is_not_taken_out(tmp_path: Path) -> None:
    folder = store(tmp_path)
    applied = repaired(folder)
    fork = applied.json["request"]["options"]["fork_id"]
    used = json.loads(contents(folder)["sessions.json"])
    used[f"agent:work:explicit:{fork}"]["totalTokens"] = 7
    (folder / "sessions.json").write_text(json.dumps(used, indent=2))
    before = contents(folder)
    refused = run("undo", applied.json["repair"])
    assert refused.status == 2 and "sessions.json lists it with another value" in refused.err and contents(folder) == before


def test_the_page_proposes_the_plan_that_it_showed_with_the_time_that_it_showed(tmp_path: Path, client: Client) -> None:
    folder = store(tmp_path)
    run("import_source", folder, "--format", "openclaw")
    address = f"/conversations/{Conversation.objects.get(native_id=ID).oid}/repairs/new/"
    chosen = {"strategy": "insert-interrupted-result", "mode": "new-session"}
    (action,) = re.findall(r'formaction="(\?seen[^"]*)"', client.get(address, chosen).content.decode())
    sleep(0.01)
    assert client.post(f"{address}{unescape(action)}", chosen).status_code == 302
    repair = Repair.objects.get()
    assert repair.state == "proposed" and f"at={repair.options['listed_at']}" in action


@pytest.mark.parametrize("time", ["", "-1", "x", "9" * 15, "١"])
def test_a_plan_file_with_a_time_that_is_none_is_refused(tmp_path: Path, time: str) -> None:
    folder = store(tmp_path)
    plan = repaired(folder, "--plan").json
    plan["request"]["options"]["listed_at"] = time
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    before = contents(folder)
    ran = run("repair", "--apply-plan", tmp_path / "plan.json")
    assert ran.status == 2 and "is no time; make the plan again" in ran.err and contents(folder) == before
