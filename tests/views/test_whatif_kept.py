"""What-if comparisons are computed once for the same rows and surroundings, and again when either changed."""

from pathlib import Path

import pytest

from inspector.actions.import_source import import_targets
from inspector.models import Conversation, comparing
from inspector.models.comparing import difference
from inspector.presentation.whatif import differences as whatif
from tests.programs.pi_openclaw.session_files import a, call, header, lines, u
from tests.views.imported import INCIDENT, example

pytestmark = pytest.mark.django_db


def test_findings_are_looked_for_once_until_the_source_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example(tmp_path)
    asked: list[str] = []

    def counted(found: whatif.Difference, a: object, b: object) -> whatif.Difference:
        asked.append("findings")
        return whatif.with_findings(found, a, b)  # type: ignore[arg-type]

    monkeypatch.setattr(comparing, "with_findings", counted)
    conversation = Conversation.objects.select_related("source").get(native_id=INCIDENT)
    first = difference(conversation, "dispatch-legacy", "exact")
    assert first.go and difference(conversation, "dispatch-legacy", "exact") is first and len(asked) == 1
    assert difference(conversation, "exact", "dispatch-legacy").come and len(asked) == 2
    import_targets([str(tmp_path / "dispatch.db")], "tester")
    again = Conversation.objects.select_related("source").get(native_id=INCIDENT)
    assert again.source.read_at > conversation.source.read_at
    assert difference(again, "dispatch-legacy", "exact") == first and len(asked) == 3


def test_a_session_is_compared_by_the_provider_that_answers_in_it(tmp_path: Path) -> None:
    said = a("a1", "u1", call("c1"), api="openai-responses", provider="openai", model="gpt-5")
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(header(), u("u1", None), said, u("u2", "a1", "and?")))
    import_targets([str(path)], "tester")
    (row,) = Conversation.objects.select_related("source")
    assert row.judges[1] == "openai-responses" != row.source.profile
    found = difference(row, "verbatim", "pi-1.5")
    assert found == difference(row, "verbatim", "pi-1.5", row.judges[1])
    assert found.verdict_a != difference(row, "verbatim", "pi-1.5", row.source.profile).verdict_a
    assert not found.sendable_a
