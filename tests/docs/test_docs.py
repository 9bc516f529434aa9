"""The documents say what is: links lead somewhere, named modules exist, settings are read, and the commands of every tutorial work as it says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.commands.running import run
from tests.folding import in_one_test
from tests.kept import Kept

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^    inspector (.+?)(?: {2,}#.*)?$", re.MULTILINE)
MODULE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
REPAIR = re.compile(r"Repair ([0-9a-f]{12}) is verified")


def test_readme_is_short_and_has_the_two_commands() -> None:
    text = README.read_text()
    assert len(text.encode()) <= 8192
    assert "\n    make run " in text and "\n    make test " in text


@in_one_test("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize(
    "picture", sorted({link for document in DOCUMENTS for link in LINK.findall(document.read_text()) if link.endswith(".png")})
)
def test_pictures_are_there(picture: str) -> None:
    assert (ROOT / "docs" / "screenshots" / Path(picture).name).stat().st_size > 10_000


@in_one_test("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_named_modules_exist(document: Path) -> None:
    named = MODULE.findall(document.read_text())
    # Guides show modules that the reader adds; their names begin with `my_`.
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "inspector" / name).exists()]
    assert [name for name in missing if not Path(name).name.startswith("my_") and "/my_" not in name] == []


def test_named_settings_are_read() -> None:
    named = {name for document in DOCUMENTS for name in re.findall(r"\b((?:INSPECTOR|DJANGO)_[A-Z_]+)\b", document.read_text())}
    read = set(re.findall(r'"((?:INSPECTOR|DJANGO)_[A-Z_]+)"', (ROOT / "inspector" / "settings.py").read_text()))
    assert named - read <= {"INSPECTOR_TEST_POSTGRES", "INSPECTOR_JUDGES", "INSPECTOR_PROGRAMS", "INSPECTOR_CORPUS"}
    assert read <= named


FINDINGS = {"scan", "whatif"}
TUTORIALS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.name != "index.md")


def demo_in(folder: Path) -> Path:
    assert run("demo", "--folder", folder / "var/demo").status == 0
    return folder


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_commands_of_a_tutorial_work(tutorial: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(kept("demo of the tutorials", demo_in))
    repair = ""
    commands = COMMAND.findall(tutorial.read_text())
    assert len(commands) >= 5
    for command in commands:
        name, *arguments = shlex.split(command.replace("REPAIR", repair or "REPAIR"))
        done = run(name, *arguments)
        # Findings are what a scan of the demo is for.
        assert done.status in ({0, 1} if name in FINDINGS else {0}), f"{command}: {done.err}"
        if "--apply" in arguments:
            repair = REPAIR.findall(done.out)[-1]


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_names_what_exists(tutorial: Path) -> None:
    from inspector.rules.catalogue import RULES
    from inspector.streams.violations import STREAM_RULES

    codes = {rule.code for rule in RULES} | {row.code for row in STREAM_RULES}
    named = set(re.findall(r"\b((?:MSG|TOOL|THINK|STREAM|STORE|TREE|TRACE)\d{3})\b", tutorial.read_text()))
    assert named <= codes
