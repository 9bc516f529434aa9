"""Lines that a repair sets aside are written next to a session that was imported alone, from pages too."""

import os
import re
from pathlib import Path

import pytest

from inspector.actions.apply_repair import apply_repair
from inspector.actions.import_source import import_targets
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair
from inspector.middleware import web_limit
from inspector.models import Conversation
from inspector.sources import reach
from inspector.sources.reach import limited
from tests.actions.building import WHO, approved
from tests.programs.claude_code.session_lines import ID, lines, u

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_a_page_applies_and_undoes_what_sets_lines_of_a_single_session_aside(tmp_path: Path) -> None:
    """It was refused as out of reach after the write had begun, and neither to finish nor to take back."""
    path = tmp_path / f"{ID}.jsonl"
    first, second = lines(u("u1", None), u("u2", "u1")).splitlines(keepends=True)
    before = first + b'{"type":"user","mess\n' + second
    path.write_bytes(before)
    # Its program has been away for long.
    os.utime(path, (1_782_900_000, 1_782_900_000))
    import_targets([str(path)], "tester")
    with limited(web_limit()):
        repair = approved(Conversation.objects.get(), "quarantine-unreadable-lines")
        apply_repair(repair, WHO, interactive=True)
        (aside,) = tmp_path.glob("*.quarantine")
        assert repair.state == "verified" and path.read_bytes() == first + second and aside.read_bytes() == b'{"type":"user","mess\n'
        os.utime(path, (1_782_900_000, 1_782_900_000))
        undo_repair(repair, WHO, interactive=True)
    assert repair.state == "undone" and path.read_bytes() == before and not aside.exists()


def test_what_would_write_a_file_that_pages_may_not_open_is_refused_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another file than the one that is allowed next to a session would be: a write that began could be neither finished nor taken back."""
    path = tmp_path / f"{ID}.jsonl"
    before = b'{"type":"user","mess\n' + lines(u("u1", None))
    path.write_bytes(before)
    os.utime(path, (1_782_900_000, 1_782_900_000))
    import_targets([str(path)], "tester")
    repair = approved(Conversation.objects.get(), "quarantine-unreadable-lines")
    monkeypatch.setattr(reach, "_SET_ASIDE", re.compile(r"(?!)"))
    with limited(web_limit()), pytest.raises(Refused, match=r"The web interface may not read .*\.quarantine.* Nothing was written\."):
        apply_repair(repair, WHO, interactive=True)
    repair.refresh_from_db()
    assert (repair.state, repair.intent, path.read_bytes()) == ("approved", "", before)
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == "verified", "a command may"
