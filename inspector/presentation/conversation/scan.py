"""What `scan --json` contains: sources, conversations, findings and judgements, in the shape that scripts rely on."""

from collections.abc import Iterable, Mapping

from inspector.presentation.conversation.message_counts import message_counts
from inspector.presentation.conversation.recorded_errors import Recorded, recorded_errors
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.visible import beginning
from inspector.profiles.answering import own_profile
from inspector.profiles.base import Judgement
from inspector.projections.base import Prompt
from inspector.rules.base import Case, Finding

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
    """`judgements` are those that were asked for, by profile; `prompt` is the next request; `usual` gave the verdict, and is named with the reason where there
    is one."""
    all_findings = list(findings)
    _, why = own_profile(case.conversation)
    judged_by = {"judged_by": {"profile": usual.profile, "why": why}} if usual and why and why in usual.notes else {}
    return {
        "id": oid,
        **json_fields(case, "native_id=conversation.native_id format=conversation.format reader=reading.reader"),
        "chunks": len(case.conversation.chunks),
        **message_counts(case, prompt),
        "verdict": verdict,
        **judged_by,
        "findings": [finding_report(finding) for finding in all_findings],
        "profiles": {name: judgement_report(judgement) for name, judgement in judgements.items()},
        "recorded": [recorded_report(error) for error in recorded_errors(case, all_findings)],
    }


def recorded_report(recorded: Recorded) -> Json:
    """An error as the store or the trace has it; `text` is cut, `means` is ours."""
    report = json_fields(recorded, "where seq step times text means rule provider_rule fires")
    return report | {"text": beginning(recorded.text, TEXT_SHOWN)}


def finding_report(finding: Finding) -> Json:
    report = json_fields(finding, "code rule severity silent origin ruled_out seqs total message repaired_by no_repair_reason")
    return report | ({"no_repair_reason": ""} if finding.repaired_by else {})


def judgement_report(judgement: Judgement) -> Json:
    return {
        **json_fields(judgement, "sendable prefix_valid first_bad"),
        "violations": [json_fields(violation, "id path seqs text") for violation in judgement.violations],
    }
