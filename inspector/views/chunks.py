"""One chunk of a conversation on a page of its own, and its stored bytes."""

from dataclasses import dataclass

from django.http import Http404, HttpResponse

from inspector.cache_headers import exact
from inspector.conversation.model import Chunk
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Revision
from inspector.models.single_chunk import single_chunk
from inspector.presentation.visible import LONGEST_CUT, beginning
from inspector.text import jsontext
from inspector.text.jsontext import Unreadable
from inspector.views import facts
from inspector.views.choice import choice_of, conversation_or_404
from inspector.views.pages import page, unless_unchanged

TEXT_SHOWN = 200_000


@dataclass(frozen=True, slots=True)
class ChunkPage:
    row: Conversation
    chunk: Chunk
    position: int
    text: str
    text_size: int
    is_cut: bool
    value: object | None
    raw: str
    has_next: bool


@unless_unchanged(facts.of_revision)
def chunk(request: OperatorRequest, oid: str, position: int) -> HttpResponse:
    """One chunk whole: its text, its row as JSON, its bytes."""
    row, stored_chunk = _chunk(request, oid, position)
    raw = beginning(stored_chunk.raw[: TEXT_SHOWN + LONGEST_CUT].decode("utf-8", "replace"), TEXT_SHOWN)
    try:
        value = jsontext.parse(jsontext.decode(stored_chunk.raw)) if len(stored_chunk.raw) <= TEXT_SHOWN else None
    except Unreadable:
        value = None
    content = ChunkPage(
        row,
        stored_chunk,
        position,
        beginning(stored_chunk.text, TEXT_SHOWN),
        len(stored_chunk.text),
        max(len(stored_chunk.text), len(stored_chunk.raw)) > TEXT_SHOWN,
        value,
        raw,
        position + 1 < row.chunk_count,
    )
    return page(request, "chunk.html", content)


def chunk_raw(request: OperatorRequest, oid: str, position: int) -> HttpResponse:
    """The stored bytes as a download: content is hostile and never rendered."""
    _, stored_chunk = _chunk(request, oid, position)
    headers = {"Content-Disposition": f'attachment; filename="{oid}-seq-{stored_chunk.seq}.json"'}
    return exact(HttpResponse(stored_chunk.raw, content_type="application/octet-stream", headers=headers))


def _chunk(request: OperatorRequest, oid: str, position: int) -> tuple[Conversation, Chunk]:
    row = conversation_or_404(oid)
    try:
        chunk = single_chunk(row, position, choice_of(request, row).revision)
    except Revision.DoesNotExist:
        raise Http404("There is no such revision of this conversation.") from None
    if chunk is None:
        raise Http404("The conversation has no such chunk.")
    return row, chunk
