"""Replaces images that Anthropic rejects by a text that says what was there."""

from collections.abc import Iterator
from dataclasses import replace

from inspector.conversation.edits import Edit, Replace, Safety
from inspector.conversation.model import Chunk, Kind
from inspector.rules.base import Case
from inspector.rules.rejected_images import Picture, rejected
from inspector.strategies.arrangement import entry_of
from inspector.strategies.base import Strategy
from inspector.text.images import ImageProblem
from inspector.wires.shapes.base import joined


def propose(case: Case) -> Iterator[Edit]:
    results: dict[str, tuple[Chunk, list[tuple[Picture, ImageProblem]]]] = {}
    for picture, why in rejected(case):
        if picture.place is None:
            payload = {"type": "text", "text": _words(picture, why), **entry_of(picture.chunk)}
            yield Replace(picture.chunk, replace(picture.chunk, kind=Kind.TEXT, payload=payload))
        else:
            results.setdefault(picture.chunk.key, (picture.chunk, []))[1].append((picture, why))
    for chunk, in_result in results.values():
        blocks = list(chunk.payload["blocks"])
        for picture, why in in_result:
            blocks[picture.place or 0] = {"type": "text", "text": _words(picture, why)}
        yield Replace(chunk, replace(chunk, payload={**chunk.payload, "blocks": blocks, "content": joined(blocks)}))


def _words(picture: Picture, why: ImageProblem) -> str:
    return f"[Image removed ({picture.media_type[:60]}, {len(picture.data):,} characters of base64): it {why.about}.]"


STRATEGY = Strategy(
    name="replace-rejected-images",
    safety=frozenset({Safety.LOSSY, Safety.INVENTED}),
    summary="replaces images that Anthropic rejects by a text that says what was there and why it was removed",
    cost="The image leaves the history. All other images stay.",
    user_visible_effect="A text in brackets is shown where the image was.",
    pros="One rejected image makes every later request fail, and compacting too, since it sends the image along. Only the images that are rejected by their header are replaced.",
    cons="The model no longer sees it; nothing here draws images.",
    write_kind="content",
    propose=propose,
    instead="Send a copy of the image that is accepted, smaller or of another type, where there is one.",
    order=505,
)
