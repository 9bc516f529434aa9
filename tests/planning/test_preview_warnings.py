"""What a preview warns of: signed thinking after an edit, and profiles that refuse only the result."""

from typing import Any

from inspector.planning import preview as previews
from inspector.profiles.anthropic_turns import turns
from inspector.profiles.catalogue import profile
from inspector.profiles.judging import judgement_of
from tests.counting import counted
from tests.strategies.before_and_after import OPENAI, RESULT, USE, previewed, said, text, thinking

SURVIVES = "whether its signature survives that, nobody can know offline"
THOUGHT: dict[str, Any] = {
    "thinking": {"type": "enabled"},
    "messages": [
        said("user", text("go"), text(" ")),
        said("assistant", thinking("hm", signature="s"), text("x")),
        said("user", text("and?"), text(" ")),
        said("assistant", thinking("so", signature="t"), text("y")),
        said("user", text("end"), text(" ")),
    ],
}


def of_signatures(preview: previews.Preview) -> list[str]:
    return [warning for warning in preview.warnings if SURVIVES in warning]


def test_an_edit_before_signed_thinking_names_the_first_one() -> None:
    (warning,) = of_signatures(previewed(THOUGHT, ["drop-empty-blocks"]))
    assert "signed thinking at seq 3 (seq 2 after the repair)" in warning


def test_an_edit_between_two_signed_blocks_names_the_later_one() -> None:
    body = {**THOUGHT, "messages": [said("user", text("go")), *THOUGHT["messages"][1:]]}
    (warning,) = of_signatures(previewed(body, ["drop-empty-blocks"]))
    assert "signed thinking at seq 6 (seq 5 after the repair)" in warning


def test_an_edit_behind_all_signed_thinking_warns_of_nothing() -> None:
    body = {**THOUGHT, "messages": [said("user", text("go")), THOUGHT["messages"][1], said("user", text("and?"), text(" "))]}
    assert of_signatures(previewed(body, ["drop-empty-blocks"])) == []


def test_thinking_that_does_not_stay_needs_no_warning() -> None:
    assert of_signatures(previewed(THOUGHT, ["drop-empty-blocks", "strip-thinking"])) == []


def test_joining_two_answers_unsettles_the_thinking_of_the_second() -> None:
    body = {
        "messages": [said("user", text("go")), said("assistant", text("x")), said("assistant", thinking("hm", signature="s"), text("y"))]
    }
    (warning,) = of_signatures(previewed(body, ["merge-same-role-messages"]))
    assert "at seq 3 changes" in warning


def test_taking_thinking_from_a_running_turn_says_that_the_result_is_refused() -> None:
    use, result = {**USE, "id": "t1", "name": "ls"}, {**RESULT, "tool_use_id": "t1"}
    body = {**THOUGHT, "messages": [said("user", text("go")), said("assistant", thinking("hm", signature="s"), use), said("user", result)]}
    preview = previewed(body, ["strip-thinking"])
    assert preview.before.judgement.sendable and [found.id for found in preview.after.judgement.violations] == ["AN-15"]
    assert any(warning.startswith("anthropic-2026-07 would refuse the result: ") for warning in preview.warnings)


REASONED: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": "x",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "f"},
]


def refusing(preview: previews.Preview) -> list[str]:
    return [warning for warning in preview.warnings if "would refuse the result" in warning]


def test_another_profile_of_the_shape_that_refuses_only_the_result_is_named() -> None:
    (warning,) = refusing(previewed({"messages": REASONED}, ["strip-thinking"], "openai-chat", OPENAI))
    assert warning.startswith("deepseek-thinking would refuse the result, and does not refuse what is stored: ")


def test_a_chat_template_that_refuses_the_result_is_named_only_where_it_is_the_judge() -> None:
    said = [("user", "a"), ("assistant", "x"), ("user", ""), ("assistant", "y"), ("user", "b")]
    body = {"messages": [{"role": role, "content": words} for role, words in said]}
    preview = previewed(body, ["drop-empty-blocks"], "openai-chat", OPENAI)
    assert preview.before.judgement.sendable and refusing(preview) == []
    (warning,) = refusing(previewed(body, ["drop-empty-blocks"], "alternating-template", OPENAI))
    assert warning.startswith("alternating-template would refuse the result: ")


def test_a_profile_that_refuses_what_is_stored_too_is_not_named() -> None:
    no_reasoning = [{name: value for name, value in each.items() if name != "reasoning_content"} for each in REASONED]
    body = {"messages": [*no_reasoning, {"role": "assistant", "content": " "}, {"role": "user", "content": "and?"}]}
    preview = previewed(body, ["drop-empty-blocks"], "openai-chat", OPENAI)
    assert not profile("deepseek-thinking").judge(preview.before.prompt, None).sendable
    assert not [warning for warning in refusing(preview) if warning.startswith("deepseek-thinking")]


def test_the_verdict_of_a_part_of_a_profile_needs_no_second_look() -> None:
    """Another provider over Messages asks for less than Anthropic, and in the same words."""
    rule, part = profile("anthropic-2026-07"), profile("anthropic-compatible")
    use, result = {**USE, "id": "t1", "name": "ls"}, {**RESULT, "tool_use_id": "t1"}
    unanswered = {"messages": [said("user", text("go")), said("assistant", use), said("user", text("and?"), text(" "))]}
    whole = {**THOUGHT, "messages": [*THOUGHT["messages"], said("assistant", thinking("", signature=""), use), said("user", result)]}
    assert part.part_of == rule.name
    for body, expected in ((unanswered, 3), (whole, 2)):
        preview = previewed(body, ["drop-empty-blocks"])
        judged = [judgement_of(preview.after.prompt, preview.after.case.conversation, judge.name).violations for judge in (rule, part)]
        assert part.among(judged[0]) == judged[1] and judged[0]
        with counted(turns) as counts:
            refusing(preview)
        # The result and what is stored, each once; and what is stored by the part, where that refuses the result.
        assert counts == {"turns": expected}
