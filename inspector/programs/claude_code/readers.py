"""What Claude Code sends of a session when it resumes, by its version: rows of a table.

Measured with published versions (`sending`, `path`); compaction, and what is shown only, by recorded sessions (`formats/claude_code_codex.md` 1.5 to 1.9).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation, Dropped, Kind, Message, Reading
from inspector.conversation.tree import about_of
from inspector.programs.claude_code.kept import is_boundary
from inspector.programs.claude_code.lines import HALVES, SYNTHETIC
from inspector.programs.claude_code.path import ENDS, Loader, path_as
from inspector.programs.claude_code.sending import (
    COMMAND,
    DROPS_EMPTY_TEXTS,
    DROPS_ERRORS,
    FILLS_ANSWERS,
    SENDS_COMMANDS,
    SENDS_UNKNOWN,
    Left,
    Version,
    answer_id,
    filled,
    last_calls,
    paired,
    sent_lines,
    without_empty_texts,
)
from inspector.readers.base import Reader
from inspector.readers.strict import strict_problems
from inspector.text.surrogates import without_surrogates

NAME = "claude-code"
_FETCHED = "pieces and results of an answer are fetched from their branches"
_BRIDGED = "a line whose parent is nowhere, or closes a loop, hangs below the line of the five seconds before it"
_KEPT = "what a compaction keeps by naming it follows its summary"
_LEFT = "the session goes on where it was left"
_PAIRED = (
    "calls without a result are left out, or get a synthetic one where theirs is not next to them, and results without a call are left out"
)
LOADERS = (
    Loader(
        "claude-code",
        "2.1.281 and later",
        (2, 1, 332),
        f"{_LEFT}; {_KEPT}; {_FETCHED}; {_BRIDGED}; {_PAIRED}; calls of the last answer get a result which says that none was recorded, results before their calls come behind them, "
        "and malformed blocks are left out",
    ),
    Loader(
        "claude-code-2.1.126",
        "2.1.126 to 2.1.280",
        (2, 1, 200),
        f"{_LEFT}; {_KEPT}; {_FETCHED}; {_BRIDGED}; {_PAIRED}; of several records on one line the first is read",
    ),
    Loader(
        "claude-code-2.1.92",
        "2.1.92 to 2.1.125",
        (2, 1, 112),
        f"{_KEPT}; {_FETCHED}; {_BRIDGED}; {_PAIRED}; lines with several records are skipped",
    ),
    Loader("claude-code-2.1.80", "2.1.80 to 2.1.91", (2, 1, 86), f"{_KEPT}; {_FETCHED}; {_PAIRED}"),
    Loader("claude-code-2.1.47", "2.1.27 to 2.1.79", (2, 1, 75), f"results on other branches are left out; {_PAIRED}"),
    Loader(
        "claude-code-2",
        "2.0 to 2.1.26",
        (2, 1, 12),
        "results on other branches are left out, and calls without a result; other results stay as stored",
    ),
    Loader("claude-code-1", "1.0", (1, 0, 124), "as claude-code-2, and pieces of one answer with results between them stay apart"),
    Loader(
        "claude-code-running",
        "while it runs",
        (2, 1, 332),
        "what was stored is sent as it is: calls without a result, second results and blank answers are left out or filled in only by a resume",
        resumes=False,
    ),
)
_COMPACTED = "before the compaction, whose summary takes its place in every request"
_ERROR = "an error that the program shows as an answer and sends to no model"


def unsent(chunk: Chunk) -> str:
    """Why no version since 2.0 sends the line of this chunk; "" where they do."""
    entry = about_of(chunk)
    inner = entry.get("message") if entry.get("isApiErrorMessage") is True else None
    return _ERROR if isinstance(inner, dict) and inner.get("model") == SYNTHETIC else ""


def read_as(loader: Loader, path: Conversation) -> Reading:
    dropped: dict[str, list[Chunk]] = {}
    start = max([chunk.seq for chunk in path.chunks if is_boundary(about_of(chunk))], default=0)
    before = takewhile(lambda chunk: chunk.seq != start, path.chunks) if start else ()
    compacted = [chunk for chunk in before if chunk.role]
    if compacted:
        dropped[_COMPACTED] = compacted
    above = {chunk.key for chunk in compacted}
    lines = []
    spoken = list(queries.true_messages([_spoken(chunk) for chunk in path.chunks] if loader.version >= SENDS_COMMANDS else path.chunks))
    for line in spoken:
        if line.chunks[0].key in above:
            continue
        if loader.version >= DROPS_ERRORS and (why := unsent(line.chunks[0])):
            dropped.setdefault(why, []).extend(line.chunks)
        else:
            lines.append(line)
    grouped = _joined(lines)
    messages, left = _as_resumed(lines, loader.version, last_calls(spoken)) if loader.resumes else (grouped, {})
    if loader.version >= SENDS_UNKNOWN and path.fact(f"lines-{HALVES}"):
        messages = [replace(message, chunks=tuple(map(_whole, message.chunks))) for message in messages]
    ends = {
        "dangling": "the first line on the path names a parent that is in no line: what was said before it is hidden",
        "cycle": "the parents form a cycle: versions before 2.1.30 never end the walk, later ones cut the session there",
    }.get(path.fact(ENDS) or "", "")
    return Reading(
        loader.name,
        tuple(grouped),
        tuple(messages),
        (
            *(Dropped(tuple(chunks), why, intentional=True, skipped=True) for why, chunks in dropped.items()),
            *(Dropped(tuple(chunks), why) for why, chunks in left.items()),
        ),
        warnings=(*([ends] if ends else ()), *strict_problems(messages)[:20]),
    )


def _whole(chunk: Chunk) -> Chunk:
    """Half a character cannot be written as UTF-8: the sign for an unknown one is sent."""
    entry = chunk.payload.get("entry")
    payload = without_surrogates({name: value for name, value in chunk.payload.items() if name != "entry"})
    return replace(chunk, payload={**payload, "entry": entry} if entry is not None else payload)


def _as_resumed(lines: list[Message], version: Version, settled: tuple[Sequence[Chunk], Sequence[Chunk]]) -> tuple[list[Message], Left]:
    kept, left = sent_lines(lines, version, settled)
    answers = _joined(kept)
    messages = paired(filled(answers, left) if version >= FILLS_ANSWERS else answers, version, left)
    return without_empty_texts(messages, left) if version >= DROPS_EMPTY_TEXTS else messages, left


def _spoken(chunk: Chunk) -> Chunk:
    """What a command of the person printed is a line of the system, and sent as the person's words."""
    if chunk.kind is not Kind.CONTROL or about_of(chunk).get("subtype") != COMMAND:
        return chunk
    return replace(chunk, role="user", kind=Kind.TEXT, chunk_idx=0, payload={**chunk.payload, "type": "text"})


def _joined(lines: list[Message]) -> list[Message]:
    """Neighbors that are pieces of one answer are one message."""
    groups: list[list[Message]] = []
    last = ""
    for line in lines:
        answer = answer_id(line)
        if answer and answer == last:
            groups[-1].append(line)
        else:
            groups.append([line])
        last = answer
    return list(map(queries.as_one, groups))


def _reader(loader: Loader) -> Reader:
    version = ".".join(map(str, loader.version))
    return Reader(
        loader.name,
        NAME,
        f"Claude Code {loader.since}: the chain of parents from the last message, and what it changes before it sends",
        f"A compaction's boundary begins the chain; {loader.does}.",
        f"{version} run on sessions of ours, the versions around it on some of them; recorded sessions of 1.0.0 to 2.1.330",
        lambda path: read_as(loader, path),
        verified=(version,),
        path=path_as(loader),
        shipped=loader is LOADERS[0],
        release=loader.version if loader.resumes else (),
    )


READERS = tuple(_reader(loader) for loader in LOADERS)
