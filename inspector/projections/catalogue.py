"""Every projection, by name."""

from functools import cache

from inspector.programs.registry import programs
from inspector.projections import ai_sdk, anthropic, bedrock, gemini, mistral, openai_chat, openai_responses
from inspector.projections.base import Projection
from inspector.text.unknown import UnknownName


@cache
def all_projections() -> tuple[Projection, ...]:
    own = (anthropic, openai_chat, openai_responses, gemini, bedrock, mistral, ai_sdk)
    lists = (*(module.PROJECTIONS for module in own), *(program.projections for program in programs()))
    return tuple(projection for projections in lists for projection in projections)


class UnknownProjection(UnknownName):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no projection {name!r}; `projections` lists them.")


def projection(name: str) -> Projection:
    for candidate in all_projections():
        if candidate.name == name:
            return candidate
    raise UnknownProjection(name)


def for_wire(wire: str, own: str, usual: str = "") -> Projection:
    """The projection by which a profile of this wire shape judges: `own` where that makes the shape, else `usual`, else the plain one."""
    mine = projection(own)
    return mine if mine.wire == wire else projection(usual or wire)
