"""Joins neighboring messages of one role into one, block after block."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk, Message
from inspector.rules.base import Case, keys_read, passed_over
from inspector.strategies.arrangement import arranged, by_message, speaker
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Results that are in messages of their own are no neighbors of this kind. Dispatch distinguishes messages by other numbers.

    Rows between two messages that no program sends follow the joined message as they are. Nothing is joined to an answer that programs leave out as failed
    or that another model gave, and nothing across the place at which a compaction cuts: what is read and what is not would become one message.
    """
    if by_message(case):
        return
    skipped, read = passed_over(case.conversation, case.reading), keys_read(case)
    chunks: list[Chunk] = []
    aside: list[Chunk] = []
    before: object = None
    own, joined = -1, -1
    is_joined = False
    for chunk in case.conversation.chunks:
        if chunk.key in skipped:
            aside.append(chunk)
            continue
        role = speaker(case, chunk)
        if (
            chunk.msg_idx is None
            or chunk.msg_idx < 0
            or role not in ("system", "user", "assistant")
            or case.program.calls.has_failed(Message(role, (chunk,)))
        ):
            before = None
            chunks += [*aside, chunk]
            aside = []
            continue
        kind = (role, chunk.key in read, case.program.providers.model_of(chunk) if role == "assistant" else None)
        if kind != before:
            before, own, joined = kind, chunk.msg_idx, chunk.msg_idx
            chunks += aside
            aside = []
        elif chunk.msg_idx != own:
            own, is_joined = chunk.msg_idx, True
        chunks.append(replace(chunk, msg_idx=joined))
    if is_joined:
        yield from arranged(case, [*chunks, *aside])


STRATEGY = Strategy(
    name="merge-same-role-messages",
    safety=frozenset(),
    summary="joins neighboring messages of one role, as the reader has them, into one message, with all their blocks in order",
    cost=(
        "No block changes. Where one message ended and the next began can no longer be seen, and of what messages keep besides their blocks "
        "(time, usage, how they ended) only that of the first stays."
    ),
    user_visible_effect="Two answers, or two questions, in a row are shown as one.",
    pros="Templates and some clients insist that roles alternate; Anthropic and OpenAI join or accept neighbors themselves.",
    cons=(
        "Two answers with thinking become one message whose thinking no model ever gave in this order, and the provider rejects it. "
        "Interrupted results between the answers keep them apart, and nothing is joined."
    ),
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=530,
)
