"""Lines of JSON: what is read of each, and what is wrong with it."""

import re

import pytest

from inspector.text.json_lines import FUSED, NOT_JSON, TORN, RecordStart, lines
from inspector.text.jsontext import Unreadable, parse

START = RecordStart(re.compile(r'\{"type":'), lambda value: "type" in value)


@pytest.mark.parametrize("raw", [b'{"type":"a"}', b'{"type":"a"} \t\r', b' \t{"type":"a"}', b'\xef\xbb\xbf{"type":"a"}\r'])
def test_blanks_around_a_record_are_no_part_of_it(raw: bytes) -> None:
    (line,) = lines(raw + b"\n", START)
    assert [part.value for part in line.parts] == [{"type": "a"}]
    assert line.states == () and line.raw == raw


@pytest.mark.parametrize(
    ("raw", "state", "reason"),
    [
        (b'{"type":"a"', TORN, "not JSON: Expecting ',' delimiter at character 11 of 11"),
        (b"go", NOT_JSON, "not JSON: Expecting value at character 0 of 2"),
    ],
)
def test_what_is_no_record_says_where(raw: bytes, state: str, reason: str) -> None:
    (line,) = lines(raw, START)
    assert line.states == (state,)
    assert [part.reason for part in line.parts] == [reason]


def test_a_character_that_json_takes_for_no_blank_is_a_fragment() -> None:
    (line,) = lines(b'{"type":"a"}\x1f', START)
    assert line.states == (FUSED,)
    assert [(part.value, part.damage) for part in line.parts] == [({"type": "a"}, ""), (None, TORN)]


def test_a_string_without_its_end_is_said_with_one_at() -> None:
    with pytest.raises(Unreadable) as error:
        parse('{"a": "b')
    assert error.value.reason == "not JSON: Unterminated string starting at character 6 of 8"
