"""Chats of Gemini CLI that no version writes: they are read and judged without a traceback."""

from pathlib import Path
from typing import Any

import pytest

from inspector import check
from inspector.conversation.model import Kind
from tests.programs.gemini_cli.chats import CLEAN, HEADER, ID, answer, lines, of_bytes, tool_call, user


@pytest.mark.parametrize("id_", [[], {}, ["a"], {"a": []}, 5, None, ""])
def test_a_call_whose_id_is_no_text_is_shown(id_: Any) -> None:
    data = lines(HEADER, user("u1", "go"), answer("m1", toolCalls=[tool_call("x") | {"id": id_}]), user("u2", "on"))
    assert sum(chunk.kind in (Kind.TOOL_CALL, Kind.UNREADABLE) for chunk in of_bytes(data).conversation.chunks) == 1
    assert check(data).conversation


def test_a_chat_that_is_piped_in_is_checked(tmp_path: Path) -> None:
    """It has no name of a chat, nor has a copy that somebody sent under another one."""
    copy = tmp_path / "the chat.txt"
    copy.write_bytes(lines(*CLEAN))
    assert check(lines(*CLEAN)).conversation == check(copy).conversation == ID
