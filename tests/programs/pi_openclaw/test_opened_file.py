"""A session file that goes on from another is opened as a whole one is; of two blocks only what programs take from them counts."""

from dataclasses import replace
from itertools import product

from inspector.programs.pi_openclaw.file import File, opened
from inspector.programs.pi_openclaw.verifying import _is_same, _visible
from inspector.text.at_hand import at_work
from tests.folding import in_one_test
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u

BEGUN = lines(header(), u("u0", None, "look"), a("a0", "u0", text("yes"), call("c0", path="f")), r("r0", "a0", "c0", "words"))
MORE = {
    "nothing": b"",
    "rows": lines(a("d0", "r0", text("done")), u("u1", "d0", "go on")),
    "an id again": lines(u("u0", "r0", "again"), u("u0", "u0", "and again")),
    "a torn row": lines(u("u1", "r0", "on")) + b'{"type":"mess',
    "fused rows": lines(u("u1", "r0", "on")).rstrip(b"\n") + lines(u("u2", "u1", "on")),
    "a blank line and a second header": b"\n" + lines(header()),
}


def content(file: File) -> tuple[object, ...]:
    """All that is known of it, in its order."""
    return file.data, file.session, list(file.lines), list(file.entries.items()), list(file.origin.items()), file.ids


@in_one_test("more", MORE.values(), ids=MORE)
@in_one_test("begun", [BEGUN, BEGUN.rstrip(b"\n"), b"", lines(header(version=1))], ids=["whole", "no line end", "empty", "version 1"])
def test_a_file_that_goes_on_is_opened_as_if_alone(begun: bytes, more: bytes) -> None:
    alone = opened(begun + more)
    with at_work():
        before = opened(begun)
        later = opened(begun + more, before)
    assert content(later) == content(alone)
    with at_work():
        other = opened(begun + more, opened(BEGUN.replace(b"look", b"book")))
    assert content(other) == content(alone)


def test_entries_before_what_came_are_the_same_objects() -> None:
    with at_work():
        before = opened(BEGUN)
        later = opened(BEGUN + MORE["rows"], before)
    assert all(later.entries[key] is entry for key, entry in before.entries.items()) and len(later.entries) == len(before.entries) + 2


def test_two_blocks_with_one_payload_are_one_to_a_program() -> None:
    chunks = opened(BEGUN + MORE["rows"] + MORE["an id again"]).session.chunks
    changed = [
        replace(chunk, payload={**chunk.payload, **values})
        for chunk in chunks
        for values in ({"text": "x"}, {"signature": "s"}, {"isError": True})
    ]
    copies = [
        replace(chunk, key=f"copy:{chunk.key}", payload={**chunk.payload, "entry": {"id": "z", "type": "message"}}) for chunk in chunks
    ]
    all_chunks = [*chunks, *changed, *copies]
    pairs = [(first, second) for first, second in product(all_chunks, all_chunks) if _is_same(first, second)]
    assert all(_visible(first) == _visible(second) for first, second in pairs)
    assert all(_is_same(chunk, copy) for chunk, copy in zip(chunks, copies, strict=True) if chunk.role)
