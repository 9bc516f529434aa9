"""Keeps answers that ended with an error and have finished tools."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Kind
from inspector.programs.opencode.chunks import ABOUT, about
from inspector.programs.opencode.reader import is_left_out, turns_of
from inspector.rules.base import Case
from inspector.strategies.base import Strategy


def propose(case: Case) -> Iterator[Edit]:
    for turn in turns_of(case.conversation):
        head = about(turn[0])
        is_answer = head.get("role") == "assistant" and any(chunk.kind is Kind.TOOL_RESULT for chunk in turn)
        if is_answer and is_left_out(head, has_content=True):
            for chunk in turn:
                notes = {name: value for name, value in about(chunk).items() if name != "error"}
                yield Replace(chunk, replace(chunk, payload={**chunk.payload, ABOUT: notes}))


STRATEGY = Strategy(
    name="keep-failed-answer",
    safety=frozenset({Safety.LOSSY}),
    summary="takes the error away from answers that have finished tools, so that opencode sends them",
    cost="The error that the answer ended with leaves the session, which does not show any more that it ended so.",
    user_visible_effect="The model sees what its tools did before the error.",
    pros="What was done is known again, and is not done twice.",
    cons="An error that the provider gave because of this very answer comes back.",
    write_kind="content",
    propose=propose,
    order=40,
    manual_only=True,
)
