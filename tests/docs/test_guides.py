"""The code in the guides works: each example is taken out of its page and run."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from inspector.conversation import notation
from inspector.conversation.edits import apply
from inspector.rules.base import case_of
from tests.commands.running import run_in_process
from tests.profiles.asking import fired as rejected
from tests.rules.test_cases import case, cases, fired

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(guide: str) -> dict[str, str]:
    """The code of a guide, by the name of the file that it says."""
    return dict(BLOCK.findall((ROOT / "docs" / "how-to" / f"{guide}.md").read_text()))


def names_in(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, "guide", "exec"), names)
    return names


def test_the_rule_fires_on_its_cases() -> None:
    files = blocks("add-a-rule")
    rule = names_in(files["inspector/rules/nul_in_result.py"])["RULE"]
    written = cases(files["tests/rules/cases/nul-in-result.txt"])
    assert [fired(case(example), rule) for example in written] == [list(example.fires) for example in written]
    assert any(example.fires for example in written)


def test_the_strategy_removes_what_the_rule_finds() -> None:
    strategy = names_in(blocks("add-a-strategy")["inspector/strategies/drop_nul_characters.py"])["STRATEGY"]
    rule = names_in(blocks("add-a-rule")["inspector/rules/nul_in_result.py"])["RULE"]
    stored = notation.load(rule.example)[0]
    final = apply(stored, strategy.propose(case_of(stored, "dispatch-legacy")))
    assert [chunk.text for chunk in stored.chunks] != [chunk.text for chunk in final.chunks]
    assert fired(case_of(final, "dispatch-legacy"), rule) == []


def test_the_profile_rejects_what_the_guide_says() -> None:
    profile = names_in(blocks("add-a-profile")["inspector/profiles/local_gateway.py"])["OFFERED"][0]
    ask, answer = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Rounding."}
    assert rejected(profile, [ask, answer]) == [("LG-1", "messages.1")]
    assert rejected(profile, [ask, answer, ask]) == []


def test_the_history_is_rejected_before_it_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    checked = names_in(blocks("check-before-sending")["check_history.py"])["checked"]
    assert (checked.accepted, [violation.id for violation in checked.violations]) == (False, ["AN-1"])
    assert "TOOL102" in capsys.readouterr().out


@pytest.fixture(scope="module")
def jotter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the guide's package, with the metadata that an installation of it writes."""
    folder = tmp_path_factory.mktemp("jotter")
    for name, text in blocks("add-a-program").items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    for package in project["tool"]["setuptools"]["packages"]:
        (folder / package.replace(".", "/") / "__init__.py").touch()
    points = project["project"]["entry-points"]["inspector.programs"]
    metadata = folder / "jotter_inspector-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: jotter-inspector\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[inspector.programs]\n" + "".join(f"{name} = {value}\n" for name, value in points.items()))
    return folder


@pytest.mark.slow
def test_the_program_is_found_read_repaired_and_undone(jotter: Path, tmp_path: Path) -> None:
    session = tmp_path / "one.jotter.jsonl"
    before = (jotter / "one.jotter.jsonl").read_bytes()
    session.write_bytes(before)
    database = tmp_path / "own.sqlite3"

    def inspector(*arguments: object) -> Any:
        return run_in_process(database, *arguments, PYTHONPATH=str(jotter))

    assert inspector("migrate", "--verbosity", "0").status == 0
    (finding,) = inspector("scan", session, "--json").json["conversations"][0]["findings"]
    assert finding["code"] == "TOOL102"
    repair = ("repair", session, "--strategy", "insert-interrupted-result")
    applied = inspector(*repair, "--apply", "--json")
    assert applied.status == 0, applied.err
    changed = session.read_bytes().splitlines(keepends=True)
    assert changed[:3] + changed[4:] == before.splitlines(keepends=True)
    assert inspector(*repair, "--plan").status == 1, "a repaired session has nothing left to repair"
    assert inspector("undo", applied.json["repair"]).status == 0
    assert session.read_bytes() == before


@pytest.mark.slow
def test_the_program_passes_the_kit(jotter: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--ds=inspector.settings"]
    ran = subprocess.run(
        [*command, str(jotter / "test_jotter.py")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(jotter), str(ROOT)))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
