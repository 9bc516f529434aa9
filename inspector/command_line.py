"""The command line that `inspector` and `manage.py` share; exit status 2 and one sentence for whatever is refused or fails, the command's own status otherwise."""

import errno
import gc
import os
import sys
import traceback
from pathlib import Path

from inspector.frames import with_room
from inspector.installation import INSTALLED
from inspector.presentation.masking import masked

PIPE_CLOSED = 141
INTERRUPTED = 130
REFUSED = 2


def main(argv: list[str] | None = None) -> int:
    """Runs `argv`, by default the process's own, and returns the exit status; SystemExit of a command passes through."""
    argv = sys.argv if argv is None else argv
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "inspector.settings")
    try:
        try:
            run(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The program that was reading (head, less) has gone; Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if "--traceback" in argv:
            sys.stderr.write(masked(traceback.format_exc()))
            return REFUSED
        sentence = expected(error)
        if sentence is None and os.environ.get("DJANGO_DEBUG", "").lower() in {"1", "true", "yes", "on"}:
            sys.stderr.write(masked(traceback.format_exc()))
            return REFUSED
        sys.stderr.write(printable(sentence or unexpected(error, argv)) + "\n")
        return REFUSED
    return 0


@with_room
def run(argv: list[str]) -> None:
    """Runs Django's command line so that its errors come out as exceptions, and an unknown command as status 2."""
    from django.core.management import BaseCommand, ManagementUtility

    # What is imported lives as long as the process: the collector would look through all of it, and find nothing.
    gc.disable()

    class Commands(ManagementUtility):
        def fetch_command(self, subcommand: str) -> BaseCommand:
            try:
                return super().fetch_command(subcommand)
            except SystemExit:
                raise SystemExit(REFUSED) from None
            finally:
                gc.freeze()
                gc.enable()

    # With it Django raises a CommandError; without, it prints the error with its class and exits with 1, which here means findings.
    takes_it = len(argv) > 1 and not argv[1].startswith("-") and argv[1] not in {"help", "version"}
    Commands([*argv[:2], "--traceback", *argv[2:]] if takes_it else list(argv)).execute()


def expected(error: Exception) -> str | None:
    """The sentence for an error that a person can correct without reading code, or None."""
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("inspector"):
        then = "install Inspector again together with what it needs" if INSTALLED else "run `make venv`, then use .venv/bin/python"
        return f"The package {error.name} is not installed for {sys.executable}: {then}."
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import CommandError

        from inspector.database_problems import for_a_command
        from inspector.programs.registry import BrokenProgram
    except ImportError:
        return None
    if isinstance(error, BrokenProgram | CommandError | ImproperlyConfigured):
        return str(error) or None
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
        return f"Not all of the output was written ({error.strerror}): make room where it goes, or send it elsewhere."
    return for_a_command(error)


def unexpected(error: Exception, argv: list[str]) -> str:
    """The sentence for an error that is a fault of the program."""
    command = argv[1] if len(argv) > 1 else Path(argv[0]).name
    message = " ".join(str(error).split())[:300]
    return f"{command} failed on {type(error).__name__} ({message}): this is a fault of Inspector, so run it with --traceback and report what it prints."


def printable(text: str) -> str:
    """`text` with secrets masked and control characters escaped: parts of it come from stores, and a terminal would obey them."""
    return "".join(character if character.isprintable() or character == "\n" else ascii(character)[1:-1] for character in masked(text))
