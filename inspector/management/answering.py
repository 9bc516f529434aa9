"""What every command shares: --json, safe text on standard output, and refusals as one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from inspector.actions.problems import Refused
from inspector.conversation.edits import EditMismatch
from inspector.presentation.json_text import json_text
from inspector.presentation.masked_json import masked_output
from inspector.presentation.masking import masked, replaced, revealing, secrets_in
from inspector.presentation.secret_structures import LONGEST
from inspector.presentation.visible import visible
from inspector.programs.formats import WriteRefused
from inspector.sources.problems import SourceProblem, Unfinished, without_password
from inspector.text.unknown import UnknownName

if TYPE_CHECKING:
    from inspector.actions.settling import Interrupted

_MASKED = "Secrets are masked in what was printed. --reveal prints them; the audit log keeps that."
_MUCH = 1 << 16
"""Characters that are printed together."""
_OF_JSON = ("{}", "[]", '""')
"""How an answer begins and ends that is masked by itself, so that it stays JSON."""
_SENTENCES = (Refused, SourceProblem, WriteRefused, EditMismatch, UnknownName)


@contextmanager
def refusals() -> Iterator[None]:
    """Named conditions as CommandError, which the command line prints as it is and answers with status 2."""
    try:
        yield
    except _SENTENCES as problem:
        raise CommandError(without_password(str(problem))) from problem


def _named(target: str | list[str] | None) -> list[str]:
    return [target] if isinstance(target, str) else list(target or ())


def _settled(targets: list[str]) -> "list[Interrupted]":
    # With it come all actions, and a command that names no store needs none.
    from inspector.actions.settling import settle_source

    return [interruption for name in targets for interruption in settle_source(name)]


class MaskedOutput:
    """What a command prints, whoever prints it: masked. `exact` is for bytes that were asked for as they are, such as a repaired body.

    Lines are `joined` before they are masked, since a key and a block of YAML have several: what was printed is shown when the command ends, when it
    flushes, or when there is much of it.
    """

    def __init__(self, exact: Any, joined: bool = False) -> None:
        self.exact = exact
        self.masked = 0
        self._joined = joined
        self._waiting: list[str] = []
        self._size = 0

    def write(self, text: str = "", *arguments: Any, ending: str | None = None, **named: Any) -> None:
        ends = text.strip()[:1] + text.strip()[-1:]
        if not self._joined or ends in _OF_JSON:
            self._show(len(self._waiting))
            shown = masked_output(text)
            self.masked += shown != text
            self.exact.write(shown, *arguments, ending=ending, **named)
            return
        ending = self.exact.ending if ending is None else ending
        self._waiting.append(text if text.endswith(ending) else text + ending)
        self._size += len(self._waiting[-1])
        if self._size > _MUCH:
            self._show(0)

    def flush(self) -> None:
        self._show(len(self._waiting))
        self.exact.flush()

    def _show(self, all_of: int) -> None:
        """All that waits, or, for 0, as much as no secret can begin in that goes on."""
        text = "".join(self._waiting)
        spans = secrets_in(text)
        end = len(text) if all_of else text.rfind("\n", 0, max(0, len(text) - LONGEST)) + 1
        end = min((span.start for span in spans if span.start < end < span.end), default=end)
        shown = replaced(text[:end], [span for span in spans if span.end <= end])
        self.masked += shown != text[:end]
        self._waiting = [text[end:]] if text[end:] else []
        self._size = len(text) - end
        if shown:
            self.exact.write(shown, ending="")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.exact, name)


class AnsweringCommand(BaseCommand):
    """A command of ours: subclasses declare arguments in `declare` and do their work in `answer`."""

    # The checks are about serving pages, and their warnings would appear between the lines of an answer.
    requires_system_checks = []
    reveal_help = "show secrets as they are stored, not masked; the audit log keeps who asked"
    queues = False
    """Whether a worker may do it as well: what it does may be done again, and needs nobody at a terminal."""
    # Django's own options would be half of every --help.
    suppressed_base_arguments = {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        self.declare(parser)
        if self.queues:
            from inspector.management.queueing import HELP

            parser.add_argument("--queue", action="store_true", help=HELP)
        parser.add_argument("--json", action="store_true", help="print the answer as JSON")
        if any(action.dest == "target" for action in parser._actions):
            parser.add_argument("--reveal", "--exact", action="store_true", dest="reveal", help=self.reveal_help)

    def handle(self, *args: Any, **options: Any) -> None:
        if options.get("reveal"):
            self._record_reveal(options)
            with revealing():
                self._handle(options)
            return
        out, err = MaskedOutput(self.stdout, joined=True), MaskedOutput(self.stderr)
        self.stdout, self.stderr = out, err  # type: ignore[assignment]
        try:
            self._handle(options)
        finally:
            out.flush()
            if out.masked and "reveal" in options:
                err.exact.write(_MASKED)
            self.stdout, self.stderr = out.exact, err.exact

    def _record_reveal(self, options: dict[str, Any]) -> None:
        from inspector.actions import audit
        from inspector.environment import os_user

        name = type(self).__module__.rpartition(".")[2]
        audit.record(os_user(), "reveal", command=name, target=[masked(target) for target in _named(options.get("target"))])

    def _handle(self, options: dict[str, Any]) -> None:
        if options.get("queue"):
            with refusals():
                self.queue(options)
            return
        targets = _named(options.get("target"))
        interrupted = _settled(targets) if targets else []
        for interruption in interrupted:
            if not interruption.hides_store:
                self.note(interruption.sentence)
        with refusals():
            try:
                self.answer(options)
            except Unfinished:
                for interruption in interrupted:
                    raise Refused(interruption.sentence) from None
                raise

    def queue(self, options: dict[str, Any]) -> None:
        """What `--queue` does instead of `answer`: a job for each of `jobs_of`, and their numbers as the answer."""
        from inspector.management.queueing import queued

        name = type(self).__module__.rpartition(".")[2]
        numbers = [queued(name, one) for one in self.jobs_of(options)]
        if options["json"]:
            self.say_json({"jobs": numbers})
            return
        for number in numbers:
            self.say("It waits in the queue already." if number is None else f"Job {number} waits for a worker.")

    def jobs_of(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """The options of each job that `--queue` makes."""
        return [options]

    def declare(self, parser: CommandParser) -> None:
        """The command's own arguments."""

    def answer(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def say(self, text: str = "") -> None:
        """A part of the answer. What would drive a terminal is written as its escape."""
        self.stdout.write(visible(text))

    def say_json(self, value: Any) -> None:
        self.stdout.write(json_text(value))

    def note(self, text: str) -> None:
        """Progress and hints: standard error."""
        self.stderr.write(visible(text))
