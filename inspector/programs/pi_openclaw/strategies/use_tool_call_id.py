"""Stores the id of a result under `toolCallId`, the only name of it that pi and the session manager of OpenClaw 2026.9 read."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace
from inspector.conversation.model import Kind
from inspector.programs.pi_openclaw.readers.rows import STORED_NAME, stored_name
from inspector.rules.base import Case
from inspector.strategies.arrangement import is_tree
from inspector.strategies.base import Strategy

_NAME = "toolCallId"


def propose(case: Case) -> Iterator[Edit]:
    for chunk in case.conversation.chunks if is_tree(case) else ():
        if chunk.kind is Kind.TOOL_RESULT and stored_name(chunk, _NAME) != _NAME:
            yield Replace(chunk, replace(chunk, payload={name: value for name, value in chunk.payload.items() if name != STORED_NAME}))


STRATEGY = Strategy(
    name="use-tool-call-id",
    safety=frozenset(),
    summary="stores the id of a result under toolCallId, where the session has it under another name such as toolUseId",
    cost="No content changes: only the name of one member of each such result.",
    user_visible_effect="Nothing: ids are not shown.",
    pros="pi reads toolCallId alone. It sends such a result without an id and adds a synthetic one for the call, and providers reject the request.",
    cons="OpenClaw reads both names up to 2026.7, so a session that only those resume needs no write. 2026.9.6 leaves the row of such a result out.",
    write_kind="content",
    propose=propose,
    manual_only=True,
    order=210,
)
