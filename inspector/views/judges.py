"""Which wire shape and which profile a page judges by, where its address names one of them, both or neither."""

from inspector.profiles.base import Profile
from inspector.profiles.catalogue import PROFILES, UnknownProfile, profile
from inspector.projections.catalogue import UnknownProjection, for_wire, projection


def chosen_judges(named_projection: str, named_profile: str, usual: tuple[str, str]) -> tuple[str, str]:
    """(projection, profile) of one wire shape. The one that is named brings the other along; a profile wins where two do not fit.

    `usual`: those of the conversation where neither is named.
    Unknown names are returned unchanged.
    """
    own_projection, own_profile = usual
    try:
        if named_profile:
            judge = profile(named_profile)
            if named_projection and projection(named_projection).wire == judge.wire:
                return named_projection, named_profile
            return for_wire(judge.wire, own_projection, judge.projection).name, named_profile
        if named_projection:
            usual_profile = profile_of(projection(named_projection).wire, own_profile)
            return named_projection, usual_profile.name if usual_profile else own_profile
        return own_projection, own_profile
    except (UnknownProfile, UnknownProjection):
        return named_projection or own_projection, named_profile or own_profile


def profile_of(wire: str, usual: str) -> Profile | None:
    """The usual profile where it speaks this wire shape, else the first that does."""
    return next(
        (candidate for candidate in sorted(PROFILES, key=lambda candidate: candidate.name != usual) if candidate.wire == wire), None
    )
