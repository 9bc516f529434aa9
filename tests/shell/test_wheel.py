"""The wheel, in an environment of its own and an empty home: the command, its templates and static files, and a database that nobody made."""

import json
import os
import sqlite3
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings

from tests.commands.running import make

ROOT = Path(settings.BASE_DIR)


@pytest.mark.slow
def test_the_wheel_asks_for_what_requirements_txt_lists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == (ROOT / "requirements.txt").read_text().split()
    assert set(project["build-system"]["requires"]) <= set((ROOT / "requirements-dev.txt").read_text().split())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="the build backend is not installed: run `make dev`")
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        str(ROOT),
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "-w",
        str(folder),
    ]
    subprocess.run(build, check=True, timeout=120)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of a virtual environment that has the wheel, and sees the packages of this one."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps", "--quiet", str(wheel)]
    subprocess.run(install, check=True, timeout=120)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "this_environment.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def variables(home: Path) -> dict[str, str]:
    """Of a person who has set nothing."""
    ours = ("INSPECTOR_", "DJANGO_", "XDG_", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {"HOME": str(home)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def run(environment: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(environment / "inspector"), *arguments]
    return subprocess.run(command, cwd=home, env=variables(home), capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_every_file_of_the_checkout_is_in_the_wheel(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        f"inspector/{path.relative_to(ROOT)}" for top in ("templates", "static") for path in (ROOT / top).rglob("*") if path.is_file()
    }
    wanted |= {str(path.relative_to(ROOT)) for path in (ROOT / "inspector").rglob("*.py")}
    assert wanted <= packed
    assert {name.split("/")[0] for name in packed} == {"inspector", "inspector-0.1.0.dist-info"}


@pytest.mark.slow
def test_demo_scan_and_serve_work_in_an_empty_home(environment: Path, home: Path) -> None:
    ran = run(environment, home, "demo")
    data = home / ".local" / "share" / "inspector"
    assert ran.returncode == 0, ran.stderr
    assert "inspector serve" in ran.stdout and "manage.py" not in ran.stdout
    assert {path.name for path in home.iterdir()} <= {".local", ".cache"} and (data / "inspector.sqlite3").exists()

    scanned = run(environment, home, "scan", str(data / "demo" / "dispatch.db"), "--json")
    assert scanned.returncode == 1 and json.loads(scanned.stdout)["conversations"]

    serving = [str(environment / "inspector"), "serve", "--port", "0", "--json"]
    with subprocess.Popen(serving, cwd=home, env=variables(home), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            address = json.loads(server.stdout.readline())
            let_in = {"Authorization": f"Bearer {address['token']}"}
            for page, words in (
                ("", "<title>"),
                ("conversations/", "dispatch"),
                ("static/inspector.css", "{"),
                ("rules/", "merged-messages"),
            ):
                with urllib.request.urlopen(urllib.request.Request(address["url"] + page, headers=let_in), timeout=60) as answer:
                    assert words in answer.read().decode()
        finally:
            server.terminate()


@pytest.mark.slow
def test_commands_that_are_first_at_the_same_moment_share_one_database(environment: Path, home: Path) -> None:
    store = make(home / "dispatch.db")
    with ThreadPoolExecutor() as pool:
        ran = list(pool.map(lambda _: run(environment, home, "import_source", str(store)), range(3)))
    assert [(each.returncode, each.stderr) for each in ran] == [(0, "")] * 3


@pytest.mark.slow
def test_an_older_database_is_left_to_its_owner(environment: Path, home: Path) -> None:
    data = home / ".local" / "share" / "inspector"
    data.mkdir(parents=True)
    with closing(sqlite3.connect(data / "inspector.sqlite3")) as older:
        older.execute("CREATE TABLE django_migrations (id INTEGER PRIMARY KEY, app TEXT, name TEXT, applied TEXT)")
    ran = run(environment, home, "import_source", str(make(home / "dispatch.db")))
    assert ran.returncode == 2 and ran.stderr.endswith("run `inspector migrate` first.\n")
    with closing(sqlite3.connect(data / "inspector.sqlite3")) as older:
        assert older.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone() == (1,)


@pytest.mark.slow
def test_an_error_names_the_command_that_was_installed(environment: Path, home: Path) -> None:
    ran = run(environment, home, "serve", "--host", "0.0.0.0")
    assert ran.returncode == 2 and "`inspector user add NAME --role ROLE`" in ran.stderr and ran.stderr.count("\n") == 1
