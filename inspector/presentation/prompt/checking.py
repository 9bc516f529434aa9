"""A request body judged without being stored: the verdict of every profile, the findings, and the body after its recommended repair."""

from dataclasses import dataclass, replace

from inspector.conversation.edits import EditMismatch, Plan
from inspector.conversation.model import Fact
from inspector.planning.preview import NothingToDo, Preview, compose_effective, digest, preview, safety_of
from inspector.planning.recommend import Recommendation, sequence
from inspector.planning.suggested import suggested
from inspector.presentation.conversation.profile_verdicts import ProfileVerdict, profile_verdicts
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Format, Record, Stored, WriteRefused
from inspector.projections.base import Prompt
from inspector.rules.base import Case, Finding, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.wires import detection as request_detection

LARGEST = 3000
"""Chunks of a body for which a repair is worked out in one page."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Of a request that is cut off: how many messages come before its last turn, of which what is missing may be what makes it right, and whether the cut is
    after all messages."""

    settled: int
    has_all_messages: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """`repair` is None where nothing is to be done, or where `problem` says why no repair is suggested."""

    format: Format
    stored: Stored
    case: Case
    findings: tuple[Finding, ...]
    prompt: Prompt
    profile_verdicts: tuple[ProfileVerdict, ...]
    profile: str
    recommendation: Recommendation | None
    repair: Preview | None
    problem: str
    same_in: tuple[str, ...] = ()
    """Other formats in which its messages are the same, where nobody chose."""

    @property
    def judgement(self) -> Judgement:
        return next(verdict.judgement for verdict in self.profile_verdicts if verdict.name == self.profile)

    @property
    def repaired(self) -> bytes | None:
        """The body after the repair."""
        changes = self.repair.changes if self.repair else ()
        return next((change.after.data for change in changes if change.after is not None), None)


def deciding(model: str) -> str:
    """The model where its name says for which API a request is; "" of one that no profile has, so that nothing is decided by it."""
    return model if any(judge.names(model) for judge in PROFILES) else ""


def checked(
    data: bytes, name: str, format_name: str = "", profile_name: str = "", beginning: Beginning | None = None, model: str = ""
) -> Checked:
    """`name` is what the body is called; "" = the first that it may be of, the format's own profile, and the model that the body names.

    Raises NotARequest, UnknownFormat, UnknownProfile.
    """
    formats = [format_name] if format_name else request_detection.formats_of(data, deciding(model))
    format_, same_in = format_named(formats[0]), tuple(formats[1:])
    stored = next(iter(format_.read([Record(name, Cell(data, "file"))])))
    if model:
        # Of no record, so that it is that of the repaired body too.
        facts = {**stored.conversation.facts, "model": Fact("model", model, "given")}
        stored = replace(stored, conversation=replace(stored.conversation, facts=facts))
    case = case_of(stored.conversation, format_.default_reader)
    case_findings = tuple(findings(case, RULES))
    if len(stored.conversation.chunks) <= LARGEST:
        case_findings = suggested(case, case_findings, stored)
    profile_name = profile_name or format_.default_profile
    prompt, _ = judged(case.reading, case.conversation, profile_name, format_.default_projection)
    verdicts = profile_verdicts(case, format_.default_projection)
    if beginning is not None:
        settled = tuple(_settled(verdict, beginning) for verdict in verdicts)
        before, after = (next(of.judgement.violations for of in of_all if of.name == profile_name) for of_all in (verdicts, settled))
        unsettled = {seq for violation in before if violation not in after for seq in violation.seqs}
        if not beginning.has_all_messages:
            unsettled |= {chunk.seq for chunk in stored.conversation.chunks if (chunk.msg_idx or 0) >= beginning.settled}
        case_findings = tuple(finding for finding in case_findings if unsettled.isdisjoint(finding.seqs))
        problem = "Only the beginning of the request is here: with all of it, its repair is worked out." if after else ""
        return Checked(format_, stored, case, case_findings, prompt, settled, profile_name, None, None, problem, same_in)
    if len(stored.conversation.chunks) > LARGEST:
        problem = f"A body of more than {LARGEST} blocks is judged here and repaired by the command `repair FILE --for {profile_name} --out PATH`."
        return Checked(format_, stored, case, case_findings, prompt, verdicts, profile_name, None, None, problem, same_in)
    recommendation = sequence(case, case_findings, profile_name, format_.default_projection)
    repair, problem = None, recommendation.why_not
    strategies = recommendation.candidate.strategies
    if strategies:
        names = tuple(strategy.name for strategy in strategies)
        mode = format_.modes[0].name
        edits, effective = compose_effective(case, strategies)
        plan = Plan(name, stored.conversation.native_id, mode, names, safety_of(effective), digest(stored), edits)
        try:
            repair = preview(case, stored, format_, plan, effective, format_.default_projection, profile_name)
        except NothingToDo:
            pass
        except (WriteRefused, EditMismatch) as refusal:
            problem = str(refusal)
    return Checked(format_, stored, case, case_findings, prompt, verdicts, profile_name, recommendation, repair, problem, same_in)


def _settled(verdict: ProfileVerdict, beginning: Beginning) -> ProfileVerdict:
    """Without what the rest of the request may make right."""
    of_all = {rule.id for rule in verdict.profile.rules if rule.is_of_all}
    violations = (
        violation
        for violation in verdict.judgement.violations
        if violation.id not in of_all and (beginning.has_all_messages or not violation.open_ended)
    )
    return replace(verdict, judgement=replace(verdict.judgement, violations=tuple(violations)))
