"""How our commands are printed depends on the folder in which somebody is when they are printed, which may change or go."""

import sys
from pathlib import Path

import pytest

from inspector import installation


def test_a_command_is_printed_for_the_folder_in_which_somebody_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = installation.PACKAGE.parent
    whole = f"{sys.executable} {checkout / 'manage.py'}"
    other = tmp_path / "other checkout"
    other.mkdir()
    (other / "manage.py").write_text("print('of another project')\n")
    monkeypatch.setattr(sys, "argv", ["manage.py"])
    monkeypatch.chdir(checkout)
    assert installation.program().endswith("python manage.py") and installation.program() != whole
    for elsewhere in (tmp_path, other):
        monkeypatch.chdir(elsewhere)
        assert installation.program() == whole
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert installation.program() == whole


@pytest.mark.parametrize(
    ("started_as", "folder", "expected"),
    [
        ("manage.py", "checkout", "{python} {checkout}/manage.py"),
        ("manage.py", "elsewhere", "{python} {checkout}/manage.py"),
        ("/usr/bin/inspector", "elsewhere", "inspector"),
        ("/usr/bin/inspector", "above", "{prefix}/bin/inspector"),
    ],
)
def test_a_page_has_commands_that_run_from_any_folder(
    started_as: str, folder: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = installation.PACKAGE.parent
    prefix = tmp_path / "above" / "environment"
    prefix.mkdir(parents=True)
    monkeypatch.setattr(sys, "argv", [started_as])
    monkeypatch.setattr(sys, "prefix", str(prefix))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(checkout if folder == "checkout" else tmp_path / folder)
    assert installation.program_from_anywhere() == expected.format(python=sys.executable, checkout=checkout, prefix=prefix)
