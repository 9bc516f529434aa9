"""The formats of request bodies: one for each wire shape in which a provider takes a history."""

from inspector.projections.base import AI_SDK, ANTHROPIC, BEDROCK, GEMINI, MISTRAL, OPENAI_CHAT, OPENAI_RESPONSES

WIRES = {
    "anthropic-request": ANTHROPIC,
    "openai-chat-request": OPENAI_CHAT,
    "openai-responses-request": OPENAI_RESPONSES,
    "gemini-request": GEMINI,
    "bedrock-request": BEDROCK,
    "mistral-request": MISTRAL,
    "ai-sdk-messages": AI_SDK,
}
"""Format name -> wire shape."""
