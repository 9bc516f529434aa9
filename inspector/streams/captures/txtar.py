"""Text archives with the sections `-- request --` and `-- streaming --`, as the fixtures of coder/aibridge are."""

import re
from collections.abc import Iterator

from inspector.streams.captures.base import NoCapture, Opened, whole
from inspector.streams.captures.bodies import HttpAnswer, exchange
from inspector.streams.model import Exchange

_MARK = re.compile(rb"^-- (\S[^\r\n]*?) --\r?$", re.MULTILINE)


def sniff(head: bytes, name: str) -> bool:
    return name.lower().endswith(".txtar") or (_MARK.search(head) is not None and b"-- streaming" in head)


def exchanges(opened: Opened, name: str) -> Iterator[Exchange]:
    """A section is one exchange where its name begins with `streaming`; its request is the section of the request with the same rest of the name, else the first one."""
    sections = _sections(whole(opened))
    requests = [section for section in sections if section[0].startswith("request")]
    streams = [section for section in sections if section[0].startswith("streaming")]
    if not streams:
        raise NoCapture("It has no section `-- streaming --`.")
    for title, body in streams:
        suffix = title.removeprefix("streaming")
        request = next(
            (data for heading, data in requests if heading.removeprefix("request") == suffix), requests[0][1] if requests else None
        )
        yield exchange(HttpAnswer(f"{name}#{title}", body, request=request))


def _sections(data: bytes) -> list[tuple[str, bytes]]:
    marks = list(_MARK.finditer(data))
    ends = [*(mark.start() for mark in marks), len(data)][1:]
    return [(mark[1].decode("utf-8", "replace"), data[mark.end() + 1 : end]) for mark, end in zip(marks, ends, strict=False)]
