"""What `promote-leaked-call` writes in stored rows, what stays byte for byte, and what it leaves alone."""

from typing import Any

import pytest

from inspector.planning.preview import Preview
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.strategies.leaked_syntax import recovered
from inspector.text import jsontext
from tests.folding import in_one_test
from tests.programs.dispatch.appended_stores import A, Store, T, U, appended, tc, th, tr
from tests.programs.dispatch.strategies.repaired_rows import CALL, MODES, codes, leaking, nothing_to_do, repaired, rows


def written(preview: Preview) -> dict[str, str]:
    return {change.key: jsontext.decode(change.after.data) for change in preview.changes if change.after is not None and not change.element}


@MODES
def test_a_call_that_is_spelled_out_becomes_a_call_with_an_interrupted_result(mode: str) -> None:
    preview = repaired(leaking("so far", th(f"I look.\n{CALL}\n")), "promote-leaked-call", mode=mode)
    assert [(row["role"], row["msgIdx"], row["chunkIdx"]) for row in rows(preview)] == [
        ("user", 1, 0),
        ("assistant", 2, 0),
        ("assistant", 2, 1),
        ("assistant", 2, 2),
        ("tool", 3, 0),
        ("user", 4, 0),
        ("assistant", 5, 0),
    ]
    thought, call, result = (row["chunk"] for row in rows(preview)[2:5])
    assert thought == {"type": "thinking", "text": "I look.\n"}
    assert call == {"type": "tool-call", "toolCallId": "insp-3", "toolName": "run_shell", "input": {"command": "find . -name '*.py'"}}
    assert (result["toolCallId"], result["content"], result["isError"]) == ("insp-3", INTERRUPTED, True)
    assert "THINK301" in [finding.code for finding in preview.before.findings]
    assert not {"THINK301", "TOOL101", "TOOL102", "TOOL202"} & set(codes(preview))
    assert preview.warnings[0].startswith(
        """On resume the program sees the call run_shell with {"command":"find . -name '*.py'"}, closed as interrupted."""
    )
    assert preview.after.judgement.violations == ()


def test_a_chunk_of_nothing_but_the_call_becomes_the_call() -> None:
    preview = repaired(leaking(th(CALL)), "promote-leaked-call")
    assert [row["chunk"]["type"] for row in rows(preview)] == ["text", "tool-call", "tool-result", "text", "text"]
    assert written(preview)["conv:c1:seq"] == "5"


def test_an_id_that_is_taken_is_not_given_again() -> None:
    store = appended([U("go")], [A(tc("insp-5")), T(tr("insp-5"))], [A(th(CALL))])
    assert rows(repaired(store, "promote-leaked-call"))[3]["chunk"]["toolCallId"] == "insp-4"
    store = appended([U("go")], [A(tc("insp-4")), T(tr("insp-4"))], [A(th(CALL))])
    assert rows(repaired(store, "promote-leaked-call"))[3]["chunk"]["toolCallId"] == "insp-4-2"


@in_one_test(
    ("text", "before", "name", "input"),
    [
        ("<function=ls></function>", "", "ls", {}),
        (
            "<function=ls>\n<parameter=path>/</parameter><parameter=all>\n\nx\n\n</parameter>\n</function>\n",
            "",
            "ls",
            {"path": "/", "all": "\nx\n"},
        ),
        ("a\n</think>\n<tool_call>\n<function=ls>\n</function>\n</tool_call>", "a\n", "ls", {}),
        ('a\n  <tool_call>{"name":"ls","arguments":{"n":1.0,"t":"</tool_call>"}}</tool_call>', "a\n", "ls", {"n": 1, "t": "</tool_call>"}),
        ('<tool_call>\n{"arguments":"{\\"a\\":1}","name":"ls"}\n</tool_call>\n', "", "ls", {"a": 1}),
        ('<invoke name="ls">\n<parameter name="path">a < b && c</parameter>\n</invoke>', "", "ls", {"path": "a < b && c"}),
        (
            "```\n<function=quoted>\n```\n<function=ls>\n<parameter=t>```x```</parameter></function>",
            "```\n<function=quoted>\n```\n",
            "ls",
            {"t": "```x```"},
        ),
        ('a\n[TOOL_CALLS]ls[ARGS]{"n": 1.0}', "a\n", "ls", {"n": 1}),
        ("<tool_call>ls\n<arg_key>path</arg_key>\n<arg_value>/</arg_value>\n</tool_call>", "", "ls", {"path": "/"}),
        ("<toolbridge_calls><ls><n>1</n></ls></toolbridge_calls>", "", "ls", {"n": 1}),
        (
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{"path":"/"}\n```\n<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
            "",
            "ls",
            {"path": "/"},
        ),
    ],
)
def test_each_form_is_read_exactly(text: str, before: str, name: str, input: dict[str, Any]) -> None:
    found = recovered(text)
    assert found is not None
    assert [(found.before, call.name, call.input) for call in found.calls] == [(before, name, input)]


@in_one_test(
    "text",
    [
        "<function=run_shell>...",
        "<function=ls><parameter=path>/</parameter>",
        "<function=ls><parameter=path>/</function>",
        "<function=ls></function> and then",
        "<function=ls><parameter=a>1</parameter><parameter=a>2</parameter></function>",
        "<function=ls><parameter=a>x<parameter=b>y</parameter></function>",
        "<function=ls><parameter=a>x</parameter> </parameter></function>",
        "<function=ls><parameter=a>x</function></parameter></function>",
        "<function=ls words></function>",
        "<function=></function>",
        "<function=ls><parameter=></parameter></function>",
        "<tool_call><function=ls></function>",
        '<tool_call>{"name":"ls"}</tool_call>',
        '<tool_call>{"name":"ls","arguments":[]}</tool_call>',
        '<tool_call>{"name":"ls","arguments":{},"id":1}</tool_call>',
        '<tool_call>{"name":"","arguments":{}}</tool_call>',
        "<function=ls></function>\nand\n<function=pwd></function>",
        '<tool_call>{"name":"ls","arguments":' + '{"a":' * 500 + "1" + "}" * 501 + "</tool_call>",
        "<tool_call></tool_call>",
        "</tool_call><tool_call>",
        '<invoke name="ls" id="1"></invoke>',
        "<invoke name='ls'></invoke>",
        "as I said, <function=ls></function>",
        "```\n<function=ls></function>\n```",
        "```\n" * 50_001 + "<function=ls>" * 10_000,
        "<function=ls>" + "<parameter=a>" * 50_000,
        "<function=ls>" + " " * 100_000,
    ],
)
def test_a_call_that_is_cut_off_or_could_be_read_in_two_ways_is_left_as_text(text: str) -> None:
    assert recovered(text) is None
    assert nothing_to_do(leaking(th(text)), "promote-leaked-call")


@pytest.mark.parametrize(
    "store",
    [
        leaking(th(CALL), tc("a")),
        leaking(th(CALL), "Here you are."),
        appended([U(CALL)]),
        appended([U("go")], [A(th(CALL))], [A("went on")]),
    ],
)
def test_text_that_ends_no_turn_is_neither_promoted_nor_dropped(store: Store) -> None:
    assert nothing_to_do(store, "promote-leaked-call", "drop-leaked-call")
