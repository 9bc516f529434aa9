"""Which wire shape and which profile a page judges by, where its address names one of them, both or neither."""

from inspector.profiles.base import Profile
from inspector.profiles.catalogue import PROFILES, UnknownProfile, profile
from inspector.projections.catalogue import UnknownProjection, for_wire, projection


def chosen_judges(asked_projection: str, asked_profile: str, usual: tuple[str, str]) -> tuple[str, str]:
    """(projection, profile) of one wire shape. The one that is named brings the other along; a profile wins where two do not fit.

    `usual`: those of the conversation where neither is named.

    Names that nothing knows come back as they are.
    """
    own_projection, own_profile = usual
    try:
        if asked_profile:
            judge = profile(asked_profile)
            if asked_projection and projection(asked_projection).wire == judge.wire:
                return asked_projection, asked_profile
            return for_wire(judge.wire, own_projection, judge.projection).name, asked_profile
        if asked_projection:
            found = profile_of(projection(asked_projection).wire, own_profile)
            return asked_projection, found.name if found else own_profile
        return own_projection, own_profile
    except (UnknownProfile, UnknownProjection):
        return asked_projection or own_projection, asked_profile or own_profile


def profile_of(wire: str, usual: str) -> Profile | None:
    """The usual profile where it speaks this wire shape, else the first that does."""
    return next((each for each in sorted(PROFILES, key=lambda each: each.name != usual) if each.wire == wire), None)
