"""`restore-cleared-messages`: what a rewind to nowhere cleared."""

from inspector.planning.preview import compose
from inspector.programs.gemini_cli.reader import NAME
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.gemini_cli.chats import (
    CONTEXT,
    HEADER,
    answer,
    listed,
    rewind,
    stored,
    user,
)  # fmt: skip
from tests.programs.gemini_cli.repairing import repaired
from tests.programs.gemini_cli.test_reading import codes, contents


def test_what_a_rewind_cleared_comes_back_before_what_came_after_it() -> None:
    chat = stored(HEADER, user("u1", "one"), answer("m1", "aye"), rewind("u9"), user("u3", "three"))
    result = repaired(chat, "restore-cleared-messages")
    assert contents(result) == [("user", ["one"]), ("model", ["aye"]), ("user", ["three"])] and codes(result) == []


def test_what_an_empty_list_cleared_comes_back() -> None:
    chat = stored(HEADER, listed(CONTEXT), user("u1", "one"), answer("m1", "aye"), listed(CONTEXT))
    result = repaired(chat, "restore-cleared-messages")
    assert contents(result) == [("user", ["one"]), ("model", ["aye"])] and codes(result) == []


def test_a_rewind_that_had_a_target_is_left() -> None:
    chat = stored(HEADER, user("u1", "one"), answer("m1", "aye"), user("u2", "two"), rewind("u2"), user("u3", "three"))
    assert compose(case_of(chat.conversation, NAME), [strategy("restore-cleared-messages")]) == ()
