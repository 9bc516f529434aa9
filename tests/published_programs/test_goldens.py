"""What the published programs read of files that we wrote: the path that the plan promised. goldens.json holds their own answers, with the versions."""

import json
from dataclasses import replace
from typing import Any

import pytest

from inspector.programs.catalogue import NEW_FILE_ONLY
from inspector.readers.catalogue import reader
from inspector.readers.strict import strict_problems
from inspector.rules.base import case_of
from tests.folding import in_one_test
from tests.published_programs import claude_code, codex
from tests.published_programs.running import HERE, PROGRAMS, Program, goldens
from tests.published_programs.sessions import BY_HAND, DAMAGED, ONLY_PI, STORED, Damaged, kept, repaired, written
from tests.published_programs.sessions import IN_PI as ONLY_IN_PI
from tests.published_programs.telling import read, told

FILES = kept()
VERSIONS, READ = goldens()
IN_PI = [program for program in PROGRAMS if program.name.startswith("pi")]
EDITS = ("pi-0.87.1", "pi-ai-1.5.2")
BROKEN = ["user: list it", 'assistant: well | bash[c1] {"path":"."}', "user: and?"]
WHOLE = [*BROKEN[:2], "toolResult[c1] failed: made up", BROKEN[2]]

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
each_damaged = pytest.mark.parametrize("damaged", DAMAGED, ids=lambda damaged: damaged.name)
each_mode = pytest.mark.parametrize("mode", DAMAGED[0].modes)
each_written = in_one_test(
    ("damaged", "mode"), [pytest.param(damaged, mode, id=f"{damaged.name}.{mode}") for damaged in DAMAGED for mode in damaged.modes]
)


def context(name: str, program: Program) -> list[str]:
    found: list[str] = READ[name][program.name]["context"]
    return found


def test_the_files_are_what_our_writer_writes_today() -> None:
    assert written() == FILES, (
        "run `python -m tests.published_programs.sessions`, then the programs again: `python -m tests.published_programs.running`"
    )


def test_every_program_has_read_every_file() -> None:
    assert list(READ) == list(FILES) and list(VERSIONS) == [program.name for program in PROGRAMS]
    assert all(set(answers) == {program.name for program in PROGRAMS if program.reads(name)} for name, answers in READ.items())
    assert all(name.rpartition("-")[2] in version for name, version in VERSIONS.items())


def test_readers_name_the_versions_that_were_run() -> None:
    """What the page of formats says is verified."""
    installed = (HERE / "install.sh").read_text()
    assert {name: reader(name).verified for name in claude_code.VERSIONS} == {name: (of,) for name, of in claude_code.VERSIONS.items()}
    assert [f"codex-cli {version}" for version in reader("codex").verified] == [json.loads(codex.KEPT.read_text())["version"]]
    assert all(f"gemini-cli-{version}" in installed for version in reader("gemini-cli-0.61").verified)
    assert all(f"opencode-{version}" in installed for version in reader("opencode-1.18").verified)
    measured = {version.rpartition("@")[2] for version in VERSIONS.values()}
    assert {reader(name).verified[0] for name in ("pi-0.69", "pi-0.87", "pi-1.5", "openclaw-2026.9")} == measured


@each_program
@in_one_test("name", FILES)
def test_our_reader_reads_what_the_program_reads(name: str, program: Program) -> None:
    if not program.reads(name):
        return
    theirs, ours = READ[name][program.name], read(FILES[name], program.form, program.reader)
    if "stops" in theirs:
        assert set(ours) == {"stops"}
    else:
        # pi names no path that ends with a line without an id; what its converter leaves out is in our context, and in no other place.
        parts = ("path", "sent") if name.startswith(ONLY_PI) else ("path", "context", "sent")
        assert {part: ours[part] for part in parts if part in theirs} == {part: theirs[part] for part in parts if part in theirs}


@each_program
@each_written
def test_the_program_reads_the_path_that_the_plan_promised(damaged: Damaged, mode: str, program: Program) -> None:
    theirs = READ[f"{damaged.name}.{mode}"][program.name]
    promise = repaired(damaged, mode).promised
    # What is repaired of OpenClaw's SQLite store is a file, which pi reads as well.
    written_as = NEW_FILE_ONLY.get(promise.format)
    promised = case_of(replace(promise, format=written_as.name) if written_as else promise, program.reader).reading
    assert theirs["context"] == told(promised.grouped)
    assert theirs["sent"] == told(promised.messages)


