"""Repairs of a path that a person chose by its leaf: at the keyboard, from a plan file, and on the pages."""

import json
import re
from pathlib import Path

import pytest
from django.test import Client

from inspector.models import Conversation, Repair
from tests.commands.running import run
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u

pytestmark = pytest.mark.django_db
MODES = ("replay-suffix", "insert-and-reparent", "new-session")
ROWS = (
    header(),
    u("u1", None, "list it"),
    a("a1", "u1", text("what?")),
    u("u2", "a1", "all"),
    a("a2", "u2", call("c1")),
    u("u3", "a2", "an older try"),
    u("u4", "a1", "the live one"),
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "s.jsonl").write_bytes(lines(*ROWS))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def texts(folder: Path, session: str) -> list[str]:
    shown = run("show", folder, "--conversation", session, "--reader", "verbatim", "--as", "anthropic", "--json").json["messages"]
    return [json.dumps(message) for message in shown]


@pytest.mark.parametrize("mode", MODES)
def test_the_path_to_the_leaf_is_repaired_and_becomes_the_live_one(store: Path, mode: str) -> None:
    before = contents(store)
    assert run("repair", store, "--strategy", "insert-pi-result", "--plan").status == 1, "the live path has nothing to repair"
    ran = run("repair", store, "--strategy", "insert-pi-result", "--leaf", "u3", "--mode", mode, "--apply", "--json")
    assert ran.status == 0, ran.err
    assert ran.json["state"] == "verified" and ran.json["request"]["options"]["leaf"] == "u3"
    (said,) = (cost for cost in ran.json["cost"] if "'u4'" in cost)
    assert ("becomes the live one" in said) == (mode != "new-session") and ("The new session holds the path to 'u3'" in said) == (
        mode == "new-session"
    )
    (session,) = {path.stem.rpartition("_")[2] for path in store.iterdir() if path.name not in before} or {header()["id"]}
    assert "an older try" in texts(store, session)[-1] and "No result provided" in "".join(texts(store, session)[-2:])
    assert run("verify", ran.json["repair"]).status == 0
    assert run("undo", ran.json["repair"]).status == 0 and contents(store) == before


def test_a_plan_of_another_leaf_is_another_plan_and_the_file_of_a_plan_carries_its_leaf(store: Path, tmp_path: Path) -> None:
    asked = ("repair", store, "--strategy", "strip-thinking", "insert-pi-result", "--plan", "--json")
    plan = run(*asked, "--leaf", "u3")
    assert plan.json["plan_digest"] == run(*asked, "--leaf", "u3").json["plan_digest"] != run(*asked, "--leaf", "a2").json["plan_digest"]
    file = tmp_path / "plan.json"
    file.write_text(plan.out)
    ran = run("repair", "--apply-plan", file, "--json")
    assert ran.status == 0 and ran.json["plan_digest"] == plan.json["plan_digest"] and "older try" in texts(store, header()["id"])[-1]
    refused = run("repair", "--apply-plan", file, "--leaf", "u3")
    assert refused.status == 2 and "leave these options out" in refused.err


def test_what_is_recommended_is_recommended_for_that_path(store: Path) -> None:
    ran = run("repair", store, "--for", "anthropic-2026-07", "--leaf", "u3", "--plan")
    assert ran.status == 0 and ran.out.startswith("insert-interrupted-result on ")
    assert run("repair", store, "--for", "anthropic-2026-07", "--plan").status == 1


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--leaf", "nobody"), "There is no entry nobody in this conversation now"),
        (("--leaf", "\ud800"), "There is no entry"),
        (("--leaf", "u3", "--reader", "as-sent"), "so that no leaf can be chosen in it"),
        (("--leaf", "u3", "--reader", "exact"), "The reader exact does not read pi: name one of"),
    ],
)
def test_a_leaf_that_is_none_is_refused_in_one_sentence(store: Path, more: tuple[str, ...], sentence: str) -> None:
    ran = run("repair", store, "--strategy", "insert-pi-result", *more, "--plan")
    assert ran.status == 2 and sentence in ran.err and len(ran.err.splitlines()) == 1


