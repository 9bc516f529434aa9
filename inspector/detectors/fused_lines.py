"""STORE502: several records on one line, of which programs read none."""

from collections.abc import Iterator
from itertools import groupby

from inspector.conversation.model import Chunk
from inspector.conversation.tree import Entry, entries
from inspector.detectors.base import Case, Fault, Hit, Rule, Severity
from inspector.detectors.session_effects import SESSIONS, effects
from inspector.detectors.session_tree import bounded, counted, whole
from inspector.readers.session_rows import mapping


def check(case: Case) -> Iterator[Hit]:
    chunks = whole(case).chunks
    below: dict[str, list[Entry]] = {}
    for entry in entries(whole(case)):
        if entry.parent is not None and "fused" not in entry.about:
            below.setdefault(entry.parent, []).append(entry)
    # No program reads them: where one is on the path, a strategy brought it back.
    back = {chunk.key for chunk in case.conversation.chunks}
    yield from bounded(_hit(line, below) for line in _fused(chunks) if not any(chunk.key in back for chunk in line))


def _fused(chunks: tuple[Chunk, ...]) -> Iterator[list[Chunk]]:
    for _, held in groupby(chunks, key=lambda chunk: chunk.msg_idx):
        line = list(held)
        if any("fused" in mapping(chunk.payload.get("entry")) for chunk in line):
            yield line


def _hit(line: list[Chunk], below: dict[str, list[Entry]]) -> Hit:
    records = {id(entry): entry for chunk in line if "fused" in (entry := mapping(chunk.payload.get("entry")))}
    ids = [entry["id"] for entry in records.values() if isinstance(entry.get("id"), str)]
    hanging = [entry for id_ in ids for entry in below.get(id_, [])]
    torn = sum(chunk.damage == "torn" for chunk in line)
    fragments = f" and {counted(torn, 'fragment')}" if torn else ""
    said = f"{counted(len(records), 'whole record')}{fragments} stand on one line (seq {line[0].seq}-{line[-1].seq})"
    lost = (
        f", and what hangs below ({counted(len(hanging), 'entry')}, the first at seq {hanging[0].chunks[0].seq}) loses all that stands above"
        if hanging
        else ""
    )
    return Hit(
        line,
        f"{said}: no program reads any of them{lost}.",
        evidence=(("records", ", ".join(id_[:40] for id_ in ids[:8])), *effects("fused")),
    )


RULE = Rule(
    code="STORE502",
    state="OP12",
    name="fused-lines",
    severity=Severity.ERROR,
    silent=True,
    fault=Fault.STORE,
    summary="several records stand on one line, and programs read none of them",
    why="A file that ended without an LF was written on, or two processes wrote at once. The line is no JSON, so that it is skipped without a word, though every record in it is whole.",
    example=(
        '@format pi\n1 user 1.0 text go\n2 assistant 2.0 text done entry=a1 about={"fused":1}\n3 user 2.0 text more entry=u2 parent=a1 about={"fused":2}\n4 assistant 4.0 text ok parent=u2'
    ),
    check=check,
    formats=SESSIONS,
    references=("pi #8345: up to 0.84.3 the next append fuses with a last line without LF",),
    repaired_by=("split-fused-line",),
    fixed_in_code="Put an LF first where the file ends without one.",
)
