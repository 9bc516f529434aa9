"""How far a command is: on a terminal only, and gone before the answer."""

import io
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from inspector.conversation.model import Fact
from inspector.management.progress import ProgressLine, sentence
from inspector.programs.formats import Listed, Record, Stored
from inspector.programs.pi_openclaw.pi import PI
from tests.actions.test_import_streamed import SESSIONS, write_sessions


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_names_what_is_done_its_rate_and_what_is_left() -> None:
    assert sentence(25, 100, 50_000, 10.0) == "25 of 100 conversations, 50,000 chunks (5,000 a second), 30 s left"
    assert sentence(25, 1_000, None, 10.0) == "25 of 1,000 conversations (2 a second), 6 min left"
    assert sentence(3, None, 70, 2.0) == "3 conversations, 70 chunks (35 a second)"
    assert sentence(1, 9, 70, 0.1) == "1 of 9 conversations", "no rate out of a moment"


def test_a_terminal_shows_it_from_the_first_conversation_and_anything_else_nothing() -> None:
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with ProgressLine(stream) as line:
            line.show(1, 500)
            line.show(2, 500)
    assert terminal.getvalue() == "\r\x1b[K1 of 500 conversations\r\x1b[K"
    assert file.getvalue() == ""


class Mark(Fact):
    """A fact that weak references can count; conversations have slots."""


def test_a_scan_has_no_more_than_two_conversations_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[Mark] = weakref.WeakSet()
    counts: list[int] = []
    group = type(PI).read_group

    def read_group(self: Any, listed: Listed, records: Sequence[Record]) -> Stored:
        mark = Mark(listed.native_id, None)
        alive.add(mark)
        counts.append(len(alive))
        return group(self, replace(listed, facts={**listed.facts, "mark": mark}), records)

    monkeypatch.setattr(type(PI), "read_group", read_group)
    terminal, out = Terminal(), io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal)
    call_command("scan", str(write_sessions(tmp_path / "sessions")), stdout=out)
    assert len(counts) == SESSIONS and max(counts) <= 2
    assert f"1 of {SESSIONS} conversations" in terminal.getvalue()
    assert out.getvalue() == f"Healthy: {SESSIONS} of {SESSIONS} conversations.\n"
