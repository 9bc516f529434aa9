"""What a list says of the next request: written by the import, and by the migration for what was imported before."""

from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection

from inspector.actions.import_source import import_targets
from inspector.models import Conversation
from tests.programs.claude_code.families import FAMILIES
from tests.programs.claude_code.session_lines import ID, lines, write
from tests.views.test_one_snapshot import everything_imported

pytestmark = pytest.mark.django_db


def written() -> dict[str, tuple[str, ...]]:
    """Without the damage that an import names by its rules, which a verdict only counts, and with which it begins where that causes what becomes of the request."""
    rows = Conversation.objects.all()
    named = {row.pk for row in rows if "store is damaged" in row.verdict.lower() or row.next_request[:1] in (["rejected"], ["silent"])}
    return {row.verdict: ("" if row.pk in named else row.damage, *row.next_request) for row in rows}


def test_the_migration_writes_what_the_import_does(tmp_path: Path) -> None:
    everything_imported(tmp_path)
    for number, family in enumerate(FAMILIES.values()):
        write(tmp_path / "claude", {f"projects/-home-{number}/{ID}.jsonl": lines(*family.lines)})
    import_targets([str(tmp_path / "claude")], "tester")
    before = written()
    assert {"rejected", "silent", "passes"} <= {state for _, state, *_ in before.values()} and any(damage for damage, *_ in before.values())
    Conversation.objects.update(damage="", next_request=[])
    import_module("inspector.migrations.0051_next_request_filled").fill(apps, connection.schema_editor())
    after = written()
    # A verdict says that a session can be resumed also where its request lacks something, and does not say that.
    unsaid = {verdict for verdict, (_, state, *_) in before.items() if state == "silent" and "can be resumed" in verdict}
    assert len(unsaid) == 1 and all(after[verdict][2] == "can be resumed" for verdict in unsaid)
    assert {verdict: words for verdict, words in after.items() if verdict not in unsaid} == {
        verdict: words for verdict, words in before.items() if verdict not in unsaid
    }
    for row in Conversation.objects.all():
        assert row.verdict == row.damage or row.verdict.startswith(f"{row.damage[:-1]}; ")
