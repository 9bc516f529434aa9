"""The verdict of a profile on a reading: in the wire shape that the profile's provider speaks."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Protocol

from inspector.conversation.masks import masked_thinking
from inspector.conversation.model import Conversation, Reading
from inspector.conversation.queries import span_text
from inspector.profiles.answering import own_profile
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import profile
from inspector.programs.formats import not_read
from inspector.programs.registry import wire_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import for_wire

THINKING = {"enabled": True, "disabled": False}
"""Values of the fact `thinking`; absent or another one: not known."""


def judged(reading: Reading, conversation: Conversation, profile_name: str, own_projection: str) -> tuple[Prompt, Judgement]:
    """The prompt that was judged and the verdict; `own_projection` is the one deployed for the source. Raises UnknownProfile, UnknownProjection."""
    prompt = _projected(reading, profile_name, own_projection)
    return prompt, judgement_of(prompt, conversation, profile_name)


def _projected(reading: Reading, profile_name: str, own_projection: str) -> Prompt:
    judge = profile(profile_name)
    return for_wire(judge.wire, own_projection, judge.projection).project(reading.messages)


class Judgeable(Protocol):
    """The part of a case that a verdict is about."""

    @property
    def conversation(self) -> Conversation: ...
    @property
    def reading(self) -> Reading: ...
    @property
    def cached(self) -> dict[Hashable, Any]: ...


def projected_case(case: Judgeable, profile_name: str, own_projection: str) -> Prompt:
    """The prompt that `judged_case` judges, once for a case however often it is asked. Raises UnknownProfile, UnknownProjection."""
    key = (projected_case, profile_name, own_projection)
    if key not in case.cached:
        case.cached[key] = _projected(case.reading, profile_name, own_projection)
    prompt: Prompt = case.cached[key]
    return prompt


def judged_case(case: Judgeable, profile_name: str, own_projection: str) -> tuple[Prompt, Judgement]:
    """As `judged`, once for a case however often it is asked. Raises UnknownProfile, UnknownProjection."""
    prompt, key = projected_case(case, profile_name, own_projection), (judged_case, profile_name, own_projection)
    if key not in case.cached:
        case.cached[key] = judgement_of(prompt, case.conversation, profile_name)
    judgement: Judgement = case.cached[key]
    return prompt, judgement


def judgement_of(prompt: Prompt, conversation: Conversation, profile_name: str) -> Judgement:
    """The verdict on a prompt that is in the profile's wire shape already. Raises UnknownProfile.

    A request body is judged as it ends. A store that ends with an answer is whole: the next request has the user's next message after it.
    """
    thinking = THINKING.get(conversation.fact("thinking") or "")
    judge = profile(profile_name)
    judgement = judge.judge(prompt, conversation.fact("model"), thinking, conversation.fact("continues") is not None)
    judgement = replace(judgement, unread=not_read(conversation), as_words=prompt.as_words)
    if prompt.as_words:
        about = f"thinking of seq {span_text(prompt.as_words)} is sent as words of the answer, untagged: {prompt.projection} does so with all thinking"
        judgement = replace(judgement, notes=(about, *judgement.notes))
    own, why = own_profile(conversation)
    if why and own == profile_name:
        judgement = replace(judgement, notes=(why, *judgement.notes))
    if wire_of(conversation.format):
        if judgement.sendable and (note := judge.note_on_end(prompt, conversation.fact("model"))):
            judgement = replace(judgement, notes=(*judgement.notes, note), unclear=note)
        masked = [chunk.seq for chunk, _ in masked_thinking(conversation.chunks)]
        about = f"telemetry masked the thinking at seq {span_text(masked)}: what was sent is unknown, and this verdict is of the masks"
        return replace(judgement, notes=(*judgement.notes, about)) if masked else judgement
    at_end = {rule.id for rule in judge.rules if rule.at_end}
    return replace(judgement, violations=tuple(violation for violation in judgement.violations if violation.id not in at_end))
