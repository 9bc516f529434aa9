"""A recorded fixture of Dispatch (`DISPATCH_RECORD_FIXTURE`): one JSON object with the request, and the answer's body as text."""

from collections.abc import Iterator
from typing import Any

from inspector.streams.captures.base import NoCapture, Opened, document, member, text_member
from inspector.streams.captures.bodies import HttpAnswer, exchange, whole_number
from inspector.streams.model import Exchange
from inspector.text.jsontext import Unreadable, compact, encode


def sniff(head: bytes, name: str) -> bool:
    start = head.lstrip()
    return (
        start.startswith(b"{")
        and b'"request"' in start[:4096]
        and (b'"response"' in head or name.lower().endswith(".json"))
        and b'"url"' in head
    )


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    try:
        value = document(opened)
    except Unreadable as error:
        raise NoCapture(f"The fixture cannot be read ({error.reason}): record it again.") from None
    response = member(value, "response")
    if not isinstance(response, dict):
        raise NoCapture("It has no `response`, so it is no recorded fixture.")
    body = response.get("body")
    request_body = member(value, "request", "body")
    yield exchange(
        HttpAnswer(
            name or "fixture",
            encode(_joined(body)) if body is not None else None,
            method=text_member(value, "request", "method"),
            url=text_member(value, "request", "url"),
            status=whole_number(response.get("status")),
            content_type=_content_type(response.get("headers")),
            request=request_body if isinstance(request_body, str | dict) else None,
            lacks=frozenset() if isinstance(body, str | list) else frozenset(("bytes",)),
        )
    )


def _joined(body: Any) -> str:
    """Text, or a list of its pieces; anything else is a value that was an answer without stream."""
    if isinstance(body, list) and all(isinstance(piece, str) for piece in body):
        return "".join(body)
    return body if isinstance(body, str) else compact(body)


def _content_type(headers: Any) -> str:
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if name.lower() == "content-type" and isinstance(value, str):
            return value
    return ""
