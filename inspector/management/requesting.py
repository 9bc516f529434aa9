"""The repair that the options of a command ask for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inspector.actions.planning import RepairRequest, at_leaf, refuse_doubles, request_for
from inspector.actions.problems import NothingToRepair
from inspector.management.target import Chosen
from inspector.models import Source
from inspector.planning.recommend import sequence
from inspector.programs.catalogue import NEW_FILE_ONLY
from inspector.programs.formats import Scripted
from inspector.rules.base import findings
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
    recommendation = sequence(case, findings(case, RULES), goal, chosen.projection)
    names = [recommended.name for recommended in recommendation.candidate.strategies]
    if recommendation.why_not and (not names or not case.program.repairs.rules_first):
        partly = f" What repairs the rest: --strategy {' '.join(names)}." if names else ""
        raise NothingToRepair(f"{recommendation.why_not}{partly}")
    if not names:
        raise NothingToRepair(f"Nothing to do: no known rule of {goal} refuses it, and no rule names a strategy at warning or above.")
    return names


def _unsaved(chosen: Chosen) -> Source:
    return Source(format=chosen.format.name, reader=chosen.reader, projection=chosen.projection, profile=chosen.profile)
