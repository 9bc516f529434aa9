"""Chats after a repair, as it is written and read again."""

import json
from typing import Any

from inspector.conversation.edits import Plan
from inspector.planning.preview import compose
from inspector.programs.formats import Stored
from inspector.programs.gemini_cli.format import GEMINI_CLI
from inspector.programs.gemini_cli.reader import NAME
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.gemini_cli.chats import (
    of_bytes,
)  # fmt: skip


def repaired(chat: Stored, *names: str) -> Stored:
    before, after = chat.records[0].value.data, written(chat, *names)
    assert after.startswith(before), "a line that was there changed"
    assert after.count(b"\n") == before.count(b"\n") + 1
    return of_bytes(after)


def written(chat: Stored, *names: str) -> bytes:
    edits = compose(case_of(chat.conversation, NAME), [strategy(name) for name in names])
    plan = Plan("chat", chat.conversation.native_id, "append-set", names, frozenset(), "", edits)
    (change,) = GEMINI_CLI.write(plan, chat)
    assert change.after is not None
    return change.after.data


def last_list(chat: Stored) -> list[dict[str, Any]]:
    line = chat.records[0].value.data.splitlines()[-1]
    messages: list[dict[str, Any]] = json.loads(line)["$set"]["messages"]
    return messages
