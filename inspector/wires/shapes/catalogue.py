"""Every wire shape in which a request body is read, by its name."""

from inspector.wires.shapes import ai_sdk, anthropic, bedrock, gemini, mistral, openai_chat, responses
from inspector.wires.shapes.base import WireShape

SHAPES: dict[str, WireShape] = {
    module.SHAPE.wire: module.SHAPE for module in (anthropic, openai_chat, responses, gemini, bedrock, mistral, ai_sdk)
}
