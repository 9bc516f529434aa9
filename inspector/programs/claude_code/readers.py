"""What Claude Code sends of a session when it resumes: versions as rows of a table.

Known from the changelog's windows of defects and from recorded sessions (`formats/claude_code_codex.md` 1.5 to 1.9). What a version does to a history
in memory beyond that is not known from outside, and is not modeled.
"""

from itertools import takewhile

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation, Dropped, Message, Reading
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.path import ENDS, Loader, is_boundary, path_as
from inspector.readers.base import Reader
from inspector.readers.strict import strict_problems

NAME = "claude-code"
LOADERS = (
    Loader("claude-code", "2.1.121 and later", joins=True, fetches=True, stops=False),
    Loader("claude-code-2.1.80", "2.1.80 to 2.1.120", joins=True, fetches=True, stops=True),
    Loader("claude-code-2.1.47", "2.1.47 to 2.1.79", joins=True, fetches=False, stops=True),
    Loader("claude-code-1", "1.0 to 2.1.46", joins=False, fetches=False, stops=True),
)
_SHOWN = "for display only: the program shows it and sends it to no model"
_COMPACTED = "before the compaction, whose summary takes its place in every request"
_ERROR = "an error that the program shows as an answer and sends to no model"


def unsent(chunk: Chunk) -> str:
    """Why no version sends the line of this chunk; "" where they do."""
    entry = about_of(chunk)
    return _ERROR if entry.get("isApiErrorMessage") is True else _SHOWN if entry.get("isVisibleInTranscriptOnly") is True else ""


def answer_id(message: Message) -> str:
    inner = about_of(message.chunks[0]).get("message") if message.role == "assistant" else None
    id_ = inner.get("id") if isinstance(inner, dict) else None
    return id_ if isinstance(id_, str) else ""


def read_as(loader: Loader, path: Conversation) -> Reading:
    messages: list[Message] = []
    dropped: dict[str, list[Chunk]] = {}
    start = max([chunk.seq for chunk in path.chunks if is_boundary(about_of(chunk))], default=0)
    before = takewhile(lambda chunk: chunk.seq != start, path.chunks) if start else ()
    compacted = [chunk for chunk in before if chunk.role]
    if compacted:
        dropped[_COMPACTED] = compacted
    above = {chunk.key for chunk in compacted}
    last = ""
    for message in queries.true_messages(path.chunks):
        if message.chunks[0].key in above:
            continue
        if why := unsent(message.chunks[0]):
            dropped.setdefault(why, []).extend(message.chunks)
            continue
        answer = answer_id(message)
        if answer and answer == last:
            messages[-1] = Message(message.role, messages[-1].chunks + message.chunks)
        else:
            messages.append(message)
        last = answer
    ends = {
        "dangling": "the first line on the path names a parent that is in no line: what was said before it is hidden",
        "cycle": "the parents form a cycle: versions before 2.1.30 never end the walk, later ones cut the session there",
    }.get(path.fact(ENDS) or "", "")
    return Reading(
        loader.name,
        tuple(messages),
        tuple(messages),
        tuple(Dropped(tuple(chunks), why, intentional=True, skipped=True) for why, chunks in dropped.items()),
        warnings=(*([ends] if ends else ()), *strict_problems(messages)[:20]),
    )


def _reader(loader: Loader) -> Reader:
    fetched = "results of parallel calls are fetched from their branches" if loader.fetches else "results on other branches are left out"
    joined = "pieces of one answer are joined" if loader.joins else "pieces of one answer with results between them stay apart"
    stops = "Loading stops at a line that cannot be read." if loader.stops else "Lines that cannot be read are skipped."
    return Reader(
        loader.name,
        NAME,
        f"Claude Code {loader.since}: the chain of parents from the last message",
        f"A compaction's boundary begins the chain; {joined}, {fetched}. {stops}",
        "the public changelog up to 2.1.240, and recorded sessions of 1.0.0 to 2.1.330",
        lambda path: read_as(loader, path),
        path=path_as(loader),
        shipped=loader is LOADERS[0],
    )


READERS = tuple(_reader(loader) for loader in LOADERS)
