"""What was observed of a history before a plan: the provider's rejection that its store or trace has, and which versions of the program send what is rejected."""

from dataclasses import dataclass

from inspector.planning.preview import Preview
from inspector.presentation.conversation.ending import Ending, ending_without_findings
from inspector.presentation.conversation.recorded_errors import Recorded, latest_rejection
from inspector.presentation.conversation.scan import recorded_report
from inspector.presentation.json_text import Json
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import PROFILES, profile
from inspector.profiles.judging import judged
from inspector.readers.catalogue import names
from inspector.rules.base import Case

MOST_READ = 20_000
"""Chunks above which no other version reads the history for a page."""


@dataclass(frozen=True, slots=True)
class AsRead:
    """The verdicts before and after as one version of the program reads the history."""

    reader: str
    before: Judgement
    after: Judgement
    ending: Ending
    """After."""


@dataclass(frozen=True, slots=True)
class Observed:
    """`versions` are those, other than the chosen one, as which the history is rejected before the plan."""

    rejection: Recorded
    versions: tuple[AsRead, ...]

    @property
    def words(self) -> str:
        rules = f" ({self.rejection.provider_rule})" if self.rejection.provider_rule else ""
        return f"rejected when it was sent{rules}, recorded at {self.rejection.where}"


def observed(preview: Preview) -> Observed | None:
    """None where no rejection in the wire shape of the plan's profile is recorded after the last answer."""
    wire = profile(preview.before.judgement.profile).wire
    rejection = latest_rejection(preview.before.case)
    if rejection is None or rejection.provider_rule not in {rule.id for judge in PROFILES if judge.wire == wire for rule in judge.rules}:
        return None
    return Observed(rejection, tuple(_versions(preview)))


def profiles_report(preview: Preview) -> Json:
    """The verdicts of a plan by profile: of what was observed before it, and of what the chosen reader and each version that is rejected make of it."""
    before, after, observation = preview.before.judgement, preview.after.judgement, observed(preview)
    if observation is None:
        return {before.profile: {"before": before.verdict, "after": after.verdict}}
    return {
        before.profile: {
            "before": f"{observation.words}; as {preview.before.case.reading.reader} reads it now: {before.verdict}",
            "after": after.verdict,
            "observed": recorded_report(observation.rejection),
            "versions": {
                version.reader: {"before": version.before.verdict, "after": version.after.verdict} for version in observation.versions
            },
        }
    }


def _versions(preview: Preview) -> list[AsRead]:
    before, after = preview.before, preview.after
    if not before.judgement.sendable or len(before.case.conversation.chunks) > MOST_READ:
        return []
    versions = []
    for name in names(before.case.conversation.format):
        if name != before.case.reading.reader and not (earlier := _judgement(_read(before.case, name), preview)).sendable:
            repaired = _read(after.case, name)
            later = _judgement(repaired, preview)
            versions.append(AsRead(name, earlier, later, ending_without_findings(repaired, later)))
    return versions


def _read(case: Case, reader_name: str) -> Case:
    return case.with_conversation(case.tree or case.conversation, reader_name)


def _judgement(read: Case, preview: Preview) -> Judgement:
    return judged(read.reading, read.conversation, preview.before.judgement.profile, preview.before.prompt.projection)[1]
