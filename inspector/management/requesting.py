"""The repair that the options of a command ask for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from inspector.actions.planning import RepairRequest, at_leaf, refuse_doubles, request_for
from inspector.actions.problems import NothingToRepair
from inspector.management.target import Chosen
from inspector.models import Source
from inspector.planning.recommend import sequence
from inspector.planning.suggested import suggested
from inspector.programs.catalogue import NEW_FILE_ONLY
from inspector.programs.formats import Scripted
from inspector.rules.base import Finding, Severity, at_least, by_rule, findings
from inspector.rules.catalogue import RULES


def request_of(chosen: Chosen, options: Mapping[str, Any]) -> RepairRequest:
    """Raises Refused (no such mode), NothingToRepair."""
    reader_name = options["reader"] or chosen.reader
    names = options["strategy"] or _recommended(chosen, reader_name, options["goal"], options["leaf"])
    source = chosen.row.source if chosen.row else _unsaved(chosen)
    is_copy = options["out"] is not None and chosen.format.name not in NEW_FILE_ONLY and not isinstance(chosen.format, Scripted)
    mode = "in-place" if is_copy else options["mode"]
    request = request_for(source, chosen.stored, names, mode, reader_name, chosen.native_ids, options["leaf"])
    return replace(request, profile=options["goal"]) if options["goal"] else request


def _recommended(chosen: Chosen, reader_name: str, goal: str, leaf: str) -> list[str]:
    """Raises NothingToRepair, with the reason where something is refused and nothing can repair it."""
    refuse_doubles(chosen.stored)
    case = at_leaf(chosen.case(reader_name), leaf)
    reported = findings(case, RULES)
    recommendation = sequence(case, reported, goal, chosen.projection)
    names = [recommended.name for recommended in recommendation.candidate.strategies]
    if recommendation.why_not and (not names or not case.program.repairs.rules_first):
        partly = f" What repairs the rest: --strategy {' '.join(names)}." if names else ""
        raise NothingToRepair(f"{recommendation.why_not}{partly}")
    if not names:
        choices = " ".join(_choices(suggested(case, reported, chosen.stored)))
        rest = (
            f"what rules report is yours to choose, with --strategy. {choices}"
            if choices
            else "no rule reports anything at warning or above."
        )
        raise NothingToRepair(f"Nothing to do for {goal}: no known rule of it refuses the next request; {rest}")
    return names


def _choices(reported: Iterable[Finding]) -> Iterator[str]:
    """What repairs each that is at warning or above, or why nothing does."""
    for group in by_rule(finding for finding in reported if at_least(finding.severity, Severity.WARNING)):
        names = list(dict.fromkeys(name for finding in group for name in finding.repaired_by))
        repairs = f"{' or '.join(names)}." if names else group[0].no_repair_reason or "no strategy repairs it."
        yield f"{group[0].code} {group[0].rule}: {repairs}"


def _unsaved(chosen: Chosen) -> Source:
    return Source(format=chosen.format.name, reader=chosen.reader, projection=chosen.projection, profile=chosen.profile)
