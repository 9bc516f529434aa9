"""The verdict of a profile on a reading: in the wire shape that the profile's provider speaks."""

from inspector.conversation.model import Conversation, Reading
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import profile
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire

THINKING = {"enabled": True, "disabled": False}
"""Values of the fact `thinking`; absent or another one: not known."""


def judged(reading: Reading, conversation: Conversation, profile_name: str, own_projection: str) -> tuple[Prompt, Judgement]:
    """The prompt that was judged and the verdict; `own_projection` is the one deployed for the source. Raises UnknownProfile, UnknownProjection."""
    judge = profile(profile_name)
    prompt = for_wire(judge.wire, own_projection, judge.projection).project(reading.messages)
    return prompt, judgement_of(prompt, conversation, profile_name)


def judgement_of(prompt: Prompt, conversation: Conversation, profile_name: str) -> Judgement:
    """The verdict on a prompt that is in the profile's wire shape already. Raises UnknownProfile."""
    thinking = THINKING.get(conversation.fact("thinking") or "")
    return profile(profile_name).judge(prompt, conversation.fact("model"), thinking, conversation.fact("continues") is not None)
