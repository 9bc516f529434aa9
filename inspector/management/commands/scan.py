"""Looks for damage in a store, without changing or importing it."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any

from django.core.management.base import CommandParser

from inspector.checking import line_numbers
from inspector.conversation.queries import span_text
from inspector.management import captured
from inspector.management.answering import AnsweringCommand
from inspector.management.caching import add_cache_argument, opened_cache, question
from inspector.management.progress import ProgressLine
from inspector.management.target import Chosen, Waiting, add_target_arguments, load_lazily
from inspector.planning.suggested import suggested
from inspector.presentation.conversation.message_counts import counted, message_counts
from inspector.presentation.conversation.recorded_errors import recorded_errors
from inspector.presentation.conversation.resume_state import DAMAGED, RESUMED, UNKNOWN, WORDS
from inspector.presentation.conversation.resuming import is_accepted, obstacle, restart_of, resume_state
from inspector.presentation.conversation.scan import conversation_report, source_report
from inspector.presentation.conversation.verdict import verdict
from inspector.presentation.json_text import json_text
from inspector.presentation.visible import beginning, visible
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import PROFILES, profile
from inspector.profiles.judging import judged
from inspector.programs.registry import wire_of
from inspector.projections.base import Prompt
from inspector.rules.base import Case, Finding, Severity, at_least, by_rule, findings, rank
from inspector.rules.catalogue import RULES
from inspector.sources import spool as spooling
from inspector.sources.problems import NOT_OPENED, shown
from inspector.sources.reading import ACapture, FolderOfCaptures
from inspector.strategies.catalogue import strategy

RECORDED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Examined:
    oid: str
    case: Case
    findings: list[Finding]
    judgements: dict[str, Judgement]
    verdict: str
    state: str
    sendable: bool
    own_profile: str
    usual: Judgement
    prompt: Prompt
    lines: Mapping[int, int]
    """By seq the line of the file, of the first place of each finding; of a store that is no file none."""

    @property
    def danger(self) -> tuple[object, ...]:
        """Most dangerous first, as in the inbox; among equals the one with more findings."""
        return (*(rank(self.findings[0])[:2] if self.findings else (9, False)), -len(self.findings), self.oid)

    @property
    def healthy(self) -> bool:
        """Nothing at warning or above, and the next request can be sent."""
        return (
            self.sendable
            and not self.case.reading.failure
            and not recorded_errors(self.case)
            and not any(at_least(finding.severity, Severity.WARNING) for finding in self.findings)
        )


@dataclass(frozen=True, slots=True)
class SpooledReport:
    """What stays of a conversation that was examined, and where its report is. A server may hold more than memory does."""

    danger: tuple[object, ...]
    healthy: bool
    count: int
    fails: bool
    place: spooling.Place


class Command(AnsweringCommand):
    """`scan TARGET [--reader NAME] [--profile NAME|all]... [--fail-on SEVERITY]`; status 1 when a finding is at or above that."""

    help = "Says what is damaged in the conversations of a store, what their client makes of it, and what the next request will do."

    queues = True

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        parser.add_argument("--reader", metavar="NAME", help="read as this client does (see `readers`)")
        parser.add_argument(
            "--profile", metavar="NAME", action="append", default=[], help="judge by this provider's rules, or `all`; may be repeated"
        )
        parser.add_argument(
            "--fail-on",
            choices=[*(severity.value for severity in Severity), "never"],
            default="error",
            help="exit with 1 when a finding is at least this severe, or when the next request is rejected (default: error); never: with 0",
        )
        parser.add_argument(
            "--all",
            action="store_true",
            help="print every finding, instead of the first of each rule and how many there are; --json has all",
        )
        add_cache_argument(parser)

    def answer(self, options: dict[str, Any]) -> None:
        names = list(dict.fromkeys(_profile_names(options["profile"])))
        try:
            target = load_lazily(options)
        except ACapture as capture:
            captured.scan(self, capture.captures, options)
            return
        except FolderOfCaptures as capture:
            captured.scan_folder(self, Path(str(capture.path)), options)
            return
        streams = captured.Streams.of(target.captures)
        # A stream is compared with what the store holds of it, so that each conversation has to be read.
        is_cached = not (options["no_cache"] or target.captures)
        with spooling.spool() as spool:
            reports: list[SpooledReport] = []
            with ProgressLine() as line, opened_cache(is_cached) as cache:
                subject = (
                    question("scan", options["reader"], names, options["json"], options["fail_on"], options["all"]) if is_cached else ""
                )
                for number, waiting in enumerate(target.waiting, start=1):
                    answer = cache.answer(f"{subject} {waiting.basis}", waiting.files, partial(_answer, waiting, streams, options, names))
                    danger, healthy, count, fails, text = json.loads(answer)
                    reports.append(SpooledReport(tuple(danger), healthy, count, fails, spool.put(text)))
                    line.show(number, target.total)
            # Nothing is printed before the last one was read: a connection that is lost in the middle leaves one sentence.
            if options["json"]:
                problems = [{"where": where, "reason": reason} for where, reason in target.problems]
                source = {**source_report(target.path, target.format), "problems": problems}
                if target.stores:
                    source["stores"] = [{"path": path, "format": name} for path, name in target.stores]
                self._print_json({"source": source, "conversations": [], "streams": streams.reports}, reports, spool)
            else:
                if target.stores:
                    every = shown(", ".join(f"{path} ({name})" for path, name in target.stores), 4096)
                    self.say(f"{shown(target.path, 4096)} holds {len(target.stores)} stores, and all are read: {every}.")
                for where, reason in target.problems:
                    self.say(f"Problem, {shown(where)}: {shown(reason, 600)}")
                self._print(target.path, reports, options["fail_on"], spool)
                captured.say_streams(self, streams.scanned, options["fail_on"])
        streams.say_strangers(self)
        is_whole = options["fail_on"] == "never" or all(where != NOT_OPENED for where, _ in target.problems)
        if not is_whole or any(report.fails for report in reports) or streams.fail(options["fail_on"]):
            sys.exit(1)

    def _print(self, path: str, reports: list[SpooledReport], fail_on: str, spool: spooling.Spool) -> None:
        if not reports:
            self.say(f"{path} holds no conversations.")
        folds = fail_on != "note" and len(reports) > 1
        folded = [report for report in reports if folds and report.healthy]
        for report in sorted((report for report in reports if not (folds and report.healthy)), key=lambda report: report.danger):
            self.stdout.write(spool.get(report.place))
        if folded:
            notes = sum(report.count for report in folded)
            more = f" ({notes:,} notes on them; --fail-on note shows them)" if notes else ""
            self.say(f"Healthy: {len(folded):,} of {len(reports):,} conversations{more}.")

    def _print_json(self, around: dict[str, Any], reports: list[SpooledReport], spool: spooling.Spool) -> None:
        """The same text as of the whole value at once, conversation by conversation."""
        if not reports:
            self.say_json(around)
            return
        before, _, after = json_text(around).rpartition('"conversations": []')
        self.stdout.write(f'{before}"conversations": [', ending="\n")
        for number, report in enumerate(reports, start=1):
            self.stdout.write(indent(spool.get(report.place), "    "), ending=",\n" if number < len(reports) else "\n")
        self.stdout.write(f"  ]{after}")


def _lines(examined: Examined, prints_all: bool) -> Iterator[str]:
    """The report on one conversation for people."""
    conversation = examined.case.conversation
    title = f' "{shown(conversation.title, 60)}"' if conversation.title else ""
    state = "" if wire_of(conversation.format) else f" {WORDS[examined.state]}"
    yield f"{shown(conversation.native_id)} ({examined.oid}){title}{state}: {examined.verdict}"
    if prints_all:
        counts = counted(message_counts(examined.case, examined.prompt))
        yield f"  {len(conversation.chunks):,} chunks, {counts}, as {examined.case.reading.reader} reads them"
    groups = [[finding] for finding in examined.findings] if prints_all else by_rule(examined.findings)
    for group in groups:
        yield from _of_group(group, examined.lines)
    for recorded in recorded_errors(examined.case, examined.findings)[:RECORDED_SHOWN]:
        belongs = ", ".join(name for name in (recorded.rule, recorded.provider_rule) if name)
        yield f"  recorded at {shown(recorded.where)}: {shown(' '.join(beginning(recorded.text, 400).split()), 200)}"
        at = f", found at {recorded.fires}" if recorded.fires else ", not found in what is stored now" if recorded.rule else ""
        yield f"      {recorded.means}{f' ({belongs}{at})' if belongs else ''}"
    if examined.state in (RESUMED, DAMAGED) and (restart := restart_of(examined.case, examined.findings)):
        yield f"      {restart}"
    if examined.own_profile not in examined.judgements:
        for note in examined.usual.notes:
            yield f"  {note}"
    for name, judgement in examined.judgements.items():
        yield f"  {name}: {judgement.verdict}"
        for violation in judgement.violations[:5]:
            yield f"      {violation.path} seq {span_text(violation.seqs)}: {violation.text}"
        # Who asks for another provider's rules knows that the model is not of that one.
        for note in judgement.notes if name == examined.own_profile else ():
            yield f"      {note}"
    yield ""


def _of_group(group: list[Finding], lines: Mapping[int, int]) -> Iterator[str]:
    """Findings of one rule: how many, the first of them, and what repairs them."""
    first = group[0]
    times = sum(finding.times for finding in group)
    more = f" ({first.total:,} in all)" if first.total > len(first.seqs) else ""
    where = f"seq {span_text(first.seqs)}{more}" if first.seqs else "the conversation"
    line = next((f", line {lines[seq]:,}" for seq in first.seqs[:1] if seq in lines), "")
    effect = "silent" if first.silent else "raises an error"
    count = f"{times:,} times, the first at " if len(group) > 1 else ""
    yield f"  {first.code} {first.rule}: {first.severity}, {effect}, wrong in the {first.origin}, {count}{where}{line}"
    yield f"      {first.message}"
    names = dict.fromkeys(name for finding in group for name in finding.repaired_by)
    if names:
        yield f"      repaired by {', '.join(_with_safety(name) + _share(name, group) for name in names)}"
    elif first.no_repair_reason:
        yield f"      {first.no_repair_reason}"


def _share(name: str, group: list[Finding]) -> str:
    count = sum(name in finding.repaired_by for finding in group)
    return "" if count == len(group) else f" {count:,} of them"


def _answer(waiting: Waiting, streams: captured.Streams, options: dict[str, Any], names: list[str]) -> tuple[str, list[bytes] | None]:
    """The members of a SpooledReport and its text, as JSON; the contents of the files where it stays true as long as they do."""
    chosen = waiting.read()
    streams.hold_against(chosen)
    examined = _examine(chosen, options["reader"], names)
    if options["json"]:
        details = (examined.findings, examined.judgements, examined.verdict, examined.prompt, examined.usual)
        text = json_text(conversation_report(examined.oid, examined.case, *details))
    else:
        text = "\n".join(visible(line) for line in _lines(examined, options["all"])) + "\n"
    answer = json.dumps([examined.danger, examined.healthy, len(examined.findings), _fails(examined, options["fail_on"]), text])
    return answer, None if examined.case.is_timed else [record.value.data for record in chosen.stored.records]


def _with_safety(name: str) -> str:
    marks = sorted(strategy(name).safety)
    return f"{name} ({', '.join(marks)})" if marks else name


def _profile_names(options: list[str]) -> list[str]:
    return [name for option in options for name in ([entry.name for entry in PROFILES] if option == "all" else [profile(option).name])]


def _examine(chosen: Chosen, reader: str | None, names: list[str]) -> Examined:
    case = chosen.case(reader)
    results = list(suggested(case, findings(case, RULES), chosen.stored))
    prompt, usual = judged(case.reading, case.conversation, chosen.profile, chosen.projection)
    judgements = {name: judged(case.reading, case.conversation, name, chosen.projection)[1] for name in names}
    sendable = is_accepted(case, usual) and all(judgement.sendable for judgement in judgements.values())
    state = resume_state(case, results, usual)
    seqs = {seq for finding in results for seq in finding.seqs[:1]}
    lines = line_numbers(case.tree or case.conversation, chosen.stored, seqs)[1]
    return Examined(
        chosen.oid, case, results, judgements, verdict(case, results, usual).text, state, sendable, chosen.profile, usual, prompt, lines
    )


def _fails(examined: Examined, fail_on: str) -> bool:
    """What the provider rejects fails whatever the severity of the rule behind it is, and so does what was not read whole: nobody knows."""
    if fail_on == "never":
        return False
    is_severe = any(at_least(finding.severity, Severity(fail_on)) for finding in examined.findings)
    return is_severe or examined.state == UNKNOWN or obstacle(examined.case, examined.findings, examined.usual) is not None
