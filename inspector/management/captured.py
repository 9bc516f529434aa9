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
from inspector.presentation.stream.alignment import AnswerComparison, compared_answers
from inspector.presentation.stream.lines import event_lines, line_report, text_of
from inspector.presentation.stream.repeated_requests import repeat_findings
from inspector.presentation.stream.report import (
    Json,
    StreamAnalysis,
    StreamFinding,
    analysed,
    message_report,
    stored_findings,
    stream_report,
)
from inspector.presentation.visible import visible
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
class ScannedStream:
    """A stream of the target as judged, with how stored answers differ from it."""

    oid: str
    analysis: StreamAnalysis
    comparisons: tuple[tuple[str, AnswerComparison], ...] = ()
    repeat: StreamFinding | None = None
    file: str = ""
    """The file below the folder that was scanned."""

    @property
    def stored(self) -> tuple[StreamFinding, ...]:
        side = self.analysis.main.side.value if self.analysis.main else ""
        return tuple(finding for _, comparison in self.comparisons for finding in stored_findings(comparison.differences, side))

    @property
    def findings(self) -> tuple[StreamFinding, ...]:
        return (*self.analysis.findings, *self.stored, *([self.repeat] if self.repeat else []))

    @property
    def report(self) -> Json:
        row = stream_report(self.oid, self.analysis, (*self.stored, *([self.repeat] if self.repeat else [])))
        row |= {"file": self.file} if self.file else {}
        stored = [
            {"conversation": oid, "where": comparison.where, "differences": len(comparison.differences)}
            for oid, comparison in self.comparisons
        ]
        return {**row, "stored": stored} if stored else row

    @property
    def healthy(self) -> bool:
        return not any(at_least(finding.severity, Severity.WARNING) for finding in self.findings)

    def fails(self, fail_on: str) -> bool:
        return fail_on != "never" and any(at_least(finding.severity, Severity(fail_on)) for finding in self.findings)


def picked(capture: Captures, stream_id: str | None) -> list[tuple[str, Exchange]]:
    """The exchanges with our ids, or the one that `wanted` names. Raises CommandError."""
    real = str(capture.path) if str(capture.path) == PIPE else visible(places.real(capture.path))
    streams = [(short_id(real, "stream", exchange.native_id), exchange) for exchange in capture.exchanges]
    if stream_id is None:
        return streams
    exact = [stream for stream in streams if stream_id in (stream[0], stream[1].native_id)]
    chosen = exact or [
        stream for stream in streams if stream_id and (stream[0].startswith(stream_id.lower()) or stream[1].native_id.startswith(stream_id))
    ]
    if len(chosen) != 1:
        what = f"{len(chosen)} streams whose id starts with" if chosen else "no stream"
        raise CommandError(
            f"{place_of(capture)} holds {what} {shown(stream_id)!r}; it holds {_listed(chosen or streams)}: write one of these ids."
        )
    return chosen


def only_stream(capture: Captures, stream_id: str | None) -> tuple[str, Exchange]:
    """Raises CommandError where there are several."""
    streams = picked(capture, stream_id)
    if len(streams) > 1:
        raise CommandError(f"{place_of(capture)} holds {_listed(streams)}: pick one with --conversation.")
    return streams[0]


def scan(command: AnsweringCommand, capture: Captures, options: dict[str, Any]) -> None:
    """Judges every stream of a capture. Exits with 1 at findings."""
    streams = [("", oid, exchange) for oid, exchange in picked(capture, None)]
    chosen = None if options["conversation"] is None else {oid for oid, _ in picked(capture, options["conversation"])}
    _scan(command, str(capture.path), capture.kind, streams, capture.problems, options, chosen)


def scan_folder(command: AnsweringCommand, path: Path, options: dict[str, Any]) -> None:
    """Judges every stream of the captures in a folder, as one session: the recorder writes each exchange to a file of its own. Exits with 1 at findings."""
    if options["conversation"] is not None:
        raise CommandError(f"{shown(str(path), 4096)} is a folder with captures of streams: name one of its files with --conversation.")
    streams: list[tuple[str, str, Exchange]] = []
    problems: list[Problem] = []
    for name, capture in captures_in(path):
        if isinstance(capture, SourceProblem):
            problems.append(Problem(name, capture.sentence))
            continue
        problems += [Problem(f"{name}, {problem.where}", problem.reason) for problem in capture.problems]
        streams += [(name, oid, exchange) for oid, exchange in picked(capture, None)]
    _scan(command, str(path), "captures", streams, problems, options)


