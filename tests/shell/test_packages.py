"""What is installed: every pin has its place in a lock, and every package of a lock its hashes."""

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
GROUPS = sorted(path.stem for path in ROOT.glob("requirements*.txt"))


def pins(path: Path) -> dict[str, str]:
    """The version of each package that a file names, itself or by another file."""
    named: dict[str, str] = {}
    for line in path.read_text().splitlines():
        if line.startswith("-r "):
            named |= pins(path.parent / line.removeprefix("-r "))
        elif match := re.match(r"([\w.-]+)(?:\[[\w,]+\])?==([^\s;]+)", line):
            named[match[1].lower().replace("_", "-")] = match[2]
    return named


def packages(lock: str) -> list[str]:
    """Each package of a lock with its lines."""
    return re.split(r"\n(?=[\w])", lock.strip())


@pytest.mark.parametrize("group", GROUPS)
def test_a_lock_has_what_is_pinned_and_hashes_of_all(group: str) -> None:
    asked, locked = pins(ROOT / f"{group}.txt"), pins(ROOT / f"{group}.lock")
    assert asked and asked.items() <= locked.items(), "make lock"
    for package in packages((ROOT / f"{group}.lock").read_text()):
        assert re.match(r"[\w.-]+(\[[\w,]+\])?==", package) and "--hash=sha256:" in package, package


def test_make_installs_by_hash_alone() -> None:
    installs = re.findall(r".*pip install.*", (ROOT / "Makefile").read_text())
    assert installs and all("--require-hashes" in line for line in installs)


@pytest.mark.parametrize("line", ["Django==5.2.0", "django==5.2.0 \\", "Django[argon2]==5.2.0 ; python_version > '3'"])
def test_a_pin_is_read_however_it_is_written(line: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(line + "\n")
    assert pins(tmp_path / "x.txt") == {"django": "5.2.0"}
