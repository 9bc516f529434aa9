"""Every projection, by name."""

from inspector.programs.dispatch import projection as dispatch_openai
from inspector.programs.rollouts import projection as rollouts_anthropic
from inspector.projections import ai_sdk, anthropic, bedrock, gemini, mistral, openai_chat, openai_responses
from inspector.projections.base import Projection

PROJECTIONS: tuple[Projection, ...] = (
    *dispatch_openai.variants(),
    *anthropic.variants(),
    *openai_chat.variants(),
    *openai_responses.variants(),
    *gemini.variants(),
    *bedrock.variants(),
    *mistral.variants(),
    *ai_sdk.variants(),
    *rollouts_anthropic.variants(),
)


class UnknownProjection(LookupError):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no projection {name!r}; `projections` lists them.")


def projection(name: str) -> Projection:
    for found in PROJECTIONS:
        if found.name == name:
            return found
    raise UnknownProjection(name)


def for_wire(wire: str, own: str, usual: str = "") -> Projection:
    """The projection by which a profile of this wire shape judges: `own` where that makes the shape, else `usual`, else the plain one."""
    mine = projection(own)
    return mine if mine.wire == wire else projection(usual or wire)
