"""Messages of Mistral's chat API: OpenAI's, with thinking as a part and a name on results."""

from collections.abc import Mapping
from typing import Any

from inspector.projections.base import MISTRAL
from inspector.wires.shapes.base import WireShape
from inspector.wires.shapes.openai_chat import OWNED, blocks


def _thinking(body: Mapping[str, Any]) -> str | None:
    return "enabled" if body.get("prompt_mode") == "reasoning" else None


SHAPE = WireShape(MISTRAL, ("messages",), OWNED, lambda message: blocks(message, MISTRAL), _thinking)
