"""Whole answers that are still right, as they were masked: a page that somebody opens again, without its ETag, is not made again."""

from dataclasses import dataclass

from django.http import HttpResponse

from inspector.models.cached import MEGABYTE, Kept

_MOST, _LARGEST = 16 * MEGABYTE, MEGABYTE


@dataclass(frozen=True, slots=True)
class _Answer:
    content: bytes
    headers: tuple[tuple[str, str], ...]


_ANSWERS: Kept[str, _Answer] = Kept(_MOST, lambda answer: len(answer.content))
"""By ETag, which says everything that an answer depends on, who asks included (`views.pages.unless_unchanged`)."""


def kept(etag: str) -> HttpResponse | None:
    answer = _ANSWERS.get(etag)
    if answer is None:
        return None
    response = HttpResponse(answer.content, headers=dict(answer.headers))
    response.is_masked = True  # type: ignore[attr-defined]
    return response


def keep(response: HttpResponse) -> None:
    """After it was masked; not what a view marked as exact."""
    is_exact = getattr(response, "is_exact", False)
    if response.status_code == 200 and not response.streaming and not is_exact and len(response.content) <= _LARGEST:
        _ANSWERS.put(response["ETag"], _Answer(response.content, tuple(response.items())))
