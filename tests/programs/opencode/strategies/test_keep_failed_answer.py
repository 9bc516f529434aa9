"""`keep-failed-answer`: what tools did before an answer failed."""

import json
from pathlib import Path

import pytest

from inspector.actions.problems import Refused
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


FAILED = answer(2, step(), text("I look."), tool("call_a"), error={"name": "APIError", "data": {}})


def test_parts_that_the_import_rejects_and_opencode_does_not_send_are_not_in_the_new_session(tmp_path: Path) -> None:
    session = [user(1, text("go")), FAILED, user(3, {"type": "hologram"}, text("on"))]
    preview, _ = repaired(export(tmp_path, session), tmp_path / "new.json", "keep-failed-answer")
    values = json.loads((tmp_path / "new.json").read_text())["messages"]
    assert [[part["type"] for part in value["parts"]] for value in values] == [["text"], ["step-start", "text", "tool"], ["text"]]
    (without,) = [warning for warning in preview.warnings if "Not in the new session" in warning]
    assert "would stop: prt_" in without


def test_a_message_of_no_role_is_taken_out_first(tmp_path: Path) -> None:
    nobody = user(1, text("go"))
    del nobody[0]["role"]
    path = export(tmp_path, [nobody, FAILED, user(3, text("on"))])
    with pytest.raises(Refused, match="would stop at the message at seq 1, which has no known role: add the strategy drop-broken-parts"):
        repaired(path, tmp_path / "new.json", "keep-failed-answer")
    _, store = repaired(path, tmp_path / "new.json", "keep-failed-answer", "drop-broken-parts")
    assert [role for role, *_ in sent(store.conversations[0])] == ["assistant", "tool", "user"]


def test_an_answer_at_which_the_import_would_stop_is_refused(tmp_path: Path) -> None:
    wrong = FAILED[0] | {"cost": "1"}, FAILED[1]
    with pytest.raises(Refused, match=r"would stop at message msg_\w+: cost: no number"):
        repaired(export(tmp_path, [user(1, text("go")), wrong]), tmp_path / "new.json", "keep-failed-answer")
