"""Lists of messages as clients of the AI SDK hand them over: the ones that its profiles are held to."""

from typing import Any

from tests.profiles.ai_sdk_bodies import BODIES


def requests(profile_name: str) -> dict[str, dict[str, Any]]:
    return {name: {"messages": body.messages} for name, body in BODIES.items()}
