"""A plan that was saved as JSON and is carried to its store: read, computed again, and compared."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inspector.actions.planning import RepairRequest, mode_named, preview_of
from inspector.actions.problems import NothingToRepair, Refused
from inspector.management.target import Chosen
from inspector.planning.preview import Preview, digest
from inspector.presentation.json_text import json_text
from inspector.presentation.masked_json import masked_output
from inspector.presentation.masking import without_digits
from inspector.presentation.repair.plan import plan_report
from inspector.sources import files
from inspector.sources.problems import shown
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable

PIPE = "-"
_LIMIT = 1 << 28
_MAX_STRATEGIES = 100
"""More than the catalogue has, and few enough to be computed at once."""
_NAMES = ("format", "mode", "reader", "projection", "profile")
_TEXTS = ("source", "native_id", *_NAMES)
_MAX_NAME = 200
# What a person reads of what will be written: a file in which it was changed is not the plan that it says it is.
_SHOWN = ("mode", "safety", "cost", "warnings", "edits", "diff", "profiles")


@dataclass(frozen=True, slots=True)
class PlanFile:
    """`content` is the whole file; `source` is the path of the store that the plan was made on, which its digest covers."""

    source: str
    format: str
    native_id: str
    request: RepairRequest
    base_digest: str
    plan_digest: str
    with_traces: bool
    content: Mapping[str, Any]


def read_plan(name: str) -> PlanFile:
    """From a file, or standard input for `-`. Raises CommandError, SourceProblem."""
    if not name:
        raise CommandError("Name the plan file after --apply-plan, or - for standard input.")
    data = sys.stdin.buffer.read(_LIMIT + 1) if name == PIPE else files.read_bytes(Path(name), _LIMIT)
    place = "Standard input" if name == PIPE else shown(name, 4096)
    try:
        content = jsontext.parse(jsontext.decode(data))
    except Unreadable as problem:
        raise CommandError(f"{place} is no plan ({problem.reason}): save one with repair ... --plan --json.") from None
    plan = _plan(content) if len(data) <= _LIMIT else None
    if plan is None:
        raise CommandError(f"{place} is no plan that can be computed again: save one with repair ... --plan --json, and leave it as it is.")
    return plan


def _plan(content: Any) -> PlanFile | None:
    """None where a field is missing or of another type."""
    fields = content.get("request") if isinstance(content, dict) else None
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in _TEXTS):
        return None
    if not all(0 < len(fields[name]) <= _MAX_NAME for name in _NAMES) or not isinstance(fields.get("traces"), bool):
        return None
    names, options, digests = fields.get("strategies"), fields.get("options"), (content.get("base_digest"), content.get("plan_digest"))
    if not isinstance(names, list) or len(names) > _MAX_STRATEGIES or not isinstance(options, dict):
        return None
    if not all(isinstance(text, str) for text in (*names, *options.values(), *digests)):
        return None
    request = RepairRequest(tuple(names), fields["mode"], fields["reader"], fields["projection"], fields["profile"], options)
    return PlanFile(fields["source"], fields["format"], fields["native_id"], request, *digests, fields["traces"], content)


def verified(plan: PlanFile, chosen: Chosen) -> Preview:
    """The plan computed again on the rows of `chosen`, where it comes out as the file has it; else raises Refused.

    The path that the file names replaces the real one, since the digest covers it and a plan may be made on a copy.
    """
    mode_named(chosen.format, None)
    if chosen.format.name != plan.format:
        raise Refused(
            f"The plan is for a store of the format {shown(plan.format)}, and this is one of {chosen.format.name}: name the store it is for."
        )
    if digest(chosen.stored) != plan.base_digest:
        raise Refused(
            f"The store holds other rows of {shown(plan.native_id)} than those that this plan was made on: make the plan again on a fresh copy."
        )
    mode_named(chosen.format, plan.request.mode)
    try:
        preview = preview_of(chosen.case(plan.request.reader), chosen.stored, chosen.format, plan.source, plan.request)
        same = preview.digest == plan.plan_digest and _as_read(plan_report("", preview)) == _as_read(plan.content)
    except (NothingToRepair, KeyError, ValueError):
        same = False
    if not same:
        traces = " It was made with traces: name them with --traces." if plan.with_traces and chosen.trace is None else ""
        raise Refused(
            f"The plan comes out otherwise than the file says, so the file was changed or another version of Inspector made it: make it again.{traces}"
        )
    return preview


def _as_read(report: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from a file: numbers that JSON cannot carry are null there, and secrets are masked, with the key of the machine that printed it.

    The digest covers what is under the masks.
    """
    back: dict[str, Any] = json.loads(without_digits(masked_output(json_text({name: report.get(name) for name in _SHOWN}))))
    return back
