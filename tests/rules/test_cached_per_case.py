"""What many rules ask of a case is worked out cached_per_case, and never for another case."""

from dataclasses import replace

from inspector.conversation import notation
from inspector.rules.base import Case, answered, cached_per_case, case_of, findings
from inspector.rules.catalogue import RULES

STORED = """
1 user 0.0 text "list the files"
2 assistant 1.0 tool-call a ls {}
3 tool 2.0 tool-result a "x" name=ls
4 assistant 3.0 tool-call b ls {}
"""


def case() -> Case:
    return case_of(notation.load(STORED)[0], "dispatch-legacy")


def test_a_case_is_looked_at_once_however_many_ask() -> None:
    looked: list[Case] = []

    @cached_per_case
    def count(seen: Case) -> int:
        looked.append(seen)
        return len(seen.messages)

    first = case()
    assert [count(first), count(first), count(first)] == [4, 4, 4] and len(looked) == 1
    assert answered(first) is answered(first)


def test_another_content_is_another_case_though_its_surroundings_stay() -> None:
    first = case()
    assert [len(each.results) for each in answered(first)] == [1, 0]
    shorter = first.with_conversation(replace(first.conversation, chunks=first.conversation.chunks[:2]))
    assert [len(each.results) for each in answered(shorter)] == [0]
    assert [len(each.results) for each in answered(replace(first, messages=first.messages[:2]))] == [0]


def test_what_is_kept_changes_neither_equality_nor_findings() -> None:
    asked, fresh = case(), case()
    first = findings(asked, RULES)
    assert asked.cached and not fresh.cached and asked == fresh
    assert findings(asked, RULES) == first == findings(fresh, RULES)
