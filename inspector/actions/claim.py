"""One act on a repair at a time: two clicks, or two people, must not both write."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from inspector.actions.problems import Refused
from inspector.models import Repair

# Longer than any act takes; a process that died holding a claim loses it after this.
LEASE = timedelta(seconds=60)


@contextmanager
def claimed(repair: Repair) -> Iterator[None]:
    """Raises Refused where somebody else is at work on the repair, or its state is another by now."""
    now = timezone.now()
    free = Repair.objects.filter(pk=repair.pk, state=repair.state).filter(Q(claimed_at=None) | Q(claimed_at__lt=now - LEASE))
    if not free.update(claimed_at=now):
        raise Refused("Somebody else is at work on this repair, or decided on it a moment ago: open it again.")
    try:
        yield
    finally:
        Repair.objects.filter(pk=repair.pk, claimed_at=now).update(claimed_at=None)
