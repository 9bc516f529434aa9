"""The audit trail: one line an act, each bound to the line before, so that a changed, removed or slipped-in line shows."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from inspector.actions import audit
from inspector.actions.undo_repair import undo_repair
from inspector.models import AuditEntry
from tests.actions.building import WHO, applied, imported, merged

pytestmark = pytest.mark.django_db


def a_life(path: Path) -> None:
    undo_repair(applied(imported(path, merged()), "renumber-messages"), WHO, interactive=True)


def test_the_chain_of_a_whole_life_holds(tmp_path: Path) -> None:
    a_life(tmp_path / "a.db")
    verbs = list(AuditEntry.objects.order_by("id").values_list("verb", flat=True))
    assert verbs == ["import", "propose", "approve", "apply", "verify", "import", "undo", "import"]
    assert set(AuditEntry.objects.values_list("who", flat=True)) == {WHO} and audit.broken_at() is None
    applied_line = AuditEntry.objects.get(verb="apply")
    assert applied_line.detail["records"] == 4 and applied_line.detail["bytes"] > 0 and applied_line.source_path.endswith("a.db")


Change = Callable[[AuditEntry], object]
CHANGES: dict[str, Change] = {
    "another person": lambda line: AuditEntry.objects.filter(pk=line.pk).update(who="nobody"),
    "another verb": lambda line: AuditEntry.objects.filter(pk=line.pk).update(verb="reject"),
    "another time": lambda line: AuditEntry.objects.filter(pk=line.pk).update(at=line.at + timedelta(microseconds=1)),
    "another store": lambda line: AuditEntry.objects.filter(pk=line.pk).update(source_path="/elsewhere"),
    "another detail": lambda line: AuditEntry.objects.filter(pk=line.pk).update(detail={}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_line_is_found(change: Change) -> None:
    lines = [audit.record("someone", "apply", source_path="/a", repair=str(number), bytes=number) for number in range(5)]
    assert audit.broken_at() is None
    change(lines[2])
    assert audit.broken_at() == lines[2]


def test_a_removed_line_shows_at_the_one_behind_it(tmp_path: Path) -> None:
    lines = [audit.record("someone", "apply", repair=str(number)) for number in range(4)]
    lines[1].delete()
    assert audit.broken_at() == lines[2]


def test_a_changed_line_with_a_new_hash_of_its_own_still_breaks_the_chain() -> None:
    lines = [audit.record("someone", "apply", repair=str(number)) for number in range(4)]
    lines[1].who = "nobody"
    lines[1].digest = lines[1].content_digest()
    lines[1].save()
    assert audit.broken_at() == lines[2]


def test_hostile_words_do_not_break_the_trail() -> None:
    audit.record("who\u202e", "apply", source_path="/a\ud800\x00", outcome="\ud800\x00<b>")
    assert AuditEntry.objects.get().source_path == "/a\\ud800\\x00" and audit.broken_at() is None