def _scan(
    command: AnsweringCommand,
    path: str,
    kind: str,
    streams: Sequence[tuple[str, str, Exchange]],
    problems: Sequence[Problem],
    options: dict[str, Any],
    chosen: Collection[str] | None = None,
) -> None:
    """`every`: file, id and exchange. `chosen`: ids of those that are judged, with those that ask the same; None for all."""
    refuse_options(options, {"reader": "--reader", "profile": "--profile", "traces": "--traces"})
    digests = [request_digest(exchange.request) for _, _, exchange in streams]
    if chosen is not None:
        shared_digests = {digest for digest, (_, oid, _) in zip(digests, streams, strict=True) if digest and oid in chosen}
        kept_numbers = [number for number, (_, oid, _) in enumerate(streams) if oid in chosen or digests[number] in shared_digests]
        streams, digests = [streams[number] for number in kept_numbers], [digests[number] for number in kept_numbers]
    analyses: list[StreamAnalysis] = []
    for number, (_, _, exchange) in enumerate(streams, start=1):
        analyses.append(analysed(exchange).without_words())
        if number % 100 == 0:
            command.note(f"{number:,} of {len(streams):,} streams looked at")
    names = [name or exchange.native_id for name, _, exchange in streams]
    repeats = repeat_findings(names, digests, analyses)
    scanned = [
        ScannedStream(oid, analysis, repeat=repeats.get(number), file=name)
        for number, ((name, oid, _), analysis) in enumerate(zip(streams, analyses, strict=True))
        if chosen is None or oid in chosen
    ]
    if options["json"]:
        where = [{"where": problem.where, "reason": problem.reason} for problem in problems]
        source = {"path": path, "format": kind, "findings": [], "problems": where}
        command.say_json({"source": source, "conversations": [], "streams": [stream.report for stream in scanned]})
    else:
        for problem in problems:
            command.say(f"Problem, {shown(problem.where)}: {shown(problem.reason, 600)}")
        say_streams(command, scanned, options["fail_on"])
    if any(stream.fails(options["fail_on"]) for stream in scanned):
        sys.exit(1)


def say_streams(command: AnsweringCommand, scanned: Sequence[ScannedStream], fail_on: str) -> None:
    folds = fail_on != "note" and len(scanned) > 1
    folded = [stream for stream in scanned if folds and stream.healthy and not stream.comparisons]
    for stream in scanned:
        if not (folds and stream.healthy and not stream.comparisons):
            for line in _lines(stream):
                command.say(line)
    unread = [stream for stream in folded if _is_unread(stream.analysis)]
    for stream in unread:
        command.say(f"{stream.analysis.exchange.native_id} ({stream.oid}): {stream.analysis.verdict}")
    if len(folded) > len(unread):
        command.say(f"Nothing wrong: {len(folded) - len(unread):,} of {len(scanned):,} streams.")


def _is_unread(analysis: StreamAnalysis) -> bool:
    return bool(analysis.judged.alone) and all(side.unsupported for side in analysis.judged.alone.values())


def _lines(stream: ScannedStream) -> Iterator[str]:
    analysis = stream.analysis
    yield analysis.verdict
    title = f'  "{shown(analysis.exchange.title, 60)}"' if analysis.exchange.title not in ("", analysis.exchange.native_id) else ""
    sides = ", ".join(
        f"{side.side} {side.unsupported or side.protocol} {side.events:,} event{'s' * (side.events != 1)} (end: {side.how})"
        for side in analysis.judged.alone.values()
    )
    yield f"  {shown(stream.file or analysis.exchange.native_id)} ({stream.oid}){title}: {sides}"
    for finding in sorted(stream.findings, key=lambda finding: list(Severity).index(finding.severity)):
        visibility = "silent" if finding.silent else "raises an error"
        events = ", ".join(str(event) for event in finding.events[:EVENTS_NAMED])
        more = f" ({finding.total:,} in all)" if finding.total > len(finding.events[:EVENTS_NAMED]) else ""
        at = f", {finding.side} event {events}{more}" if events else f", {finding.side}"
        yield f"  {finding.code} {finding.rule}: {finding.severity}, {visibility}, wrong in the {finding.origin}{at}"
        yield f"      {finding.message}"
        if finding.why:
            yield f"      {finding.why}"
        if finding.fixed_in_code:
            yield f"      in code: {finding.fixed_in_code}"
        if finding.repaired_by:
            yield f"      corrected by {', '.join(finding.repaired_by)}"
    for oid, comparison in stream.comparisons:
        difference_count = (
            f"{len(comparison.differences)} difference{'s' * (len(comparison.differences) != 1)}" if comparison.differences else "the same"
        )
        yield f"  next to {comparison.where} of {oid}: {difference_count}"
    for remark in analysis.remarks:
        yield f"  {shown(remark, 600)}"
    yield ""


