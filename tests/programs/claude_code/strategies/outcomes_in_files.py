"""A session with a call without a result, and what other files say came of it."""

from dataclasses import replace
from typing import Any

from inspector.conversation.edits import apply
from inspector.conversation.model import Fact
from inspector.planning.preview import compose
from inspector.programs.claude_code.around import OUTCOMES
from inspector.rules.base import Case, case_of
from inspector.strategies.catalogue import strategy
from inspector.text import jsontext
from tests.programs.claude_code.session_lines import a, call, said, stored, text, u

CALLED = (u("u1", None), a("a1", "u1", "m1", call("t1"), 1))
ANSWERED = (*CALLED, u("u2", "a1", "and?", 3), a("a2", "u2", "m2", text("Well."), 4))


def with_outcomes(*outcomes: tuple[str, str, bool], values: tuple[dict[str, Any], ...] = ANSWERED) -> Case:
    """`outcomes`: id of a call, what a file holds of it, and whether the file says that it is whole."""
    session = stored(*values).conversation
    fact = jsontext.compact([[id_, f"s/{id_}.txt", f"/p/s/{id_}.txt", words, is_ended] for id_, words, is_ended in outcomes])
    return case_of(replace(session, facts={**session.facts, OUTCOMES: Fact(OUTCOMES, fact)}), "claude-code")


def repaired(case: Case, name: str) -> list[str]:
    """What is said on the path after the strategy; [] where it changes nothing."""
    edits = compose(case, [strategy(name)])
    return said(apply(case.conversation, edits)) if edits else []
