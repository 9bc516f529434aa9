"""What commands do with captured streams: scan them, show one, write a corrected one."""

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inspector.conversation import notation
from inspector.management.answering import AnsweringCommand
from inspector.management.observed import PIPE
from inspector.management.target import Chosen
from inspector.models.identity import short_id
from inspector.reports.repeated_requests import repeat_findings
from inspector.reports.stream_alignment import Beside, beside
from inspector.reports.stream_lines import event_lines, line_report, text_of
from inspector.reports.stream_report import Analysis, Json, StreamFinding, analysed, message_report, stored_findings, stream_report
from inspector.reports.visible import visible
from inspector.rules.base import Severity, at_least
from inspector.sources import places
from inspector.sources.captures import Captures
from inspector.sources.problems import SourceProblem, shown
from inspector.sources.reading import captures_in
from inspector.streams.captures import own
from inspector.streams.model import Exchange
from inspector.streams.repeated_requests import request_digest
from inspector.streams.to_conversation import conversation
from inspector.traces.model import Problem

NAMED = 5
EVENTS_NAMED = 5
MOST_LINES = 100_000
"""Lines of `show --json`; the text has no limit."""


@dataclass(frozen=True, slots=True)
class Looked:
    """A stream of the target as judged, with how stored answers part from it."""

    oid: str
    analysis: Analysis
    besides: tuple[tuple[str, Beside], ...] = ()
    repeat: StreamFinding | None = None
    file: str = ""
    """The file below the folder that was scanned."""

    @property
    def stored(self) -> tuple[StreamFinding, ...]:
        side = self.analysis.main.side.value if self.analysis.main else ""
        return tuple(found for _, each in self.besides for found in stored_findings(each.differences, side))

    @property
    def findings(self) -> tuple[StreamFinding, ...]:
        return (*self.analysis.findings, *self.stored, *([self.repeat] if self.repeat else []))

    @property
    def report(self) -> Json:
        found = stream_report(self.oid, self.analysis, (*self.stored, *([self.repeat] if self.repeat else [])))
        found |= {"file": self.file} if self.file else {}
        stored = [{"conversation": oid, "where": each.where, "differences": len(each.differences)} for oid, each in self.besides]
        return {**found, "stored": stored} if stored else found

    @property
    def healthy(self) -> bool:
        return not any(at_least(found.severity, Severity.WARNING) for found in self.findings)

    def fails(self, fail_on: str) -> bool:
        return fail_on != "never" and any(at_least(found.severity, Severity(fail_on)) for found in self.findings)


def picked(found: Captures, wanted: str | None) -> list[tuple[str, Exchange]]:
    """The exchanges with our ids, or the one that `wanted` names. Raises CommandError."""
    real = str(found.path) if str(found.path) == PIPE else visible(places.real(found.path))
    every = [(short_id(real, "stream", exchange.native_id), exchange) for exchange in found.exchanges]
    if wanted is None:
        return every
    exact = [each for each in every if wanted in (each[0], each[1].native_id)]
    chosen = exact or [each for each in every if wanted and (each[0].startswith(wanted.lower()) or each[1].native_id.startswith(wanted))]
    if len(chosen) != 1:
        what = f"{len(chosen)} streams whose id starts with" if chosen else "no stream"
        raise CommandError(
            f"{place_of(found)} holds {what} {shown(wanted)!r}; it holds {_listed(chosen or every)}: write one of these ids."
        )
    return chosen


def one(found: Captures, wanted: str | None) -> tuple[str, Exchange]:
    """Raises CommandError where there are several."""
    every = picked(found, wanted)
    if len(every) > 1:
        raise CommandError(f"{place_of(found)} holds {_listed(every)}: pick one with --conversation.")
    return every[0]


def scan(command: AnsweringCommand, found: Captures, options: dict[str, Any]) -> None:
    """Judges every stream of a capture. Exits with 1 at findings."""
    every = [("", oid, exchange) for oid, exchange in picked(found, None)]
    chosen = None if options["conversation"] is None else {oid for oid, _ in picked(found, options["conversation"])}
    _scan(command, str(found.path), found.kind, every, found.problems, options, chosen)


def scan_folder(command: AnsweringCommand, path: Path, options: dict[str, Any]) -> None:
    """Judges every stream of the captures in a folder, as one session: the recorder writes each exchange to a file of its own. Exits with 1 at findings."""
    if options["conversation"] is not None:
        raise CommandError(f"{shown(str(path), 4096)} is a folder with captures of streams: name one of its files with --conversation.")
    every: list[tuple[str, str, Exchange]] = []
    problems: list[Problem] = []
    for name, found in captures_in(path):
        if isinstance(found, SourceProblem):
            problems.append(Problem(name, found.sentence))
            continue
        problems += [Problem(f"{name}, {problem.where}", problem.reason) for problem in found.problems]
        every += [(name, oid, exchange) for oid, exchange in picked(found, None)]
    _scan(command, str(path), "captures", every, problems, options)


