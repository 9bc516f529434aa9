"""What each pass of OpenClaw 2026.9.6 makes of a history before it is sent, as the published functions answered."""

from collections.abc import Sequence
from typing import Any

import pytest

from inspector.conversation.model import Message
from inspector.programs.pi_openclaw.readers import openclaw_thinking as thinking
from inspector.programs.pi_openclaw.readers import openclaw_turns as turns
from inspector.programs.pi_openclaw.readers.context import Rules, context_of
from inspector.programs.pi_openclaw.readers.openclaw_ids import STRICT, STRICT9, clean_id, renamed, without_lone_items
from inspector.programs.pi_openclaw.readers.openclaw_inputs import sound_calls
from inspector.programs.pi_openclaw.readers.paths import pi_path
from inspector.programs.pi_openclaw.readers.rows import rows
from tests.programs.pi_openclaw.readers.stored_messages import answer, call, history, nothing_vanishes, result, text, thought, told, user
from tests.programs.pi_openclaw.shapes import entry, stored

# Tool-call input repair.

FINAL = {"id": "call_9|fc_9", "arguments": {"x": 1}, "partialJson": '{"x":1}'}
INPUTS: list[tuple[str, dict[str, Any], str]] = [
    ("no arguments in it", call(), "call c1 run"),
    ("arguments are missing", call(arguments=...), ""),
    ("arguments are null", call(arguments=None), ""),
    ("no id", call(id_=...), ""),
    ("an empty name", call(name=""), ""),
    ("a name with other characters", call(name="bad name!"), ""),
    ("a name of 65 characters", call(name="n" * 65), ""),
    ("a name of 64 characters", call(name="n" * 64), f"call c1 {'n' * 64}"),
    ("blanks around the name", call(name="  read "), "call c1 read"),
    ("half-written arguments", call(arguments={"x": 1}, partialJson='{"x":1}'), ""),
    ("a finished call of Responses", call(**FINAL), "call call_9|fc_9 run"),
    ("one of Responses that is not whole", call(**FINAL | {"partialJson": '{"x":'}), ""),
    ("another spelling", call(type="tool_use", arguments=..., input={}), "call c1 run"),
    ("a name with a namespace", call(name="ns.read:v1"), "call c1 ns.read:v1"),
    ("arguments as text", call(arguments='{"x":1}'), "call c1 run"),
]


@pytest.mark.parametrize(("block", "kept"), [row[1:] for row in INPUTS], ids=[row[0] for row in INPUTS])
def test_calls_that_are_replayed(block: dict[str, Any], kept: str) -> None:
    before = history(user(), answer(text("well"), block), user())
    passed = sound_calls(before)
    assert told(passed.messages) == ["user: go on", f"assistant: well | {kept}".removesuffix(" | "), "user: go on"]
    assert passed.counts == ({} if kept else {"droppedToolCalls": 1})
    nothing_vanishes(before, passed)


def test_a_finished_call_loses_its_scratch_text_only() -> None:
    (made,) = sound_calls(history(answer(call(**FINAL)))).messages
    assert made.chunks[0].payload["input"] == {"x": 1} and made.chunks[0].payload["extra"] == {}


def test_a_call_of_responses_whose_turn_did_not_end_with_calls_is_not_finished() -> None:
    assert sound_calls(history(answer(call(**FINAL), stopReason="error"))).messages == []


def test_an_answer_of_bad_calls_only_is_dropped_whole() -> None:
    before = history(user(), answer(call(name=""), call("c2", arguments=...)), user())
    passed = sound_calls(before)
    assert told(passed.messages) == ["user: go on", "user: go on"]
    assert passed.counts == {"droppedToolCalls": 2, "droppedAssistantMessages": 1}
    nothing_vanishes(before, passed)


def test_one_bad_call_costs_a_turn_whose_thinking_may_not_be_changed() -> None:
    before = history(user(), answer(thought("sig"), call(), call("c2", name="")), result("c1"))
    assert told(sound_calls(before, own_thinking=True).messages) == ["user: go on", "tool: c1 ok"]
    assert told(sound_calls(before).messages) == ["user: go on", "assistant: thought sig | call c1 run", "tool: c1 ok"]
    nothing_vanishes(before, sound_calls(before, own_thinking=True))


@pytest.mark.parametrize("bad", [call("c1"), call("c2", name=" read ")], ids=["an id twice", "a name to be trimmed"])
def test_such_a_turn_is_not_repaired_either(bad: dict[str, Any]) -> None:
    assert sound_calls(history(answer(thought("sig"), call(), bad)), own_thinking=True).messages == []


