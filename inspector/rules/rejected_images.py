"""Images of a conversation that Anthropic rejects: for the rule of each program that stores them, and for the strategy that replaces them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from inspector.conversation.masks import mask
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case, cached_per_case
from inspector.text.images import ImageProblem, problem


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in base64: a block of its own, or block `place` of the result `chunk`."""

    chunk: Chunk
    place: int | None
    media_type: str
    data: str


def pictures(case: Case) -> Iterator[Picture]:
    """Every image of the messages whose bytes are stored."""
    for message in case.messages:
        for chunk in message.chunks:
            if chunk.kind is Kind.IMAGE:
                media_type, encoding, data = _parts(chunk.payload.get("url"))
                if encoding == "base64":
                    yield Picture(chunk, None, media_type, data)
            elif chunk.kind is Kind.TOOL_RESULT and isinstance(blocks := chunk.payload.get("blocks"), list):
                yield from _in_result(chunk, blocks)


def _parts(url: object) -> tuple[str, str, str]:
    """Media type, encoding and data of a `data:` address; ("", "", "") of every other."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return "", "", ""
    head, _, data = url.removeprefix("data:").partition(",")
    media_type, _, encoding = head.rpartition(";")
    return media_type, encoding, data


def _in_result(chunk: Chunk, blocks: list[object]) -> Iterator[Picture]:
    for place, block in enumerate(blocks):
        source = block.get("source") if isinstance(block, Mapping) and block.get("type") == "image" else None
        if isinstance(source, Mapping) and source.get("type") == "base64" and isinstance(data := source.get("data"), str):
            yield Picture(chunk, place, str(source.get("media_type")), data)


@cached_per_case
def rejected(case: Case) -> tuple[tuple[Picture, ImageProblem], ...]:
    """The images that Anthropic rejects, each with why; a mask of telemetry is no image."""
    of_case = [picture for picture in pictures(case) if not mask(picture.data)]
    pairs = ((picture, problem(picture.media_type, picture.data, len(of_case))) for picture in of_case)
    return tuple((picture, why) for picture, why in pairs if why is not None)
