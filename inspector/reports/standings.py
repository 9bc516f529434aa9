"""What every profile says of one history: who refuses it from where, and who would accept it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Conversation, Reading
from inspector.profiles.base import Judgement, Profile
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judgement_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire
from inspector.reports.strip import Tick
from inspector.rules.base import Case


@dataclass(frozen=True, slots=True)
class Standing:
    """A profile's verdict on a history, in the wire shape `projection`."""

    profile: Profile
    projection: str
    judgement: Judgement

    @property
    def name(self) -> str:
        return self.profile.name


@dataclass(frozen=True, slots=True)
class Refusal:
    """Profiles that refuse from one seq on. `tick` is its place on the overview strip."""

    seq: int
    profiles: tuple[str, ...]
    tick: Tick


def standings(reading: Reading, conversation: Conversation, own_projection: str) -> tuple[Standing, ...]:
    """Every profile in the catalogue's order; each wire shape is made once."""
    prompts: dict[str, Prompt] = {}
    found = []
    for each in PROFILES:
        shape = for_wire(each.wire, own_projection, each.projection)
        if shape.name not in prompts:
            prompts[shape.name] = shape.project(reading.messages)
        found.append(Standing(each, shape.name, judgement_of(prompts[shape.name], conversation, each.name)))
    return tuple(found)


def standings_of(case: Case, own_projection: str) -> tuple[Standing, ...]:
    return standings(case.reading, case.conversation, own_projection)


def refusals(conversation: Conversation, found: Iterable[Standing], width: float = 1000.0) -> tuple[Refusal, ...]:
    """By the seq from which they refuse, ascending; profiles that point at no chunk are not among them."""
    by_seq: dict[int, list[str]] = {}
    for each in found:
        if each.judgement.first_bad is not None:
            by_seq.setdefault(each.judgement.first_bad, []).append(each.name)
    places: dict[int, int] = {}
    for at, chunk in enumerate(conversation.chunks):
        if chunk.seq in by_seq:
            places.setdefault(chunk.seq, at)
    one = width / max(1, len(conversation.chunks))
    return tuple(
        Refusal(seq, tuple(names), Tick(round(places[seq] * one, 1), 2.5, "x", False, seq))
        for seq, names in sorted(by_seq.items())
        if seq in places
    )


def unplaced(found: Sequence[Standing]) -> tuple[str, ...]:
    """Profiles that refuse without pointing at any chunk."""
    return tuple(each.name for each in found if not each.judgement.sendable and each.judgement.first_bad is None)


def accepting(found: Sequence[Standing]) -> tuple[str, ...]:
    return tuple(each.name for each in found if each.judgement.sendable)
