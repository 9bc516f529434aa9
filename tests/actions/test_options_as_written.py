"""What the options of a repair say of the next request is what the preview of the same strategies says."""

from pathlib import Path

import pytest

from inspector.actions.problems import Refused
from inspector.actions.shown_previews import Shown, offered, shown_of_choice
from inspector.models import Conversation, loading
from inspector.presentation.conversation.ending import ACCEPTED
from inspector.presentation.repair.outcomes import outcome
from tests.commands.running import run
from tests.kept import Kept
from tests.programs.pi_openclaw.session_files import a, header, lines, text, u
from tests.views.imported import of_programs

pytestmark = pytest.mark.django_db


def previewed(row: Conversation, names: tuple[str, ...]) -> Shown | None:
    """In the first mode that can write it."""
    for mode in loading.format_of(row.source).modes:
        try:
            shown = shown_of_choice(row, names, mode.name, row.source.reader, "")
        except Refused:
            continue
        if shown.part is not None:
            return shown
    return None


def differing(row: Conversation) -> list[tuple[str, str]]:
    offer = offered(row, "")
    different = []
    for name, words in offer.outcomes.items():
        shown = previewed(row, (name,))
        if shown is not None and shown.part is not None:
            then = outcome(shown.part.before.ending, shown.part.after.ending).text
            if words.partition(": ")[2].partition("; ")[0] != then:
                different.append((f"{name}: {words}", then))
    for option in offer.options:
        shown = previewed(row, option.names)
        if shown is not None and shown.part is not None and (option.end == "") != (shown.part.after.ending.words == ACCEPTED):
            different.append((f"{option.names}: {option.end}", shown.part.after.ending.words))
    return different


def test_no_option_of_the_demo_comes_to_something_else(kept: Kept) -> None:
    kept("programs", of_programs)
    rows = Conversation.objects.filter(is_crash=False)
    assert len(rows) > 15 and not [pair for row in rows for pair in differing(row)]


def test_a_line_that_is_stored_twice_is_lost_in_no_option(tmp_path: Path) -> None:
    """In memory the second of two equal lines was missing after every strategy, and the path that is written has it once."""
    answer = a("b", "a", text("one"))
    entries = u("a", None), answer, answer, u("c", "gone", "two?"), a("d", "c", text("two"))
    (tmp_path / "s.jsonl").write_bytes(lines(header(), *entries))
    assert run("import_source", tmp_path / "s.jsonl").status == 0
    row = Conversation.objects.get()
    assert "reparent-orphan-entry" in offered(row, "").outcomes and not differing(row)
