"""Which bytes of a record a change is about: of a file its lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.planning.differing import alike, differing, new_bytes
from inspector.programs.formats import Cell, Change


@pytest.mark.parametrize(
    ("before", "after", "old", "new", "count"),
    [
        (b"a\nb\n", b"a\nb\nc\n", b"", b"c\n", 2),
        (b"a\nb", b"a\nb\nc\n", b"b", b"b\nc\n", 4),
        (b"one\ntwo\nthree\n", b"one\ntvo\nthree\n", b"two\n", b"tvo\n", 4),
        (b"a\nb\nc\nd\n", b"a\nx\nc\ny\n", b"b\nc\nd\n", b"x\nc\ny\n", 4),
        (b"a\nb\n", b"a\n", b"b\n", b"", 0),
        (b"a\na\n", b"a\na\na\n", b"", b"a\n", 2),
        (b'{"a": 1}', b'{"a": 2}', b'{"a": 1}', b'{"a": 2}', 8),
        (b"same\n", b"same\n", b"", b"", 0),
        (b"", b"a\n", b"", b"a\n", 2),
    ],
)
def test_lines_from_the_first_to_the_last_that_differ(before: bytes, after: bytes, old: bytes, new: bytes, count: int) -> None:
    shown = differing(before, after)
    assert (before[shown[0]], after[shown[1]]) == (old, new)
    assert new_bytes(Change("k", Cell(before), Cell(after))) == count


def test_a_record_that_is_new_counts_whole_and_one_that_goes_as_nothing() -> None:
    assert new_bytes(Change("k", None, Cell(b"a\nb\n"))) == 4
    assert new_bytes(Change("k", Cell(b"a\nb\n"), None)) == 0


_TEXTS = st.lists(st.sampled_from([b"a", b"b", b"\n", b"ab\n"]), max_size=12).map(b"".join)


@given(_TEXTS, _TEXTS)
def test_what_is_around_it_is_the_same(before: bytes, after: bytes) -> None:
    old, new = differing(before, after)
    assert before[: old.start] + after[new] + before[old.stop :] == after
    assert new_bytes(Change("k", Cell(before), Cell(after))) <= len(after[new])


def test_long_records_are_compared_in_windows() -> None:
    long = b"x" * 2_500_000
    assert alike(long + b"a", long + b"b") == 2_500_000 == alike(long, long)
    assert alike(b"x" * 1_048_576 + b"a", b"x" * 1_048_576 + b"b") == 1_048_576
    old, new = differing(b"1\n" + long + b"\n2\n", b"3\n" + long + b"\n2\n")
    assert (old, new) == (slice(0, 2), slice(0, 2))
