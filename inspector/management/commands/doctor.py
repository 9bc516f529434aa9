"""Every session of the supported programs on this machine: which cannot be resumed, why, and the command that repairs it."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser

from inspector.installation import program
from inspector.management.answering import AnsweringCommand
from inspector.management.caching import add_cache_argument, opened_cache, question
from inspector.management.diagnosis import Diagnosis
from inspector.management.progress import ProgressLine
from inspector.presentation.conversation.resume_state import BROKEN, DAMAGED, UNASKED, UNKNOWN
from inspector.presentation.json_text import json_fields
from inspector.presentation.visible import size
from inspector.programs.registry import programs
from inspector.sources import files, folders
from inspector.sources.homes import Extent, StorePlace, closed_places, default_places, extent
from inspector.sources.problems import CONVERSATIONS, NOT_OPENED, NotReadable, SourceProblem, shown
from inspector.text.shell_words import path_word

if TYPE_CHECKING:
    from inspector.management.target import Waiting

SHOWN = 12
"""Broken sessions that are printed for people, three lines each: one screen."""
NAMED = 3
"""Sessions with damage that a sentence names."""


@dataclass
class Survey:
    """What was seen of one place; `problem` says why nothing or not all of it was read. `repaired` are broken sessions with a repaired one next to them."""

    place: StorePlace
    extent: Extent
    broken: list[Diagnosis] = field(default_factory=list)
    sessions: int = 0
    damaged: list[Diagnosis] = field(default_factory=list)
    rejected: list[Diagnosis] = field(default_factory=list)
    """Can be resumed, and the provider rejected the last turn."""
    repaired: int = 0
    problem: str = ""
    skipped: list[str] = field(default_factory=list)
    """What else a folder holds that a person named, and why it is not read."""
    unread: list[str] = field(default_factory=list)
    """Sessions that were not read, or not whole, and what was not opened, each with the reason."""

    @property
    def not_read(self) -> list[str]:
        """Why what was not read was not, one sentence each."""
        return [*dict.fromkeys((*self.skipped, *([self.problem] if self.problem else []), *self.unread))]

    @property
    def is_clear(self) -> bool:
        """Nothing is broken, and of every session it is known."""
        return not (self.broken or self.problem or self.unread)


class Command(AnsweringCommand):
    """`doctor [FOLDER...] [--json]`; status 1 where a session cannot be resumed, or was not read."""

    help = (
        "Looks through the sessions of all supported programs on this machine, or in the folders that are named, and says which cannot be resumed, why, and "
        "the command that repairs each. It only reads: exit status 0 nothing is broken, 1 something is, or could not be read."
    )

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("folders", metavar="FOLDER", nargs="*", help="look here instead of at the default folders of the programs")
        add_cache_argument(parser)

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
            names = ", ".join(known.title for known in programs() if known.homes)
            self.say(f"No sessions are in the default folders of {names}: name another folder, as in `inspector doctor FOLDER`.")
        surveys = [part for survey in surveys for part in self._parts(survey, is_text)]
        with ProgressLine() as line:
            total = 0
            for survey in surveys:
                for _ in _examine(survey, not options["no_cache"]):
                    total += 1
                    line.show(total, None)
        if is_text:
            self._say(surveys)
        else:
            self.say_json(_report(surveys))
        if not all(survey.is_clear for survey in surveys):
            sys.exit(1)

    def _parts(self, survey: Survey, is_text: bool) -> list[Survey]:
        """One for each store of a folder that a person named, whose line is printed already; of a default place that itself. Raises CommandError."""
        place = survey.place
        if place.program or not survey.extent.files:
            return [survey]
        # All programs are loaded for it.
        from inspector.sources.within import stores_within

        try:
            within = stores_within(place.path)
            parts = [Survey(store, extent(store)) for store in within.stores]
        except SourceProblem as problem:
            raise CommandError(str(problem)) from None
        if [part.place.path for part in parts] == [place.path]:
            parts = [Survey(parts[0].place, survey.extent)]
        elif is_text:
            for part in parts[:SHOWN]:
                self._say_place(part)
            if (more := len(parts) - SHOWN) > 0:
                self.say(f"… and {more:,} more {'stores' if more > 1 else 'store'}: --json lists all.")
        parts[0].skipped = [problem.reason for problem in within.skipped]
        parts[0].unread = [problem.reason for problem in within.skipped if problem.where == NOT_OPENED]
        return parts

    def _say_place(self, survey: Survey) -> None:
        many = "file" if survey.extent.files == 1 else "files"
        name = f"{survey.place.program}: " if survey.place.program else ""
        self.say(f"{name}{shown(str(survey.place.path), 4096)}, {survey.extent.files:,} {many}, {size(survey.extent.size)}")

    def _say(self, surveys: list[Survey]) -> None:
        for survey in surveys:
            for problem in survey.not_read[:SHOWN]:
                self.say(f"Not read: {problem}")
            if (more := len(survey.not_read) - SHOWN) > 0:
                self.say(f"{_count(more)} not read, too: --json lists all.")
        sessions, repaired = (sum(getattr(survey, name) for survey in surveys) for name in ("sessions", "repaired"))
        broken = [(survey.place, one) for survey in surveys for one in survey.broken]
        if not sessions:
            if surveys and not any(survey.not_read for survey in surveys):
                self.say("No session is there.")
            return
        self.say()
        if not broken:
            # Of what was not read nobody knows.
            read = " that was read" if sessions == 1 else " that were read"
            read = read if any(survey.not_read for survey in surveys) else ""
            fine = f"All {sessions:,} sessions{read} can be resumed." if sessions > 1 else f"The one session{read} can be resumed."
            self.say(f"Each session{read.replace('were', 'was')} can be resumed, or is repaired as a new session." if repaired else fine)
        else:
            self.say(f"{len(broken):,} of {sessions:,} sessions cannot be resumed:")
        for place, one in broken[:SHOWN]:
            self.say()
            self.say(_name(place, one))
            self.say(f"  {one.why}")
            self.say(f"  {one.command or f'No command repairs it. {one.no_command}'}")
            if one.extract:
                self.say(f"  What was said, to start a new session from: {one.extract}")
        if broken:
            self.say()
        if len(broken) > SHOWN:
            self.say(f"{len(broken) - SHOWN:,} more are not shown: --json lists all.")
        if any(one.command for _, one in broken):
            self.say("A command writes with an undo; --plan in place of --apply shows the change first.")
        if repaired:
            self.say(f"{_count(repaired)} repaired as a new session already.")
        for survey in surveys:
            if survey.damaged:
                self.say(_of_damaged(survey))
            for one in survey.rejected[:SHOWN]:
                self.say(f"{shown(one.conversation, 60)}: {one.restart}")


def _name(place: StorePlace, one: Diagnosis) -> str:
    """The file below the place, which is printed above and in the command, then title and id; no id that the name of the file shows already."""
    below = os.path.relpath(one.file, place.path) if one.file else "."
    file = "" if below == "." else shown(below, 4096)
    title = f'"{shown(one.title, 60)}"' if one.title else ""
    # Where two files hold one session, the id that tells them apart names the file too.
    native_id = f"({shown(one.conversation)})" if one.conversation.partition(" ")[0] not in file else ""
    return " ".join(part for part in (file, title, native_id) if part)


def _of_damaged(survey: Survey) -> str:
    names = ", ".join(shown(one.conversation, 60) for one in survey.damaged[:NAMED])
    more = f" and {len(survey.damaged) - NAMED:,} more" if len(survey.damaged) > NAMED else ""
    count = "1 session" if len(survey.damaged) == 1 else f"{len(survey.damaged):,} sessions"
    verbs = "can be resumed and has damage" if len(survey.damaged) == 1 else "can be resumed and have damage"
    return f"{count} {verbs}: {names}{more}. What and where: {program()} scan {path_word(str(survey.place.path))}"


def _count(count: int) -> str:
    return "1 session is" if count == 1 else f"{count:,} sessions are"


def _places(named: list[str]) -> Iterator[Survey]:
    """Raises CommandError, SourceProblem."""
    if not named:
        for place in default_places():
            try:
                yield Survey(place, extent(place))
            except SourceProblem as problem:
                yield Survey(place, Extent(0, 0), problem=str(problem))
        for place in closed_places():
            yield Survey(place, Extent(0, 0), problem=str(NotReadable(place.path, "permission denied")))
    for folder in named:
        path = Path(folder)
        if not folders.is_folder(path):
            files.regular(path)
        place = StorePlace("", "", path)
        yield Survey(place, extent(place))


def _examine(survey: Survey, is_cached: bool) -> Iterator[None]:
    """One step for each session of the place. Raises CommandError for a place that a person named."""
    place = survey.place
    if not survey.extent.files:
        if not survey.problem:
            survey.unread += map(str, folders.unseen(place.path, lambda key: True))
        return
    from inspector.management.target import load_lazily

    options: dict[str, Any] = {"target": str(place.path), "format": place.format or None, "conversation": None, "traces": []}
    diagnoses: list[Diagnosis] = []
    try:
        target = load_lazily(options)
        limited = [reason for where, reason in target.problems if where == CONVERSATIONS]
        survey.problem = f"{place.path}: {limited[0]}" if limited else ""
        survey.unread += (reason for where, reason in target.problems if where == NOT_OPENED)
        with opened_cache(is_cached) as cache:
            subject = question("doctor", str(place.path), program()) if is_cached else ""
            for waiting in target.waiting:
                answer = cache.answer(f"{subject} {waiting.basis}", waiting.files, partial(_answer, waiting, str(place.path)))
                diagnoses.append(Diagnosis(**json.loads(answer)))
                yield
    except SourceProblem as problem:
        if not place.program:
            raise CommandError(str(problem)) from None
        survey.problem = str(problem)
    names = {one.conversation for one in diagnoses}
    broken = [one for one in diagnoses if one.state == BROKEN]
    survey.broken = [one for one in broken if one.new_id not in names]
    survey.unread += [f"{shown(one.file or one.conversation, 4096)} {one.unread}." for one in diagnoses if one.state == UNKNOWN]
    survey.sessions = sum(one.state not in (UNASKED, UNKNOWN) for one in diagnoses)
    survey.damaged = [one for one in diagnoses if one.state == DAMAGED]
    survey.rejected = [one for one in diagnoses if one.restart]
    survey.repaired = len(broken) - len(survey.broken)


def _answer(waiting: "Waiting", path: str) -> tuple[str, list[bytes] | None]:
    """A Diagnosis as JSON; the contents of the files where it stays true as long as they do."""
    from inspector.management.diagnosing import diagnosis

    chosen = waiting.read()
    contents = None if chosen.case().is_timed else [record.value.data for record in chosen.stored.records]
    return json.dumps(asdict(diagnosis(chosen, path))), contents


def _report(surveys: list[Survey]) -> dict[str, Any]:
    return {
        "places": [
            {
                "program": survey.place.program,
                "format": survey.place.format,
                "path": str(survey.place.path),
                **json_fields(survey, "files=extent.files bytes=extent.size sessions repaired problem skipped unread"),
                "damaged": len(survey.damaged),
                "broken": len(survey.broken),
            }
            for survey in surveys
        ],
        "broken": [
            {"program": survey.place.program, **json_fields(one, "file conversation title why command no_command extract")}
            for survey in surveys
            for one in survey.broken
        ],
    }
