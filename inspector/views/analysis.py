"""What a conversation page shows of one revision, computed once and kept: a revision never changes."""

from dataclasses import dataclass
from functools import lru_cache

from inspector.actions.import_source import finding_ids
from inspector.conversation.model import Dropped
from inspector.detectors.base import Case, Fault, Finding, findings
from inspector.detectors.catalogue import RULES
from inspector.models import Conversation, loading
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import profile
from inspector.profiles.judging import judged, judgement_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire
from inspector.projections.observed import Observed, observed
from inspector.reports.timeline import Columns, columns
from inspector.reports.verdict import verdict
from inspector.reports.visible import visible

LATER = "later than this request: its answer, or what came after"


@dataclass(frozen=True, slots=True)
class Analysis:
    case: Case
    findings: tuple[tuple[str, Finding], ...]
    """With their ids."""
    prompt: Prompt
    judgement: Judgement
    verdict: str
    columns: Columns
    observed: Observed | None


def analysis(conversation: Conversation, reader: str, projection_name: str, profile_name: str, revision: int, step: str = "") -> Analysis:
    """Raises Revision.DoesNotExist, UnknownReader, UnknownProjection, UnknownProfile."""
    sources = (conversation.source.read_at, *conversation.source.traces.values_list("read_at", flat=True))
    return _analysis(conversation.pk, reader, projection_name, profile_name, revision, step, sources)


@lru_cache(maxsize=12)
def _analysis(
    pk: int, reader: str, projection_name: str, profile_name: str, revision: int, step: str, sources: tuple[object, ...]
) -> Analysis:
    """`sources` carry when they were read, so that a re-import is seen."""
    conversation = Conversation.objects.select_related("source").get(pk=pk)
    case = loading.case(conversation, reader, revision)
    found = tuple(finding_ids(conversation.oid, findings(case, RULES)))
    shape = for_wire(profile(profile_name).wire, projection_name)
    prompt, judgement = judged(case.reading, case.conversation, profile_name, projection_name)
    said = verdict(case, [finding for _, finding in found], judgement)
    seen = None
    if step and case.trace is not None:
        # By what shows of it: an address cannot carry a lone surrogate.
        asked = next((each for each in case.trace.steps() if visible(each.step_id) == step), None)
        seen = observed(case.trace, asked, case.conversation.chunks, shape) if asked is not None else None
    if seen is None:
        made = columns(case, case.reading.messages, case.reading.dropped, prompt, judgement, [finding for _, finding in found])
        return Analysis(case, found, prompt, judgement, said, made, None)
    matched = {chunk.key for message in seen.believed for chunk in message.chunks}
    later = Dropped(tuple(chunk for chunk in case.conversation.chunks if chunk.key not in matched), LATER)
    judgement = judgement_of(seen.prompt, case.conversation, profile_name)
    # What the reader does wrong now is no evidence of what it did then: only the findings on the stored rows are marked.
    marked = [finding for _, finding in found if finding.fault is not Fault.READER]
    made = columns(case, seen.believed, [later], seen.prompt, judgement, marked, LATER)
    return Analysis(case, found, seen.prompt, judgement, said, made, seen)
