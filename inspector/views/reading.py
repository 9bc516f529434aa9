"""What a person sees while a process of its own reads a large conversation for the page that they asked for (`inspector.large_pages`)."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from inspector.views.pages import page

READ_ELSEWHERE = "inspector.read_elsewhere"
"""Of a request: the large conversation. No header of a client has a name like it."""
POLL = "being-read"
"""Id of what asks whether the page is there."""


def say_what_is_read(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """In place of the view, with its checks before it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_view(request: HttpRequest, view: Any, arguments: list[Any], named: dict[str, Any]) -> HttpResponse | None:
        row = request.META.get(READ_ELSEWHERE)
        return None if row is None else page(request, "reading.html", {"row": row, "poll": POLL}, status=202)

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware
