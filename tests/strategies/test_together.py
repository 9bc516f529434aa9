"""Strategies for a provider's rules: what all of them keep, in histories and in the bytes of a body."""

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from inspector.conversation import notation
from inspector.conversation.edits import Safety, apply
from inspector.conversation.model import Kind
from inspector.planning import preview as previews
from inspector.rules.base import Case
from inspector.strategies.catalogue import STRATEGIES, strategy
from tests.folding import in_one_test
from tests.judges.reading import HISTORIES
from tests.strategies.before_and_after import ANTHROPIC, OPENAI, RESULT, SESSION, USE, case_in, previewed, said, text, thinking, written

WRONG: dict[str, Any] = {
    "model": "claude-opus-4",
    "max_tokens": 5,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "messages": [
        {"role": "assistant", "content": "I look."},
        said("user", text("gr\u00fc\u00dfe \ud800")),
        said("assistant", thinking("so"), text(" "), text("x")),
        said("assistant", thinking("hm", signature="s"), USE, text("y")),
        said("user", text("and?")),
        said("user", RESULT, {**RESULT, "content": "g"}),
        said("assistant", text("z"), cache_mark := text("w") | {"cache_control": {"type": "ephemeral"}}),
    ],
}
NAMES = (
    *("move-results", "keep-first-result", "rename-invalid-ids", "shorten-ids", "sanitize-tool-names", "merge-same-role-messages"),
    *("order-blocks", "drop-empty-blocks", "thinking-to-text", "drop-unsigned-thinking", "strip-old-thinking", "strip-thinking"),
    *("add-empty-thinking", "end-with-user", "start-with-user", "answer-before-user", "replace-surrogates"),
)


@cache
def cases(format_name: str) -> dict[str, Case]:
    """Each history, read once for all strategies."""
    return {title: case_in(notation.load(text_, title, format_name)[0]) for title, text_ in HISTORIES.items()}


@in_one_test("format_name", [OPENAI, ANTHROPIC, SESSION, "pi", "dispatch", "claude-code"])
@pytest.mark.parametrize("name", [each.name for each in STRATEGIES if Safety.LOSSY not in each.safety])
def test_what_is_not_said_to_lose_anything_keeps_every_call_and_result(name: str, format_name: str) -> None:
    """Over every history that judges are asked about: results that swapped places were both lost once."""
    for title, case in cases(format_name).items():
        conversation = case.conversation
        final = apply(conversation, strategy(name).edits(case))
        before, after = ((Counter((chunk.kind, chunk.text) for chunk in each.chunks)) for each in (conversation, final))
        assert not {found for found in before - after if found[0] in (Kind.TOOL_CALL, Kind.TOOL_RESULT)}, title


@in_one_test("name", [name for name in NAMES if name != "answer-before-user"])
def test_a_body_is_written_with_every_untouched_message_byte_for_byte(name: str) -> None:
    preview = previewed(WRONG, [name])
    (change,) = preview.changes
    assert change.before is not None and change.after is not None
    after = written(preview)
    assert {key: value for key, value in after.items() if key != "messages"} == {key: WRONG[key] for key in WRONG if key != "messages"}
    old_elements = [json.dumps(each, indent=1).replace("\n", "\n  ") for each in WRONG["messages"]]
    same = [each for each, value in zip(old_elements, WRONG["messages"], strict=True) if value in after["messages"]]
    assert len(same) >= 1 and all(each.encode() in change.after.data for each in same)
    assert cache_mark in after["messages"][-1]["content"] or name == "end-with-user"


@in_one_test("name", NAMES)
def test_what_was_written_needs_no_second_run(name: str) -> None:
    try:
        once = written(previewed(WRONG, [name]))
    except previews.NothingToDo:
        assert name == "answer-before-user"
        return
    with pytest.raises(previews.NothingToDo):
        previewed(once, [name])
