"""Loads stores, traces and captures into Inspector's database."""

import itertools
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from inspector.actions.import_source import import_targets, is_part
from inspector.actions.import_store import Imported
from inspector.environment import os_user
from inspector.management.answering import AnsweringCommand
from inspector.management.progress import ProgressLine
from inspector.management.target import add_target_arguments, folder_around, overlap_notes, sources_named
from inspector.models.background import judged_since
from inspector.sources.growing import whole_lines
from inspector.sources.places import place
from inspector.sources.problems import NOT_OPENED, shown
from inspector.sources.within import stores_within

_PROBLEMS_SHOWN = 5
_COUNTS = ("conversations", "chunks", "unchanged", "gone", "records", "streams", "problems")


class Command(AnsweringCommand):
    """`import_source TARGET... [--traces TARGET] [--format NAME] [--from TEXT]`; none of them where one cannot be read as anything; status 1 where something of one was not opened."""

    help = "Loads stores, trace databases, journals and captures of streams, so that pages show them and repairs can be made; the files are only read."

    queues = True
    is_part = False
    """Whether a folder that was named holds what was not opened."""

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser, several=True)
        parser.add_argument("--from", dest="came_from", metavar="TEXT", help="where these copies were taken, for people: a host and path")

        parser.add_argument(
            "--watch",
            action="store_true",
            help="go on, and import what is written to them as it comes: a line for each change, until Ctrl-C",
        )
        parser.add_argument(
            "-q", "--quiet", action="store_true", help="with --watch, only changes that bring findings, and what goes wrong"
        )

    def jobs_of(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """One for each target; one for all with traces, which belong to the stores that they are named with."""
        _refuse_conversation(options)
        if options.get("watch"):
            raise CommandError(
                "--watch goes on in this terminal, and a job ends: leave --queue out, or switch on Watched on the page of the source."
            )
        options = {**options, "operator": os_user()}
        targets = [store for path in sources_named(options["target"]) for store in self._stores(path, options["format"])]
        return [{**options, "target": targets}] if options["traces"] else [{**options, "target": [target]} for target in targets]

    def _targets(self, options: dict[str, Any]) -> list[str]:
        """The paths, each that is a part of an imported folder replaced by that folder. Raises CommandError, Missing."""
        paths = []
        for path in sources_named(options["target"]):
            around = folder_around(path)
            if around is None or options["format"] not in (None, around.format):
                paths += self._stores(path, options["format"])
                continue
            self.note(
                f"{path} is a part of {around.path}, which is imported already: that is read again, so that no conversation is listed twice."
            )
            paths.append(around.path)
        return list(dict.fromkeys(paths))

    def _stores(self, path: str, format_name: str | None) -> list[str]:
        """The paths of all stores of a folder; anything else by its own. Raises SourceProblem."""
        where = place(path)
        if not isinstance(where, Path):
            return [path]
        within = stores_within(where, format_name)
        for problem in within.skipped:
            self.note(problem.reason)
            self.is_part = self.is_part or problem.where == NOT_OPENED
        return [str(store.path) for store in within.stores]

    def answer(self, options: dict[str, Any]) -> None:
        _refuse_conversation(options)
        traces = sources_named(options["traces"])
        paths = list(dict.fromkeys([*self._targets(options), *traces]))
        begun = timezone.now()
        with ProgressLine() as line, whole_lines() if options.get("watch") else nullcontext():
            done = import_targets(
                paths,
                options.get("operator") or os_user(),
                options["format"],
                came_from=options["came_from"],
                as_traces=traces,
                part=options.get("part"),
                # A worker is one process of many.
                processes=0 if "operator" in options else None,
                report=lambda progress: line.show(progress.conversations, progress.total, progress.chunks),
            )
        if rows := list(judged_since(begun, [imported.source for imported in done])):
            # Nothing else of an import needs what pages are made of.
            from inspector.background import prepare_ahead

            prepare_ahead(rows, waits=True)
        for note in dict.fromkeys(note for imported in done for note in overlap_notes(imported.source)):
            self.note(note)
        if options.get("watch"):
            self._follow(done, options)
            return
        if options["json"]:
            self.say_json({"sources": [_report(imported) for imported in done]})
        else:
            for imported in done:
                self.say(_sentence(imported))
                for problem in [] if imported.source.is_trace else imported.source.problems[:_PROBLEMS_SHOWN]:
                    self.say(f"  Problem, {shown(problem['where'])}: {shown(problem['reason'], 600)}")
        if self.is_part or any(is_part(imported.source) for imported in done):
            sys.exit(1)

    def _follow(self, done: list[Imported], options: dict[str, Any]) -> None:
        from inspector.management.watching import follow

        def line(words: str, report: dict[str, Any]) -> None:
            self.say(json.dumps(report) if options["json"] else words)
            self.stdout.flush()

        for imported in done:
            line(_sentence(imported), _report(imported))
        if not options["json"] and not options["quiet"]:
            self.note("What is written to it is imported as it comes. Stop with Ctrl-C.")
        follow([imported.source for imported in done], line, options["quiet"], itertools.count())


def _refuse_conversation(options: dict[str, Any]) -> None:
    if options["conversation"]:
        raise CommandError("import_source loads whole stores: leave --conversation out; scan, show and repair take it.")


def _report(imported: Imported) -> dict[str, Any]:
    return {
        "id": imported.source.oid,
        "path": imported.source.path,
        "format": imported.source.format,
        **{name: getattr(imported, name) for name in _COUNTS},
    }


def _sentence(imported: Imported) -> str:
    source, same = imported.source, f", {imported.unchanged:,} as they were" if imported.unchanged else ""
    changes = same + (f", {imported.gone:,} no longer there" if imported.gone else "")
    if source.is_capture:
        return f"{source.path}: {_count(imported.streams, 'captured stream')} ({source.format}){changes}"
    if source.is_trace:
        problems = f", {imported.problems:,} of them damaged" if imported.problems else ""
        return f"{source.path}: {imported.records:,} trace records{problems} ({source.format})"
    counts = f"{_count(imported.conversations, 'conversation')}, {_count(imported.chunks, 'chunk')}"
    return f"{source.path}: {counts} ({source.format}){changes}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
