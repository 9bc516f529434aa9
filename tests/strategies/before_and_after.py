"""Histories before and after a strategy, and previews of request bodies."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from inspector.conversation import notation
from inspector.conversation.edits import Plan, apply
from inspector.conversation.model import Conversation, Kind
from inspector.planning import preview as previews
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Format, Record, Stored
from inspector.rules.base import Case, case_of
from inspector.strategies.catalogue import strategy
from inspector.strategies.numbering import renumbered

ANTHROPIC, OPENAI, SESSION = "anthropic-request", "openai-chat-request", "rollouts"
KEPT = "thinking payload=" + json.dumps({"type": "thinking", "text": "hm", "signature": "s"})
REDACTED = "redacted-thinking payload=" + json.dumps({"type": "redacted-thinking", "data": "zz"})
EMPTY = "control payload=" + json.dumps({"type": "control", "empty": "[]"})


class Row(NamedTuple):
    """`before` and `after` are notation without its first column; no `after` = the strategy has nothing to do."""

    name: str
    what: str
    format: str
    before: str
    after: str = ""


def history(text: str, format_name: str) -> Conversation:
    lines = [line.strip() for line in text.strip().split("\n")]
    numbered = "\n".join(f"{seq} {line}" for seq, line in enumerate(lines, start=1))
    return notation.load(numbered, format_name=format_name)[0]


def case_in(conversation: Conversation) -> Case:
    return case_of(conversation, format_named(conversation.format).default_reader)


def repaired(name: str, conversation: Conversation) -> Conversation:
    """After the strategy; what every strategy must keep is asserted on the way."""
    case = case_in(conversation)
    final = apply(conversation, strategy(name).propose(case))
    assert list(strategy(name).propose(case.with_conversation(final))) == [], "a second run finds nothing"
    old = {chunk.key: chunk for chunk in conversation.chunks}
    new = [chunk.key for chunk in final.chunks if chunk.key not in old]
    assert all(key.startswith(("new:", "moved:")) for key in new), "only what is new or elsewhere has a new key"
    assert all(chunk.raw == old[chunk.key].raw for chunk in final.chunks if chunk.key in old)
    return final


def spelled(conversation: Conversation) -> list[str]:
    """One line a chunk, numbered as it will be stored."""
    return [notation.dump_chunk(chunk) for chunk in renumbered(conversation).chunks]


TURN = "user 0.0 text go\nassistant 1.0 tool-call a ls {}\n"
TWO_CALLS = "user 0.0 text go\nassistant 1.0 tool-call a ls {}\nassistant 1.1 tool-call b ls {}\n"
LATE = TURN + "user 2.0 text and?\nassistant 3.0 text hm\ntool 4.0 tool-result a files\n"


def assert_strategy(row: Row) -> None:
    base = history(row.before, row.format)
    final = repaired(row.name, base)
    assert spelled(final) == spelled(history(row.after or row.before, row.format))
    if not row.after:
        assert final == base


def ids(conversation: Conversation) -> list[str]:
    return [chunk.call_id for chunk in conversation.chunks if chunk.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT)]


def assert_an_id_that_is_not_taken_is_renamed_with_its_result(name: str, call_id: str, is_renamed: bool, format_name: str) -> None:
    text = f"assistant 0.0 tool-call {call_id} ls {{}}\nassistant 0.1 tool-call other9ids ls {{}}\n"
    final = repaired(name, history(f"{text}tool 1.0 tool-result {call_id} f\ntool 2.0 tool-result other9ids f", format_name))
    call, other, result, others = ids(final)
    assert call == result and other == others == "other9ids" and (call != call_id) is is_renamed
    assert not is_renamed or re.fullmatch(r"[A-Za-z0-9]{9}", call)


def stored(body: Any, format_name: str = ANTHROPIC) -> tuple[Format, Stored]:
    format_ = format_named(format_name)
    data = json.dumps(body, indent=1).encode()
    return format_, next(iter(format_.read([Record("request.json", Cell(data, "file"))])))


def previewed(body: Any, names: Iterable[str], judge: str = "anthropic-2026-07", format_name: str = ANTHROPIC) -> previews.Preview:
    format_, held = stored(body, format_name)
    case, chosen = case_in(held.conversation), [strategy(name) for name in names]
    plan = Plan(
        "s", "request", "same-file", tuple(names), previews.safety_of(chosen), previews.digest(held), previews.compose(case, chosen)
    )
    return previews.preview(case, held, format_, plan, chosen, format_.default_projection, judge)


def written(preview: previews.Preview) -> Any:
    (change,) = preview.changes
    assert change.after is not None
    return json.loads(change.after.data)


def thinking(words: str, **more: str) -> dict[str, str]:
    return {"type": "thinking", "thinking": words} | more


def said(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


USE = {"type": "tool_use", "id": "toolu.1", "name": "l s", "input": {"n": 1.50}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu.1", "content": "f"}
