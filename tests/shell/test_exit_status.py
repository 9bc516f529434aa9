"""manage.py: 0 done, the command's own status, 2 with one sentence for everything else."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core import management
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, CommandError
from django.db import InterfaceError, InternalError, NotSupportedError, OperationalError, ProgrammingError

import manage
from inspector.installation import program

Outcome = Callable[[], object]


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs `manage.py sample` where the command does what the test says."""

    def run(outcome: Outcome, *arguments: str) -> int:
        class Sample(BaseCommand):
            requires_system_checks = []

            def handle(self, *args: Any, **options: Any) -> None:
                outcome()

        monkeypatch.setattr(management, "get_commands", lambda: {"sample": Sample()})
        return manage.main(["manage.py", "sample", *arguments])

    return run


def raising(error: BaseException) -> Outcome:
    def outcome() -> object:
        raise error

    return outcome


def test_a_command_that_is_done_returns_0(sample: Callable[..., int]) -> None:
    assert sample(lambda: None) == 0


def test_a_command_that_exits_with_1_keeps_it(sample: Callable[..., int]) -> None:
    with pytest.raises(SystemExit) as left:
        sample(lambda: sys.exit(1))
    assert left.value.code == 1


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (CommandError("No such file: write its path."), "No such file: write its path.\n"),
        (ImproperlyConfigured("DJANGO_DEBUG must be true or false."), "DJANGO_DEBUG must be true or false.\n"),
        (OperationalError("no such table: inspector_source"), f"{program()} migrate"),
        (OperationalError("database is locked"), "(database is locked)"),
        (OperationalError('connection failed: FATAL:  database "x" does not exist'), "own database cannot be used (connection failed"),
        (
            ProgrammingError('relation "inspector_source" does not exist\nLINE 1: SELECT'),
            f"does not exist): run `{program()} migrate` first",
        ),
        (ProgrammingError("permission denied for table inspector_source"), "own database cannot be used (permission denied"),
        (InternalError("cannot execute INSERT in a read-only transaction"), "there and writable"),
        (NotSupportedError("PostgreSQL 14 or later is required (found 13.9)."), "(PostgreSQL 14 or later is required (found 13.9).)"),
        (InterfaceError("connection already closed"), "(connection already closed)"),
        (OSError(errno.ENOSPC, "No space left on device"), "Not all of the output was written (No space left on device)"),
        (OSError(errno.ENOSPC, "No space left on device", "/a/own"), "this is a fault of Inspector"),
        (ProgrammingError('syntax error at or near "x"'), "sample failed on ProgrammingError"),
        (KeyError("seq"), "sample failed on KeyError ('seq'): this is a fault of Inspector"),
    ],
)
def test_an_error_is_one_sentence_and_2(
    sample: Callable[..., int], capsys: pytest.CaptureFixture[str], error: Exception, sentence: str
) -> None:
    assert sample(raising(error)) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err and printed.err.count("\n") == 1 and printed.out == ""


def test_text_from_a_store_cannot_drive_the_terminal(sample: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    sample(raising(CommandError("no conversation \x1b[2J\u202eabc")))
    assert capsys.readouterr().err == "no conversation \\x1b[2J\\u202eabc\n"


def test_traceback_shows_where(sample: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert sample(raising(KeyError("seq")), "--traceback") == 2
    assert "Traceback" in capsys.readouterr().err


def test_debug_mode_shows_where_an_unexpected_error_was(
    sample: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_DEBUG", "true")
    assert sample(raising(KeyError("seq"))) == 2
    assert "Traceback" in capsys.readouterr().err
    assert sample(raising(CommandError("No such file."))) == 2
    assert capsys.readouterr().err == "No such file.\n"


def test_an_interrupted_command_returns_130(sample: Callable[..., int]) -> None:
    assert sample(raising(KeyboardInterrupt())) == 130


@pytest.mark.parametrize("arguments", [["sacn"], ["migrate", "--no-such-option"]])
def test_bad_usage_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        manage.main(["manage.py", *arguments])
    assert left.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


def test_a_reader_that_goes_away_causes_no_complaint() -> None:
    script = f"unset PYTHONUNBUFFERED; cd '{settings.BASE_DIR}' && '{sys.executable}' manage.py help --commands; echo $? >&2"
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(["/bin/sh", "-c", script], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    finally:
        os.close(writing)
    assert ran.stderr == "141\n"
