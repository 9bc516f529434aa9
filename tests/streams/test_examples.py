"""The examples on the pages of the rules of streams: each fires its rule, what is right instead fires nothing, and all come from the cases of the tests."""

import pytest

from inspector.streams import examples
from inspector.streams.examples import exchange_of, kept
from inspector.streams.two_sides import judged
from inspector.streams.violations import STREAM_RULES, StreamRule
from tests.folding import in_one_test
from tools import stream_examples


def found(rule: StreamRule, which: str) -> set[str]:
    return {evidence.rule.name for _, evidence in judged(exchange_of(kept()[rule.name][which]["capture"])).by_side()}


@in_one_test("rule", STREAM_RULES, ids=lambda rule: rule.name)
def test_an_example_fires_its_rule_and_what_is_right_fires_nothing(rule: StreamRule) -> None:
    wrong, right = examples.wrong(rule), examples.right(rule)
    assert wrong is not None and right is not None, f"the new row {rule.name} has no example: run tools/stream_examples.py"

    assert rule.name in found(rule, "wrong") and found(rule, "right") == set()
    assert wrong.messages and not right.messages
    assert any(line.is_matched for line in wrong.lines), "a reader sees which event it is"


@pytest.mark.slow
def test_the_examples_are_what_the_cases_of_the_tests_give() -> None:
    assert stream_examples.PATH.read_text(encoding="utf-8") == "".join(stream_examples.examples()), "run tools/stream_examples.py"
