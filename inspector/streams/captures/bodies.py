"""An exchange of one captured HTTP answer, for kinds that keep its body as one value: HAR, VCR, fixtures."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.streams.captures.base import NEVER_KEPT, blocks_of, from_backend, json_object, member
from inspector.streams.captures.secrets import address, without_secrets
from inspector.streams.captures.unpacking import problems_of, unpacked
from inspector.streams.model import Exchange, How, Side

_STREAMS = ("event-stream", "ndjson", "jsonl", "json", "text/plain", "eventstream", "octet-stream")
_BINARY = "vnd.amazon.eventstream"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """`body` is the bytes as kept, None where none were; `request` the request's body as kept; `url` may hold keys, and is not shown."""

    native_id: str
    body: bytes | None
    method: str = ""
    url: str = ""
    status: int | None = None
    content_type: str = ""
    encoding: str = ""
    request: bytes | str | Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    lacks: frozenset[str] = field(default_factory=frozenset)

    def may_stream(self) -> bool:
        """Pictures, pages and scripts of a browser's archive are not looked at."""
        return not self.content_type or any(word in self.content_type for word in _STREAMS)


def exchange(answer: HttpAnswer) -> Exchange:
    problems = list(answer.problems)
    body = answer.body or b""
    if answer.body is None:
        problems.append(
            "The capture holds no body of the answer: browsers drop those of long streams. Capture it again with the recorder (docs/how-to/record-a-stream.md)."
        )
    damage = problems_of(blocks_of(body), answer.encoding)
    problems += damage
    if _BINARY in answer.content_type:
        problems.append("The answer is in the binary framing of AWS event streams, which is not taken apart here.")
    request = answer.request
    request_body = json_object(request) if isinstance(request, bytes | str) else request
    return Exchange(
        native_id=answer.native_id,
        happenings=from_backend(lambda: unpacked(blocks_of(body), answer.encoding), How.CUT if damage else How.UNKNOWN),
        sides=(Side.BACKEND,),
        request=without_secrets(request_body) if isinstance(request_body, dict) else None,
        title=f"{answer.method} {address(answer.url)}".strip() or answer.native_id,
        content_types={Side.BACKEND: answer.content_type} if answer.content_type else {},
        statuses={} if answer.status is None else {Side.BACKEND: answer.status},
        problems=tuple(problems),
        lacks=NEVER_KEPT | answer.lacks | ({"stream"} if _in_one_piece(answer.content_type, request_body) else set()),
    )


def _in_one_piece(content_type: str, request_body: Any) -> bool:
    return content_type.partition(";")[0].strip() == "application/json" and member(request_body, "stream") is not True


def streamed(entries: Iterable[Any], name: str, answer_of: Callable[[Any, str], HttpAnswer]) -> Iterator[Exchange]:
    """The entries of an archive that may be answers of a model; none where it holds other files only."""
    answers = (answer_of(entry, f"{name}#{number}") for number, entry in enumerate(entries) if isinstance(entry, dict))
    return (exchange(answer) for answer in answers if answer.may_stream())


def whole_number(value: Any) -> int | None:
    """An integer, or the digits of one, as hand-written captures have them."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
