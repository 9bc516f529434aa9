"""A thread of Codex on its page, in the terminal, and repaired from there."""

from contextlib import suppress
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from inspector.actions.import_source import import_targets
from inspector.models import Conversation
from inspector.programs.codex.readers import COMPACTED_AWAY, ROLLED_BACK
from tests.programs.codex.threads import (
    NAME,
    assistant,
    call,
    compacted,
    event,
    output,
    paginated,
    reasoning,
    rolled_back,
    said,
    started,
    thread,
    user,
)

pytestmark = pytest.mark.django_db

RICH = (
    *(event("task_started", turn_id="t"), user("q1"), event("user_message", message="q1"), reasoning(), call("c1"), output("c1")),
    *(assistant("a1"), compacted("what happened", said("user", "kept")), started("t2"), user("q2"), rolled_back(1), user("q3"), call("c2")),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / NAME).write_bytes(thread(*RICH))
    return tmp_path


@pytest.mark.parametrize("page", ["", "prompt/", "repairs/new/", "chunks/11/"])
def test_the_pages_of_a_thread(folder: Path, client: Client, page: str) -> None:
    import_targets([str(folder)], "test")
    row = Conversation.objects.get()
    answer = client.get(f"/conversations/{row.oid}/{page}")
    assert answer.status_code == 200 and "Traceback" not in answer.content.decode()
    if not page:
        text = answer.content.decode()
        assert "q1" in text and COMPACTED_AWAY in text and ROLLED_BACK in text


def test_a_scan_of_a_paginated_thread_says_that_it_does_not_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = paginated(user("q1"), assistant("a1")).replace(b'"ordinal":2,', b"")
    (tmp_path / NAME).write_bytes(data)
    with suppress(SystemExit):
        call_command("scan", str(tmp_path))
    printed = capsys.readouterr().out
    assert "STORE811" in printed and "final paginated rollout record is missing an ordinal" in printed
