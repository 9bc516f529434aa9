"""What `drop-repeated-lines` takes out of an answer that is in the session twice, which copy stays, and what only looks repeated."""

import json
from typing import Any

from inspector.planning.preview import compose
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, call, case, lines, r, said, text, thinking, u
from tests.programs.claude_code.strategies.repaired_sessions import SAME_FILE, codes, each_mode, written

NAME = "drop-repeated-lines"
THINKS, LOOKS, CALLS = thinking("one", "SIG1"), text("I look."), call("t1", command="ls")
ONCE = (u("u1", None), a("a1", "u1", "m1", THINKS, 1), a("a2", "a1", "m1", LOOKS, 1), a("a3", "a2", "m1", CALLS, 1))
AGAIN = (a("c1", "a3", "m1", THINKS, 1), a("c2", "c1", "m1", LOOKS, 1), a("c3", "c2", "m1", CALLS, 1))


def parents(data: bytes) -> dict[str, str | None]:
    return {row["uuid"]: row["parentUuid"] for row in map(json.loads, data.splitlines())}


@each_mode
def test_each_block_of_an_answer_is_kept_once(mode: str) -> None:
    later, _ = written([NAME], mode, *ONCE, *AGAIN, r("r1", "c3", "t1", "real", 2), u("u2", "r1", "more", 3))
    assert said(later.conversation) == ["user:go", "assistant:one", "assistant:I look.", "assistant:t1", "tool:real", "user:more"]
    assert codes(later) == []


def test_the_copy_stays_that_the_result_names() -> None:
    _, of_second = written([NAME], SAME_FILE, *ONCE, *AGAIN, r("r1", "c3", "t1", "real", 2))
    assert parents(of_second) == {"u1": None, "c1": "u1", "c2": "c1", "c3": "c2", "r1": "c3"}
    result = {**r("r1", "c3", "t1", "real", 2), "sourceToolAssistantUUID": "a3"}
    _, of_first = written([NAME], SAME_FILE, *ONCE, *AGAIN, result)
    assert parents(of_first) == {"u1": None, "a1": "u1", "a2": "a1", "a3": "a2", "r1": "a3"}


def test_where_no_result_names_a_copy_the_first_stays_byte_for_byte() -> None:
    values = (u("u1", None), a("a1", "u1", "m1", text("done"), 1), a("c1", "a1", "m1", text("done"), 1), u("u2", "c1", "more", 2))
    _, data = written([NAME], SAME_FILE, *values)
    assert data == lines(values[0], values[1], u("u2", "a1", "more", 2))


def test_what_only_looks_repeated_is_left() -> None:
    def left(*answer: dict[str, Any]) -> bool:
        return compose(case(u("u1", None), *answer), [strategy(NAME)]) == ()

    assert not left(a("a1", "u1", "m1", CALLS), a("a2", "a1", "m1", CALLS))
    assert left(a("a1", "u1", "m1", CALLS), a("a2", "a1", "m1", call("t2", command="ls"))), "the same command in two calls"
    assert left(a("a1", "u1", "m1", CALLS), a("a2", "a1", "m1", call("t1", command="rm"))), "one id with two inputs"
    assert left(a("a1", "u1", "m1", LOOKS), a("a2", "a1", "m1", CALLS), a("a3", "a2", "m1", LOOKS)), "words said twice around one call"
    assert left(a("a1", "u1", "m1", LOOKS), u("u2", "a1"), a("a2", "u2", "m2", LOOKS)), "the same words in two answers"
