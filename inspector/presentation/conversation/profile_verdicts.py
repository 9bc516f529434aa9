"""The verdict of every profile on one history: which reject it and from where, and which would accept it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from inspector.conversation.model import Conversation
from inspector.presentation.conversation.ending import ending_without_findings
from inspector.presentation.conversation.minimap import Tick, tick
from inspector.presentation.visible import beginning
from inspector.profiles.base import Judgement, Profile, Violation
from inspector.profiles.catalogue import PROFILES, profile
from inspector.profiles.judging import judgement_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire
from inspector.rules.base import Case

SHOWN = 400
"""Characters of a violation that a line keeps."""


@dataclass(frozen=True, slots=True)
class ProfileVerdict:
    """A profile's verdict on a history, in the wire shape `projection`. `silence`: why the request goes wrong silently though it passes; "" where it does not."""

    profile: Profile
    projection: str
    judgement: Judgement
    silence: str = ""

    @property
    def name(self) -> str:
        return self.profile.name


@dataclass(frozen=True, slots=True)
class Refusal:
    """Profiles that refuse from one seq on. `tick` is its place on the minimap."""

    seq: int
    profiles: tuple[str, ...]
    tick: Tick


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """What one profile says: the first of its `count` violations, and the first `seq` that any of them points at."""

    name: str
    projection: str
    first: Violation | None
    count: int
    seq: int | None
    is_prefix_valid: bool
    silence: str = ""
    """As of its verdict."""

    @property
    def title(self) -> str:
        return profile(self.name).title


@dataclass(frozen=True, slots=True)
class Profiles:
    """What all profiles say of one history: `refusing` of `total` refuse. `lines` begin with those that refuse, by the seq from which they do."""

    total: int
    refusing: int
    refusals: tuple[Refusal, ...]
    lines: tuple[ProfileLine, ...]


def profiles_of(conversation: Conversation, verdicts: Sequence[ProfileVerdict]) -> Profiles:
    lines = sorted(map(profile_line, verdicts), key=lambda line: (line.first is None, line.seq is None, line.seq or 0))
    refusing = sum(line.first is not None for line in lines)
    return Profiles(len(verdicts), refusing, refusals(conversation, verdicts), tuple(lines))


def profile_line(verdict: ProfileVerdict) -> ProfileLine:
    judgement = verdict.judgement
    first = next(iter(judgement.violations), None)
    # Lines are kept for the next page: neither all the seqs nor a text of any length.
    kept = first and replace(first, seqs=(), path=beginning(first.path, SHOWN), text=beginning(first.text, SHOWN))
    count, from_seq = len(judgement.violations), judgement.first_bad
    return ProfileLine(verdict.name, verdict.projection, kept, count, from_seq, judgement.prefix_valid, verdict.silence)


def profile_verdicts(case: Case, own_projection: str) -> tuple[ProfileVerdict, ...]:
    """Every profile in the catalogue's order; each wire shape is computed once."""
    prompts: dict[str, Prompt] = {}
    verdicts: list[ProfileVerdict] = []
    silence: str | None = None
    for judge in PROFILES:
        shape = for_wire(judge.wire, own_projection, judge.projection)
        if shape.name not in prompts:
            prompts[shape.name] = shape.project(case.reading.messages)
        judgement = judgement_of(prompts[shape.name], case.conversation, judge.name)
        if judgement.sendable and silence is None:
            # It is of the reading, and the same for all of which the request passes.
            silence = ending_without_findings(case, judgement).silence
        verdicts.append(ProfileVerdict(judge, shape.name, judgement, silence or "" if judgement.sendable else ""))
    return tuple(verdicts)


def refusals(conversation: Conversation, verdicts: Iterable[ProfileVerdict]) -> tuple[Refusal, ...]:
    """By the seq from which they refuse, ascending; profiles that point at no chunk are not among them."""
    by_seq: dict[int, list[str]] = {}
    for verdict in verdicts:
        if verdict.judgement.first_bad is not None:
            by_seq.setdefault(verdict.judgement.first_bad, []).append(verdict.name)
    places: dict[int, int] = {}
    for at, chunk in enumerate(conversation.chunks):
        if chunk.seq in by_seq:
            places.setdefault(chunk.seq, at)
    count = len(conversation.chunks)
    return tuple(Refusal(seq, tuple(names), tick(places[seq], count, seq)) for seq, names in sorted(by_seq.items()) if seq in places)
