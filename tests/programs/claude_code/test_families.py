"""Families F1 to F9 and F16 of damage in Claude Code's sessions: each is found, explained from its error text, repaired in both write modes so that
Anthropic's rules accept it, and undone byte for byte."""

import os
from pathlib import Path
from typing import Any

import pytest

from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from tests.commands.running import run
from tests.programs.claude_code.families import FAMILIES, HOLLOW, Family, in_turn, with_model
from tests.programs.claude_code.session_lines import ID, OTHER, PROJECT, a, call, lines, stored, text, thinking, u, write

pytestmark = pytest.mark.django_db
PROFILE = "anthropic-2026-07"
CLEAN = (u("o1", None, sessionId=OTHER), a("o2", "o1", "msg_9", text("Hi."), sessionId=OTHER))
LONG_AGO = 1_785_000_000

LARGE = 1_000_000
"""Bytes of a session, from which its repair takes seconds."""
each_family = pytest.mark.parametrize("name", FAMILIES)
with_error = pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.error])
each_mode = pytest.mark.parametrize(
    ("name", "mode"),
    [
        pytest.param(name, mode, marks=pytest.mark.slow if len(lines(*family.lines)) > LARGE or mode != one_mode else ())
        for name, family, one_mode in in_turn(FAMILIES)
        for mode in family.modes
    ],
)
"""Every family in one of its modes, which take turns; in the others with the slow tests."""


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    """A project with the session of the family and one that nothing is wrong with."""
    files = {f"{PROJECT}/{ID}.jsonl": lines(*FAMILIES[name].lines), f"{PROJECT}/{OTHER}.jsonl": lines(*CLEAN)}
    write(tmp_path / "claude", files)
    for path in (tmp_path / "claude").rglob("*.jsonl"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return tmp_path / "claude"


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*.jsonl")}


def findings_of(family: Family) -> dict[str, str]:
    found = all_findings(case_of(stored(*family.lines).conversation, "claude-code"))
    return {finding.code: finding.severity.value for finding in found}


@each_family
def test_it_is_found(folder: Path, name: str) -> None:
    report = {found["native_id"]: found for found in run("scan", folder, "--json").json["conversations"]}
    assert {found["code"]: found["severity"] for found in report[ID]["findings"]} == FAMILIES[name].findings
    assert report[OTHER]["findings"] == []


@with_error
def test_the_error_text_leads_to_the_session_and_the_line(folder: Path, name: str) -> None:
    family = FAMILIES[name]
    alone = run("explain", family.error, "--target", folder, "--json").json
    # A text that names a call leads to its session; of others the sessions are listed that break the rule.
    suspects = alone.get("conversations") or [alone["conversation"]]
    assert [suspect["native_id"] for suspect in suspects] == [ID]
    report = run("explain", family.error, "--target", folder, "--conversation", ID, "--json").json
    rules = report["recognised"]
    # What a request cannot show by itself is explained by the numbers of the text.
    seqs = {seq for rule in rules for at in (rule["fires"] or rule["places"]) for seq in at["seqs"]}
    keys = {chunk.key.rpartition(".")[0] for chunk in stored(*family.lines).conversation.chunks if chunk.seq in seqs}
    assert keys & set(family.at)
    assert tuple(report["recommended"]["strategies"]) == family.recommended


@each_mode
def test_it_is_repaired_and_undone_byte_for_byte(folder: Path, name: str, mode: str) -> None:
    family, before = FAMILIES[name], contents(folder)
    how = ("--strategy", *family.strategies) if family.strategies else ("--for", PROFILE)
    applied = run("repair", folder, "--conversation", ID, *how, "--reader", family.reader, "--mode", mode, "--apply", "--json")
    assert applied.status == 0 and applied.json["state"] == "verified", applied
    after = contents(folder)
    written = next(name for name in after if after[name] != before.get(name))
    assert (written in before) is (mode == "same-file") and len(after) == len(before) + (mode == "new-session")
    native_id = written.rpartition("/")[2].removesuffix(".jsonl")
    scanned = run("scan", folder, "--conversation", native_id, "--reader", family.reader, "--profile", PROFILE, "--json").json[
        "conversations"
    ][0]
    assert scanned["profiles"][PROFILE]["sendable"] and not [found for found in scanned["findings"] if found["severity"] != "note"]
    values = after[written][0].removesuffix(b"\n")
    sent = case_of(stored(values, key=written).conversation, family.reader).reading.messages
    assert tuple(f"{chunk.role}:{chunk.text or chunk.call_id}" for message in sent for chunk in message.chunks) == family.after
    assert run("undo", applied.json["repair"]).status == 0
    assert {name: data for name, (data, _) in contents(folder).items()} == {name: data for name, (data, _) in before.items()}


def test_hollow_thinking_of_a_version_after_the_reports_is_noted_only() -> None:
    def written_by(version: str) -> dict[str, str]:
        lines_of = tuple({**line, "version": version} for line in HOLLOW)
        return {finding.code: finding.severity.value for finding in all_findings(case_of(stored(*lines_of).conversation, "claude-code"))}

    assert written_by("2.1.155") == {"THINK205": "warning"}
    assert written_by("2.1.156") == {"THINK205": "note"}


def test_a_call_at_the_end_is_noted_only() -> None:
    (finding,) = all_findings(case_of(stored(u("u1", None), a("a1", "u1", "msg_1", call("toolu_1"))).conversation, "claude-code"))
    assert (finding.code, finding.severity) == ("TOOL101", "note")


def test_unsigned_thinking_stays_where_the_provider_is_another_one(tmp_path: Path) -> None:
    """What answers over a gateway signs nothing, and takes its own thinking back."""
    own = with_model("glm-4.6", a("a1", "u1", "msg_1", {"type": "thinking", "thinking": "hm"}, 1))
    session = (u("u1", None), own, with_model("glm-4.6", a("a2", "a1", "msg_1", text("Done."), 1)), u("u2", "a2", "more", 2))
    folder = write(tmp_path / "claude", {f"{PROJECT}/{ID}.jsonl": lines(*session)})
    (report,) = run("scan", folder, "--json").json["conversations"]
    assert report["findings"] == [] and report["verdict"].startswith("Nothing is damaged; the next request passes all known rules.")
    shown = run("scan", folder).out
    assert "anthropic-compatible" in shown and "'glm-4.6'" in shown


def test_a_model_of_whatever_name_that_signed_its_other_thinking_lost_the_signature() -> None:
    def codes(model: str, *blocks: dict[str, Any]) -> list[str]:
        answers = [with_model(model, a(f"a{at}", f"a{at - 1}", f"msg_{at}", block, at)) for at, block in enumerate(blocks, 1)]
        case = case_of(
            stored(u("a0", None), *answers, a("end", answers[-1]["uuid"], "msg_end", text("Done."), 9)).conversation, "claude-code"
        )
        return [finding.code for finding in all_findings(case) if finding.code == "THINK201"]

    unsigned, signed = {"type": "thinking", "thinking": "hm"}, thinking("hm", "SIG")
    assert codes("bench-model", signed, unsigned, signed) == ["THINK201"]
    assert codes("bench-model", signed, signed) == []
    # A gateway that signs nothing, or now and then, takes its own thinking back.
    assert codes("bench-model", unsigned, unsigned) == codes("bench-model", signed, unsigned) == []
    assert codes("claude-opus-4-5", unsigned) == ["THINK201"]
