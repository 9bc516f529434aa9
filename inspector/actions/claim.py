"""One act on a repair at a time: two clicks, or two people, must not both write."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from inspector.actions.problems import Refused
from inspector.models import Repair
from inspector.sources.processes import has_ended, this_process

# Longer than any act takes. Only for a process on another machine, where it is not known whether it ended; one of this machine loses its claim when it ends.
LEASE = timedelta(minutes=10)


class AtWork(Refused):
    """Somebody else applies or undoes the repair at this moment."""


@contextmanager
def claimed(repair: Repair) -> Iterator[None]:
    """Raises AtWork where somebody else is at work on the repair, or its state is another by now."""
    now = timezone.now()
    free = Q(claimed_at=None) | Q(claimed_at__lt=now - LEASE)
    holder = Repair.objects.filter(pk=repair.pk).values_list("claimed_by", flat=True).first() or ""
    if has_ended(holder):
        # Killed in the middle of it: the claim goes with its process, however young it is.
        free |= Q(claimed_by=holder)
    claims = Repair.objects.filter(pk=repair.pk, state=repair.state, intent=repair.intent).filter(free)
    if not claims.update(claimed_at=now, claimed_by=this_process()):
        raise AtWork("Somebody else is at work on this repair, or decided on it a moment ago: open it again.")
    try:
        yield
    finally:
        Repair.objects.filter(pk=repair.pk, claimed_at=now).update(claimed_at=None, claimed_by="")
