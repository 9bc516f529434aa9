"""The histories that Explain draws are rejected, and accepted, by the rules that they are examples of."""

from typing import Any

import pytest

from inspector.presentation.explain.examples import SHAPES, ShapeMessage, shape_pair
from inspector.profiles.base import Profile, Request
from inspector.profiles.catalogue import PROFILES
from inspector.wires.names import ANTHROPIC, BEDROCK, GEMINI

IDS = {"a": "k3Vd0QxZ1", "b": "p9Lm2RtY7"}


def block(words: str, wire: str) -> dict[str, Any]:
    kind, name = words.partition(" ")[::2]
    return {
        ANTHROPIC: {
            "text": {"type": "text", "text": "words"},
            "thinking": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            "call": {"type": "tool_use", "id": IDS.get(name), "name": "ls", "input": {}},
            "result": {"type": "tool_result", "tool_use_id": IDS.get(name), "content": "done"},
        },
        BEDROCK: {
            "text": {"text": "words"},
            "call": {"toolUse": {"toolUseId": IDS.get(name), "name": "ls", "input": {}}},
            "result": {"toolResult": {"toolUseId": IDS.get(name), "content": [{"text": "done"}]}},
        },
        GEMINI: {
            "text": {"text": "words"},
            "call": {"functionCall": {"name": "ls", "args": {}}},
            "result": {"functionResponse": {"name": "ls", "response": {"result": "done"}}},
        },
    }[wire][kind]


def message(shape: ShapeMessage, wire: str) -> dict[str, Any]:
    words = [one.words for one in shape.blocks]
    if wire in (ANTHROPIC, BEDROCK, GEMINI):
        return {"role": shape.role, "parts" if wire == GEMINI else "content": [block(word, wire) for word in words]}
    if shape.role == "tool":
        return {"role": "tool", "tool_call_id": IDS[words[0].removeprefix("result ")], "content": "done"}
    calls = [IDS[word.removeprefix("call ")] for word in words if word.startswith("call ")]
    functions = [{"id": name, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for name in calls]
    return {"role": shape.role, "content": "words", **({"tool_calls": functions, "reasoning_content": "hm"} if functions else {})}


def judge_of(rule_id: str) -> Profile:
    return next(profile for profile in PROFILES if any(rule.id == rule_id for rule in profile.rules))


@pytest.mark.parametrize("rule_id", SHAPES)
def test_a_drawn_history_is_judged_as_it_is_drawn(rule_id: str) -> None:
    pair, judge = shape_pair(rule_id), judge_of(rule_id)
    assert pair is not None
    rejected, accepted = (
        list(judge.check(Request([message(one, judge.wire) for one in messages]))) for messages in (pair.rejected, pair.accepted)
    )
    (wrong,) = [number for number, one in enumerate(pair.rejected) if any(block.mark == "!" for block in one.blocks)]
    assert (rule_id, str(wrong)) in {(violation.id, violation.path.split(".")[1]) for violation in rejected}
    assert [violation for violation in accepted if not violation.open_ended] == []


def test_a_rule_on_a_single_value_has_no_history() -> None:
    assert shape_pair("AN-17") is None
