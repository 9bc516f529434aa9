"""Bytes that are no UTF-8 become U+FFFD, and the thread loads again."""

import pytest

from tests.programs.codex.threads import LINES, THREADS, WHOLE
from tests.programs.codex.writing_threads import conversation, edits_of, repaired

STRATEGY = "replace-invalid-bytes"
REPLACED = "\ufffd".encode()


def test_every_other_byte_stays() -> None:
    after = repaired(THREADS["not UTF-8"], STRATEGY)
    assert after == THREADS["not UTF-8"].replace(b"\xff", REPLACED)
    assert conversation(after).fact("stops") is None


@pytest.mark.parametrize("cut", [WHOLE[:-25] + b"\xe6\x87", b"".join([*LINES[:3], LINES[3][:50], b"\xff", LINES[4]])])
def test_a_line_that_is_cut_off_stays_cut_off(cut: bytes) -> None:
    after = repaired(cut, STRATEGY)
    assert conversation(after).fact("stops") is None
    assert after.rstrip(b"\n") == cut.replace(b"\xe6\x87", REPLACED).replace(b"\xff", REPLACED).rstrip(b"\n")


@pytest.mark.parametrize("name", ["whole", "half a character", "NUL bytes"])
def test_utf_8_stays(name: str) -> None:
    assert not edits_of(THREADS[name], STRATEGY)
