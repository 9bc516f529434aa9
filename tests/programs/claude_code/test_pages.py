"""A session of Claude Code on its pages."""

import html
import re
from pathlib import Path

import pytest
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.models import Conversation
from tests.programs.claude_code import session_lines as cc

pytestmark = pytest.mark.django_db


def page_of(client: Client, folder: Path, *lines: object, address: str = "") -> str:
    """The page of the one session that has these lines."""
    store = cc.write(folder, {f"{cc.PROJECT}/{cc.ID}.jsonl": cc.lines(*lines)})
    import_targets([str(store)], "test")
    answer = client.get(f"/conversations/{Conversation.objects.get().oid}/{address}")
    assert answer.status_code == 200
    return answer.content.decode()


PENDING = (cc.u("u1", None, "run it"), cc.a("a1", "u1", "m1", cc.call("t1")))


def test_a_pending_call_at_the_end_is_shown_as_pending(client: Client, tmp_path: Path) -> None:
    page = page_of(client, tmp_path, *PENDING)
    assert page.count("its last call (seq 2) is pending") >= 2 and "<b>Sent</b> rejected" not in page
    assert not Conversation.objects.get().refused


def test_a_call_that_is_followed_by_a_question_is_left_out_by_a_resume_and_rejected_while_the_program_runs(
    client: Client, tmp_path: Path
) -> None:
    page = page_of(client, tmp_path, *PENDING, cc.u("u2", "a1", "go on"))
    assert (
        "is pending" not in page and "<b>Sent</b> wrong silently: without seq 2<" in page and "a call that has no result anywhere" in page
    )
    assert not Conversation.objects.get().refused
    running = client.get(f"/conversations/{Conversation.objects.get().oid}/?reader=claude-code-running").content.decode()
    assert "<b>Sent</b> rejected" in running


def test_a_session_without_recorded_requests_is_not_sent_to_the_traces_of_another_program(client: Client, tmp_path: Path) -> None:
    page = page_of(client, tmp_path, *PENDING, address="trace/")
    assert "Dispatch" not in page and "Inspector reads no traces of Claude Code from other files." in page


def test_the_panel_of_a_finding_explains_it_for_the_program_of_the_session(client: Client, tmp_path: Path) -> None:
    page = page_of(client, tmp_path, *PENDING, cc.u("u2", "a1", "go on"), address="?finding=TOOL102")
    assert "shows the refusal as `API Error: 400" in html.unescape(page) and "Dispatch" not in page


def ticked(page: str) -> list[str]:
    return re.findall(r'name="strategy"[^>]*? value="([^"]+)" checked', page)


def test_the_only_strategy_that_fits_is_ticked_until_somebody_chooses(client: Client, tmp_path: Path) -> None:
    lines = (*PENDING, cc.u("u2", "a1", "go on"))
    assert ticked(page_of(client, tmp_path, *lines, address="repairs/new/")) == ["insert-interrupted-result"]
    assert ticked(page_of(client, tmp_path, *lines, address="repairs/new/?mode=same-file&reader=claude-code")) == []


def test_of_several_ways_the_recommended_one_is_ticked_and_of_a_whole_session_none(client: Client, tmp_path: Path) -> None:
    lines = (cc.u("u1", None, "run it"), cc.a("a1", "u1", "m1", cc.text("done")), cc.u("u2", "a1", "go on"))
    unsigned = cc.a("a2", "u2", "m2", {"type": "thinking", "thinking": "well", "signature": ""})
    page = page_of(client, tmp_path, *lines, unsigned, cc.a("a3", "a2", "m2", cc.text("so")), address="repairs/new/")
    assert ">recommended<" in page and ticked(page) == ["unsigned-thinking-to-text"]
    assert ticked(page_of(client, tmp_path, *lines, address="repairs/new/")) == []


def test_lines_that_only_move_down_are_unchanged(client: Client, tmp_path: Path) -> None:
    lines = (*PENDING, cc.u("u2", "a1", "go on"), cc.a("a2", "u2", "m2", cc.text("done")), cc.u("u3", "a2", "thanks"))
    page = page_of(client, tmp_path, *lines, address="repairs/new/?strategy=insert-interrupted-result&mode=same-file")
    assert "1 chunk inserted, 1 changed, 4 unchanged; 1 record changed in part" in page and "renumbered" not in page