def test_the_page_plans_for_the_leaf_that_was_looked_at(store: Path, client: Client) -> None:
    assert run("import_source", store).status == 0
    (row,) = Conversation.objects.all()
    page = client.get(f"/conversations/{row.oid}/?leaf=u3").content.decode()
    assert "repairs/new/?strategy=" in page and "leaf=u3" in page.partition("Propose repair")[0].rpartition("<a ")[2]
    new = f"/conversations/{row.oid}/repairs/new/"
    shown = client.get(new, {"strategy": "insert-pi-result", "leaf": "u3"}).content.decode()
    assert "becomes the live one" in shown and shown.count('name="leaf" value="u3"') == 1
    assert "Nothing to do" in client.get(new, {"strategy": "insert-pi-result"}).content.decode()
    odd = client.get(new, {"strategy": "insert-pi-result", "leaf": "<b>"})
    assert odd.status_code == 200 and "There is no entry &lt;b&gt;" in odd.content.decode()
    twin = client.get(f"{new[:-1]}.json", {"strategy": "insert-pi-result", "leaf": "u3"}).json()
    assert twin["request"]["options"]["leaf"] == "u3"
    assert client.post(new, {"strategy": "insert-pi-result", "leaf": "nobody"}).status_code == 409 and not Repair.objects.exists()
    (seen,) = re.findall(r'formaction="(\?seen[^"]*)"', shown)
    answer = client.post(f"{new}{seen}", {"strategy": "insert-pi-result", "mode": "replay-suffix", "leaf": "u3"})
    (repair,) = Repair.objects.all()
    assert answer.status_code == 302 and repair.options["leaf"] == "u3" and repair.plan_digest == twin["plan_digest"]
    assert "becomes the live one" in client.get(f"/repairs/{repair.oid}/").content.decode()
    assert store.joinpath("s.jsonl").read_bytes() == lines(*ROWS)


def test_a_chosen_leaf_that_is_the_live_one_says_nothing_of_other_paths(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(*ROWS[:6], r("r9", "u1", "c9")))
    plan = run("repair", path, "--strategy", "drop-orphaned-results", "--leaf", "r9", "--plan", "--json")
    assert plan.status == 0 and not any("live one" in cost for cost in plan.json["cost"])


@pytest.mark.parametrize("shape", ["notation", "messages", "tree", "anthropic"])
def test_an_entry_that_is_not_there_is_no_leaf_to_show(store: Path, shape: str) -> None:
    ran = run("show", store, "--leaf", "zzz", "--as", shape)
    assert (ran.status, ran.out) == (2, "") and "There is no entry 'zzz' in this conversation" in ran.err and ran.err.count("\n") == 1


def test_the_notation_of_a_leaf_is_its_path(store: Path) -> None:
    shown = run("show", store, "--leaf", "u3").out
    assert "an older try" in shown and "the live one" not in shown and "the live one" in run("show", store).out


def test_the_plan_says_one_edit_and_its_diff_is_short(store: Path) -> None:
    asked = ("repair", store, "--strategy", "insert-pi-result", "--leaf", "u3", "--mode", "insert-and-reparent", "--plan")
    shown = run(*asked).out
    assert "  1 chunk inserted, 1 changed, 4 unchanged; 1 record changed in part, " in shown and "c1 No result provided" in shown
    assert '"usage"' not in shown and '"folded":"' in shown and max(map(len, shown.splitlines())) < 400
    assert '"usage"' in run(*asked, "--json").json["diff"]


def test_scan_says_what_a_strategy_makes_up(store: Path) -> None:
    (store / "s.jsonl").write_bytes(lines(*ROWS[:6]))
    said = [each for each in run("scan", store).out.splitlines() if "repaired by" in each]
    assert any("insert-interrupted-result (invented)" in each for each in said)
