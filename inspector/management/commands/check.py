"""Would the provider accept a history, and what is wrong with it: for people, build servers and agents."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.actions.own_database import refuse_own_database
from inspector.checking import Checked, History, NotAHistory, answers
from inspector.management.answering import AnsweringCommand
from inspector.management.observed import NO_SQLITE, PIPE
from inspector.management.progress import ProgressLine
from inspector.presentation.check.junit import junit_xml
from inspector.presentation.check.report import checked_lines, checked_report
from inspector.presentation.check.sarif import sarif_log
from inspector.rules.base import Severity, at_least
from inspector.sources import files
from inspector.sources.opening import MAGIC
from inspector.sources.places import is_dsn
from inspector.sources.problems import NOT_OPENED
from inspector.text import limits
from inspector.traces.model import Problem

_DESCRIPTORS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""What a shell names a pipe by, as for `<(COMMAND)`; a pipe in a folder may have no writer, and is not waited for."""
OUTPUTS = ("text", "json", "sarif", "junit")


class Command(AnsweringCommand):
    """`check FILE|FOLDER|- [--profile NAME] [--format NAME] [--reader NAME] [--output text|json|sarif|junit]`; status 1: rejected, or an error is found."""

    help = (
        "Says whether the provider would accept a history, and what is wrong with it: exit status 0 accepted and no error found, "
        "1 rejected or an error found, 2 it cannot be read."
    )

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument(
            "history", metavar="FILE", help="a request body, a session file or store, a folder of them, or - for standard input"
        )
        parser.add_argument("--profile", metavar="NAME", help="judge by this provider's rules instead of those that the history names")
        parser.add_argument("--format", metavar="NAME", help="read it as this format instead of detecting it (see `formats`)")
        parser.add_argument("--reader", metavar="NAME", help="read as this client does (see `readers`)")
        parser.add_argument("--output", choices=OUTPUTS, default="text", help="text (the default), json, sarif (2.1.0) or junit (XML)")

    def answer(self, options: dict[str, Any]) -> None:
        checked: list[Checked] = []
        problems: list[Problem] = []
        try:
            with ProgressLine() as line:
                for answer in answers(_history(options["history"]), options["profile"], options["format"], options["reader"]):
                    if isinstance(answer, Problem):
                        problems.append(answer)
                    else:
                        checked.append(answer)
                        line.show(len(checked), None)
        except NotAHistory as problem:
            raise CommandError(str(problem)) from None
        if not checked:
            empty = f"{options['history']} holds no conversations; give the file or folder that the agent really writes to."
            raise CommandError(next((problem.reason for problem in problems if problem.where == NOT_OPENED), empty))
        self._print("json" if options["json"] else options["output"], checked, problems)
        if not all(one.passes or one.unread for one in checked):
            sys.exit(1)
        if problems:
            sys.exit(2)

    def _print(self, output: str, checked: list[Checked], problems: list[Problem]) -> None:
        if output == "json":
            report = [{"where": problem.where, "reason": problem.reason} for problem in problems]
            self.say_json(
                {"passes": all(one.passes for one in checked), "histories": [checked_report(one) for one in checked], "problems": report}
            )
        elif output == "sarif":
            self.say_json(sarif_log(checked, problems))
        elif output == "junit":
            self.stdout.write(junit_xml(checked, problems))
        else:
            self._say(checked, problems)

    def _say(self, checked: list[Checked], problems: list[Problem]) -> None:
        shown = [one for one in checked if len(checked) == 1 or not one.passes or _is_worth_a_look(one)]
        for one in shown:
            for line in checked_lines(one):
                self.say(line)
        for problem in problems:
            self.note(f"Not read, {problem.where}: {problem.reason}")
        if len(checked) > 1:
            self.say(f"{sum(one.passes for one in checked):,} of {len(checked):,} conversations pass.")


def _is_worth_a_look(checked: Checked) -> bool:
    return any(at_least(finding.severity, Severity.WARNING) for finding in checked.findings)


def _history(name: str) -> History:
    """Raises CommandError."""
    if name == PIPE or (name.startswith(_DESCRIPTORS) and Path(name).is_fifo()):
        data, what = _piped(name), "Standard input" if name == PIPE else name
        if not data.strip():
            raise CommandError(f"{what} is empty: pipe a request body or a session file into it, or name a path.")
        if data.startswith(MAGIC):
            raise CommandError(NO_SQLITE)
        if len(data) > files.LIMIT:
            raise CommandError(f"{what} is over {files.LIMIT >> 20} MB: {limits.FILE_NAME} raises the limit.")
        return data
    if is_dsn(name):
        raise CommandError("`check` reads files and folders: `scan` takes the address of a database.")
    refuse_own_database(Path(name))
    return Path(name)


def _piped(name: str) -> bytes:
    """Raises CommandError."""
    if name == PIPE:
        return b"" if sys.stdin.isatty() else sys.stdin.buffer.read(files.LIMIT + 1)
    try:
        with Path(name).open("rb") as pipe:
            return pipe.read(files.LIMIT + 1)
    except OSError as error:
        raise CommandError(f"{name} could not be read ({error.strerror}): pipe it into - instead.") from None
