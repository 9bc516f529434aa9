"""Where a path of a JSON text begins, and which lines of it are shown."""

import json

import pytest

from inspector.presentation.check.lines import AROUND, LineChange, error_line, line_changes, lines_of, listing, on_lines

BODY = """{
  "model": "m",
  "messages": [
    {"role": "user", "content": "a \\"}]\\n"},
    {
      "role": "assistant",
      "content": [ {"type": "text"},
        {"type": "tool_use"} ]
    }
  ]
}"""


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("model", range(2, 3)),
        ("messages", range(3, 11)),
        ("messages.0", range(4, 5)),
        ("messages.1", range(5, 10)),
        ("messages.1.content", range(7, 9)),
        ("messages.1.content.1", range(8, 9)),
        ("messages.1.content.1.id", range(8, 9)),
        ("messages.7", range(3, 11)),
        ("contents.0", None),
    ],
)
def test_a_path_has_its_lines(path: str, lines: range | None) -> None:
    assert lines_of(BODY, path) == lines


def test_of_a_message_the_block_whose_id_is_named_is_meant() -> None:
    blocks = [{"type": "text"}, {"id": "call_1"}, {"id": "call_12", "input": {}}]
    body = json.dumps({"messages": [{"content": blocks}]}, indent=1)
    assert lines_of(body, "messages.0", "no result for call_12.") == range(11, 15)
    assert lines_of(body, "messages.0", "no result for call_1, call_12.") == range(8, 15)
    assert lines_of(body, "messages.0", "no result for call_2.") == range(3, 17)


def test_a_bare_list_has_the_paths_of_a_body() -> None:
    assert lines_of('[\n {"role": "user"},\n {"role": "tool"}]', "messages.1") == range(3, 4)
    assert lines_of("[\n 1,\n 2]", "1") == range(3, 4)
    assert lines_of("7", "messages") is None and lines_of("{}", "messages") is None


def test_a_text_without_lines_gets_one_for_each_value() -> None:
    assert on_lines(BODY) == BODY
    assert on_lines('{"a": ["ä"]}') == '{\n  "a": [\n    "ä"\n  ]\n}'
    assert on_lines('{"a": ') == on_lines("[" * 100_000) == ""


def test_the_line_where_a_text_stops_to_be_json() -> None:
    assert error_line('{"a": 1,\n "b" 2}') == 2 and error_line("{}") is None and error_line("[" * 100_000) is None


def test_of_a_long_text_the_lines_near_a_mark_are_shown() -> None:
    text = json.dumps(list(range(500)), indent=1)
    lines = listing(text, [(300, "wrong"), (300, "more")])
    numbers = [line.number for line in lines]
    assert numbers == [*range(1, AROUND + 1), *range(300 - AROUND, 300 + AROUND + 1)]
    assert [line.marks for line in lines if line.marks] == [("wrong", "more")]
    assert [line.skipped for line in lines if line.skipped] == [300 - AROUND - 1 - AROUND]
    assert len(listing(BODY, [])) == 11


TYPED = '{"m": [{"a": 1},\n{"a": 2}, {"b": "[,"}]}'
"""On two lines, however many values it has."""


@pytest.mark.parametrize(
    ("repaired", "change"),
    [
        ('{"m":[{"a":1},{"a":2},{"a":9},{"b":"[,"}]}', LineChange(range(2, 3), (), ("{", '  "a": 9', "},"))),
        ('{"m":[{"a":0},{"a":1},{"a":2},{"b":"[,"}]}', LineChange(range(1, 2), (), ("{", '  "a": 0', "},"))),
        ('{"m":[{"a":1},{"a":2},{"b":"[,"},{"c":3}]}', LineChange(range(2, 3), (), (", {", '  "c": 3', "}"))),
        ('{"m":[{"a":1},{"b":"[,"}]}', LineChange(range(2, 3), ("{", '  "a": 2', "},"), ())),
        ('{"m":[{"a":5},{"a":2},{"b":"[,"}]}', LineChange(range(1, 2), ('"a": 1',), ('"a": 5',))),
        ('{"m":[{"a":1},{"a":2},{"b":"[,"}],"n":0}', LineChange(range(2, 3), (), (', "n": 0',))),
    ],
)
def test_what_a_repair_changes_is_a_whole_value_at_a_line_of_what_was_typed(repaired: str, change: LineChange) -> None:
    assert line_changes(TYPED, repaired) == (change,)


def test_without_a_change_or_a_line_there_is_none() -> None:
    assert line_changes(TYPED, TYPED.replace(" ", "")) == ()
    assert line_changes('{"a": 1, "a": 2}', '{"a": 3}') == ()