def _scan(
    command: AnsweringCommand,
    path: str,
    kind: str,
    every: Sequence[tuple[str, str, Exchange]],
    problems: Sequence[Problem],
    options: dict[str, Any],
    chosen: Collection[str] | None = None,
) -> None:
    """`every`: file, id and exchange. `chosen`: ids of those that are judged, with those that ask the same; None for all."""
    refuse_options(options, {"reader": "--reader", "profile": "--profile", "traces": "--traces"})
    digests = [request_digest(exchange.request) for _, _, exchange in every]
    if chosen is not None:
        asked_alike = {digest for digest, (_, oid, _) in zip(digests, every, strict=True) if digest and oid in chosen}
        kept = [number for number, (_, oid, _) in enumerate(every) if oid in chosen or digests[number] in asked_alike]
        every, digests = [every[number] for number in kept], [digests[number] for number in kept]
    analyses: list[Analysis] = []
    for number, (_, _, exchange) in enumerate(every, start=1):
        analyses.append(analysed(exchange).without_words())
        if number % 100 == 0:
            command.note(f"{number:,} of {len(every):,} streams looked at")
    names = [name or exchange.native_id for name, _, exchange in every]
    repeats = repeat_findings(names, digests, analyses)
    looked = [
        Looked(oid, analysis, repeat=repeats.get(number), file=name)
        for number, ((name, oid, _), analysis) in enumerate(zip(every, analyses, strict=True))
        if chosen is None or oid in chosen
    ]
    if options["json"]:
        where = [{"where": problem.where, "reason": problem.reason} for problem in problems]
        source = {"path": path, "format": kind, "findings": [], "problems": where}
        command.say_json({"source": source, "conversations": [], "streams": [each.report for each in looked]})
    else:
        for problem in problems:
            command.say(f"Problem, {shown(problem.where)}: {shown(problem.reason, 600)}")
        say_streams(command, looked, options["fail_on"])
    if any(each.fails(options["fail_on"]) for each in looked):
        sys.exit(1)


def say_streams(command: AnsweringCommand, looked: Sequence[Looked], fail_on: str) -> None:
    folds = fail_on != "note" and len(looked) > 1
    folded = [each for each in looked if folds and each.healthy and not each.besides]
    for each in looked:
        if not (folds and each.healthy and not each.besides):
            for line in _lines(each):
                command.say(line)
    unread = [each for each in folded if _is_unread(each.analysis)]
    for each in unread:
        command.say(f"{each.analysis.exchange.native_id} ({each.oid}): {each.analysis.verdict}")
    if len(folded) > len(unread):
        command.say(f"Nothing wrong: {len(folded) - len(unread):,} of {len(looked):,} streams.")


def _is_unread(analysis: Analysis) -> bool:
    return bool(analysis.judged.alone) and all(side.unsupported for side in analysis.judged.alone.values())


def _lines(each: Looked) -> Iterator[str]:
    analysis = each.analysis
    yield analysis.verdict
    title = f'  "{shown(analysis.exchange.title, 60)}"' if analysis.exchange.title not in ("", analysis.exchange.native_id) else ""
    sides = ", ".join(
        f"{side.side} {side.unsupported or side.dialect} {side.events:,} event{'s' * (side.events != 1)} (end: {side.how})"
        for side in analysis.judged.alone.values()
    )
    yield f"  {shown(each.file or analysis.exchange.native_id)} ({each.oid}){title}: {sides}"
    for found in sorted(each.findings, key=lambda found: list(Severity).index(found.severity)):
        loud = "silent" if found.silent else "loud"
        events = ", ".join(str(event) for event in found.events[:EVENTS_NAMED])
        more = f" ({found.total:,} in all)" if found.total > len(found.events[:EVENTS_NAMED]) else ""
        at = f", {found.side} event {events}{more}" if events else f", {found.side}"
        yield f"  {found.code} {found.rule}: {found.severity}, {loud}, origin: {found.origin}{at}"
        yield f"      {found.message}"
        if found.why:
            yield f"      {found.why}"
        if found.fixed_in_code:
            yield f"      in code: {found.fixed_in_code}"
        if found.repaired_by:
            yield f"      corrected by {', '.join(found.repaired_by)}"
    for oid, other in each.besides:
        parts = f"{len(other.differences)} difference{'s' * (len(other.differences) != 1)}" if other.differences else "the same"
        yield f"  beside {other.where} of {oid}: {parts}"
    for remark in analysis.remarks:
        yield f"  {shown(remark, 600)}"
    yield ""


