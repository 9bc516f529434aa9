"""Where SQLite is Inspector's own database there is no queue, and nothing of its engine."""

from pathlib import Path

import pytest

from tests.commands.running import incident, run_in_process

NEEDS = "The queue needs PostgreSQL as Inspector's own database"


@pytest.mark.slow
@pytest.mark.parametrize("command", [("import_source", "--queue"), ("scan", "--queue")])
def test_a_command_is_not_queued(tmp_path: Path, command: tuple[str, str]) -> None:
    answer = run_in_process(tmp_path / "own.sqlite3", *command, incident(tmp_path / "a.db"))
    assert answer.status == 2 and answer.err.startswith(NEEDS) and answer.err.count("\n") == 1


@pytest.mark.slow
def test_renew_is_not_queued(tmp_path: Path) -> None:
    assert run_in_process(tmp_path / "own.sqlite3", "renew", "--queue").err.startswith(NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["worker", "jobs"])
def test_there_is_nothing_to_work_on(tmp_path: Path, command: str) -> None:
    answer = run_in_process(tmp_path / "own.sqlite3", command)
    assert answer.status == 2 and answer.err.startswith(NEEDS) and "leave --queue out" not in answer.err


@pytest.mark.slow
def test_nothing_imports_the_engine(tmp_path: Path) -> None:
    ask = "import sys, inspector.urls, inspector.management.commands.worker, inspector.management.commands.jobs; print('procrastinate' in sys.modules)"
    assert run_in_process(tmp_path / "own.sqlite3", "shell", "--no-imports", "-c", ask).out == "False\n"
