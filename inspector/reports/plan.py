"""What `repair --json` says of a plan: what is approved, what it changes, and what rules and provider say before and after."""

from collections.abc import Iterator
from typing import Any

from inspector.conversation.edits import Insert, Remove, Replace, Set
from inspector.conversation.model import Chunk
from inspector.repairs.preview import Preview
from inspector.reports.scan import finding_report

Json = dict[str, Any]


def plan_report(oid: str, preview: Preview) -> Json:
    plan = preview.plan
    return {
        "conversation": oid,
        "base_digest": plan.base_digest,
        "plan_digest": preview.digest,
        "mode": plan.mode,
        "safety": sorted(plan.safety),
        "cost": list(preview.cost),
        "warnings": list(preview.warnings),
        "edits": list(_edits(preview)),
        "findings_before": [finding_report(finding) for finding in preview.before.findings],
        "findings_after": [finding_report(finding) for finding in preview.after.findings],
        "profiles": {
            preview.before.judgement.profile: {"before": preview.before.judgement.verdict, "after": preview.after.judgement.verdict}
        },
        "diff": preview.text_diff,
        "request": request_report(preview),
    }


def request_report(preview: Preview) -> Json:
    """What the plan is computed again from; `source` and `traces` are those it was made on, and `options` the rest that its digest covers."""
    plan, before = preview.plan, preview.before
    return {
        "source": plan.source,
        "format": before.case.conversation.format,
        "native_id": plan.conversation,
        "strategies": list(plan.strategies),
        "mode": plan.mode,
        "reader": before.case.reading.reader,
        "projection": before.prompt.projection,
        "profile": before.judgement.profile,
        "options": dict(plan.options),
        "traces": before.case.trace is not None,
    }


def _edits(preview: Preview) -> Iterator[Json]:
    """`seq` is the row's number before, of an inserted row the number that it gets."""
    inserted = iter([row.after for row in preview.rows if row.op == "inserted" and row.after is not None])
    for edit in preview.plan.edits:
        match edit:
            case Insert(_, chunk):
                written = next(inserted, chunk)
                yield {"op": "insert", "seq": written.seq, "before": None, "after": _chunk(written)}
            case Remove(chunk):
                yield {"op": "remove", "seq": chunk.seq, "before": _chunk(chunk), "after": None}
            case Replace(old, new):
                yield {"op": "replace", "seq": old.seq, "before": _chunk(old), "after": _chunk(new)}
            case Set(_, name, before, after):
                yield {"op": "set", "seq": None, "before": {name: before}, "after": {name: after}}


def _chunk(chunk: Chunk) -> Json:
    return {
        "role": chunk.role,
        "msgIdx": chunk.msg_idx,
        "chunkIdx": chunk.chunk_idx,
        "kind": chunk.kind.value,
        "payload": dict(chunk.payload),
    }
