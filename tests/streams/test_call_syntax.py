"""Each spelling of each syntax: read exactly, in pairs, cut off anywhere, thought, quoted, and unknown."""

import pytest

from inspector.streams.call_syntax.catalogue import BY_ID, CALL_SYNTAXES
from inspector.streams.leaked_calls import TextCall, Where, text_calls
from tests.folding import in_one_test
from tests.streams.call_syntax_cases import SPELLINGS, TOOLS, Spelling

CONTENT = Where()
EACH = in_one_test("spelling", SPELLINGS, ids=lambda each: f"{each.syntax} {each.title}".strip())
IN_A_TEXT = in_one_test("spelling", [each for each in SPELLINGS if not each.alone], ids=lambda each: f"{each.syntax} {each.title}".strip())


def only(text: str, tools: tuple[str, ...] | None = TOOLS, inside: Where = CONTENT) -> TextCall:
    (found,) = text_calls(text, tools, inside)
    return found


def test_there_are_38_and_each_has_a_spelling() -> None:
    assert sorted(syntax.id for syntax in CALL_SYNTAXES) == [f"D{number:02d}" for number in range(1, 39)]
    assert {each.syntax for each in SPELLINGS} == BY_ID.keys()
    assert {each.syntax for each in SPELLINGS if each.call_id} == {syntax.id for syntax in CALL_SYNTAXES if syntax.gives_id}


@EACH
def test_it_is_read_exactly(spelling: Spelling) -> None:
    found = only(spelling.text)
    assert (found.syntax, found.name, found.arguments, found.call_id, found.guessed) == (
        spelling.syntax,
        spelling.name,
        spelling.arguments,
        spelling.call_id,
        spelling.guessed,
    )
    assert (found.start, found.end, found.closed, found.is_call) == (0, len(spelling.text), True, True)
    assert found.confidence in ("high", "medium")
    assert found.reasons
    assert all(reason.endswith(".") for reason in found.reasons)


@IN_A_TEXT
def test_two_of_them_are_two(spelling: Spelling) -> None:
    text = f"I look.\n{spelling.text}\n{spelling.text}\n"
    first, second = text_calls(text, TOOLS, CONTENT)
    assert [text[found.start : found.end] for found in (first, second)] == [spelling.text] * 2
    assert first.arguments == second.arguments == spelling.arguments
    assert first.is_call
    assert second.is_call


@in_one_test("spelling", [each for each in SPELLINGS if each.pair], ids=lambda each: f"{each.syntax} {each.title}".strip())
def test_two_in_one_wrapper_are_two_and_cover_it(spelling: Spelling) -> None:
    first, second = text_calls(spelling.pair, TOOLS, CONTENT)
    assert first.arguments == second.arguments == spelling.arguments
    assert (first.start, second.end) == (0, len(spelling.pair))
    assert first.end <= second.start
    assert first.closed
    assert second.closed


@EACH
def test_cut_off_anywhere_it_never_says_anything_else(spelling: Spelling) -> None:
    for end in range(len(spelling.text)):
        for found in text_calls(spelling.text[:end], TOOLS, CONTENT):
            assert found.arguments in (None, spelling.arguments), spelling.text[:end]
            assert found.name in ("", spelling.name), spelling.text[:end]
            assert not found.closed or end > len(spelling.text) * 0.6, spelling.text[:end]
            assert found.confidence == "low" or found.closed, spelling.text[:end]


@EACH
def test_cut_off_it_is_found_and_left_as_it_is(spelling: Spelling) -> None:
    for cut in spelling.cuts:
        text = spelling.text[: spelling.text.index(cut) + len(cut)]
        found = only(text)
        assert (found.closed, found.is_call, found.confidence, found.end) == (False, True, "low", len(text)), text
        assert found.arguments in (None, spelling.arguments)


