"""Repairs one conversation: shows the plan, applies it to the store, or writes a repaired copy."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.actions.import_source import import_targets
from inspector.actions.planning import RepairRequest, preview_of, refuse_unread
from inspector.actions.problems import NothingToRepair, Refused
from inspector.actions.write_copy import write_repaired_copy
from inspector.actions.write_script import undo_of, write_script
from inspector.conversation.edits import Safety
from inspector.conversation.queries import span_text
from inspector.environment import os_user
from inspector.management import body_output, corrected, piped
from inspector.management.answering import AnsweringCommand
from inspector.management.applying import Applied, applied_before, apply_now
from inspector.management.observed import PIPE
from inspector.management.plan_file import read_plan, verified
from inspector.management.requesting import request_of
from inspector.management.target import Chosen, Target, add_target_arguments, folder_around, load, overlap_notes
from inspector.models.overlapping import records_in
from inspector.planning.preview import Preview
from inspector.presentation.repair.observed_rejection import observed
from inspector.presentation.repair.outcomes import outcome
from inspector.presentation.repair.plan import ending_after, ending_of_side, lost_words, not_repaired, own_members, plan_report, summary
from inspector.presentation.repair.preview_part import kept
from inspector.presentation.trace.span_words import count
from inspector.presentation.visible import beginning, visible
from inspector.profiles.catalogue import profile
from inspector.programs.formats import Scripted, mode_summary
from inspector.programs.registry import program_or_default
from inspector.readers.catalogue import reader
from inspector.rules.base import Finding, by_rule
from inspector.sources.own_program import read_only
from inspector.sources.problems import shown
from inspector.sources.reading import ACapture
from inspector.strategies.catalogue import strategy
from inspector.text.shell_words import path_word

DIFF_LINES = 400
"""Lines of a diff that are printed for a person: a repair of a long session may give each of its lines another number."""


DIFF_WIDTH = 400
"""Characters of such a line that are printed: the result of one tool may fill the screen many times."""

WRITTEN = ("reason", "incident", "reviewers")
"""Options that are kept with a repair."""


class Command(AnsweringCommand):
    """`repair TARGET (--strategy NAME... | --for PROFILE) [--mode MODE] [--leaf ENTRY] (--plan | --apply | --out PATH)`; status 1: nothing to do.

    Of a database server, or an export of one, `--out FILE.sql` is the write as a script, and FILE.undo.sql takes it back.

    Of a capture, `repair CAPTURE [--strategy NAME...] (--plan | --out NEW)`: without names, all that repairs it.

    Or `repair [TARGET] --apply-plan FILE`, where FILE is what `--plan --json` or `--out PATH --json` printed.
    """

    help = (
        "Repairs a conversation: --plan shows what would change, --apply writes it to the store (undo takes it back), --out writes a copy."
    )

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser, optional=True)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--strategy", metavar="NAME", nargs="+", action="extend", help="the strategies, in this order (see `strategies`)")
        what.add_argument("--for", dest="goal", metavar="PROFILE", help="the recommended strategies, judged by this provider's rules")
        how = parser.add_mutually_exclusive_group(required=True)
        how.add_argument("--plan", action="store_true", help="show what would change; nothing is written or imported")
        how.add_argument("--apply", action="store_true", help="import the store if need be, then propose, approve and apply as yourself")
        how.add_argument(
            "--out",
            metavar="PATH",
            help="write a repaired copy of the store to a new file, of a database server an SQL script; the store stays as it is",
        )
        how.add_argument(
            "--apply-plan", metavar="FILE", help="apply the plan that --json printed into FILE, where it comes out the same here"
        )
        parser.add_argument(
            "--mode", metavar="MODE", help="where the result goes: fork, in-place, or the format's own name (see `formats`)"
        )
        parser.add_argument("--reader", metavar="NAME", help="read as this client does (see `readers`)")
        parser.add_argument(
            "--leaf",
            metavar="ENTRY",
            default="",
            help="of a tree, repair the path to this entry, which becomes the live one (see `show --as tree`)",
        )
        parser.add_argument(
            "--reason", metavar="TEXT", default="", help="with --apply: why, for who reviews it; it is on the page of the repair"
        )
        parser.add_argument(
            "--incident",
            metavar="URL",
            default="",
            help="with --apply: a link to the incident or ticket (http or https), on the page of the repair",
        )
        parser.add_argument(
            "--reviewers", metavar="NAMES", default="", help="with --apply: who is asked to review it, with commas between the names"
        )
        parser.add_argument(
            "--accept-invented",
            action="store_true",
            help="of a capture, guess what the text of a call does not say (the types of its arguments)",
        )

    def answer(self, options: dict[str, Any]) -> None:
        if options["apply_plan"] is not None:
            self._apply_plan(options)
            return
        if options["target"] is None:
            raise CommandError("Name the store or the conversation to repair as TARGET; only --apply-plan knows it from its file.")
        if not options["apply"] and any(options[name] for name in WRITTEN):
            raise CommandError("--reason, --incident and --reviewers are kept with a repair: add --apply, or leave them out.")
        if options["out"] is not None and options["mode"]:
            raise CommandError("--out writes a copy of the store and repairs it in place: leave --mode out.")
        if options["out"] == "":
            raise CommandError("Name the new file after --out, for example repaired.db.")
        for name in options["strategy"] or ():
            if name not in corrected.STRATEGY_NAMES:
                strategy(name)
        if options["goal"]:
            profile(options["goal"])
        if options["reader"]:
            reader(options["reader"])
        try:
            target = load(options)
        except ACapture as capture:
            corrected.repair(self, capture.captures, options)
            return
        _refuse_what_is_for_captures(options)
        chosen = target.one()
        refuse_unread(chosen.conversation)
        named = chosen
        if options["apply"] and (whole := self._in_folder_around(target, chosen, options)):
            target, chosen = whole, whole.one()
        try:
            # A new session has the id that doctor expects of what it named.
            self._repair(target, chosen, request_of(named, options), options)
        except NothingToRepair as nothing:
            before = applied_before(chosen, options["strategy"], options["goal"], options["mode"]) if options["apply"] else None
            if before is None:
                self.note(str(nothing))
                sys.exit(1)
            self._say_applied(chosen, before, options["json"])

    def _in_folder_around(self, target: Target, chosen: Chosen, options: dict[str, Any]) -> Target | None:
        """The conversation as one of the imported folder that this path is a part of, read again; None where there is none. Raises SourceProblem, Refused."""
        around = None if target.is_piped or chosen.row or read_only(chosen.format.name) else folder_around(target.path)
        if around is None or around.format != chosen.format.name:
            return None
        import_targets([around.path], os_user(), around.format)
        records = records_in(around, target.real_path).filter(conversation__native_id=visible(chosen.conversation.native_id))
        oids = set(records.values_list("conversation__oid", flat=True))
        if len(oids) != 1:
            return None
        self.note(
            f"{target.path} is a part of {around.path}, which is imported already: it is repaired there, so that no conversation is listed twice."
        )
        return load({**options, "target": oids.pop(), "conversation": None, "format": None})

    def _apply_plan(self, options: dict[str, Any]) -> None:
        """Everything but the store is in the file. Raises Refused where the rows, or what follows from them, are not what it says."""
        if any(options[name] for name in ("strategy", "goal", "mode", "reader", "leaf", "conversation")):
            raise CommandError("A plan file says strategies, mode, reader, leaf and conversation itself: leave these options out.")
        plan = read_plan(options["apply_plan"])
        target = load({**options, "target": options["target"] or plan.source, "conversation": plan.native_id})
        chosen = target.one()
        self._apply(target, chosen, plan.request, options, verified(plan, chosen), is_seen=True)

    def _apply(
        self, target: Target, chosen: Chosen, request: RepairRequest, options: dict[str, Any], preview: Preview, is_seen: bool = False
    ) -> None:
        if target.is_piped:
            piped.refuse_writing()
        if reason := read_only(chosen.format.name):
            raise Refused(reason)
        # As text they are printed with the plan.
        for warning in preview.warnings if options["json"] else ():
            self.note(f"Warning: {warning}")
        written = {name: options[name] for name in WRITTEN}
        applied = apply_now(target.path, chosen, request, options["traces"], preview if is_seen else None, **written)
        for note in overlap_notes(applied.conversation.source) if chosen.row is None else ():
            self.note(note)
        self._say_applied(chosen, applied, options["json"])
        if applied.waits_at:
            raise CommandError(
                f"A second person must approve repair {applied.oid}, and nothing was written yet: send them {applied.waits_at}"
            )

    def _say_applied(self, chosen: Chosen, applied: Applied, as_json: bool) -> None:
        remains = program_or_default(applied.preview.after.case.conversation.format).repairs.follow_up(
            applied.preview.after.case.conversation
        )
        report = plan_report(applied.conversation.oid, applied.preview) | {"repair": applied.oid, "state": applied.state}
        report |= {"remains": list(remains)} if remains else {}
        if as_json:
            self.say_json(report)
            return
        self._print(chosen, applied.preview)
        self.say(applied.sentence)
        if remains:
            self.say("Follow-up:")
        for sentence in remains:
            self.say(f"  {sentence}")

    def _repair(self, target: Target, chosen: Chosen, request: RepairRequest, options: dict[str, Any]) -> None:
        if body_output.goes_here(target, options["out"]):
            self._put_body(target, chosen, request, options)
            return
        if options["apply"]:
            preview = preview_of(chosen.case(request.reader), chosen.stored, chosen.format, target.real_path, request)
            self._apply(target, chosen, request, options, preview)
            return
        if options["out"] is not None and isinstance(chosen.format, Scripted):
            self._put_script(target, chosen, request, options)
            return
        if options["out"] is not None:
            preview = write_repaired_copy(
                Path(target.path), chosen.format, chosen.case(request.reader), chosen.stored, request, Path(options["out"])
            )
        else:
            preview = preview_of(chosen.case(request.reader), chosen.stored, chosen.format, target.real_path, request)
        if options["json"]:
            self.say_json(plan_report(chosen.oid, preview))
            return
        self._print(chosen, preview, is_copy=options["out"] is not None)
        if options["out"] is not None:
            self.say(f"The repaired copy is {shown(options['out'], 4096)}; {shown(target.path, 4096)} is as it was.")

    def _put_script(self, target: Target, chosen: Chosen, request: RepairRequest, options: dict[str, Any]) -> None:
        out = Path(options["out"])
        preview = write_script(target.real_path, chosen.format, chosen.case(request.reader), chosen.stored, request, out)
        if options["json"]:
            self.say_json(plan_report(chosen.oid, preview))
            return
        self._print(chosen, preview)
        self.say(
            f"The script is {shown(str(out), 4096)}, and {shown(str(undo_of(out)), 4096)} takes it back; nothing was written to {target.real_path}. "
            f"Run it as the owner of the tables: psql -v ON_ERROR_STOP=1 -f {path_word(str(out))} DATABASE"
        )

    def _put_body(self, target: Target, chosen: Chosen, request: RepairRequest, options: dict[str, Any]) -> None:
        """What is printed with the body goes to standard error, where standard output is the body."""
        if options["json"] and options["out"] == PIPE:
            raise CommandError("--out - prints the repaired body and nothing else: leave --json out, or name a file with --out PATH.")
        preview = preview_of(chosen.case(request.reader), chosen.stored, chosen.format, target.real_path, request)
        body_output.put(body_output.repaired(chosen, preview), options["out"], self.stdout)
        if options["json"]:
            self.say_json(plan_report(chosen.oid, preview))
        elif options["out"] == PIPE:
            self.note(f"{', '.join(preview.plan.strategies)}: {count(len(preview.plan.edits), 'edit')}")
            self.note(f"{preview.after.judgement.profile}: {preview.after.judgement.verdict} after")
            for warning in preview.warnings:
                self.note(f"Warning: {warning}")
        else:
            self._print(chosen, preview, is_copy=True)
            self.say(f"The repaired body is {shown(options['out'], 4096)}.")

    def _print(self, chosen: Chosen, preview: Preview, is_copy: bool = False) -> None:
        plan, before, after = preview.plan, preview.before, preview.after
        self.say(f"{', '.join(plan.strategies)} on {shown(plan.conversation)} ({chosen.oid}), mode {plan.mode}")
        if not is_copy:
            self.say(f"  {plan.mode}: {mode_summary(chosen.format, plan.mode)}")
        self.say(f"  {summary(preview)}")
        if own := own_members(preview):
            self.say(f"  {own}")
        self.say(f"  {', '.join(sorted(plan.safety)) or 'safe: nothing is lost or invented'}")
        for line in _lines_by_rule(before.findings):
            self.say(f"  before: {line}")
        for place in _files_of_evidence(preview):
            self.say(f"  taken from: {shown(place, 4096)}")
        codes_before = {finding.code for finding in before.findings}
        for finding in after.findings:
            self.say(f"  after: {finding.code} {finding.rule} ({finding.severity}), {_where(finding)}")
            if finding.code not in codes_before:
                # New by the repair itself, as a counter above the last row is once that row is removed.
                self.say(f"      {finding.message}")
        if not after.findings:
            self.say("  after: no findings")
        if rejected := observed(preview):
            self.say(f"  observed before: {rejected.words}: {shown(' '.join(beginning(rejected.rejection.text, 400).split()), 200)}")
        by = f" as {before.case.reading.reader} reads it" if rejected else ""
        self.say(f"  {before.judgement.profile}{by}: {before.judgement.verdict} before, {after.judgement.verdict} after")
        self.say(f"  next request: {outcome(ending_of_side(before), ending_after(preview)).text}")
        if lost := lost_words(preview, not_repaired(preview)):
            self.say(f"  stays lost: what {lost} reports; the new conversation is written without it")
        for version in rejected.versions if rejected else ():
            self.say(f"  as {version.reader} reads it (--reader): {version.before.verdict} before, {version.after.verdict} after")
        for cost in preview.cost:
            self.say(f"  cost: {cost}")
        if not is_copy and Safety.LOSSY in plan.safety:
            self.say(f"  cost: {kept(preview).sentence}")
        for warning in preview.warnings:
            self.say(f"  warning: {warning}")
        lines = preview.shown_diff.split("\n")
        for line in lines[:DIFF_LINES]:
            self.say(line if len(line) <= DIFF_WIDTH else f"{beginning(line, DIFF_WIDTH)}…")
        if len(lines) > DIFF_LINES:
            self.say(f"… and {len(lines) - DIFF_LINES:,} more lines of the diff: --plan --json prints all of it.")
        elif any(len(line) > DIFF_WIDTH for line in lines):
            self.say("Long lines of the diff are cut off: --plan --json prints all of it.")


def _refuse_what_is_for_captures(options: dict[str, Any]) -> None:
    """Raises CommandError, UnknownStrategy."""
    if options["accept_invented"]:
        raise CommandError(
            "--accept-invented is for captures: the synthetic content of a repair of a conversation is in its plan, and is approved with it."
        )
    if not options["strategy"] and not options["goal"]:
        raise CommandError("Say what to do with --strategy NAME (`strategies` lists them), or --for PROFILE for what is recommended.")
    for name in options["strategy"] or ():
        strategy(name)


def _lines_by_rule(results: Sequence[Finding]) -> list[str]:
    return [f"{group[0].code} {group[0].rule} ({group[0].severity}), {_places(group)}" for group in by_rule(results)]


def _places(group: list[Finding]) -> str:
    if len(group) == 1:
        return _where(group[0])
    seqs = sorted({seq for finding in group for seq in finding.seqs})
    return f"{sum(finding.times for finding in group):,} times: seq {span_text(seqs)}"


def _files_of_evidence(preview: Preview) -> list[str]:
    """Other files that what the plan repairs is known from, each once."""
    repaired = [finding for finding in preview.before.findings if not set(finding.repaired_by).isdisjoint(preview.plan.strategies)]
    return list(dict.fromkeys(value for finding in repaired for label, value in finding.evidence if label == "file"))


def _where(finding: Finding) -> str:
    return f"seq {span_text(finding.seqs)}" if finding.seqs else "the conversation"
