"""Every projection, by name."""

from inspector.projections import dispatch_openai
from inspector.projections.base import Projection

PROJECTIONS: tuple[Projection, ...] = (*dispatch_openai.variants(),)


class UnknownProjection(LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no projection {name!r}; `projections` lists them.")


def projection(name: str) -> Projection:
    for found in PROJECTIONS:
        if found.name == name:
            return found
    raise UnknownProjection(name)


def for_wire(wire: str, own: str) -> Projection:
    """The projection by which a profile of this wire shape judges: `own` where that makes the shape, else the plain one of the shape's name."""
    mine = projection(own)
    return mine if mine.wire == wire else projection(wire)
