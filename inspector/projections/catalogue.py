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
