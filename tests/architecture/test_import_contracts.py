"""Which package may import which: the contracts in pyproject.toml."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_import_contracts_are_kept() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_the_contracts_name_every_package_and_every_program() -> None:
    """A package that no contract names could import anything."""
    contracts = {each["name"]: each for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]}
    generic = contracts["Generic code asks the program of a conversation and imports none"]
    own = {f"inspector.programs.{folder.name}" for folder in packages(ROOT / "inspector/programs")}
    assert set(generic["forbidden_modules"]) == own
    shell = {"access", "actions", "demo", "management", "migrations", "models", "sign_in", "templatetags", "testing", "views"}
    core = set(contracts["The core imports no Django and none of the shell"]["source_modules"])
    assert core >= {f"inspector.{folder.name}" for folder in packages(ROOT / "inspector") if folder.name not in shell}


def packages(folder: Path) -> list[Path]:
    return [path.parent for path in sorted(folder.glob("*/__init__.py"))]