@IN_A_TEXT
@pytest.mark.parametrize(
    ("opening", "closing"), [("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("", "</think>"), ("◁think▷", "◁/think▷")]
)
def test_in_closed_reasoning_it_is_a_thought(spelling: Spelling, opening: str, closing: str) -> None:
    found = only(f"{opening}\nI could write\n{spelling.text}\n{closing}\nNo need to.")
    assert (found.is_call, found.confidence) == (False, "low")
    assert "reasoning that was closed" in found.reasons[0]


@IN_A_TEXT
def test_at_the_end_of_open_reasoning_it_is_a_call(spelling: Spelling) -> None:
    for text, inside in ((f"<think>\nI look.\n{spelling.text}\n", CONTENT), (f"I look.\n{spelling.text}", Where("thinking"))):
        found = only(text, TOOLS, inside)
        assert found.is_call
        assert found.confidence != "low"
        assert "never closed" in found.reasons[0]


@IN_A_TEXT
def test_in_a_code_fence_it_is_quoted(spelling: Spelling) -> None:
    found = only(f"Models write this:\n~~~xml\n{spelling.text}\n~~~\nand servers read it.")
    assert (found.is_call, found.confidence) == (False, "low")
    assert "code fence" in found.reasons[0]


@IN_A_TEXT
def test_in_prose_it_is_no_call(spelling: Spelling) -> None:
    opener = next((opener for opener in BY_ID[spelling.syntax].openers if spelling.text.startswith(opener)), f"<{spelling.name}>")
    for text in (
        f"They write {opener} as text, and then the arguments.",
        f"`{spelling.text.splitlines()[0]}` is how it begins.",
        f"{opener} is the mark of the form, and servers look for it.",
        f'He said "{spelling.text}" twice.',
    ):
        assert not any(found.is_call for found in text_calls(text, TOOLS, CONTENT)), text


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each.alone], ids=lambda each: f"{each.syntax} {each.title}".strip())
@pytest.mark.parametrize(
    "text",
    [
        "<think>\nI could write\n{}\n</think>\nNo need to.",
        "Models write this:\n~~~~\n{}\n~~~~\nand servers read it.",
        "It begins so:\n{}\nand that is all.",
        "{}\nis how they write it.",
    ],
)
def test_a_form_that_is_a_call_only_alone_is_none_in_a_text(spelling: Spelling, text: str) -> None:
    assert not any(found.is_call for found in text_calls(text.replace("{}", spelling.text, 1), TOOLS, CONTENT))


@EACH
def test_an_unknown_tool_is_shown_and_no_more(spelling: Spelling) -> None:
    for found in text_calls(spelling.text, ("another",), CONTENT):
        assert found.confidence == "low"
        assert any("declared no tool" in reason for reason in found.reasons)
        assert not (spelling.needs_tools and found.is_call)


@EACH
def test_without_a_list_of_tools_only_what_cannot_be_ordinary_text_is_a_call(spelling: Spelling) -> None:
    found = text_calls(spelling.text, None, CONTENT)
    assert any(each.is_call for each in found) is not spelling.needs_tools
    assert {each.confidence for each in found} <= ({"low"} if spelling.needs_tools else {"medium"})


SCHEMAS = {"f": {"type": "object", "properties": {"x": {"type": "integer"}, "t": {"type": "string"}}}}


@in_one_test("spelling", [each for each in SPELLINGS if each.guessed == ("x",)], ids=lambda each: f"{each.syntax} {each.title}".strip())
def test_a_schema_decides_what_a_value_is(spelling: Spelling) -> None:
    (found,) = text_calls(spelling.text, SCHEMAS, CONTENT)
    assert (found.arguments, found.guessed) == ({"x": 1}, ())
    (found,) = text_calls(spelling.text, {"f": {"properties": {"x": {"type": "string"}}}}, CONTENT)
    assert (found.arguments, found.guessed) == ({"x": "1"}, ())
    (found,) = text_calls(spelling.text.replace("1", "one"), SCHEMAS, CONTENT)
    assert (found.arguments, found.guessed) == ({"x": "one"}, ("x",))


@in_one_test(
    ("text", "trouble"),
    [
        ('<tool_call>{"name": "f", "arguments": {"x": 1}, "id": 7}</tool_call>', "members that this form does not know: id"),
        ('<tool_call>{"name": "f", "arguments": {"x": "a\n"}}</tool_call>', "no JSON"),
        ('<tool_call>{"name": "f", "arguments": [1]}</tool_call>', "no JSON object"),
        ('<tool_call>{"name": "f", "arguments": {}} or so</tool_call>', "Something else is between"),
        ("<function=f><parameter=x>a<parameter=y>b</parameter></function>", "markup of the call itself"),
        ("<function=f><parameter=x>a</parameter><parameter=x>b</parameter></function>", "given twice"),
        ("<function=f>words</function>", "something else than parameters"),
        ('<|tool_call_begin|>0<|tool_call_argument_begin|>{"x":1}<|tool_call_end|>', "does not contain the name"),
        ("<|python_start|>[f(1)]<|python_end|>", "not all literals"),
        ("<|python_start|>[f(x=g())]<|python_end|>", "not all literals"),
        ('<|message_model|>f<|content_invoke_tool_json|>{"name":"g","args":{}}<|end_message|>', "opened as f and named g"),
        (
            '<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="x" string="false">one</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
            "declared as JSON and is none",
        ),
        ("<toolbridge_calls><search>words</search></toolbridge_calls>", "one tag for each parameter"),
        ("Action: f\nAction Input: x is one", "no JSON object"),
    ],
)
def test_what_could_be_read_in_two_ways_is_not_read(text: str, trouble: str) -> None:
    found = only(text)
    assert (found.arguments, found.confidence) == (None, "low")
    assert any(trouble in reason for reason in found.reasons), found.reasons


def test_what_is_made_up_behind_a_call_is_no_part_of_it() -> None:
    text = 'Thought: I look.\nAction: f\nAction Input: {"x": 1}\nObservation: 42\n'
    found = only(text)
    assert text[found.start : found.end] == 'Action: f\nAction Input: {"x": 1}'
