"""Where a path of a JSON text begins, and which lines of it are shown."""

import json

import pytest

from inspector.presentation.check.lines import AROUND, error_line, line_of, listing, on_lines

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
    ("path", "line"),
    [
        ("model", 2),
        ("messages", 3),
        ("messages.0", 4),
        ("messages.1", 5),
        ("messages.1.content", 7),
        ("messages.1.content.1", 8),
        ("messages.1.content.1.id", 8),
        ("messages.7", 3),
        ("contents.0", None),
    ],
)
def test_a_path_begins_on_a_line(path: str, line: int | None) -> None:
    assert line_of(BODY, path) == line


def test_a_bare_list_has_the_paths_of_a_body() -> None:
    assert line_of('[\n {"role": "user"},\n {"role": "tool"}]', "messages.1") == 3
    assert line_of("[\n 1,\n 2]", "1") == 3
    assert line_of("7", "messages") is None and line_of("{}", "messages") is None


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