@each_written
def test_the_preview_shows_what_its_program_reads(damaged: Damaged, mode: str) -> None:
    after = repaired(damaged, mode).preview.after.case.reading
    program = next(each for each in PROGRAMS if each.reader == after.reader)
    theirs = READ[f"{damaged.name}.{mode}"][program.name]
    assert (told(after.grouped), told(after.messages)) == (theirs["context"], theirs["sent"])
    assert not list(strict_problems(after.messages))


@each_program
@each_written
def test_no_program_has_anything_left_to_make_up_or_drop(damaged: Damaged, mode: str, program: Program) -> None:
    """OpenClaw puts the results of one batch into the order of the calls, as it does in sound sessions."""
    theirs = READ[f"{damaged.name}.{mode}"][program.name]
    assert sorted(theirs["sent"]) == sorted(theirs["context"])


@each_damaged
def test_the_stored_file_is_read_otherwise_than_the_repaired_one(damaged: Damaged) -> None:
    def reads(name: str) -> list[Any]:
        return [READ[f"{damaged.name}.{name}"][program.name].get("context") for program in IN_PI]

    first, *others = [reads(mode) for mode in damaged.modes]
    assert reads(STORED) != first and all(first == each for each in others)


@in_one_test("name", [name for name in FILES if not name.endswith(STORED) and "cycle" not in name and not name.startswith(ONLY_PI)])
def test_both_readers_of_one_openclaw_release_agree_on_what_we_write(name: str) -> None:
    assert "builder" not in READ[name]["openclaw-2026.9.6"]


@pytest.mark.parametrize("name", ["lost-parent.stored", "fused-lines.stored", "by-hand-cycle"])
def test_they_do_not_agree_on_what_is_damaged(name: str) -> None:
    assert READ[name]["openclaw-2026.9.6"]["builder"] != READ[name]["openclaw-2026.9.6"]["context"]


def test_no_program_writes_to_a_file_by_opening_it() -> None:
    assert not [
        (name, program)
        for name, answers in READ.items()
        for program, answer in answers.items()
        if answer.get("rewritten") and "version" not in name
    ]


@pytest.mark.parametrize("damaged", [damaged for damaged in ONLY_IN_PI if damaged.strategies], ids=lambda damaged: damaged.name)
def test_content_at_which_pi_throws_is_sent_when_it_is_repaired(damaged: Damaged) -> None:
    programs = [program for program in IN_PI if program.reads(damaged.name)]
    assert all("stops" in READ[f"{damaged.name}.{STORED}"][program.name] for program in programs)
    for mode in damaged.modes:
        for program in programs:
            promised = case_of(repaired(damaged, mode).promised, program.reader).reading
            assert READ[f"{damaged.name}.{mode}"][program.name]["sent"] == told(promised.messages)


# Table d.8, by hand: what each row gives, and that ours give the good ones.


@each_program
@pytest.mark.parametrize("name", ["by-hand-a-replayed", "by-hand-b-inserted", "by-hand-e-new-file"])
def test_the_three_good_ways_give_the_whole_path(name: str, program: Program) -> None:
    assert context(name, program) == WHOLE


@each_program
@each_mode
def test_ours_give_the_same_path_but_for_the_words(mode: str, program: Program) -> None:
    assert [each.partition(":")[0] for each in context(f"unanswered-call.{mode}", program)] == [each.partition(":")[0] for each in WHOLE]


@each_program
def test_a_result_whose_successor_keeps_its_parent_has_no_effect(program: Program) -> None:
    assert context("by-hand-b-not-reparented", program) == BROKEN == context(f"unanswered-call.{STORED}", program)


@each_program
def test_a_result_at_the_end_hides_the_latest_turn(program: Program) -> None:
    assert context("by-hand-d-result-at-the-end", program) == WHOLE[:3]


@each_program
def test_a_context_edit_is_known_to_pi_since_0_87_alone(program: Program) -> None:
    wanted = [BROKEN[0], BROKEN[2]] if program.name in EDITS else BROKEN
    assert context("by-hand-c-context-edit", program) == wanted


def test_a_cycle_stops_pi_and_leaves_openclaw_with_nothing() -> None:
    found = READ["by-hand-cycle"]
    assert all("stops" in found[program.name] for program in IN_PI)
    assert found["openclaw-2026.9.6"]["path"] == "" and found["openclaw-2026.9.6"]["context"] == []


def test_all_that_is_written_by_hand_is_kept() -> None:
    assert set(BY_HAND) == {name for name in FILES if name.startswith("by-hand-")}