class Streams:
    """Captures that were named beside a store: each of their streams is held against the answers that are stored and traced."""

    def __init__(self, looked: list[Looked]) -> None:
        self.looked = looked

    @classmethod
    def of(cls, found: Sequence[Captures]) -> "Streams":
        every = [pair for each in found for pair in picked(each, None)]
        analyses = [analysed(exchange) for _, exchange in every]
        digests = [request_digest(exchange.request) for _, exchange in every]
        repeats = repeat_findings([exchange.native_id for _, exchange in every], digests, analyses)
        return cls([Looked(oid, analyses[number], repeat=repeats.get(number)) for number, (oid, _) in enumerate(every)])

    def hold_against(self, chosen: Chosen) -> None:
        for number, each in enumerate(self.looked):
            main = each.analysis.main
            if main is not None and main.answers:
                found = beside(main.answers, chosen.stored.conversation, chosen.trace)
                self.looked[number] = replace(each, besides=(*each.besides, *((chosen.oid, one) for one in found)))

    @property
    def reports(self) -> list[Json]:
        return [each.report for each in self.looked]

    def fail(self, fail_on: str) -> bool:
        return any(each.fails(fail_on) for each in self.looked)

    def say_strangers(self, command: AnsweringCommand) -> None:
        for each in self.looked:
            if not each.besides:
                name = shown(each.analysis.exchange.native_id)
                command.note(f"No answer of the store begins as the stream {name} does, or shares a call with it: it is judged by itself.")


def show(command: AnsweringCommand, found: Captures, options: dict[str, Any]) -> None:
    """Events as lines, the assembled message, or the capture in our own format. Raises CommandError."""
    refuse_options(options, {"reader": "--reader", "leaf": "--leaf", "revision": "--revision", "traces": "--traces", "trace": "--trace"})
    shape = "events" if options["shape"] == "notation" else options["shape"]
    oid, exchange = one(found, options["conversation"])
    if shape == "capture":
        if options["json"]:
            raise CommandError("--as capture is JSON lines already: leave --json out.")
        put(own.written(exchange), command.stdout)
        return
    if shape not in ("events", "message"):
        raise CommandError("A captured stream is shown --as events (the default), message or capture: it is no stored conversation.")
    analysis = analysed(exchange)
    if shape == "message":
        _show_message(command, oid, analysis, options["json"])
        return
    if options["json"]:
        command.say_json({**stream_report(oid, analysis), "lines": _line_reports(analysis)})
        return
    command.say(analysis.verdict)
    for side in analysis.judged.alone.values():
        command.say(f"{side.side}: {side.unsupported or side.dialect}, {side.events:,} event{'s' * (side.events != 1)}")
        for line in event_lines(analysis, side.side):
            for text in text_of(line):
                command.say(text)
    for remark in analysis.remarks:
        command.note(shown(remark, 600))


def _line_reports(analysis: Analysis) -> list[Json]:
    found: list[Json] = []
    for side in analysis.judged.alone:
        for line in event_lines(analysis, side):
            if len(found) < MOST_LINES:
                found.append({"side": side.value, **line_report(line)})
    return found


def _show_message(command: AnsweringCommand, oid: str, analysis: Analysis, is_json: bool) -> None:
    if is_json:
        command.say_json({"stream": oid, "sides": [message_report(side) for side in analysis.judged.alone.values()]})
        return
    for side in analysis.judged.alone.values():
        ends = ", ".join(f"{answer.finish or 'no finish reason'}{'' if answer.ended else ', no terminal'}" for answer in side.answers)
        command.say(f"# {side.side}: {side.unsupported or side.dialect} ({ends or 'no message'})")
        if side.answers:
            command.say(notation.dump(conversation(side.answers, analysis.exchange.native_id)).removesuffix("\n"))
        for other in side.assembled.others:
            command.say(f"# {side.side}, choice {other.choice} ({other.finish or 'no finish reason'})")
            command.say(notation.dump(conversation((other,), analysis.exchange.native_id)).removesuffix("\n"))


def refuse_options(options: dict[str, Any], named: dict[str, str]) -> None:
    """Raises CommandError for options that mean nothing for a capture."""
    given = [spelled for name, spelled in named.items() if options.get(name)]
    if given:
        raise CommandError(f"The target is a captured stream, for which {' and '.join(given)} means nothing: leave it out.")


def put(lines: Iterator[bytes], stdout: Any) -> None:
    """Lines byte for byte on standard output."""
    raw = getattr(stdout, "buffer", None)
    if raw is None:
        for line in lines:
            stdout.write(line.decode(), ending="")
        return
    stdout.flush()
    for line in lines:
        raw.write(line)
    raw.flush()


def place_of(found: Captures) -> str:
    return "Standard input" if str(found.path) == PIPE else shown(str(found.path), 4096)


def _listed(every: Sequence[tuple[str, Exchange]]) -> str:
    named = ", ".join(f"{shown(exchange.native_id, 60)} ({oid})" for oid, exchange in every[:NAMED])
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return f"{len(every)} stream{'s' * (len(every) != 1)} ({named}{more})"
