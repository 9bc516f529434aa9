"""STORE816: an event shows other words than the item of the history that it is about."""

from collections.abc import Iterator, Sequence

from inspector.conversation.model import Chunk, Kind
from inspector.programs.codex.twins import messages_of, speaker_of_event, twins_of, words_of
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded

_NEXT = 2
"""Chunks between an item and the event that Codex writes right before or after it."""


def check(case: Case) -> Iterator[Match]:
    yield from bounded(_matches(case.conversation.chunks))


def _matches(chunks: Sequence[Chunk]) -> Iterator[Match]:
    index = {chunk.key: number for number, chunk in enumerate(chunks)}
    twins = twins_of(chunks)
    shown_keys = {event.key for event in twins.values()}
    for place, message in messages_of(chunks).items():
        if place in twins or message[0].kind is not Kind.TEXT or message[0].role not in ("user", "assistant"):
            continue
        at, end = index[message[0].key], index[message[-1].key]
        near = [*chunks[max(0, at - _NEXT) : at][::-1], *chunks[end + 1 : end + 1 + _NEXT]]
        event = next(
            (chunk for chunk in near if chunk.key not in shown_keys and speaker_of_event(chunk) == message[0].role and chunk.text.strip()),
            None,
        )
        if event is not None and not _shares_a_line(event.text, words_of(message)):
            shown_keys.add(event.key)
            yield Match(
                (message[0], event),
                f"The event at seq {event.seq} shows other words than the item at seq {message[0].seq}: a person reads the one, and the model gets the other.",
                evidence=(("shown", event.text[:200]), ("sent", words_of(message)[:200])),
            )


def _shares_a_line(shown: str, sent: str) -> bool:
    """An event may leave out what a program put around the words: quotations, images, what an editor added."""
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    return any(line in sent for line in lines) or any(line.strip() in shown for line in sent.splitlines() if line.strip())


RULE = Rule(
    code="STORE816",
    state="CX6",
    name="event-disagrees",
    severity=Severity.WARNING,
    silent=True,
    origin=Origin.STORE,
    summary="what a person is shown of a message is not what the model gets",
    why=(
        "Codex stores the words of a message twice: as an item of the history, which is sent, and as an event, which is shown. A tool or a script that edited one of "
        "them only leaves a thread that looks repaired and is sent as before, or the other way round."
    ),
    example=(
        '@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user",'
        '"content":[{"type":"input_text","text":"the old words"}]}}\n'
        'line {"timestamp":"2026-08-01T10:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"something else"}}'
    ),
    check=check,
    references=("openai/codex codex-rs/rollout/src/policy.rs: which events are stored", "codex-cli 0.169.0, run: events are never sent"),
    no_repair_reason="Which of the two was said is for a person to say: edit the other one.",
    fixed_in_code="Derive what is shown from the items of the history.",
)
