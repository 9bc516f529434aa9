"""Every session of the supported programs on this machine: which cannot be resumed, why, and the command that repairs it."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.management.progress import ProgressLine
from inspector.presentation.json_text import json_fields
from inspector.presentation.visible import size
from inspector.programs.registry import programs
from inspector.sources.homes import Extent, StorePlace, default_places, extent
from inspector.sources.problems import Missing, SourceProblem, shown

if TYPE_CHECKING:
    from inspector.management.diagnosing import Diagnosis

SHOWN = 12
"""Broken sessions that are printed for people, three lines each: one screen."""


@dataclass
class Survey:
    """What was seen of one place; `problem` says why nothing or not all of it was read."""

    place: StorePlace
    extent: Extent
    diagnoses: "list[Diagnosis]" = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    problem: str = ""


class Command(AnsweringCommand):
    """`doctor [FOLDER...] [--json]`; status 1 where a session cannot be resumed."""

    help = (
        "Looks through the sessions of all supported programs on this machine, or in the folders that are named, and says which cannot be resumed, why, and "
        "the command that repairs each. It only reads: exit status 0 nothing is broken, 1 something is."
    )

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("folders", metavar="FOLDER", nargs="*", help="look here instead of at the default folders of the programs")

    def answer(self, options: dict[str, Any]) -> None:
        surveys: list[Survey] = []
        is_text = not options["json"]
        for survey in _places(options["folders"]):
            surveys.append(survey)
            if is_text:
                self._say_place(survey)
                # Before anything is read: who reads this may stop it.
                self.stdout.flush()
        if not surveys and is_text:
            names = ", ".join(program.title for program in programs() if program.homes)
            self.say(f"No sessions are in the default folders of {names}: name another folder, as in `inspector doctor FOLDER`.")
        with ProgressLine() as line:
            total = 0
            for survey in surveys:
                for _ in _examine(survey):
                    total += 1
                    line.show(total, None)
        if is_text:
            self._say(surveys)
        else:
            self.say_json(_report(surveys))
        if any(survey.counts.get("broken") for survey in surveys):
            sys.exit(1)

    def _say_place(self, survey: Survey) -> None:
        many = "file" if survey.extent.files == 1 else "files"
        name = f"{survey.place.program}: " if survey.place.program else ""
        self.say(f"{name}{shown(str(survey.place.path), 4096)}, {survey.extent.files:,} {many}, {size(survey.extent.size)}")

    def _say(self, surveys: list[Survey]) -> None:
        for survey in surveys:
            if survey.problem:
                self.say(f"Not read: {survey.problem}")
        sessions, broken, damaged, repaired = (_total(surveys, *states) for states in _STATES)
        if not sessions:
            return
        self.say()
        if not broken:
            self.say(f"All {sessions:,} sessions can be resumed." if sessions > 1 else "The one session can be resumed.")
        else:
            self.say(f"{broken:,} of {sessions:,} sessions cannot be resumed:")
        listed = [(survey, one) for survey in surveys for one in survey.diagnoses if one.state == "broken"]
        for _, one in listed[:SHOWN]:
            title = f' "{shown(one.title, 60)}"' if one.title else ""
            self.say()
            self.say(f"{shown(one.file, 4096)}{title} ({shown(one.conversation)})")
            self.say(f"  {one.why}")
            self.say(f"  {one.command or f'No command repairs it. {one.no_command}'}")
        if broken:
            self.say()
        if len(listed) > SHOWN:
            self.say(f"{len(listed) - SHOWN:,} more are not shown: --json lists all.")
        if any(one.command for _, one in listed):
            self.say("A command writes with an undo; --plan in place of --apply shows the change first.")
        if repaired:
            self.say(f"{_count(repaired)} repaired as a new session already.")
        if damaged:
            self.say(f"{_count(damaged)} damaged and can be resumed all the same: `inspector scan` on the folder says where.")


def _count(count: int) -> str:
    return "1 session is" if count == 1 else f"{count:,} sessions are"


_STATES = (("resumable", "damaged", "broken", "repaired"), ("broken",), ("damaged",), ("repaired",))


def _total(surveys: list[Survey], *states: str) -> int:
    return sum(survey.counts.get(state, 0) for survey in surveys for state in states)


def _places(folders: list[str]) -> Iterator[Survey]:
    """Raises CommandError, SourceProblem."""
    if not folders:
        for place in default_places():
            try:
                yield Survey(place, extent(place))
            except SourceProblem as problem:
                yield Survey(place, Extent(0, 0), problem=str(problem))
    for folder in folders:
        path = Path(folder)
        if not path.exists():
            raise Missing(path)
        place = StorePlace("", "", path)
        yield Survey(place, extent(place))


def _examine(survey: Survey) -> "Iterator[Diagnosis]":
    """Each session of the place, as it is looked at."""
    from inspector.management.diagnosing import diagnosis
    from inspector.management.target import load_lazily

    place = survey.place
    if not survey.extent.files:
        return
    options: dict[str, Any] = {"target": str(place.path), "format": place.format or None, "conversation": None, "traces": []}
    try:
        target = load_lazily(options)
        for chosen in target.conversations:
            one = diagnosis(chosen, str(place.path))
            survey.counts[one.state] = survey.counts.get(one.state, 0) + 1
            if one.state in ("broken", "repaired"):
                survey.diagnoses.append(one)
            yield one
    except SourceProblem as problem:
        if not place.program:
            raise CommandError(str(problem)) from None
        survey.problem = str(problem)


def _report(surveys: list[Survey]) -> dict[str, Any]:
    return {
        "places": [
            {
                "program": survey.place.program,
                "format": survey.place.format,
                "path": str(survey.place.path),
                **json_fields(survey.extent, "files size"),
                "sessions": _total([survey], *_STATES[0]),
                **{state: survey.counts.get(state, 0) for state in ("broken", "damaged", "repaired")},
                "problem": survey.problem,
            }
            for survey in surveys
        ],
        "broken": [
            {"program": survey.place.program, **json_fields(one, "file conversation title why command no_command")}
            for survey in surveys
            for one in survey.diagnoses
            if one.state == "broken"
        ],
    }
