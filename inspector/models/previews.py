"""Previews of plans on large conversations: worked out once, and read by every later page of the plan, in whatever process that is made."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from inspector.models.analyses import basis, digest_of_values
from inspector.models.analysis import StoredPreview
from inspector.models.cached import MEGABYTE
from inspector.models.conversation import Conversation
from inspector.models.repair import Repair
from inspector.models.transactions import one_writer

KEPT, MOST_BYTES = 8, 4 * MEGABYTE
"""Previews of one conversation, and the packed bytes of one."""


@dataclass(frozen=True, slots=True)
class PreviewPlace:
    """Where the preview of one request is kept. `bases`: what else it depends on, where it does not matter when the source was read, and where it does."""

    conversation: Conversation
    revision: int
    key: str
    request: Any
    bases: tuple[str, str]


def place_of(conversation: Conversation, revision: int, request: Any, around: Hashable) -> PreviewPlace:
    """`request` is plain JSON; `around` is what else of the database the preview depends on. Asked before the work, so that a change in between is seen."""
    usual, timed = (digest_of_values((basis(conversation, is_timed), around)) for is_timed in (False, True))
    return PreviewPlace(conversation, revision, digest_of_values((revision, request)), request, (usual, timed))


def kept(place: PreviewPlace) -> bytes | None:
    row = StoredPreview.objects.filter(conversation=place.conversation, key=place.key).first()
    return None if row is None or row.basis != place.bases[row.is_timed] else bytes(row.data)


def keep(place: PreviewPlace, data: bytes, is_timed: bool) -> None:
    """In place of what was kept of the same."""
    if len(data) > MOST_BYTES:
        return
    values = {"revision": place.revision, "basis": place.bases[is_timed], "is_timed": is_timed, "request": place.request, "data": data}
    with one_writer():
        if not Conversation.objects.filter(pk=place.conversation.pk).exists():
            return
        StoredPreview.objects.update_or_create(
            conversation=place.conversation, key=place.key, defaults=values | {"written_at": timezone.now()}
        )
        # Of an earlier revision only a repair that waits shows one.
        waiting = Repair.objects.filter(conversation=place.conversation, state__in=Repair.WAITING).values("revision")
        place.conversation.previews.filter(revision__lt=place.revision).exclude(revision__in=waiting).delete()
        rows = place.conversation.previews.order_by("-written_at", "-pk")
        StoredPreview.objects.filter(pk__in=list(rows.values_list("pk", flat=True)[KEPT:])).delete()


def choices_of(conversation: Conversation, chosen: Hashable) -> tuple[str, str]:
    """Digests of what a person chose. A request follows from the second until the source or its traces are read again, or the code is another; from the
    first, where the source does not matter for it, also after it was read again."""
    usual, timed = (digest_of_values((basis(conversation, is_timed), conversation.revision, chosen)) for is_timed in (False, True))
    return usual, timed


def request_of(conversation: Conversation, choices: tuple[str, str]) -> Any:
    """None where no request of the choice is known."""
    return conversation.previews.filter(choice__in=choices).values_list("request", flat=True).first()


def note_choice(place: PreviewPlace, choices: tuple[str, str], is_timed: bool) -> None:
    """That the choice led to the request at `place`; nothing where no preview is kept there."""
    choice = choices[is_timed]
    with one_writer():
        place.conversation.previews.filter(key=place.key).exclude(choice=choice).update(choice=choice)
