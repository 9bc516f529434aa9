"""What a conversation page shows of one revision, computed once and kept: a revision never changes."""

from dataclasses import dataclass, field, replace
from functools import lru_cache

from inspector.access.context import unlimited
from inspector.actions.examining import finding_ids
from inspector.conversation.model import Chunk, Dropped
from inspector.models import Conversation, loading
from inspector.planning.recommend import without_waiting
from inspector.planning.suggested import suggested
from inspector.presentation.conversation.columns import NOT_RECORDED, Columns, columns
from inspector.presentation.conversation.message_counts import message_counts
from inspector.presentation.conversation.minimap import Minimap, minimap
from inspector.presentation.conversation.profile_verdicts import ProfileVerdict, profile_verdicts
from inspector.presentation.conversation.verdict import Verdict, verdict
from inspector.presentation.tree.branches import branches_of
from inspector.presentation.tree.model import Branches
from inspector.presentation.tree.own_leaves import OwnLeaf, own_leaves
from inspector.presentation.visible import visible
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import profile
from inspector.profiles.judging import judged, judgement_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire
from inspector.projections.observed import NO_PROMPT, ObservedStep, observed
from inspector.rules.base import Case, Finding, Origin, findings, observed_trace
from inspector.rules.catalogue import RULES

WHOLE = 20_000
"""Chunks up to which a page judges by every profile."""
LATER = "later than this request: its answer, or what came after"
SKIPPED = "not in this request, though it is before rows that are"


@dataclass(frozen=True, slots=True)
class Analysis:
    case: Case
    findings: tuple[tuple[str, Finding], ...]
    """With their ids."""
    prompt: Prompt
    judgement: Judgement
    verdict: Verdict
    columns: Columns
    minimap: Minimap
    recommended: tuple[str, ...]
    """Names of the strategies that repair the findings, in their order."""
    profile_verdicts: tuple[ProfileVerdict, ...] = ()
    """What every profile says of the next request; () of a past one, where nothing is read, and of more than WHOLE chunks."""
    observed: ObservedStep | None = None
    branches: Branches | None = None
    """Of a session that is a tree."""
    own_leaves: tuple[OwnLeaf, ...] = ()
    why_not: str = ""
    """Why no sequence satisfies the profile; what is recommended then repairs only a part."""
    tried: dict[str, Finding] = field(default_factory=dict, compare=False)
    """By id, the findings of which a page showed the strategies."""

    @property
    def counts(self) -> dict[str, int]:
        return message_counts(self.case, self.prompt)

    def suggested(self, row: Conversation, revision: int, oid: str, finding: Finding) -> Finding:
        """The finding with the strategies that repair it here: tried where they are shown, and once."""
        if oid not in self.tried:
            (self.tried[oid],) = suggested(self.case, [finding], loading.stored(row, revision))
        return self.tried[oid]


def analysis(
    conversation: Conversation, reader: str, projection_name: str, profile_name: str, revision: int, step: str = "", leaf: str = ""
) -> Analysis:
    """`leaf`: the entry of a tree to read the path to, "" = what the reader takes. Raises Revision.DoesNotExist, UnknownReader, UnknownProjection, UnknownProfile."""
    sources = (conversation.source.read_at, *conversation.source.traces.values_list("read_at", flat=True))
    return _analysis(conversation.pk, reader, projection_name, profile_name, revision, step, leaf, sources)


@lru_cache(maxsize=12)
@unlimited
def _analysis(
    pk: int, reader: str, projection_name: str, profile_name: str, revision: int, step: str, leaf: str, sources: tuple[object, ...]
) -> Analysis:
    """`sources` carry when they were read, so that a re-import is seen."""
    if step:
        now = _analysis(pk, reader, projection_name, profile_name, revision, "", leaf, sources)
        return _of_step(now, step, projection_name, profile_name)
    conversation = Conversation.objects.select_related("source").get(pk=pk)
    case = loading.case(conversation, reader, revision, leaf)
    case_findings = tuple(finding_ids(conversation.oid, findings(case, RULES)))
    own_findings = [finding for _, finding in case_findings]
    prompt, judgement = judged(case.reading, case.conversation, profile_name, projection_name)
    headline = verdict(case, own_findings, judgement)
    all_columns = columns(case, case.reading.messages, case.reading.dropped, prompt, judgement, own_findings)
    recommendation = without_waiting(case, own_findings, judgement, projection_name)
    repairs = tuple(strategy.name for strategy in recommendation.candidate.strategies)
    is_judged = len(case.conversation.chunks) <= WHOLE and not case.reading.failure
    judgements = profile_verdicts(case, conversation.source.projection) if is_judged else ()
    own = own_leaves(case.tree, case.tree.format) if case.tree is not None else ()
    return Analysis(
        case, case_findings, prompt, judgement, headline, all_columns, minimap(all_columns), repairs, judgements,
        why_not=recommendation.why_not, branches=branches_of(case), own_leaves=own,
    )  # fmt: skip


def _of_step(now: Analysis, step: str, projection_name: str, profile_name: str) -> Analysis:
    """The same rows next to a past request; `now` itself where no trace has that step."""
    case = now.case
    # By its visible form: an address cannot carry a lone surrogate.
    trace = observed_trace(case)
    chosen_step = next((recorded for recorded in trace.steps() if visible(recorded.step_id) == step), None) if trace else None
    if trace is None or chosen_step is None:
        return now
    shape = for_wire(profile(profile_name).wire, projection_name)
    past = observed(trace, chosen_step, case.conversation.chunks, shape)
    if past is None:
        return now
    judgement = judgement_of(past.prompt, case.conversation, profile_name)
    # What the reader does wrong now is no evidence of what it did then: only the findings on the stored rows are marked.
    marked = [finding for _, finding in now.findings if finding.origin is not Origin.READER]
    all_columns = columns(case, past.prompt_messages, _absent(case.conversation.chunks, past), past.prompt, judgement, marked, LATER)
    return replace(
        now, prompt=past.prompt, judgement=judgement, columns=all_columns, minimap=minimap(all_columns), profile_verdicts=(), observed=past
    )


def _absent(chunks: tuple[Chunk, ...], past: ObservedStep) -> list[Dropped]:
    """The stored chunks that the request did not have, with why; none is reported as left out where the prompt is not recorded."""
    if NO_PROMPT in past.notes:
        return [Dropped(chunks, NOT_RECORDED)]
    matched = {chunk.key for message in past.prompt_messages for chunk in message.chunks}
    last = max((place for place, chunk in enumerate(chunks) if chunk.key in matched), default=-1)
    skipped = tuple(chunk for chunk in chunks[: last + 1] if chunk.key not in matched)
    return [Dropped(skipped, SKIPPED), Dropped(chunks[last + 1 :], LATER)]
