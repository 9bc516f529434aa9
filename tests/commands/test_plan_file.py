"""A plan made on a copy is carried as a file to the real store, and refused where anything is not as it says."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector.models import Repair
from inspector.sources import sqlite
from tests.commands.running import CONVERSATION, everything, incident, make, run, traces

RENUMBER = ("--strategy", "renumber-messages")
pytestmark = pytest.mark.django_db


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return incident(tmp_path / "dispatch.db")


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    """As the page tells to make one."""
    sqlite.backup(store, tmp_path / "copy.db")
    return tmp_path / "copy.db"


def saved(path: Path, said: Any) -> Path:
    path.write_text(said if isinstance(said, str) else json.dumps(said))
    return path


def plan_of(copy: Path, *how: object) -> Path:
    return saved(copy.with_name("plan.json"), run("repair", copy, *RENUMBER, *(how or ("--mode", "in-place", "--plan")), "--json").out)


@pytest.mark.parametrize("mode", ["fork", "in-place"])
def test_a_plan_made_on_a_copy_is_written_beside_the_real_store(store: Path, copy: Path, mode: str) -> None:
    rows, plan = everything(store), plan_of(copy, "--mode", mode, "--plan")
    applied = run("repair", store, "--apply-plan", plan, "--json")
    assert applied.status == 0 and applied.json["state"] == "verified"
    said = json.loads(plan.read_text())
    assert [applied.json[name] for name in ("edits", "diff", "base_digest", "mode")] == [
        said[name] for name in ("edits", "diff", "base_digest", "mode")
    ]
    assert applied.json["request"]["source"] == str(store) and applied.json["plan_digest"] != said["plan_digest"]
    assert everything(store) != rows and everything(copy) == rows
    assert run("undo", applied.json["repair"]).status == 0 and everything(store) == rows


def test_without_a_target_it_goes_to_the_path_that_the_file_names(store: Path) -> None:
    plan = plan_of(store)
    assert run("repair", "--apply-plan", plan, "--json").json["plan_digest"] == json.loads(plan.read_text())["plan_digest"]


def test_what_was_tried_on_a_repaired_copy_is_carried_back_byte_for_byte(store: Path, copy: Path, tmp_path: Path) -> None:
    tried = tmp_path / "tried.db"
    plan = plan_of(copy, "--out", tried)
    assert run("repair", store, "--apply-plan", plan).status == 0
    assert everything(store) == everything(tried)


def test_a_store_that_went_on_is_refused(store: Path, copy: Path) -> None:
    plan = plan_of(copy)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE kv SET value = '13' WHERE key = ?", (f"conv:{CONVERSATION}:seq",))
    rows = everything(store)
    ran = run("repair", store, "--apply-plan", plan)
    assert ran.status == 2 and "other rows" in ran.err and "fresh copy" in ran.err and ran.err.count("\n") == 1
    assert everything(store) == rows and not Repair.objects.exists()


def _digest(said: dict[str, Any]) -> None:
    said["plan_digest"] = "0" * 64


def _strategies(said: dict[str, Any]) -> None:
    said["request"]["strategies"] = ["fix-counter"]


def _source(said: dict[str, Any]) -> None:
    said["request"]["source"] = "/elsewhere.db"


def _shown_edit(said: dict[str, Any]) -> None:
    said["edits"][0]["after"]["payload"]["text"] = "what a reader of the file would approve"


def _shown_diff(said: dict[str, Any]) -> None:
    said["diff"] = ""


def _shown_warnings(said: dict[str, Any]) -> None:
    said["warnings"] = []


def _shown_cost(said: dict[str, Any]) -> None:
    said["cost"] = ["Nothing at all."]


def _shown_verdict(said: dict[str, Any]) -> None:
    said["profiles"]["openai-chat"]["after"] = "accepted"


def _options(said: dict[str, Any]) -> None:
    said["request"]["mode"], said["request"]["options"] = "new-conversation", {}


@pytest.mark.parametrize(
    "change", [_digest, _strategies, _source, _shown_edit, _shown_diff, _shown_warnings, _shown_cost, _shown_verdict, _options]
)
def test_an_edited_plan_is_refused_in_one_sentence(store: Path, copy: Path, change: Callable[[dict[str, Any]], None]) -> None:
    plan, rows = plan_of(copy), everything(store)
    said = json.loads(plan.read_text())
    change(said)
    ran = run("repair", store, "--apply-plan", saved(plan, said))
    assert ran.status == 2 and "comes out otherwise" in ran.err and ran.err.count("\n") == 1
    assert everything(store) == rows and not Repair.objects.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no plan (not JSON"),
        ("[" * 2000, "is no plan (nested more than"),
        (
            '{"plan_digest": "x", "base_digest": "y", "request": {"source": "", "format": "", "native_id": "", "mode": "", "reader": "", '
            f'"projection": "", "profile": "", "options": {{}}, "strategies": {json.dumps(["fix-counter"] * 101)}}}}}',
            "is no plan that can be computed again",
        ),
        ("[]", "is no plan that can be computed again"),
        ('{"plan_digest": "x", "base_digest": "y", "request": {"source": 1}}', "is no plan that can be computed again"),
    ],
)
def test_what_is_no_plan_is_refused(store: Path, tmp_path: Path, text: str, words: str) -> None:
    ran = run("repair", store, "--apply-plan", saved(tmp_path / "plan.json", text))
    assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1


def test_a_plan_file_without_a_name_is_asked_for(store: Path, tmp_path: Path) -> None:
    ran = run("repair", store, "--apply-plan", "")
    assert ran.status == 2 and ran.err == "Name the plan file after --apply-plan, or - for standard input.\n"
    ran = run("repair", store, "--apply-plan", tmp_path)
    assert ran.status == 2 and "is a folder" in ran.err and "database" not in ran.err


@pytest.mark.slow
def test_a_held_store_keeps_its_bytes_and_the_plan_can_be_applied_later(store: Path, copy: Path) -> None:
    plan, rows = plan_of(copy), everything(store)
    with closing(sqlite3.connect(store, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        ran = run("repair", store, "--apply-plan", plan)
        assert ran.status == 2 and "nothing was written" in ran.err
    assert everything(store) == rows and [repair.state for repair in Repair.objects.all()] == ["rejected"]
    assert run("repair", store, "--apply-plan", plan).status == 0


@pytest.mark.parametrize(
    ("field", "value"), [("reader", ""), ("profile", "x" * 5000), ("mode", None), ("traces", "yes"), ("options", []), ("strategies", "x")]
)
def test_a_field_that_no_plan_has_so_is_refused_before_anything_is_read(store: Path, copy: Path, field: str, value: Any) -> None:
    plan = plan_of(copy)
    said = json.loads(plan.read_text())
    said["request"][field] = value
    ran = run("repair", store, "--apply-plan", saved(plan, said))
    assert ran.status == 2 and "is no plan that can be computed again" in ran.err and ran.err.count("\n") == 1
    assert not Repair.objects.exists()


def test_a_plan_for_a_conversation_that_is_not_there_names_those_that_are(copy: Path, tmp_path: Path) -> None:
    other = make(tmp_path / "other.db", [("conversation-store", "conv:else:seq", "0")])
    ran = run("repair", other, "--apply-plan", plan_of(copy))
    assert ran.status == 2 and "else" in ran.err and ran.err.count("\n") == 1


def test_what_no_plan_can_be_carried_to_is_called_by_its_name(store: Path, copy: Path, tmp_path: Path) -> None:
    plan, sealed, observed = plan_of(copy), tmp_path / "evidence.zip", traces(tmp_path / "traces.db")
    assert run("bundle", store, "--out", sealed).status == 0
    said = json.loads(plan.read_text())
    said["request"]["format"] = "dispatch-g0"
    other = saved(tmp_path / "other.json", said)
    for target, file, words in ((sealed, plan, "is sealed"), (observed, plan, "holds traces"), (store, other, "format dispatch-g0")):
        ran = run("repair", target, "--apply-plan", file)
        assert ran.status == 2 and words in ran.err and ran.err.count("\n") == 1
    assert not Repair.objects.exists()


def test_applying_it_twice_changes_nothing(store: Path, copy: Path) -> None:
    for mode in ("in-place", "fork"):
        plan = plan_of(copy, "--mode", mode, "--plan")
        oid = run("repair", store, "--apply-plan", plan, "--json").json["repair"]
        rows = everything(store)
        again = run("repair", store, "--apply-plan", plan)
        # In place the rows are not those of the plan any more; of a new conversation the same plan is the same repair.
        assert again.status == (2 if mode == "in-place" else 0) and everything(store) == rows
        assert mode == "in-place" or f"Repair {oid} was applied before" in again.out
        assert run("undo", oid).status == 0


@pytest.mark.parametrize("more", [RENUMBER, ("--for", "openai-chat"), ("--mode", "fork"), ("--reader", "exact"), ("--conversation", "1a")])
def test_the_file_alone_says_what_to_do(store: Path, copy: Path, more: tuple[str, ...]) -> None:
    ran = run("repair", store, "--apply-plan", plan_of(copy), *more)
    assert ran.status == 2 and "leave these options out" in ran.err


def test_traces_that_the_plan_was_made_beside_are_asked_for(store: Path, copy: Path, tmp_path: Path) -> None:
    observed = traces(tmp_path / "traces.db")
    plan = plan_of(copy, "--mode", "in-place", "--plan", "--traces", observed)
    said = json.loads(plan.read_text())
    assert said["request"]["traces"] is True
    said["plan_digest"] = "0" * 64
    assert "--traces" in run("repair", store, "--apply-plan", saved(tmp_path / "edited.json", said)).err
    assert run("repair", store, "--apply-plan", plan, "--traces", observed).status == 0


def test_a_second_approver_is_waited_for_here_too(store: Path, copy: Path, settings: Any) -> None:
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    rows = everything(store)
    ran = run("repair", store, "--apply-plan", plan_of(copy))
    assert ran.status == 2 and "A second person must approve" in ran.err and everything(store) == rows
