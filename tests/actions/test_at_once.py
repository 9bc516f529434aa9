"""Several at once: one act on a repair wins, the audit chain holds, and a known path keeps its format."""

import os
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
from inspector.background import LOST
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


MEANWHILE = """
import sys, threading, django
django.setup()
from pathlib import Path
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
call_command("migrate", verbosity=0)
from inspector import background
from inspector.actions import audit
from inspector.actions.decide_repair import reject_repair
from inspector.models import BackgroundTask, Repair
from inspector.models.transactions import one_snapshot
from tests.actions.building import approved, imported, merged


def elsewhere(act):
    def work():
        act()
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


repair = approved(imported(Path(sys.argv[1]), merged()), "renumber-messages")
compared = audit._repair_problems


def after_a_decision(*given, **named):
    elsewhere(lambda: reject_repair(Repair.objects.get(), "ann"))
    return compared(*given, **named)


audit._repair_problems = after_a_decision
audit.refuse_unless_intact(repair)
print(Repair.objects.get().state)
audit._repair_problems = compared

task = BackgroundTask.objects.create(key="k", kind="group apply", by=sys.argv[2], started_at=timezone.now())
with one_snapshot():
    seen = BackgroundTask.objects.get()
    print(background.state_of(seen).problem)
    elsewhere(lambda: BackgroundTask.objects.update(ended_at=timezone.now()))
    print(background.state_of(seen).is_running, background.state_of(seen).problem)
print(background.state_of(BackgroundTask.objects.get()).is_running)
"""


@pytest.mark.slow
def test_what_another_process_records_while_one_reads_is_no_fault(tmp_path: Path) -> None:
    """With a file of its own, which has snapshots: a decision between the lines of the log and the row of its repair, and a task that ends while a page is read."""
    done = subprocess.run(
        [sys.executable, "-c", MEANWHILE, str(tmp_path / "a.db"), process_that_ended()],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "inspector.settings",
            "INSPECTOR_DATABASE_URL": f"sqlite:///{tmp_path / 'inspector.db'}",
            "INSPECTOR_AUDIT_KEY_FILE": str(tmp_path / "audit-key"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["rejected", LOST, "True ", "False"], done.stderr
