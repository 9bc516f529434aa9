"""Looks for damage in a store, without changing or importing it."""

import sys
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandParser

from inspector.conversation.queries import span_text
from inspector.detectors.base import Case, Finding, Severity, at_least, findings, rank
from inspector.detectors.catalogue import RULES
from inspector.management.answering import AnsweringCommand
from inspector.management.target import Chosen, add_target_arguments, load
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import PROFILES, profile
from inspector.profiles.judging import judged
from inspector.repairs.catalogue import strategy
from inspector.reports.recorded_errors import recorded_errors
from inspector.reports.scan import conversation_report, source_report
from inspector.reports.verdict import verdict
from inspector.sources.problems import shown

MANY = 100
RECORDED_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Examined:
    oid: str
    case: Case
    findings: list[Finding]
    asked: dict[str, Judgement]
    verdict: str
    sendable: bool
    own_profile: str
    usual: Judgement

    @property
    def healthy(self) -> bool:
        """Nothing at warning or above, and the next request can be sent."""
        return (
            self.sendable
            and not self.case.reading.failure
            and not recorded_errors(self.case)
            and not any(at_least(found.severity, Severity.WARNING) for found in self.findings)
        )


class Command(AnsweringCommand):
    """`scan TARGET [--reader NAME] [--profile NAME|all]... [--fail-on SEVERITY]`; status 1 when a finding is at or above that."""

    help = "Says what is damaged in the conversations of a store, what their client makes of it, and what the next request will do."

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
            help="exit with 1 when a finding is at least this severe (default: error)",
        )

    def answer(self, options: dict[str, Any]) -> None:
        names = list(dict.fromkeys(_profile_names(options["profile"])))
        target = load(options)
        examined: list[Examined] = []
        for number, chosen in enumerate(target.conversations, start=1):
            examined.append(_examine(chosen, options["reader"], names))
            if number % MANY == 0:
                self.note(f"{number:,} of {len(target.conversations):,} conversations looked at")
        if options["json"]:
            problems = [{"where": where, "reason": reason} for where, reason in target.problems]
            reports = [conversation_report(each.oid, each.case, each.findings, each.asked, each.verdict, each.usual) for each in examined]
            self.say_json(
                {"source": {**source_report(target.path, target.format), "problems": problems}, "conversations": reports, "streams": []}
            )
        else:
            for where, reason in target.problems:
                self.say(f"Problem, {shown(where)}: {shown(reason, 600)}")
            self._print(target.path, examined, options["fail_on"])
        if _fails(examined, options["fail_on"]):
            sys.exit(1)

    def _print(self, path: str, examined: list[Examined], fail_on: str) -> None:
        if not examined:
            self.say(f"{path} holds no conversations.")
        folds = fail_on != "note" and len(examined) > 1
        folded = [each for each in examined if folds and each.healthy]
        for each in sorted((each for each in examined if not (folds and each.healthy)), key=_danger):
            self._print_one(each)
        if folded:
            notes = sum(len(each.findings) for each in folded)
            more = f" ({notes:,} notes on them; --fail-on note shows them)" if notes else ""
            self.say(f"Healthy: {len(folded):,} of {len(examined):,} conversations{more}.")

    def _print_one(self, each: Examined) -> None:
        conversation = each.case.conversation
        self.say(each.verdict)
        title = f'  "{shown(conversation.title, 60)}"' if conversation.title else ""
        counts = (
            f"{len(conversation.chunks):,} chunks, {len(each.case.messages):,} messages stored, "
            f"{len(each.case.reading.messages):,} as {each.case.reading.reader} reads them"
        )
        self.say(f"  {shown(conversation.native_id)} ({each.oid}){title}: {counts}")
        for found in each.findings:
            loud = "silent" if found.silent else "loud"
            more = f" ({found.total:,} in all)" if found.total > len(found.seqs) else ""
            where = f"seq {span_text(found.seqs)}{more}" if found.seqs else "the conversation"
            self.say(f"  {found.code} {found.rule}: {found.severity}, {loud}, fault of the {found.fault}, {where}")
            self.say(f"      {found.message}")
            if found.repaired_by:
                self.say(f"      repaired by {', '.join(_with_safety(name) for name in found.repaired_by)}")
        for recorded in recorded_errors(each.case, each.findings)[:RECORDED_SHOWN]:
            belongs = ", ".join(name for name in (recorded.rule, recorded.provider_rule) if name)
            self.say(f"  recorded at {shown(recorded.where)}: {shown(' '.join(recorded.text[:400].split()), 200)}")
            self.say(f"      {recorded.means}{f' ({belongs})' if belongs else ''}")
        if each.own_profile not in each.asked:
            for note in each.usual.notes:
                self.say(f"  {note}")
        for name, judgement in each.asked.items():
            self.say(f"  {name}: {judgement.verdict}")
            for violation in judgement.violations[:5]:
                self.say(f"      {violation.path} seq {span_text(violation.seqs)}: {violation.text}")
            # Who asks for another provider's rules knows that the model is not of that one.
            for note in judgement.notes if name == each.own_profile else ():
                self.say(f"      {note}")
        self.say()


def _with_safety(name: str) -> str:
    marks = sorted(strategy(name).safety)
    return f"{name} ({', '.join(marks)})" if marks else name


def _danger(each: Examined) -> tuple[object, ...]:
    """Most dangerous first, as in the inbox; among equals the one with more findings."""
    return (*(rank(each.findings[0])[:2] if each.findings else (9, False)), -len(each.findings), each.oid)


def _profile_names(asked: list[str]) -> list[str]:
    return [name for each in asked for name in ([found.name for found in PROFILES] if each == "all" else [profile(each).name])]


def _examine(chosen: Chosen, reader: str | None, names: list[str]) -> Examined:
    case = chosen.case(reader)
    found = findings(case, RULES)
    _, usual = judged(case.reading, case.conversation, chosen.profile, chosen.projection)
    asked = {name: judged(case.reading, case.conversation, name, chosen.projection)[1] for name in names}
    sendable = usual.sendable and all(each.sendable for each in asked.values())
    return Examined(chosen.oid, case, found, asked, verdict(case, found, usual), sendable, chosen.profile, usual)


def _fails(examined: list[Examined], fail_on: str) -> bool:
    return fail_on != "never" and any(at_least(found.severity, Severity(fail_on)) for each in examined for found in each.findings)