class Streams:
    """Captures that were named with a store: each of their streams is compared with the answers that are stored and traced."""

    def __init__(self, scanned: list[ScannedStream]) -> None:
        self.scanned = scanned

    @classmethod
    def of(cls, captures: Sequence[Captures]) -> "Streams":
        pairs = [pair for capture in captures for pair in picked(capture, None)]
        analyses = [analysed(exchange) for _, exchange in pairs]
        digests = [request_digest(exchange.request) for _, exchange in pairs]
        repeats = repeat_findings([exchange.native_id for _, exchange in pairs], digests, analyses)
        return cls([ScannedStream(oid, analyses[number], repeat=repeats.get(number)) for number, (oid, _) in enumerate(pairs)])

    def hold_against(self, chosen: Chosen) -> None:
        for number, stream in enumerate(self.scanned):
            main = stream.analysis.main
            if main is not None and main.answers:
                comparisons = compared_answers(main.answers, chosen.stored.conversation, chosen.trace)
                self.scanned[number] = replace(
                    stream, comparisons=(*stream.comparisons, *((chosen.oid, comparison) for comparison in comparisons))
                )

    @property
    def reports(self) -> list[Json]:
        return [stream.report for stream in self.scanned]

    def fail(self, fail_on: str) -> bool:
        return any(stream.fails(fail_on) for stream in self.scanned)

    def say_strangers(self, command: AnsweringCommand) -> None:
        for stream in self.scanned:
            if not stream.comparisons:
                name = shown(stream.analysis.exchange.native_id)
                command.note(f"No answer of the store begins as the stream {name} does, or shares a call with it: it is judged by itself.")


def show(command: AnsweringCommand, capture: Captures, options: dict[str, Any]) -> None:
    """Events as lines, the assembled message, or the capture in our own format. Raises CommandError."""
    refuse_options(options, {"reader": "--reader", "leaf": "--leaf", "revision": "--revision", "traces": "--traces", "trace": "--trace"})
    shape = "events" if options["shape"] == "notation" else options["shape"]
    oid, exchange = only_stream(capture, options["conversation"])
    if shape == "capture":
        if options["json"]:
            raise CommandError("--as capture is JSON lines already: leave --json out.")
        write_lines(own.written(exchange), command.stdout)
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
        command.say(f"{side.side}: {side.unsupported or side.protocol}, {side.events:,} event{'s' * (side.events != 1)}")
        for line in event_lines(analysis, side.side):
            for text in text_of(line):
                command.say(text)
    for remark in analysis.remarks:
        command.note(shown(remark, 600))


def _line_reports(analysis: StreamAnalysis) -> list[Json]:
    reports: list[Json] = []
    for side in analysis.judged.alone:
        for line in event_lines(analysis, side):
            if len(reports) < MOST_LINES:
                reports.append({"side": side.value, **line_report(line)})
    return reports


def _show_message(command: AnsweringCommand, oid: str, analysis: StreamAnalysis, is_json: bool) -> None:
    if is_json:
        command.say_json({"stream": oid, "sides": [message_report(side) for side in analysis.judged.alone.values()]})
        return
    for side in analysis.judged.alone.values():
        ends = ", ".join(f"{answer.finish or 'no finish reason'}{'' if answer.ended else ', no terminal'}" for answer in side.answers)
        command.say(f"# {side.side}: {side.unsupported or side.protocol} ({ends or 'no message'})")
        if side.answers:
            command.say(notation.dump(conversation(side.answers, analysis.exchange.native_id)).removesuffix("\n"))
        for other in side.assembled.others:
            command.say(f"# {side.side}, choice {other.choice} ({other.finish or 'no finish reason'})")
            command.say(notation.dump(conversation((other,), analysis.exchange.native_id)).removesuffix("\n"))


def refuse_options(options: dict[str, Any], named: dict[str, str]) -> None:
    """Raises CommandError for options that mean nothing for a capture."""
    given_options = [option for name, option in named.items() if options.get(name)]
    if given_options:
        raise CommandError(f"The target is a captured stream, for which {' and '.join(given_options)} means nothing: leave it out.")


def write_lines(lines: Iterator[bytes], stdout: Any) -> None:
    """Lines byte for byte on standard output."""
    raw = getattr(stdout, "buffer", None)
    if raw is None:
        for line in lines:
            getattr(stdout, "exact", stdout).write(line.decode(), ending="")
        return
    stdout.flush()
    for line in lines:
        raw.write(line)
    raw.flush()


def place_of(capture: Captures) -> str:
    return "Standard input" if str(capture.path) == PIPE else shown(str(capture.path), 4096)


def _listed(streams: Sequence[tuple[str, Exchange]]) -> str:
    names = ", ".join(f"{shown(exchange.native_id, 60)} ({oid})" for oid, exchange in streams[:NAMED])
    more = f" and {len(streams) - NAMED} more" if len(streams) > NAMED else ""
    return f"{len(streams)} stream{'s' * (len(streams) != 1)} ({names}{more})"
