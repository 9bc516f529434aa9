"""What `scan --json` says: sources, conversations, findings and judgements, in the shape that scripts rely on."""

from collections.abc import Iterable, Mapping
from typing import Any

from inspector.profiles.answering import own_profile
from inspector.profiles.anthropic import ANTHROPIC_PROFILE
from inspector.profiles.base import Judgement
from inspector.projections.base import Prompt
from inspector.reports.message_counts import message_counts
from inspector.reports.recorded_errors import Recorded, recorded_errors
from inspector.rules.base import Case, Finding

Json = dict[str, Any]

TEXT_SHOWN = 2000


def source_report(path: str, format: str, findings: Iterable[Finding] = ()) -> Json:
    return {"path": path, "format": format, "findings": [finding_report(finding) for finding in findings]}


def conversation_report(
    oid: str,
    case: Case,
    findings: Iterable[Finding],
    judgements: Mapping[str, Judgement],
    verdict: str,
    prompt: Prompt,
    usual: Judgement | None = None,
) -> Json:
    """`judgements` are those that were asked for, by profile; `prompt` is the next request; `usual` gave the verdict, and is named where it is not that
    of the format."""
    found = list(findings)
    _, why = own_profile(case.conversation, ANTHROPIC_PROFILE.name)
    judged_by = {"judged_by": {"profile": usual.profile, "why": why}} if usual and why and why in usual.notes else {}
    return {
        "id": oid,
        "native_id": case.conversation.native_id,
        "format": case.conversation.format,
        "reader": case.reading.reader,
        "chunks": len(case.conversation.chunks),
        **message_counts(case, prompt),
        "verdict": verdict,
        **judged_by,
        "findings": [finding_report(finding) for finding in found],
        "profiles": {name: judgement_report(judgement) for name, judgement in judgements.items()},
        "recorded": [recorded_report(each) for each in recorded_errors(case, found)],
    }


def recorded_report(recorded: Recorded) -> Json:
    """An error as it stands in the store or the trace; `text` is cut, `means` is ours."""
    return {
        "where": recorded.where,
        "seq": recorded.seq,
        "step": recorded.step,
        "times": recorded.times,
        "text": recorded.text[:TEXT_SHOWN],
        "means": recorded.means,
        "rule": recorded.rule,
        "provider_rule": recorded.provider_rule,
        "fires": recorded.fires,
    }


def finding_report(finding: Finding) -> Json:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "silent": finding.silent,
        "origin": finding.origin.value,
        "ruled_out": [list(row) for row in finding.ruled_out],
        "seqs": list(finding.seqs),
        "total": finding.total,
        "message": finding.message,
        "repaired_by": list(finding.repaired_by),
        "no_repair_reason": "" if finding.repaired_by else finding.no_repair_reason,
    }


def judgement_report(judgement: Judgement) -> Json:
    return {
        "sendable": judgement.sendable,
        "prefix_valid": judgement.prefix_valid,
        "first_bad": judgement.first_bad,
        "violations": [
            {"id": found.id, "path": found.path, "seqs": list(found.seqs), "text": found.text} for found in judgement.violations
        ],
    }
