"""The verdict of every profile on one history: which reject it and from where, and which would accept it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Conversation
from inspector.presentation.conversation.minimap import Tick, tick
from inspector.profiles.base import Judgement, Profile
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judgement_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire
from inspector.rules.base import Case


@dataclass(frozen=True, slots=True)
class ProfileVerdict:
    """A profile's verdict on a history, in the wire shape `projection`."""

    profile: Profile
    projection: str
    judgement: Judgement

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
class Profiles:
    """What all profiles say of one history, in few words: `refusing` of `total` refuse; `unplaced` of them point at no chunk."""

    total: int
    refusing: int
    refusals: tuple[Refusal, ...]
    unplaced: tuple[str, ...]
    accepting: tuple[str, ...]


def profiles_of(conversation: Conversation, verdicts: Sequence[ProfileVerdict]) -> Profiles:
    refusing = sum(not verdict.judgement.sendable for verdict in verdicts)
    return Profiles(len(verdicts), refusing, refusals(conversation, verdicts), unplaced(verdicts), accepting(verdicts))


def profile_verdicts(case: Case, own_projection: str) -> tuple[ProfileVerdict, ...]:
    """Every profile in the catalogue's order; each wire shape is computed once."""
    prompts: dict[str, Prompt] = {}
    verdicts = []
    for profile in PROFILES:
        shape = for_wire(profile.wire, own_projection, profile.projection)
        if shape.name not in prompts:
            prompts[shape.name] = shape.project(case.reading.messages)
        verdicts.append(ProfileVerdict(profile, shape.name, judgement_of(prompts[shape.name], case.conversation, profile.name)))
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


def unplaced(verdicts: Sequence[ProfileVerdict]) -> tuple[str, ...]:
    """Profiles that refuse without pointing at any chunk."""
    return tuple(verdict.name for verdict in verdicts if not verdict.judgement.sendable and verdict.judgement.first_bad is None)


def accepting(verdicts: Sequence[ProfileVerdict]) -> tuple[str, ...]:
    return tuple(verdict.name for verdict in verdicts if verdict.judgement.sendable)
