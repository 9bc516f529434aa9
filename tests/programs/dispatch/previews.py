"""Readings, wire texts and previews of a conversation, each in one call, and the names of table rows that are covered."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from inspector.conversation.edits import Plan
from inspector.conversation.model import Conversation, Message, Reading
from inspector.planning import preview as previews
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Stored
from inspector.projections.catalogue import projection
from inspector.readers.catalogue import reader
from inspector.rules.base import case_of
from inspector.strategies.catalogue import STRATEGIES, strategy

Shown = list[tuple[str, tuple[int, ...]]]
OPTIONS = {"fork_id": "new-id", "now": "5", "title": "Repaired"}


# What a provider may insist on: each is tried alone here, and in sequences where profiles are tried.
FOR_A_PROVIDER = {
    *("replace-surrogates", "rename-invalid-ids", "rename-repeated-ids", "shorten-ids", "move-results", "keep-first-result"),
    *("drop-unsigned-thinking", "thinking-to-text", "strip-old-thinking", "strip-thinking", "add-empty-thinking", "drop-empty-blocks"),
    *("adopt-results", "sanitize-tool-names", "replace-rejected-images"),
    *("order-blocks", "merge-same-role-messages", "system-first", "start-with-user", "answer-before-user", "end-with-user"),
}


# Generic ones whose rule or whose place is in no store of Dispatch: messages of one role in a row, blocks of an answer, the request alone.
ELSEWHERE = {strategy.name for strategy in STRATEGIES if strategy.formats and DISPATCH.name not in strategy.formats} | {
    *(
        "add-empty-thinking",
        "insert-plain-result",
        "merge-same-role-messages",
        "order-blocks",
        "system-first",
        "truncate-before-incomplete",
    ),
}


def read(conversation: Conversation, name: str = "dispatch-legacy") -> Reading:
    return reader(name).read(conversation)


def shown(messages: Iterable[Message]) -> Shown:
    return [(message.role, message.seqs) for message in messages]


def spelled(messages: Iterable[Message]) -> str:
    """`U[1-3] T4`, and `T+` for a message that the reader made up."""
    return " ".join(_spell(message) for message in messages)


def _spell(message: Message) -> str:
    letter = message.role[:1].upper()
    if message.synthetic:
        return f"{letter}+"
    first, last = message.seqs[0], message.seqs[-1]
    return f"{letter}{first}" if first == last else f"{letter}[{first}-{last}]"


def wire(messages: Sequence[Message], name: str = "dispatch-openai") -> list[dict[str, Any]]:
    return projection(name).project(messages).values


def plan_for(stored: Stored, mode: str, names: Sequence[str], reader_name: str = "dispatch-legacy") -> Plan:
    chosen = [strategy(name) for name in names]
    return Plan(
        "source",
        stored.conversation.native_id,
        mode,
        tuple(names),
        previews.safety_of(chosen),
        previews.digest(stored),
        previews.compose(case_of(stored.conversation, reader_name), chosen),
        OPTIONS,
    )


def preview_of(stored: Stored, mode: str, names: Sequence[str], reader_name: str = "dispatch-legacy") -> previews.Preview:
    plan = plan_for(stored, mode, names, reader_name)
    chosen = [strategy(name) for name in names]
    return previews.preview(case_of(stored.conversation, reader_name), stored, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat")


def covered(names: Iterable[str], letter: str) -> set[str]:
    """Row names such as `S-16` that the names of tests (`test_s16_...`) or of parameters carry."""
    pattern = re.compile(rf"(?:^|_){letter}-?(\d+)(?:_|$|\b)", re.IGNORECASE)
    return {f"{letter}-{match.group(1)}" for name in names if (match := pattern.search(name))}


def rows(letter: str, last: int) -> set[str]:
    return {f"{letter}-{number}" for number in range(1, last + 1)}
