"""Long values in pieces: any bytes come back, a value that grew costs what it grew by, and an edit what is around it."""

import hashlib
import random
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.text import pieces
from inspector.text.pieces import LEAST, MOST, Kept, Piece
from tests.folding import in_one_test


def rows(placed: list[Piece], first: int = 1) -> list[Kept]:
    return [Kept(piece.row or first + number, piece.position, piece.digest, piece.size) for number, piece in enumerate(placed)]


def joined(data: bytes, placed: list[Piece]) -> bytes:
    parts = [data[piece.start : piece.start + piece.size] for piece in placed]
    assert [hashlib.sha256(part).hexdigest() for part in parts] == [piece.digest for piece in placed]
    positions = [piece.position for piece in placed]
    assert placed and positions == sorted(set(positions))
    return b"".join(parts)


def written(data: bytes, placed: list[Piece]) -> int:
    return sum(piece.size for piece in placed if piece.row is None)


def session(count: int, seed: int = 1) -> bytes:
    numbers = random.Random(seed)
    return b"".join(b'{"id":%d,"words":"%s"}\n' % (number, b"w" * numbers.randint(20, 1500)) for number in range(count))


LINES = st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"\r\n", b"\0\n", b"\xff\n", b"a\n", b"x" * 30]), max_size=12).map(
    b"".join
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=1, max_size=4), st.integers(1, 30), st.integers(30, 60))
def test_any_bytes_come_back_through_any_changes(values: list[bytes], least: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pieces, "LEAST", least)
        patched.setattr(pieces, "MOST", most)
        patched.setattr(pieces, "GAP", 4)
        kept: list[Kept] = []
        for number, data in enumerate(values):
            placed = pieces.pieces(data, kept)
            assert joined(data, placed) == data
            used = [piece.row for piece in placed if piece.row is not None]
            assert len(used) == len(set(used)) and set(used) <= {row.pk for row in kept}
            positions = {row.pk: (row.position, row.digest) for row in kept}
            assert all(positions[piece.row] == (piece.position, piece.digest) for piece in placed if piece.row is not None)
            # No line is cut, and so none is in two pieces.
            assert all(data[piece.start + piece.size - 1 :][:1] in (b"\n", b"") for piece in placed[:-1])
            kept = rows(placed, 100 * (number + 1))


@in_one_test(
    "data", [b"", b"\n", b"one", b"one\n", b"a\r\nb\r\n\0\xff", b"\n" * 100_000, b"x" * 300_000, b"a\n" + b"x" * 300_000 + b"\nb\n"]
)
def test_values_at_the_edges_come_back(data: bytes) -> None:
    assert joined(data, pieces.pieces(data, [])) == data


@pytest.mark.slow
def test_a_line_of_200_mb_is_a_piece_of_its_own() -> None:
    head, long, tail = session(3), b"x" * 200_000_000 + b"\n", session(2)
    placed = pieces.pieces(head + long + tail, [])
    assert [piece.size for piece in placed] == [len(head), len(long), len(tail)]


def test_pieces_are_neither_small_nor_large() -> None:
    sizes = [piece.size for piece in pieces.pieces(session(10_000), [])]
    assert all(LEAST <= size <= MOST for size in sizes[:-1]) and len(sizes) > 100


def test_a_value_that_grew_by_ten_lines_costs_ten_lines() -> None:
    old = session(10_000)
    kept = rows(pieces.pieces(old, []))
    new = old + session(10, 2)
    placed = pieces.pieces(new, kept)
    assert written(new, placed) == len(new) - len(old) and [piece.row for piece in placed[:-1]] == [row.pk for row in kept]


def test_half_a_line_that_was_completed_is_in_one_piece() -> None:
    old = session(100) + b'{"torn'
    placed = pieces.pieces(old + b'":1}\n', rows(pieces.pieces(old, [])))
    last = placed[-1]
    assert last.row is None and b'{"torn":1}\n' in (old + b'":1}\n')[last.start :]


@pytest.mark.parametrize(
    ("at", "cut", "put"), [(5_000, 1, b""), (5_000, 0, b'{"new":1}\n'), (0, 0, b"first\n"), (9_999, 1, b"last\n"), (3, 1, b"other\n")]
)
def test_an_edit_costs_what_is_around_it_and_moves_nothing(at: int, cut: int, put: bytes) -> None:
    lines = session(10_000).splitlines(keepends=True)
    kept = rows(pieces.pieces(b"".join(lines), []))
    new = b"".join(lines[:at]) + put + b"".join(lines[at + cut :])
    placed = pieces.pieces(new, kept)
    assert joined(new, placed) == new and written(new, placed) <= 4 * MOST


def test_two_edits_far_apart_leave_what_is_between_them() -> None:
    lines = session(10_000).splitlines(keepends=True)
    kept = rows(pieces.pieces(b"".join(lines), []))
    lines[5] = lines[9_000] = b"edited\n"
    new = b"".join(lines)
    assert written(new, pieces.pieces(new, kept)) <= 8 * MOST


def test_without_room_the_rows_that_follow_are_opened_again_with_the_same_bytes() -> None:
    old = session(1_000)
    first = pieces.pieces(old, [])
    kept = [Kept(number, number, piece.digest, piece.size) for number, piece in enumerate(first)]
    new = b"one more\n" + old[: first[0].size] + b"inserted\n" + old[first[0].size :]
    placed = pieces.pieces(new, kept)
    assert joined(new, placed) == new
    assert {piece.digest for piece in placed} & {row.digest for row in kept[3:]}


def test_positions_leave_room_for_many_insertions_at_one_place() -> None:
    data, kept = session(200), []
    kept = rows(pieces.pieces(data, kept))
    for number in range(12):
        middle = len(session(100))
        data = data[:middle] + b"%d\n" % number + data[middle:]
        placed = pieces.pieces(data, kept)
        assert joined(data, placed) == data and written(data, placed) <= 4 * MOST
        kept = rows(placed, 1_000 * (number + 1))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, st.lists(st.integers(0, 40)), st.integers(1, 30), st.integers(30, 60), st.integers(1, 20))
def test_what_comes_a_little_at_a_time_has_the_same_pieces(data: bytes, places: list[int], least: int, most: int, collected: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pieces, "LEAST", least)
        patched.setattr(pieces, "MOST", most)
        patched.setattr(pieces, "_COLLECTED", collected)
        marks = [0, *sorted(place for place in places if place < len(data)), len(data)]
        lines = [data[start:stop] for start, stop in pairwise(marks)]
        placed = list(pieces.collected(lines, b"\n"))
        assert [piece for piece, _ in placed] == (pieces.pieces(data, ()) if data else [])
        assert b"".join(part for _, part in placed) == data
