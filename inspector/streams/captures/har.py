"""HTTP archives (HAR 1.2), as browsers, mitmproxy and Polly.js write them. Times are those of whole entries, and one entry is one side."""

import binascii
from collections.abc import Iterator
from typing import Any

from inspector.streams.captures.base import NoCapture, Opened, document, member, text_member
from inspector.streams.captures.bodies import HttpAnswer, streamed, whole_number
from inspector.streams.model import Exchange
from inspector.text.jsontext import Unreadable, encode


def sniff(head: bytes, name: str) -> bool:
    return name.lower().endswith(".har") or (
        head.lstrip().startswith(b"{") and b'"log"' in head[:4096] and (b'"entries"' in head or b'"creator"' in head)
    )


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    try:
        value = document(opened)
    except Unreadable as error:
        raise NoCapture(f"The archive cannot be read ({error.reason}): export it again.") from None
    entries = member(value, "log", "entries")
    if not isinstance(entries, list):
        raise NoCapture("It has no list `log.entries`, so it is no HTTP archive.")
    streams = list(streamed(entries, name, _answer))
    if not streams:
        raise NoCapture(
            f"None of its {len(entries):,} entries holds an answer of a model: export the archive with bodies, from the page that asked."
        )
    yield from streams


def _answer(entry: Any, native_id: str) -> HttpAnswer:
    content = member(entry, "response", "content")
    problems: list[str] = []
    body = _body(content, problems)
    size = whole_number(member(content, "size"))
    # Polly.js counts the text of base64.
    if body is not None and size is not None and size > 0 and size not in (len(body), len(text_member(content, "text"))):
        problems.append(
            f"The archive says that the body has {size:,} bytes, and holds {len(body):,}: it was cut, or re-encoded when it was kept."
        )
    return HttpAnswer(
        native_id,
        body,
        method=text_member(entry, "request", "method"),
        url=text_member(entry, "request", "url"),
        status=whole_number(member(entry, "response", "status")) or None,
        content_type=text_member(content, "mimeType") or _header(entry, "content-type"),
        # A body is kept unpacked (HAR 1.2); one that was not is known by its first bytes.
        encoding=_header(entry, "content-encoding"),
        request=text_member(entry, "request", "postData", "text") or None,
        problems=tuple(problems),
    )


def _body(content: Any, problems: list[str]) -> bytes | None:
    text = member(content, "text")
    if not isinstance(text, str):
        return None
    if text_member(content, "encoding").lower() != "base64":
        return encode(text)
    try:
        return binascii.a2b_base64(text)
    except ValueError:
        problems.append("The body is marked as base64 and is none; its text is shown as it is.")
        return encode(text)


def _header(entry: Any, name: str) -> str:
    headers = member(entry, "response", "headers")
    for header in headers if isinstance(headers, list) else ():
        if text_member(header, "name").lower() == name:
            return text_member(header, "value")
    return ""
