"""`keep-failed-answer`: what tools did before an answer failed."""

from pathlib import Path

from inspector.planning.preview import compose
from inspector.rules.base import case_of
from inspector.strategies.catalogue import strategy
from tests.programs.opencode.stores import answer, export, step, text, tool, user
from tests.programs.opencode.test_opencode import NAME, only, repaired, sent


def test_a_failed_answer_is_kept_without_its_error(tmp_path: Path) -> None:
    failed = answer(2, step(), tool("call_a"), error={"name": "APIError", "data": {}})
    path = export(tmp_path, [user(1, text("go")), failed, user(3, text("on"))])
    _, store = repaired(path, tmp_path / "new.json", "keep-failed-answer")
    assert [role for role, *_ in sent(store.conversations[0])] == ["user", "assistant", "tool", "user"]


def test_an_answer_that_failed_before_it_did_anything_is_left(tmp_path: Path) -> None:
    failed = answer(2, step(), text("well"), error={"name": "APIError", "data": {}})
    stored = only(export(tmp_path, [user(1, text("go")), failed, user(3, text("on"))]))
    assert compose(case_of(stored.conversation, NAME), [strategy("keep-failed-answer")]) == ()
