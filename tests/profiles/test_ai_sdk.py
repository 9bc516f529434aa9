"""AI SDK: each rule that is judged, with messages that it refuses and messages that it nearly does, for ai 6 and ai 7."""

import pytest

from inspector.profiles.ai_sdk import AI_SDK_6_PROFILE, AI_SDK_7_PROFILE, RULES_6, RULES_7
from inspector.profiles.base import Profile, ProviderRule
from tests.folding import in_one_test
from tests.profiles.ai_sdk_bodies import APPROVAL, APPROVED, BODIES, assistant, call, result, tool, user
from tests.profiles.asking import assert_knows_its_text, assert_table_is_whole, assert_takes_any_body, fired, violations

BOTH = [AI_SDK_6_PROFILE, AI_SDK_7_PROFILE]


@in_one_test("name", BODIES)
def test_what_is_refused_and_what_nearly_is(name: str) -> None:
    body = BODIES[name]
    assert fired(AI_SDK_6_PROFILE, body.messages) == list(body.six)
    assert fired(AI_SDK_7_PROFILE, body.messages) == list(body.seven)


@in_one_test("name", [name for name, body in BODIES.items() if body.text])
def test_ai_7_breaks_on_what_it_converts(name: str) -> None:
    assert [found.text for found in violations(AI_SDK_7_PROFILE, BODIES[name].messages)] == [BODIES[name].text]


def test_every_rule_that_is_judged_is_shown() -> None:
    for rules, shown in ((RULES_6, [body.six for body in BODIES.values()]), (RULES_7, [body.seven for body in BODIES.values()])):
        judged = {rule.id for rule in rules if not rule.unjudged and not rule.obsolete}
        assert {rule for found in shown for rule, _ in found} == judged


def test_texts_are_those_of_the_library() -> None:
    both = assistant(call("a"), call("b"))
    assert violations(AI_SDK_6_PROFILE, [user(), both, user()])[0].text == "Tool results are missing for tool calls a, b."
    assert violations(AI_SDK_6_PROFILE, [user(), both, tool(result("a")), user()])[0].text == "Tool result is missing for tool call b."


def test_only_the_end_is_missing_while_the_tool_runs() -> None:
    assert [found.open_ended for found in violations(AI_SDK_6_PROFILE, [user(), assistant(call())])] == [True]
    assert [found.open_ended for found in violations(AI_SDK_6_PROFILE, [user(), assistant(call()), user()])] == [False]


@pytest.mark.parametrize("profile", BOTH, ids=lambda profile: profile.name)
def test_any_body_is_judged(profile: Profile) -> None:
    assert_takes_any_body(profile, [user(), assistant("Reading.", call(), APPROVAL), tool(result(), APPROVED)])


@in_one_test("rule", RULES_6, ids=lambda rule: rule.id)
def test_texts_are_recognised(rule: ProviderRule) -> None:
    assert_knows_its_text(rule)


def test_every_row_is_there() -> None:
    for rules in (RULES_6, RULES_7):
        assert [rule.id for rule in rules] == [*(f"SDK-{number}" for number in range(1, 10)), "LG-1", "GB-1", "GB-2"]
    assert {rule.id for rule in RULES_6 if rule.unjudged} == {"SDK-4", "SDK-6", "SDK-7", "SDK-9", "LG-1", "GB-1", "GB-2"}
    assert {rule.id for rule in RULES_7 if rule.unjudged or rule.obsolete} == {"SDK-3", "LG-1", "GB-1", "GB-2"}
    assert_table_is_whole(AI_SDK_6_PROFILE)
    assert_table_is_whole(AI_SDK_7_PROFILE)
