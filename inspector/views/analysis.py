"""What pages show of one revision of a conversation, computed once and kept: a revision never changes."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from inspector.access.context import unlimited
from inspector.actions.examining import finding_ids
from inspector.actions.kept_previews import case_as_read, read_at
from inspector.conversation.model import Chunk, Dropped
from inspector.models import Conversation, loading
from inspector.planning.recommend import Recommendation, without_waiting
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
from inspector.profiles.judging import judged_case, judgement_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire
from inspector.projections.observed import NO_PROMPT, ObservedStep, observed
from inspector.rules.base import Case, Finding, Origin, findings, observed_trace
from inspector.rules.catalogue import RULES

WHOLE = 5_000
"""Chunks up to which a page judges by every profile."""
LATER = "later than this request: its answer, or what came after"
SKIPPED = "not in this request, though it is before rows that are"


@dataclass(frozen=True)
class Analysis:
    """Each part is worked out when it is asked for first: pages show different parts, and of a large conversation each takes seconds."""

    row: Conversation
    case: Case
    prompt: Prompt
    judgement: Judgement
    profile: str
    projection: str
    observed: ObservedStep | None = None
    now: "Analysis | None" = None
    """Of a past request, that of the next one."""
    tried: dict[str, Finding] = field(default_factory=dict, compare=False)
    """By id, the findings of which a page showed the strategies."""

    @cached_property
    def findings(self) -> tuple[tuple[str, Finding], ...]:
        """With their ids."""
        return self.now.findings if self.now else tuple(finding_ids(self.row.oid, findings(self.case, RULES)))

    @property
    def _own_findings(self) -> list[Finding]:
        return [finding for _, finding in self.findings]

    @cached_property
    def verdict(self) -> Verdict:
        return self.now.verdict if self.now else verdict(self.case, self._own_findings, self.judgement)

    @cached_property
    def columns(self) -> Columns:
        case, past = self.case, self.observed
        if past is None:
            return columns(case, case.reading.messages, case.reading.dropped, self.prompt, self.judgement, self._own_findings)
        # What the reader does wrong now is no evidence of what it did then: only the findings on the stored rows are marked.
        marked = [finding for finding in self._own_findings if finding.origin is not Origin.READER]
        return columns(case, past.prompt_messages, _absent(case.conversation.chunks, past), past.prompt, self.judgement, marked, LATER)

    @cached_property
    def minimap(self) -> Minimap:
        return minimap(self.columns)

    @cached_property
    def _recommendation(self) -> Recommendation:
        return self.now._recommendation if self.now else without_waiting(self.case, self._own_findings, self.judgement, self.projection)

    @property
    def recommended(self) -> tuple[str, ...]:
        """Names of the strategies that repair the findings, in their order."""
        return tuple(strategy.name for strategy in self._recommendation.candidate.strategies)

    @property
    def why_not(self) -> str:
        """Why no sequence satisfies the profile; what is recommended then repairs only a part."""
        return self._recommendation.why_not

    @cached_property
    def profile_verdicts(self) -> tuple[ProfileVerdict, ...]:
        """What every profile says of the next request; () of a past one, where nothing is read, and of more than WHOLE chunks."""
        is_judged = not self.observed and len(self.case.conversation.chunks) <= WHOLE and not self.case.reading.failure
        return profile_verdicts(self.case, self.row.source.projection) if is_judged else ()

    @cached_property
    def branches(self) -> Branches | None:
        """Of a session that is a tree."""
        return self.now.branches if self.now else branches_of(self.case)

    @cached_property
    def own_leaves(self) -> tuple[OwnLeaf, ...]:
        return own_leaves(self.case.tree, self.case.tree.format) if self.case.tree is not None else ()

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
    return _analysis(conversation.pk, reader, projection_name, profile_name, revision, step, leaf, read_at(conversation))


@lru_cache(maxsize=12)
@unlimited
def _analysis(
    pk: int, reader: str, projection_name: str, profile_name: str, revision: int, step: str, leaf: str, read: tuple[Hashable, ...]
) -> Analysis:
    """`read`: when its source and traces were, so that a re-import is seen."""
    if step:
        return _of_step(_analysis(pk, reader, projection_name, profile_name, revision, "", leaf, read), step)
    conversation = Conversation.objects.select_related("source").get(pk=pk)
    case = loading.case(conversation, reader, revision, leaf) if leaf else case_as_read(pk, reader, revision, read)
    prompt, judgement = judged_case(case, profile_name, projection_name)
    return Analysis(conversation, case, prompt, judgement, profile_name, projection_name)


def _of_step(now: Analysis, step: str) -> Analysis:
    """The same rows next to a past request; `now` itself where no trace has that step."""
    case = now.case
    # By its visible form: an address cannot carry a lone surrogate.
    trace = observed_trace(case)
    chosen_step = next((recorded for recorded in trace.steps() if visible(recorded.step_id) == step), None) if trace else None
    if trace is None or chosen_step is None:
        return now
    shape = for_wire(profile(now.profile).wire, now.projection)
    past = observed(trace, chosen_step, case.conversation.chunks, shape)
    if past is None:
        return now
    judgement = judgement_of(past.prompt, case.conversation, now.profile)
    return Analysis(now.row, case, past.prompt, judgement, now.profile, now.projection, past, now, now.tried)


def _absent(chunks: tuple[Chunk, ...], past: ObservedStep) -> list[Dropped]:
    """The stored chunks that the request did not have, with why; none is reported as left out where the prompt is not recorded."""
    if NO_PROMPT in past.notes:
        return [Dropped(chunks, NOT_RECORDED)]
    matched = {chunk.key for message in past.prompt_messages for chunk in message.chunks}
    last = max((place for place, chunk in enumerate(chunks) if chunk.key in matched), default=-1)
    skipped = tuple(chunk for chunk in chunks[: last + 1] if chunk.key not in matched)
    return [Dropped(skipped, SKIPPED), Dropped(chunks[last + 1 :], LATER)]
