"""What `sanitize-arguments` writes in stored rows, what stays byte for byte, and what it leaves alone."""

import json
from typing import Any

import pytest

from inspector.programs.dispatch.projection import arguments
from inspector.programs.formats import Cell
from inspector.strategies.sanitize_arguments import sanitized
from tests.folding import in_one_test
from tests.programs.dispatch.appended_stores import A, Store, T, U, appended, tc, tr
from tests.programs.dispatch.strategies.repaired_rows import MODES, codes, key, nothing_to_do, repaired, rows, with_rows


def calling(text: str) -> Store:
    return appended([U("go")], [A(tc("a", "todo_write", text)), T(tr("a", "args must be an object", "todo_write", error=True))])


@MODES
def test_arguments_that_are_no_json_become_the_hint_that_the_newest_converter_sends(mode: str) -> None:
    store = calling('{path: "/src/main.ts"}')
    preview = repaired(store, "sanitize-arguments", mode=mode)
    assert rows(preview)[1]["chunk"]["input"] == {"_malformed_arguments": '{path: "/src/main.ts"}'}
    assert "TOOL301" in [finding.code for finding in preview.before.findings]
    assert "TOOL301" not in codes(preview)
    assert preview.before.prompt.values == preview.after.prompt.values


def test_only_the_input_changes_and_every_other_byte_of_the_row_stays() -> None:
    head = ' { "role" : "assistant",\t"more":1e2,"chunk" : {"type":"tool-call", "toolCallId":"a","toolName":"l\\u0073","n":1.0 ,"input": '
    tail = ' ,"stepId":"turn-1782600000000-a#0"},"msgIdx":0 , "chunkIdx":0.0}\n'
    store = with_rows(calling("{}"), {2: head + json.dumps('{"path": "/src", "n": 1.0}') + tail})
    (change,) = repaired(store, "sanitize-arguments").changes
    assert (change.key, change.after) == (key(2), Cell((head + '{"path":"/src","n":1}' + tail).encode()))


@in_one_test(
    ("text", "value"),
    [
        ('{"path":"/src/main.ts"}', {"path": "/src/main.ts"}),
        ("x" * 500, {"_malformed_arguments": "x" * 200}),
        ("😀" * 150, {"_malformed_arguments": "😀" * 100}),
        ("y" * 199 + "😀", {"_malformed_arguments": "y" * 199 + "\ud83d"}),
        ("", {"_malformed_arguments": ""}),
        ("NaN", {"_malformed_arguments": "NaN"}),
        (" [1] ", [1]),
        ('{"2":1,"b":1e999,"1":10000000000000000000001}', {"1": 1e22, "2": 1, "b": None}),
        (json.dumps(json.dumps({"twice": "encoded"})), {"twice": "encoded"}),
    ],
)
def test_the_value_is_the_one_that_the_converter_reads_out_of_the_text(text: str, value: Any) -> None:
    assert sanitized(text) == value
    if not text.startswith('"'):
        assert arguments(sanitized(text)) == arguments(text)


@pytest.mark.parametrize("text", ["[" * 399 + "]" * 399, "[" * 9000 + "]" * 9000, "9" * 5000])
def test_arguments_over_what_is_read_here_are_left_alone(text: str) -> None:
    assert nothing_to_do(calling(text), "sanitize-arguments")