def test_an_id_that_an_earlier_thinking_turn_has_costs_the_later_one() -> None:
    turn = [answer(thought("sig"), call()), result("c1")]
    assert told(sound_calls(history(*turn, *turn), own_thinking=True).messages) == [
        "assistant: thought sig | call c1 run",
        "tool: c1 ok",
        "tool: c1 ok",
    ]


# Ids.

IDS = [
    ("call_1", "call1", "78d66c1f7"),
    ("call|item:123", "callitem123", "callitem1"),
    ("toolu_01AbC_d", "toolu01AbCd", "toolu01Ab"),
    ("a b", "ab", "fb8e20fc2"),
    ("functions.exec:0", "functions.exec:0", "functions"),
    ("!!", "sanitizedtoolid", "44d8b78be"),
    ("", "defaulttoolid", "defaultid"),
]


@pytest.mark.parametrize(("id_", "strict", "strict9"), IDS, ids=[repr(row[0]) for row in IDS])
def test_an_id_as_a_provider_takes_it(id_: str, strict: str, strict9: str) -> None:
    assert (clean_id(id_, STRICT), clean_id(id_, STRICT9)) == (strict, strict9)


@pytest.mark.parametrize(("id_", "strict", "strict9"), IDS[:-1], ids=[repr(row[0]) for row in IDS[:-1]])
def test_call_and_result_get_the_same_id(id_: str, strict: str, strict9: str) -> None:
    for mode, wanted in ((STRICT, strict), (STRICT9, strict9)):
        before = history(answer(call(id_)), result(id_))
        passed = renamed(before, mode)
        assert told(passed.messages) == [f"assistant: call {wanted} run", f"tool: {wanted} ok"]
        nothing_vanishes(before, passed)


def ids_of(messages: Sequence[Message]) -> list[str]:
    return [chunk.call_id for message in messages for chunk in message.chunks if chunk.call_id]


def test_ids_that_become_one_are_told_apart() -> None:
    both = history(answer(call("call_a|b"), call("call_a:b")), result("call_a|b", "one"), result("call_a:b", "two"))
    assert ids_of(renamed(both, STRICT).messages) == ["callab", "callab164e5cbf"] * 2


def test_an_id_of_anthropics_stays_for_its_first_use() -> None:
    twice = history(*[answer(call("toolu_01AbC_d")), result("toolu_01AbC_d")] * 2)
    assert ids_of(renamed(twice, STRICT, native_ids=True).messages) == ["toolu_01AbC_d"] * 2 + ["toolu01AbCd2"] * 2


def test_an_id_that_is_used_again_is_another_and_results_follow_their_call() -> None:
    twice = history(answer(call()), result("c1", "one"), answer(call()), result("c1", "two"))
    assert told(renamed(twice, STRICT).messages) == ["assistant: call c1 run", "tool: c1 one", "assistant: call c12 run", "tool: c12 two"]
    nine = ids_of(renamed(twice, STRICT9).messages)
    assert nine[0] == nine[1] != nine[2] == nine[3] and all(len(each) == 9 for each in nine)


def test_a_second_native_id_of_kimi_is_hashed() -> None:
    found = ids_of(renamed(history(answer(call("functions.exec:0"), call("functions.exec:1"))), STRICT9).messages)
    assert found[0] == "functions" and len(found[1]) == 9 and found[1] != found[0]


def test_a_turn_that_thinks_keeps_its_ids() -> None:
    before = history(answer(thought("sig"), call("call_1")), result("call_1"))
    assert ids_of(renamed(before, STRICT, own_thinking=True).messages) == ["call_1", "call_1"]


REASONED = '{"type":"reasoning","id":"rs_1","summary":[]}'


def test_an_item_id_without_its_reasoning_is_cut_off() -> None:
    alone = history(answer(call("call_1|fc_1")), result("call_1|fc_1"))
    assert ids_of(without_lone_items(alone).messages) == ["call_1", "call_1"]
    whole = history(answer(thought(REASONED), call("call_1|fc_1")), result("call_1|fc_1"))
    assert ids_of(without_lone_items(whole).messages) == ["call_1|fc_1"] * 2


# Thinking. Three turns: signed and blank thinking with a text; unsigned thinking alone; the latest, unsigned thinking with a text.

THREE = (answer(thought("sig"), thought(" "), text("one")), user(), answer(thought()), user(), answer(thought(), text("three")))
THOUGHT = [
    ("without_unsigned", ["thought sig | one", thinking.OMITTED, "thought | three"]),
    ("without_old_thinking", ["one", thinking.OMITTED, "thought | three"]),
    ("without_reasoning", ["one", thinking.OMITTED, "three"]),
]


