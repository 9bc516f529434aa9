"""Where a store keeps each message in a record of its own, joining two of them changes nothing that is read, and is refused."""

import pytest

from inspector.planning.suggested import in_modes
from inspector.programs.catalogue import format_named
from inspector.programs.formats import FILE, Cell, Record, Stored
from inspector.rules.base import Case, case_of
from tests.programs.claude_code import session_lines
from tests.programs.gemini_cli import chats
from tests.programs.pi_openclaw.session_files import header, lines
from tests.programs.pi_openclaw.shapes import chain

CHAT = chats.lines(chats.HEADER, chats.user("u1", "one"), chats.user("u2", "two"), chats.answer("m1", "ok"))
SESSION = session_lines.lines(session_lines.u("u1", None, "one"), session_lines.u("u2", "u1", "two", 1))


def modes(format_name: str, data: bytes, key: str) -> list[Case]:
    format_ = format_named(format_name)
    (of,) = format_.read([Record(key, Cell(data, FILE))])
    assert isinstance(of, Stored)
    case = case_of(of.conversation, format_.default_reader)
    joined = in_modes(case, of, format_.default_projection, format_.default_profile, ["merge-same-role-messages"])
    return [later for _, later in joined]


@pytest.mark.parametrize(("format_name", "data", "key"), [("gemini-cli", CHAT, chats.NAME), ("claude-code", SESSION, "one.jsonl")])
def test_what_would_be_read_apart_again_is_not_written(format_name: str, data: bytes, key: str) -> None:
    """It was called safe, written and verified, and no row differed."""
    assert modes(format_name, data, key) == []


def test_blocks_of_two_entries_become_one() -> None:
    written = modes("pi", lines(header(), *chain("U U A()")), "0e6bd2a4-0000-4000-8000-000000000001.jsonl")
    assert written and all(len(later.messages[0].chunks) == 2 for later in written)
