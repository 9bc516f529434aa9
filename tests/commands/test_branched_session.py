"""The incident of a result on a branch beside the live path, through the commands: found, explained, led back onto the path, and undone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from inspector.demo.branch_incident import BRANCHED, CLEAN, HIDDEN, LATE, REAL_OUTPUT, SESSIONS, openclaw_files, pi_files
from inspector.demo.branch_incident_pi import FUSED, TORN
from inspector.models import Conversation, loading
from tests.commands.running import Ran, run

pytestmark = pytest.mark.django_db
MODES = ("replay-suffix", "insert-and-reparent", "new-session")
ACCEPTED: dict[str, Any] = {"sendable": True, "prefix_valid": True, "first_bad": None, "violations": []}


def lay(folder: Path, contents: Mapping[str, bytes]) -> Path:
    for name, data in contents.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return folder


@pytest.fixture
def openclaw(tmp_path: Path) -> Path:
    return lay(tmp_path / "openclaw", openclaw_files())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def scanned(folder: Path, session: str, *more: str) -> Any:
    return run("scan", folder, "--conversation", session, *more, "--json").json["conversations"][0]


def codes(folder: Path, session: str, *more: str) -> set[str]:
    return {found["code"] for found in scanned(folder, session, *more)["findings"]}


def verdict(folder: Path, session: str, *more: str) -> Any:
    """Of a client that sends the path as it is stored, unless a reader is named."""
    named = more or ("--reader", "verbatim")
    return scanned(folder, session, "--profile", "anthropic-2026-07", *named)["profiles"]["anthropic-2026-07"]


def repaired(folder: Path, session: str, *how: str) -> Ran:
    return run("repair", folder, "--conversation", session, *how, "--apply", "--json")


def test_the_result_is_found_on_the_other_branch_and_what_to_do_is_said(openclaw: Path) -> None:
    (found,) = scanned(openclaw, BRANCHED)["findings"]
    assert (found["code"], found["severity"], found["repaired_by"]) == ("TREE106", "error", ["reparent-to-result"])
    assert "on another branch" in found["message"] and "No synthetic text is needed" in found["message"]
    assert verdict(openclaw, BRANCHED)["violations"][0]["id"].startswith("AN-")
    tree = run("show", openclaw, "--conversation", BRANCHED, "--as", "tree").out
    assert "20 of 21 entries" in tree and "is on another branch" in tree


def test_a_program_that_pairs_makes_up_a_text_while_the_real_output_is_in_the_file(openclaw: Path) -> None:
    request = run("show", openclaw, "--conversation", BRANCHED, "--as", "anthropic").out
    assert "missing tool result in session history" in request and "18,204 files" not in request
    assert REAL_OUTPUT in json.loads(openclaw_files()[f"{SESSIONS}/{BRANCHED}.jsonl"].splitlines()[18])["message"]["content"][0]["text"]


@pytest.mark.parametrize("mode", MODES)
def test_the_path_is_led_over_the_real_result_and_undo_gives_back_every_byte(openclaw: Path, mode: str) -> None:
    before = contents(openclaw)
    name = f"{SESSIONS}/{BRANCHED}.jsonl"
    applied = repaired(openclaw, BRANCHED, "--strategy", "reparent-to-result", "--mode", mode)
    assert applied.status == 0 and applied.json["state"] == "verified"
    after = contents(openclaw)
    listed = {f"{SESSIONS}/sessions.json"} if mode == "new-session" else set()
    others = {each: data for each, data in before.items() if each not in {name, *listed}}
    assert others.items() <= after.items()
    old, new = before[name].split(b"\n"), after[name].split(b"\n")
    if mode == "replay-suffix":
        assert new[: len(old) - 1] == old[:-1] and len(new) == len(old) + 3
    elif mode == "insert-and-reparent":
        (changed,) = (number for number, (was, now) in enumerate(zip(old, new, strict=True)) if was != now)
        assert json.loads(old[changed])["message"] == json.loads(new[changed])["message"]
        assert json.loads(new[changed])["parentId"] == json.loads(old[changed - 1])["id"]
    else:
        assert new == old and len(after) == len(before) + 1
        assert all(after[each].startswith(before[each].removesuffix(b"\n}") + b",\n  ") for each in listed)
    session = next((Path(each).stem for each in after if each not in before), BRANCHED)
    for reader in ("verbatim", "openclaw-2026.1", "openclaw-2026.7", "openclaw-2026.9", "pi-1.5"):
        request = run("show", openclaw, "--conversation", session, "--reader", reader, "--as", "anthropic").out
        assert json.dumps(REAL_OUTPUT)[1:-1] in request and "missing tool result" not in request and "No result provided" not in request
        assert verdict(openclaw, session, "--reader", reader) == ACCEPTED
    assert "TREE106" not in codes(openclaw, session)
    assert run("undo", applied.json["repair"]).status == 0 and contents(openclaw) == before


def test_what_is_recommended_for_the_provider_makes_nothing_up(openclaw: Path) -> None:
    planned = run("repair", openclaw, "--conversation", BRANCHED, "--for", "anthropic-2026-07", "--plan")
    assert planned.status == 0 and planned.out.startswith("reparent-to-result on ") and "nothing is lost or invented" in planned.out
    assert contents(openclaw) == openclaw_files()


@pytest.mark.parametrize("how", [["--strategy", "move-results"], ["--for", "anthropic-2026-07"]])
def test_the_late_result_is_moved_and_the_provider_takes_it(openclaw: Path, how: list[str]) -> None:
    assert not verdict(openclaw, LATE)["sendable"] and "TOOL207" in codes(openclaw, LATE)
    before = contents(openclaw)
    applied = repaired(openclaw, LATE, *how)
    assert applied.status == 0 and verdict(openclaw, LATE) == ACCEPTED and not codes(openclaw, LATE) & {"TOOL201", "TOOL207"}
    request = run("show", openclaw, "--conversation", LATE, "--reader", "verbatim", "--as", "anthropic").out
    assert request.index("Harbour Caf") < request.index("exchange rate")
    assert run("undo", applied.json["repair"]).status == 0 and contents(openclaw) == before


def test_the_late_result_does_not_keep_a_cut_from_being_made(openclaw: Path) -> None:
    """The published proposal took the call for complete, since its result stands somewhere, and left a history that is refused."""
    assert repaired(openclaw, LATE, "--strategy", "truncate-before-incomplete").status == 0
    assert verdict(openclaw, LATE) == ACCEPTED


@pytest.mark.parametrize(("reader", "messages"), [("verbatim", 3), ("openclaw-2026.7", 3), ("pi-1.5", 3), ("openclaw-2026.9", 13)])
def test_a_lost_parent_hides_the_history_from_all_but_one_program(openclaw: Path, reader: str, messages: int) -> None:
    shown = run("show", openclaw, "--conversation", HIDDEN, "--reader", reader, "--as", "messages", "--json").json
    assert len(shown["messages"]) == messages and "TREE101" in codes(openclaw, HIDDEN, "--reader", reader)


def test_the_hidden_history_comes_back(openclaw: Path) -> None:
    applied = repaired(openclaw, HIDDEN, "--strategy", "reparent-orphan-entry", "--reader", "pi-1.5")
    assert applied.status == 0
    shown = run("show", openclaw, "--conversation", HIDDEN, "--reader", "pi-1.5", "--as", "messages", "--json").json
    assert len(shown["messages"]) == 13
    assert run("undo", applied.json["repair"]).status == 0 and contents(openclaw) == openclaw_files()


def test_nothing_is_found_in_the_session_without_damage(openclaw: Path) -> None:
    assert codes(openclaw, CLEAN) == set() and verdict(openclaw, CLEAN) == ACCEPTED
    assert repaired(openclaw, CLEAN, "--for", "anthropic-2026-07").status == 1


def test_an_import_names_the_torn_line_and_the_fused_one(tmp_path: Path) -> None:
    folder = lay(tmp_path / "pi", pi_files())
    (source,) = run("import_source", folder, "--json").json["sources"]
    assert (source["format"], source["conversations"]) == ("pi", 2)
    kept = {row.native_id: {found.code for found in row.findings.all()} for row in Conversation.objects.all()}
    assert "STORE501" in kept[TORN] and "STORE502" in kept[FUSED]
    out = run("scan", folder).out
    assert "is torn" in out and "2 whole records are on one line" in out


def test_a_scan_and_an_import_say_which_files_of_the_folder_are_not_read(openclaw: Path) -> None:
    sessions = next(openclaw.rglob("sessions.json")).parent
    for number in range(20):
        (sessions / f"{number}.jsonl.deleted.2026-11-20T17-33-07.691Z").write_bytes((sessions / f"{BRANCHED}.jsonl").read_bytes())
    said = "20 files are copies of sessions that the program set aside (20 of deleted sessions), and are not read: "
    assert said in run("scan", openclaw).out and said in run("import_source", openclaw).out
    (problem,) = run("scan", openclaw, "--json").json["source"]["problems"]
    assert problem["where"] == "files next to the sessions" and problem["reason"].startswith(said)


def test_the_records_of_the_fused_line_come_back(tmp_path: Path) -> None:
    folder = lay(tmp_path / "pi", pi_files())
    applied = repaired(folder, FUSED, "--strategy", "split-fused-line")
    assert applied.status == 0
    shown = run("show", folder, "--conversation", FUSED, "--as", "messages", "--json").json
    assert len(shown["messages"]) == 7
    assert run("undo", applied.json["repair"]).status == 0 and contents(folder) == pi_files()


def test_of_two_files_with_one_header_id_each_is_known_by_its_file(openclaw: Path) -> None:
    (openclaw / SESSIONS / "copy.jsonl").write_bytes(openclaw_files()[f"{SESSIONS}/{CLEAN}.jsonl"])
    assert run("import_source", openclaw).status == 0
    rows = Conversation.objects.filter(native_id__startswith=CLEAN)
    assert {row.native_id for row in rows} == {f"{CLEAN} {CLEAN}.jsonl", f"{CLEAN} copy.jsonl"}
    assert all(loading.stored(row).conversation.native_id == row.native_id for row in rows)
    (other,) = Conversation.objects.filter(native_id=LATE)
    assert loading.stored(other).conversation.native_id == LATE


@pytest.mark.parametrize("is_imported", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_session_whose_id_another_file_has_too_is_repaired_alone(openclaw: Path, mode: str, is_imported: bool) -> None:
    name = f"{BRANCHED} copy.jsonl"
    (openclaw / SESSIONS / "copy.jsonl").write_bytes(openclaw_files()[f"{SESSIONS}/{BRANCHED}.jsonl"])
    before = contents(openclaw)
    target: tuple[object, ...] = (openclaw, "--conversation", name)
    if is_imported:
        assert run("import_source", openclaw).status == 0
        target = (Conversation.objects.get(native_id=name).oid,)
    applied = run("repair", *target, "--strategy", "reparent-to-result", "--mode", mode, "--apply", "--json")
    assert applied.status == 0, applied.err
    assert run("verify", applied.json["repair"]).status == 0
    assert run("undo", applied.json["repair"]).status == 0 and contents(openclaw) == before
