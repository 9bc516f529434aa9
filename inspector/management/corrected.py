"""What `repair` does with a captured stream: the corrected one is shown, or written as a capture of its own."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inspector.management.answering import AnsweringCommand
from inspector.management.captured import only_stream, place_of, refuse_options, write_lines
from inspector.management.observed import PIPE
from inspector.presentation.stream.report import Json, StreamAnalysis, analysed, finding_report
from inspector.sources import captures
from inspector.sources.captures import Captures
from inspector.sources.problems import shown
from inspector.streams.captures import own
from inspector.streams.correcting import CannotCorrect, Correction, correct
from inspector.streams.corrections import STREAM_STRATEGIES
from inspector.streams.model import End, Exchange, Read, Side

CHANGED = 400
"""Characters of a change that are shown, on one line."""
STRATEGY_NAMES = tuple(strategy.name for strategy in STREAM_STRATEGIES)
EVIDENCE_SENTENCE = (
    "A capture is evidence and is never written to: --plan shows the corrected stream, --out NEW writes it as a capture of its own."
)


def repair(command: AnsweringCommand, capture: Captures, options: dict[str, Any]) -> None:
    """Shows or writes the corrected stream. Raises CommandError, SourceProblem; exits with 1 where there is nothing to do."""
    if options["apply"] or options["apply_plan"] is not None:
        raise CommandError(EVIDENCE_SENTENCE)
    options_without_meaning = {"goal": "--for", "mode": "--mode", "reader": "--reader", "leaf": "--leaf", "traces": "--traces"}
    refuse_options(options, options_without_meaning)
    for name in options["strategy"] or ():
        if name not in STRATEGY_NAMES:
            names = ", ".join(STRATEGY_NAMES)
            raise CommandError(
                f"There is no strategy {shown(name)!r} for captures: choose from {names}, or leave --strategy out for all that repair it."
            )
    oid, exchange = only_stream(capture, options["conversation"])
    before = analysed(exchange)
    try:
        correction = correct(exchange, options["accept_invented"], options["strategy"])
    except CannotCorrect as problem:
        raise CommandError(str(problem)) from None
    if not correction.used:
        for sentence in correction.refused:
            command.note(sentence)
        command.note("Nothing to do: the stream has no error that a correction repairs.")
        sys.exit(1)
    after = analysed(_with_backend(exchange, correction))
    if options["out"] == PIPE:
        if options["json"]:
            raise CommandError("--out - prints the corrected capture and nothing else: leave --json out, or name a file with --out PATH.")
        write_lines(own.written(correction.exchange), command.stdout)
        return
    if options["out"] is not None:
        captures.write_new(Path(options["out"]), own.written(correction.exchange))
    if options["json"]:
        command.say_json(correction_report(oid, before, correction, after))
        return
    _say_correction(command, oid, before, correction, after)
    if options["out"] is not None:
        command.say(f"The corrected capture is {shown(options['out'], 4096)}; {place_of(capture)} is as it was.")


def _with_backend(exchange: Exchange, correction: Correction) -> Exchange:
    """The corrected side with the backend's as it was captured, so that what is still lost against it is seen. Their order in time is not known."""
    (side,) = correction.exchange.sides
    if side is Side.BACKEND or Side.BACKEND not in exchange.sides:
        return correction.exchange

    def happenings() -> Iterator[Read | End]:
        yield from (happening for happening in exchange.happenings() if happening.side is Side.BACKEND)
        yield from correction.exchange.happenings()

    protocols = {**exchange.protocols, **correction.exchange.protocols}
    return replace(exchange, happenings=happenings, protocols=protocols, content_types={}, ordered=False, lacks=correction.exchange.lacks)


def correction_report(oid: str, before: StreamAnalysis, correction: Correction, after: StreamAnalysis) -> Json:
    return {
        "stream": oid,
        "strategies": [strategy.name for strategy in correction.used],
        "safety": sorted({mark for strategy in correction.used for mark in strategy.safety}),
        "cost": [strategy.cost for strategy in correction.used],
        "changes": [
            {
                "strategy": change.strategy,
                "event": change.event,
                "of": Side.BACKEND.value if change.restored else correction.exchange.sides[0].value,
                "before": change.before,
                "after": change.after,
            }
            for change in correction.changes
        ],
        "total": correction.total,
        "refused": list(correction.refused),
        "findings_before": [finding_report(finding) for finding in before.findings],
        "findings_after": [finding_report(finding) for finding in after.findings],
    }


def _say_correction(command: AnsweringCommand, oid: str, before: StreamAnalysis, correction: Correction, after: StreamAnalysis) -> None:
    (side,) = correction.exchange.sides
    command.say(f"The {side} side of {shown(before.exchange.native_id)} ({oid}), corrected:")
    for strategy in correction.used:
        marks = ", ".join(sorted(strategy.safety)) or "safe"
        command.say(f"  {strategy.name} ({marks}): {strategy.summary}")
        command.say(f"      cost: {strategy.cost}")
    for change in correction.changes:
        of = "backend event" if change.restored else "event"
        where = "after the events" if change.event is None else f"{of} {change.event}"
        command.say(
            f"  {where}: {shown(change.before, CHANGED) or 'nothing'} -> {shown(change.after, CHANGED) or 'nothing'} ({change.strategy})"
        )
    if correction.total > len(correction.changes):
        command.say(f"  and {correction.total - len(correction.changes):,} more changes")
    for sentence in correction.refused:
        command.say(f"  not done: {sentence}")
    for word, analysis in (("before", before), ("after", after)):
        for finding in analysis.findings:
            command.say(f"  {word}: {finding.code} {finding.rule} ({finding.severity}, {finding.side}), {finding.message}")
        if not analysis.findings:
            command.say(f"  {word}: no findings")
