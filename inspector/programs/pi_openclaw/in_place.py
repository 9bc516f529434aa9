"""A session file with the repaired path in it: after its last line, or with new rows where the path has them."""

from collections.abc import Mapping, Sequence

from inspector.programs.formats import WriteRefused
from inspector.programs.pi_openclaw.file import File
from inspector.programs.pi_openclaw.ledger import Ledger, row_time
from inspector.programs.pi_openclaw.verifying import verified
from inspector.text import jsontext


def replayed(writing: Ledger) -> bytes:
    """The file with the steps from the first change on after its last line."""
    file, steps = writing.file, writing.path.steps
    unchanged, parent = 0, None
    while unchanged < len(steps) and writing.is_in_place(steps[unchanged], writing.gaps.lost.get(unchanged, parent)):
        base = steps[unchanged].base
        parent = base.id if base else None
        unchanged += 1
    # Where only the end of the path goes, no new row would show that to the programs: its last row is written again.
    unchanged = min(unchanged, len(steps) - 1)
    if writing.in_openclaw and any(step.base and step.base.type == "reset" for step in steps[unchanged:]):
        raise WriteRefused(
            "After a reset OpenClaw hangs rows that lead before it onto its own leaf; write --mode insert-and-reparent, or a new session."
        )
    ids = [later.base.id for later in steps[:unchanged] if later.base]
    written: list[str] = []
    # OpenClaw 2026.9 hangs a row with a lost parent onto the one before it, so that the first row after the old end cannot name one.
    lost = {number: id_ for number, id_ in writing.gaps.lost.items() if number != unchanged}
    for number, step in enumerate(steps[unchanged:], unchanged):
        parent = lost.get(number, ids[-1] if ids else None)
        id_ = writing.fresh()
        text = writing.line(step, id_, parent, writing.now, writing.now, on_its_own=True)
        if step.base is not None:
            writing.names[step.base.id] = id_
        ids.append(id_)
        written.append(text)
    # Without a line end after the last line pi up to 0.84.3 wrote the next entry onto the same line.
    data = file.data + _line_end(file.data) + jsontext.encode("".join(text + file.eol for text in written))
    verified(
        file, data, ids, writing.path.final.chunks, in_openclaw=writing.in_openclaw, goes_past_gaps=bool(lost) and writing.gaps.are_passed
    )
    return data


def _line_end(data: bytes) -> bytes:
    """What is missing after the last line: an LF alone, for a CR would be a change of that line."""
    return b"" if data.endswith(b"\n") else b"\n"


def inserted(writing: Ledger) -> bytes:
    """The file with new rows before the row that follows them on the path, and with other parents and values where the path has them."""
    file, steps = writing.file, writing.path.steps
    twice = next((step.base.id for step in steps if step.base and not step.copied and file.ids[step.base.id] > 1), None)
    if twice is not None:
        raise WriteRefused(f"The id {twice} is there more than once, so no row can name its parent by it; write --mode replay-suffix.")
    texts: dict[int, str] = {}
    ahead: dict[int, list[str]] = {}
    waiting: list[str] = []
    ids: list[str] = []
    before = next((time for step in steps if (time := row_time(step, ""))), writing.now)
    for number, step in enumerate(steps):
        parent, base = writing.gaps.lost.get(number, ids[-1] if ids else None), step.base
        is_row = base is not None and not step.copied and not base.number and bool(base.id)
        if base is not None and is_row:
            id_ = base.id
            if not writing.is_in_place(step, parent):
                texts[base.line] = writing.line(step, id_, parent, None, before, on_its_own=writing.in_openclaw)
            if waiting:
                ahead[base.line] = waiting
                waiting = []
        else:
            # A record that shared its line with another was never read, so that its own id is free.
            id_ = base.id if base and base.number and base.id not in file.ids and base.id not in ids else writing.fresh()
            is_last = all(later.base is None or later.copied for later in steps[number:])
            time = writing.now if is_last else before
            waiting.append(writing.line(step, id_, parent, time, before, on_its_own=writing.in_openclaw))
        if base is not None and not step.copied:
            writing.names[base.id] = id_
        ids.append(id_)
        before = row_time(step, before)
    last = file.last
    if not waiting and (last is None or last.id != ids[-1]):
        # The end of the path is not the end of the file: said again there, it is what every program ends with.
        ids[-1] = writing.fresh()
        waiting = [writing.line(steps[-1], ids[-1], ids[-2] if len(ids) > 1 else None, writing.now, before, on_its_own=True)]
    data = _rebuilt(file, texts, ahead, waiting)
    verified(
        file,
        data,
        ids,
        writing.path.final.chunks,
        frozenset(texts),
        writing.in_openclaw,
        bool(writing.gaps.lost) and writing.gaps.are_passed,
    )
    return data


def _rebuilt(file: File, texts: Mapping[int, str], ahead: Mapping[int, Sequence[str]], tail: Sequence[str]) -> bytes:
    lines: list[bytes] = []
    for number, line in enumerate(file.lines):
        lines += [jsontext.encode(text + file.eol[:-1]) for text in ahead.get(number, ())]
        lines.append(jsontext.encode(texts[number]) + (b"\r" if line.endswith(b"\r") else b"") if number in texts else line)
    data = b"\n".join(lines)
    return data + _line_end(data) + jsontext.encode("".join(text + file.eol for text in tail))
