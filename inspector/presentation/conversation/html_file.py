"""A conversation with its findings as one file to hand on: what a template needs to make a page that asks nothing of any server."""

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Chunk
from inspector.rules.base import Case, Finding

MOST = 2_000
"""Chunks in a file: about 2 MB, which a tracker takes as an attachment."""
AROUND = 3
"""Chunks that stay before and after one with a finding."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """`left_out`: so many chunks are not in the file between the row before and this one."""

    chunk: Chunk
    findings: tuple[Finding, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class FilePage:
    """`rows` are the chunks that fit; `left_out_after` those that follow the last. `command` prints the whole conversation."""

    title: str
    store: str
    format: str
    native_id: str
    revision: int
    reader: str
    profile: str
    verdict: str
    chunks: int
    findings: tuple[Finding, ...]
    rows: tuple[FileRow, ...]
    left_out_after: int
    version: str
    command: str


def file_page(
    case: Case, results: Sequence[Finding], verdict: str, store: str, revision: int, profile: str, version: str, command: str
) -> FilePage:
    """`command` prints the conversation again."""
    conversation = case.conversation
    rows, left_out_after = file_rows(conversation.chunks, results)
    return FilePage(
        title=conversation.title,
        store=store,
        format=conversation.format,
        native_id=conversation.native_id,
        revision=revision,
        reader=case.reading.reader,
        profile=profile,
        verdict=verdict,
        chunks=len(conversation.chunks),
        findings=tuple(results),
        rows=rows,
        left_out_after=left_out_after,
        version=version,
        command=command,
    )


def file_rows(chunks: Sequence[Chunk], findings: Sequence[Finding], most: int = MOST) -> tuple[tuple[FileRow, ...], int]:
    """The rows, and how many chunks follow the last. Of more than `most` chunks those around findings first, then the beginning."""
    by_seq: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        for seq in finding.seqs:
            by_seq[seq].append(finding)
    wanted = sorted(_wanted(chunks, by_seq.keys(), most))
    rows, after = [], 0
    for position in wanted:
        chunk = chunks[position]
        rows.append(FileRow(chunk, tuple(by_seq.get(chunk.seq, ())), position - after))
        after = position + 1
    return tuple(rows), len(chunks) - after


def _wanted(chunks: Sequence[Chunk], seqs: Container[int], most: int) -> set[int]:
    if len(chunks) <= most:
        return set(range(len(chunks)))
    wanted: set[int] = set()
    for position in _in_order(chunks, seqs):
        if len(wanted) >= most:
            break
        wanted.add(position)
    return wanted


def _in_order(chunks: Sequence[Chunk], seqs: Container[int]) -> Iterator[int]:
    for position, chunk in enumerate(chunks):
        if chunk.seq in seqs:
            yield from range(max(0, position - AROUND), min(len(chunks), position + AROUND + 1))
    yield from range(len(chunks))