@pytest.mark.parametrize(("operation", "expected"), THOUGHT, ids=[row[0] for row in THOUGHT])
def test_thinking_that_is_sent(operation: str, expected: list[str]) -> None:
    before = history(*THREE)
    passed = getattr(thinking, operation)(before)
    assert [each.removeprefix("assistant: ") for each in told(passed.messages) if each.startswith("assistant")] == expected
    nothing_vanishes(before, passed)


def test_reasoning_of_a_turn_that_is_not_over_stays() -> None:
    before = history(user(), answer(thought(), call()), result("c1"))
    assert thinking.without_reasoning(before).messages == before
    assert (
        told(thinking.without_reasoning(history(user(), answer(thought(), call()), result("c1"), user())).messages)[1]
        == "assistant: call c1 run"
    )


def test_signatures_from_before_a_compaction_are_stale() -> None:
    told_of = [
        entry("a", None, message=user()),
        entry("b", "a", message=answer(thought("sig"), text("old"))),
        entry("k", "b", type="compaction", summary="s", firstKeptEntryId="b", tokensBefore=9),
        entry("d", "k", message=user()),
        entry("e", "d", message=answer(thought("new"), text("new"), timestamp=1900000000000)),
        entry("f", "e", message=user()),
    ]
    messages = context_of(rows(pi_path(stored(told_of))), Rules()).sent
    passed = thinking.without_unsigned(thinking.without_stale_signatures(messages).messages, keep_latest=False)
    assert told(passed.messages)[1:] == ["assistant: old", "user: go on", "assistant: thought new | new", "user: go on"]


# Turn validation.

TWO_CALLS = answer(thought("sig"), call(), call("c2"))
TURNS: list[tuple[str, list[dict[str, Any]], list[str], list[str]]] = [
    ("two users", [user("a"), user("b")], ["user: a | b"], ["user: a", "user: b"]),
    (
        "a text, then a call without a result",
        [answer(text("x"), stopReason="stop"), answer(call()), user()],
        ["assistant: x", "user: go on"],
        ["assistant: x | call c1 run", "user: go on"],
    ),
    (
        "thinking with two calls of which one is answered",
        [TWO_CALLS, result("c1"), user()],
        ["assistant: [tool calls omitted]", "tool: c1 ok", "user: go on"],
        ["assistant: thought sig | call c1 run | call c2 run", "tool: c1 ok", "user: go on"],
    ),
    ("an aborted answer with a call", [answer(call(), stopReason="aborted")], ["assistant: []"], ["assistant: call c1 run"]),
    ("an answer at the end", [user(), answer(text("x"))], ["user: go on", "assistant: x"], ["user: go on", "assistant: x"]),
]


@pytest.mark.parametrize(("stored_", "anthropic", "gemini"), [row[1:] for row in TURNS], ids=[row[0] for row in TURNS])
def test_the_order_of_turns(stored_: list[dict[str, Any]], anthropic: list[str], gemini: list[str]) -> None:
    before = history(*stored_)
    for passed, expected in ((turns.anthropic_turns(before), anthropic), (turns.gemini_turns(before), gemini)):
        assert told(passed.messages) == expected
        nothing_vanishes(before, passed)


def test_a_merged_message_has_the_time_the_usage_and_the_end_of_the_last() -> None:
    (merged,) = turns.anthropic_turns(history(user("a", at=10), user("b", at=20))).messages
    assert (merged.chunks[0].payload["entry"]["messageTimestamp"], merged.chunks[0].at, merged.seqs) == (20, 20, (1, 2))
    both = history(answer(text("x"), stopReason="stop", usage={"input": 1}), answer(text("y"), usage={"input": 2}))
    about = turns.gemini_turns(both).messages[0].chunks[0].payload["entry"]
    assert (about["stopReason"], about["usage"]) == ("toolUse", {"input": 2})


def test_answers_at_the_end_that_no_user_message_follows() -> None:
    assert told(turns.trailing_answers(history(user(), answer(call()), answer(text("x")), answer(text("y"))))) == [
        "assistant: x",
        "assistant: y",
    ]
    assert turns.trailing_answers(history(answer(text("x")), user())) == ()


def test_an_answer_that_comes_first_gets_a_user_message() -> None:
    (made, *_) = turns.begun_by_user(history(answer(text("x")))).messages
    assert (made.role, made.chunks[0].text, made.synthetic) == ("user", "(session bootstrap)", True)
    assert len(turns.begun_by_user(history(user())).messages) == 1


def test_blank_content_is_not_sent() -> None:
    before = history(user(" "), answer(text(""), text("x")), user("", "b"), answer(thought("s"), stopReason="length"), answer())
    passed = turns.with_content(before)
    assert told(passed.messages) == ["assistant: x", "user: b"]
    nothing_vanishes(before, passed)
