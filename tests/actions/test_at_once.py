"""Several at once: one act on a repair wins, the audit chain holds, and a known path keeps its format."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import OperationalError, connection

from inspector.actions import audit
from inspector.actions.apply_repair import apply_repair
from inspector.actions.import_source import AnotherFormat, import_targets
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair
from inspector.models import Repair, Source
from inspector.seeds import dispatch_incident
from inspector.sources.creation import write_dispatch_store, write_trace_store
from tests.actions.building import approved, imported, merged
from tests.sources.stores import everything


def at_once(work: Callable[[], None], times: int) -> list[str]:
    """What each of `times` threads ended with: "" or the refusal."""
    ends: list[str] = []

    def run() -> None:
        try:
            work()
            ends.append("")
        # The tests' own database is shared memory, which refuses at once where a file would wait.
        except (Refused, OperationalError) as refusal:
            ends.append(str(refusal))
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return ends


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["in-place", "fork"])
def test_of_many_applies_one_wins_and_it_can_be_undone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.db"
    conversation = imported(path, merged())
    before = everything(path)
    repair = approved(conversation, "renumber-messages", mode=mode)
    ends = at_once(
        lambda: apply_repair(Repair.objects.select_related("conversation__source").get(pk=repair.pk), "someone", at_the_keyboard=True), 6
    )
    assert ends.count("") == 1 and len(ends) == 6
    repair.refresh_from_db()
    assert repair.state == Repair.State.VERIFIED and everything(path) != before
    assert audit.broken_at() is None
    ends = at_once(
        lambda: undo_repair(Repair.objects.select_related("conversation__source").get(pk=repair.pk), "someone", at_the_keyboard=True), 4
    )
    assert ends.count("") == 1 and everything(path) == before
    assert audit.broken_at() is None


@pytest.mark.django_db
def test_a_known_path_keeps_its_format(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write_dispatch_store(path, dispatch_incident.store_rows())
    import_targets([str(path)], "someone")
    path.unlink()
    write_trace_store(path, dispatch_incident.trace_records())
    with pytest.raises(AnotherFormat, match="is known as dispatch, and holds dispatch-traces now"):
        import_targets([str(path)], "someone")
    assert Source.objects.get().format == "dispatch"
