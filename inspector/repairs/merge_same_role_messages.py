"""Joins neighbouring messages of one role into one, block after block."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit
from inspector.conversation.model import Chunk
from inspector.detectors.base import Case
from inspector.repairs.arrangement import arranged, is_dispatch, speaker
from inspector.repairs.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    """Results that stand in messages of their own are no neighbours of this kind. Dispatch tells messages apart by other numbers."""
    if is_dispatch(case):
        return
    chunks: list[Chunk] = []
    before, own, joined = "", -1, -1
    is_joined = False
    for chunk in case.conversation.chunks:
        role = speaker(case, chunk)
        if chunk.msg_idx is None or chunk.msg_idx < 0 or role not in ("system", "user", "assistant"):
            before = ""
            chunks.append(chunk)
            continue
        if role != before or not role:
            before, own, joined = role, chunk.msg_idx, chunk.msg_idx
        elif chunk.msg_idx != own:
            own, is_joined = chunk.msg_idx, True
        chunks.append(replace(chunk, msg_idx=joined))
    if is_joined:
        yield from arranged(case, chunks)


STRATEGY = Strategy(
    name="merge-same-role-messages",
    safety=frozenset(),
    summary="joins neighbouring messages of one role into one message, with all their blocks in order",
    cost="No block changes; where one answer ended and the next began can no longer be seen in the history.",
    noticed_by_user="Two answers, or two questions, in a row are shown as one.",
    argued_for="Templates and some clients insist that roles alternate; Anthropic and OpenAI join or accept neighbours themselves.",
    argued_against=(
        "It is what made rollouts' refused session fail: two answers with thinking become one message whose thinking no model ever gave in this order. "
        "Interrupted results between the answers part them instead, and nothing is joined."
    ),
    write_kind="content",
    propose=propose,
    by_choice=True,
    beyond_dispatch=True,
)
