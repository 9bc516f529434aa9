"""Several at once: one act on a repair wins, the audit chain holds, and a known path keeps its format."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from inspector.actions import audit
from inspector.actions.apply_repair import apply_repair
from inspector.actions.claim import LEASE
from inspector.actions.import_source import AnotherFormat, import_targets
from inspector.actions.problems import Refused
from inspector.actions.undo_repair import undo_repair
from inspector.actions.writing import write
from inspector.demo import dispatch_incident
from inspector.demo.creation import write_dispatch_store, write_trace_store
from inspector.models import Repair, Source
from inspector.sources.processes import this_process
from tests.actions.building import approved, imported, merged
from tests.sources.stores import everything


def again(repair: Repair) -> Repair:
    """The repair as a second person's request loads it."""
    return Repair.objects.select_related("conversation__source").get(pk=repair.pk)


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["in-place", "fork"])
def test_a_second_apply_in_the_middle_of_the_first_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    path = tmp_path / "a.db"
    before_import = imported(path, merged())
    before = everything(path)
    repair = approved(before_import, "renumber-messages", mode=mode)
    writes = 0

    def write_while_another_comes(*arguments: Any) -> float:
        nonlocal writes
        writes += 1
        with pytest.raises(Refused, match="Somebody else is at work on this repair"):
            apply_repair(again(repair), "another", interactive=True)
        return write(*arguments)

    monkeypatch.setattr("inspector.actions.apply_repair.write", write_while_another_comes)
    apply_repair(again(repair), "someone", interactive=True)
    assert again(repair).state == Repair.State.VERIFIED and writes == 1 and everything(path) != before
    undo_repair(again(repair), "someone", interactive=True)
    assert again(repair).state == Repair.State.UNDONE and everything(path) == before
    assert audit.broken_at() is None


def process_that_ended() -> str:
    """Its name, as it gave it itself."""
    said = subprocess.run(
        [sys.executable, "-c", "from inspector.sources.processes import this_process; print(this_process())"],
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


@pytest.mark.django_db
def test_a_claim_goes_with_its_process(tmp_path: Path) -> None:
    repair = approved(imported(tmp_path / "a.db", merged()), "renumber-messages", mode="in-place")
    Repair.objects.update(claimed_at=timezone.now(), claimed_by=process_that_ended())
    apply_repair(again(repair), "someone", interactive=True)
    assert again(repair).state == Repair.State.VERIFIED


@pytest.mark.django_db
@pytest.mark.parametrize("claimed_by", ["ours", "another machine pid:[1] 1 1", ""])
def test_a_claim_of_a_process_that_may_be_at_work_counts_for_its_lease(tmp_path: Path, claimed_by: str) -> None:
    repair = approved(imported(tmp_path / "a.db", merged()), "renumber-messages", mode="in-place")
    Repair.objects.update(
        claimed_at=timezone.now() - LEASE + timedelta(seconds=30), claimed_by=this_process() if claimed_by == "ours" else claimed_by
    )
    with pytest.raises(Refused, match="Somebody else is at work"):
        apply_repair(again(repair), "someone", interactive=True)
    Repair.objects.update(claimed_at=timezone.now() - LEASE - timedelta(seconds=1))
    apply_repair(again(repair), "someone", interactive=True)
    assert again(repair).state == Repair.State.VERIFIED


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
