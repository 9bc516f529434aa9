"""Thinking that Anthropic may reject as modified: that of the latest turn, since the API takes that of earlier turns out by itself."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text, turns
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.lines import SYNTHETIC
from inspector.rules.base import Case, cached_per_case

THINKING = (Kind.THINKING, Kind.REDACTED_THINKING)
_MODIFIED = re.compile(
    r"messages\.(\d{1,6})\.content\.(\d{1,6}): .{0,40}thinking.{0,60}blocks in the latest assistant message cannot be modified"
)
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of the provider that a line keeps, and the thinking that it names, by its numbers."""

    error: Chunk
    block: Chunk


def model_of(chunk: Chunk) -> str:
    """ "" where the line names none, or the program wrote it by itself."""
    message = about_of(chunk).get("message")
    model = message.get("model") if isinstance(message, dict) else None
    return model if isinstance(model, str) and model != SYNTHETIC else ""


def provider_of(model: str) -> str:
    """Whose thinking it is: "anthropic", the model itself of every other provider, "" where no model is named."""
    return "anthropic" if "claude" in model.lower() else model


def sent_to(case: Case) -> str:
    """The provider of the next request: that of the last answer."""
    answers = (message.chunks[0] for message in reversed(case.messages) if message.role == "assistant")
    return next((provider_of(model) for answer in answers if (model := model_of(answer))), "anthropic")


def answered_by(case: Case, message: Message) -> str:
    """As for whose signatures count: a model of whatever name that signed most of its thinking in this session answers as Anthropic's do."""
    model = model_of(message.chunks[0])
    return "anthropic" if not model or model in _signing(case) else provider_of(model)


@cached_per_case
def _signing(case: Case) -> frozenset[str]:
    """Models with more signed thinking than unsigned."""
    balance: Counter[str] = Counter()
    for message in case.messages:
        for chunk in message.chunks:
            if chunk.kind is Kind.THINKING:
                signature = chunk.payload.get("signature")
                balance[model_of(chunk)] += 1 if isinstance(signature, str) and signature.strip() else -1
    return frozenset(model for model, surplus in balance.items() if surplus > 0)


def foreign_thinking(case: Case) -> Iterator[tuple[list[Chunk], str]]:
    """Signed by a provider that the next request does not go to."""
    target = sent_to(case)
    for message in case.messages:
        foreign = [chunk for chunk in message.chunks if chunk.kind in THINKING] if message.role == "assistant" else []
        owner = provider_of(model_of(message.chunks[0])) if foreign else ""
        if owner and owner != target:
            yield (
                foreign,
                f"The thinking at seq {span_text([chunk.seq for chunk in foreign])} is of {model_of(foreign[0])[:60]}, and the next request goes to "
                f"{'Anthropic' if target == 'anthropic' else target[:60]}: a signature holds only for the provider that gave it. 2.1.156 and later leave it out when they resume, earlier ones send it.",
            )


@cached_per_case
def latest_turn(case: Case) -> tuple[Message, ...]:
    """The messages of the turn of the last answer."""
    answered = [turn for turn in turns(case.messages) if any(message.role == "assistant" for message in turn)]
    return tuple(answered[-1]) if answered else ()


def hollow(chunk: Chunk) -> bool:
    """Thinking with a signature and no words, as the program stores it since about 2.1.72."""
    signature = chunk.payload.get("signature")
    return chunk.kind is Kind.THINKING and not chunk.text and isinstance(signature, str) and bool(signature.strip())


@cached_per_case
def inner_hollow(case: Case) -> tuple[Chunk, ...]:
    """Hollow thinking after the first call of the latest turn, where that has several calls; what leads the turn stays."""
    chunks = [chunk for message in latest_turn(case) for chunk in message.chunks]
    calls = [at for at, chunk in enumerate(chunks) if chunk.kind is Kind.TOOL_CALL]
    return tuple(chunk for chunk in chunks[calls[0] :] if hollow(chunk)) if len(calls) > 1 else ()


@cached_per_case
def refusal(case: Case) -> Refusal | None:
    """The last rejection of thinking that the file keeps, where no answer came after it, and the history still has thinking at the place that it names."""
    answers = (chunk for chunk in reversed(case.conversation.chunks) if chunk.role == "assistant")
    for error in takewhile(lambda answer: about_of(answer).get("isApiErrorMessage") is True, answers):
        if match := _MODIFIED.search(error.text[:4000]):
            named = _at(case.reading.messages, int(match[1]), int(match[2]))
            return Refusal(error, named) if named is not None and named.kind in THINKING else None
    return None


def _at(messages: Sequence[Message], number: int, block: int) -> Chunk | None:
    """A block as Anthropic counts it: neighbors of one speaker are one message."""
    groups: list[list[Chunk]] = []
    before = ""
    for message in messages:
        speaker = "user" if message.role == "tool" else message.role
        if speaker == before:
            groups[-1] += message.chunks
        else:
            groups.append(list(message.chunks))
        before = speaker
    return groups[number][block] if number < len(groups) and block < len(groups[number]) else None


def version_of(chunk: Chunk) -> tuple[int, int, int]:
    """(0, 0, 0) where the line has none that can be read."""
    match = _VERSION.fullmatch(str(about_of(chunk).get("version")))
    return (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)
