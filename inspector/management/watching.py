"""`import_source --watch`: what is written to a source is imported as it comes, with a line for each change."""

import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import OperationalError

from inspector.actions import watching
from inspector.actions.problems import Refused
from inspector.models import Source, news
from inspector.models.news import Facts, Scope
from inspector.presentation.visible import visible
from inspector.programs.catalogue import UnknownFormat
from inspector.sources import watched
from inspector.sources.places import is_dsn, place
from inspector.sources.problems import SourceProblem
from inspector.watcher import AGAIN, LONGEST_AGAIN, SETTLES, SHARE

Line = Callable[[str, dict[str, Any]], None]
"""What a person reads, and the same as JSON."""


@dataclass(slots=True)
class Followed:
    """A source, and where the terminal is with it; times are of the monotonic clock."""

    source: Source
    facts: Facts
    mark: str = ""
    """Of what was imported; "" where that is to be read once more."""
    tried: str = ""
    tries: int = 0
    changed_at: float | None = None
    next_at: float = 0.0
    again_at: float = 0.0
    problem: str = ""


def follow(sources: Sequence[Source], line: Line, quiet: bool, turns: Iterable[object]) -> None:
    """Until `turns` end, or Ctrl-C. `quiet`: only what brings findings, and what goes wrong or works again."""
    followed = [Followed(source, news.facts_of(Scope("source", source.oid))) for source in sources]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for _ in turns:
            for one in followed:
                if one.next_at <= time.monotonic():
                    _look(one, line, quiet)
            time.sleep(max(0.1, min(one.next_at for one in followed) - time.monotonic()))
    except KeyboardInterrupt:
        return


def _look(one: Followed, line: Line, quiet: bool) -> None:
    began = time.monotonic()
    try:
        look = watched.look(place(one.source.path), one.source.format)
    except SourceProblem as problem:
        _say_problem(one, problem.sentence, line)
        one.next_at, one.mark = began + watching.OF_SERVERS, ""
        return
    now = time.monotonic()
    usual = watching.OF_SERVERS if is_dsn(one.source.path) else watching.OF_FILES
    one.next_at = now + max(usual, SHARE * (now - began))
    if look.mark == one.mark:
        one.changed_at = None
        return
    one.changed_at = now if one.changed_at is None else one.changed_at
    is_ready = not look.is_written(time.time_ns()) or now - one.changed_at >= SETTLES
    if not is_ready or (look.mark == one.tried and now < one.again_at):
        one.next_at = min(one.next_at, now + 0.5)
        return
    one.tries = one.tries + 1 if look.mark == one.tried else 1
    one.tried, one.changed_at = look.mark, None
    try:
        _, one.mark = watching.read_change(one.source)
        _say_news(one, line, quiet)
    except (SourceProblem, UnknownFormat, Refused) as problem:
        _say_problem(one, str(problem), line)
    except OperationalError as problem:
        _say_problem(one, f"Inspector's own database cannot be reached now ({problem}).", line)
    one.again_at = time.monotonic() + min(AGAIN * 2 ** (one.tries - 1), LONGEST_AGAIN)


def _say_news(one: Followed, line: Line, quiet: bool) -> None:
    before, one.facts = one.facts, news.facts_of(Scope("source", one.source.oid))
    words = news.news(before, one.facts)
    has_findings = one.facts["findings"] > before["findings"]
    if one.problem:
        words = ", ".join(["it can be read again", *([words] if words else [])])
    if words and (has_findings or one.problem or not quiet):
        changed = {name: one.facts[name] - before[name] for name in news.NAMES if name != "changes"}
        _say(one, words, {"news": changed, "problem": ""}, line)
    one.problem = ""


def _say_problem(one: Followed, sentence: str, line: Line) -> None:
    if sentence != one.problem:
        _say(one, sentence, {"news": {}, "problem": visible(sentence)}, line)
    one.problem = sentence


def _say(one: Followed, words: str, report: dict[str, Any], line: Line) -> None:
    now = datetime.now().astimezone()
    about = {"at": now.isoformat(timespec="seconds"), "id": one.source.oid, "path": one.source.path}
    line(f"{now:%H:%M:%S} {one.source.name}: {words}", about | report)
