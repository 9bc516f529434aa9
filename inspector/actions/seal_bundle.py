"""Seals one conversation with its evidence: exact records, archives, trace, findings and repairs, in a file that can be imported again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import inspector
from inspector import bundle
from inspector.access.context import everything
from inspector.access.permits import permit
from inspector.actions import audit
from inspector.actions.planning import preview_repair
from inspector.actions.problems import Refused
from inspector.models import Conversation, Repair, loading
from inspector.models.transactions import one_snapshot
from inspector.planning.suggested import suggested
from inspector.presentation.conversation import scan
from inspector.presentation.conversation.revision_content import identity_of
from inspector.presentation.conversation.verdict import verdict
from inspector.presentation.masked_json import masked_bytes
from inspector.presentation.repair import plan
from inspector.profiles.judging import judged
from inspector.programs.formats import Stored
from inspector.programs.sealed import is_sealed
from inspector.rules.base import Case, findings
from inspector.rules.catalogue import RULES
from inspector.sources import bundles
from inspector.traces.walk import records as records_of

REPAIRS_KEPT = 20
ARCHIVES_KEPT = 20

Find = Callable[[str], Stored | None]


def seal_imported(conversation: Conversation, masked: bool, operator: str) -> bytes:
    """The newest revision of an imported conversation as a bundle; the audit log keeps that it was taken. Raises TooLargeToSeal, Refused."""
    permit("export" if masked else "reveal", conversation)
    with everything(), one_snapshot():
        row = Conversation.objects.select_related("source").get(pk=conversation.pk)
        data = _sealed(row, masked)
    audit.record(
        operator, "seal", source_path=row.source.path, conversation=row.oid, masked=masked, bytes=len(data), sha256=bundle.digest(data)
    )
    return data


def _sealed(conversation: Conversation, masked: bool) -> bytes:
    source = conversation.source
    origin = origin_of(source.path, source.format, int(source.read_at.timestamp() * 1000), source.reader, source.projection, source.profile)
    stored = loading.stored(conversation)

    def find(native_id: str) -> Stored | None:
        row = loading.present_conversation(source, native_id)
        return loading.stored(row) if row else None

    case = loading.case(conversation, source.reader)
    return seal_case(conversation.oid, case, stored, origin, masked, find, _repairs(conversation), conversation.identity)


def seal_case(
    oid: str,
    case: Case,
    stored: Stored,
    origin: bundle.BundleOrigin,
    masked: bool,
    find: Find,
    repairs: list[dict[str, Any]],
    identity: str = "",
) -> bytes:
    """`case` is that of `stored`; `find` gives another conversation of the same source by its id; `identity` is what shared links call it.

    Raises TooLargeToSeal, Refused.
    """
    if is_sealed(origin.format):
        raise Refused("This conversation comes out of an evidence bundle already: hand over that file itself.")
    chain, names = [stored], {stored.conversation.native_id}
    # What was compacted twice names the archive before it: together they are the whole conversation.
    while (native_id := chain[-1].conversation.fact("compactedFrom")) and native_id not in names and len(chain) <= ARCHIVES_KEPT:
        archive = find(native_id)
        if archive is None:
            break
        chain.append(archive)
        names.add(native_id)
    trace = None if case.trace is None else tuple(records_of(case.trace))
    bodies = {}
    for name in {record.body for record in trace or () if record.body is not None}:
        data = case.trace.bodies(name) if case.trace else None
        if data is not None:
            bodies[name] = data
    own = identity_of(stored.conversation)
    # What the sealed records themselves give is not written next to them.
    kept = (identity or own) if masked or identity not in ("", own) else ""
    sealed = bundle.Sealed(origin, tuple(chain), trace, bodies, case.bleeding, kept)
    members = bundle.seal(sealed, {"findings": _findings(oid, case, origin), "repairs": repairs}, masked_bytes if masked else None)
    return bundles.pack(members, Path(origin.path))


def origin_of(path: str, format_name: str, read_at: int, reader_name: str, projection_name: str, profile_name: str) -> bundle.BundleOrigin:
    return bundle.BundleOrigin(path, format_name, read_at, reader_name, projection_name, profile_name, f"inspector {inspector.__version__}")


def _findings(oid: str, case: Case, origin: bundle.BundleOrigin) -> dict[str, Any]:
    results = findings(case, RULES)
    prompt, judgement = judged(case.reading, case.conversation, origin.profile, origin.projection)
    return scan.conversation_report(
        oid, case, suggested(case, results), {origin.profile: judgement}, verdict(case, results, judgement).text, prompt
    )


def _repairs(conversation: Conversation) -> list[dict[str, Any]]:
    """The newest repairs, each with its plan where that still comes out of the revision that it was made on."""
    reports = []
    for repair in Repair.objects.filter(conversation=conversation).select_related("conversation__source").order_by("-pk")[:REPAIRS_KEPT]:
        try:
            planned = plan.plan_report(conversation.oid, preview_repair(repair))
        except Refused as problem:
            planned = {"error": str(problem)}
        times = {name: value.isoformat() if (value := getattr(repair, name)) else None for name in _TIMES}
        facts = {name: getattr(repair, name) for name in _FACTS}
        reports.append({"repair": repair.oid, **facts, **times, "plan": planned})
    return reports


_TIMES = ("proposed_at", "approved_at", "applied_at", "undone_at")
_FACTS = (
    *("state", "outcome", "revision", "strategies", "mode", "reader", "base_digest", "plan_digest", "rehearsal"),
    *("proposed_by", "approved_by", "applied_by", "undone_by"),
)
