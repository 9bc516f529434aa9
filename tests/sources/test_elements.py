"""One string goes into or out of a JSON array, one member into or out of a JSON object, and no other byte moves."""

import json

import pytest

from inspector.programs.formats import Cell, Change, Element
from inspector.sources.elements import Absent, ChangeState, Differs, Present, WrongShape, spliced, state
from tests.folding import in_one_test

M = Element.MEMBER


@in_one_test(
    ("text", "expected"),
    [
        ('["a"]', '["a","x"]'),
        ("[]", '["x"]'),
        ("[ ]", '["x" ]'),
        ("", '["x"]'),
        (" \n", '["x"]'),
        ('[ "a" ,\r\n "b" ]\n', '[ "a" ,\r\n "b","x" ]\n'),
        (r'["\u0061\"],[", "é"]', r'["\u0061\"],[", "é","x"]'),
    ],
)
def test_an_element_is_added_behind_the_last(text: str, expected: str) -> None:
    assert spliced(text.encode(), None, b"x") == expected.encode()


@in_one_test("text", ["[]", "[ ]", '["a"]', ' ["a" , "b"\t] ', '[\n  "a",\n  "b"\n]\n', r'["\u00e9"]'])
@in_one_test("name", ["x", 'q"\\\n\0', "é😀", "\udcff", "a,]"])
def test_taking_out_what_was_added_gives_every_byte_back(text: str, name: str) -> None:
    element = name.encode("utf-8", "surrogateescape")
    added = spliced(text.encode(), None, element)
    assert json.loads(added.decode("utf-8", "surrogateescape"))[-1] == name
    assert spliced(added, element, None) == text.encode()


@in_one_test(
    ("text", "gone", "expected"),
    [
        ('["a","b","c"]', b"a", '["b","c"]'),
        ('["a", "b", "c"]', b"b", '["a", "c"]'),
        ('["a","b","c"]', b"c", '["a","b"]'),
        (r'["a","\u0062"]', b"b", '["a"]'),
        ('["a","b","a"]', b"a", '["a","b"]'),
        (' [ "a" ] ', b"a", " [  ] "),
    ],
)
def test_an_element_is_taken_out(text: str, gone: bytes, expected: str) -> None:
    assert spliced(text.encode(), gone, None) == expected.encode()


def test_an_element_is_replaced_in_its_place() -> None:
    assert spliced(b'["a", "b", "c"]', b"b", b"x") == b'["a", "x", "c"]'


def test_new_elements_are_written_as_json_stringify_does() -> None:
    assert spliced(b"[]", None, 'é"\\\n\x01\u2028/'.encode()) == '["é\\"\\\\\\n\\u0001\u2028/"]'.encode()


def test_what_is_there_or_not_there_already_is_told() -> None:
    with pytest.raises(Present):
        spliced(rb'["\u0061"]', None, b"a")
    with pytest.raises(Absent):
        spliced(b'["a"]', b"b", None)


@in_one_test(
    "text",
    [
        "{}", "null", '"a"', "[1]", '["a",]', '[,"a"]', '["a" "b"]', '["a"', '["a"]x', "[[]]", '["a",null]', "[" * 100_000,
        '["a\nb"]', r'["\x"]', '\ufeff["a"]', '["a\\"]', "[",
    ],
)  # fmt: skip
def test_what_is_no_array_of_strings_is_refused(text: str) -> None:
    with pytest.raises(WrongShape):
        spliced(text.encode(), None, b"x")


ENTRY = '"n": {\n    "sessionId": "é"\n  }'
WITH = [
    ('{\n  "a": {\n    "b": 1\n  }\n}', '{\n  "a": {\n    "b": 1\n  },\n  ' + ENTRY + "\n}"),
    ('{"a":1,"b":[1.0,{"c":"}"}]}\n', '{"a":1,"b":[1.0,{"c":"}"}],' + ENTRY + "}\n"),
    ("{}", "{" + ENTRY + "}"),
    (" { } ", " {" + ENTRY + " } "),
    ('\r\n{\t"a" : 1 , "a" : 2}', '\r\n{\t"a" : 1 , "a" : 2,\t' + ENTRY + "}"),
    ('{"\\u006d": "\\ud83d"}', '{"\\u006d": "\\ud83d",' + ENTRY + "}"),
]


@in_one_test(("text", "expected"), WITH)
def test_a_member_is_added_and_removing_it_gives_every_byte_back(text: str, expected: str) -> None:
    assert spliced(text.encode(), None, ENTRY.encode(), M) == expected.encode()
    assert spliced(expected.encode(), ENTRY.encode(), None, M) == text.encode()


def test_a_member_that_its_program_spelled_in_another_way_is_removed_all_the_same() -> None:
    """The program parses the file and writes all of it again, with an entry of its own after ours."""
    later = '{"a":2,"n":{"sessionId":"\\u00e9"},"z":3}'
    assert spliced(later.encode(), ENTRY.encode(), None, M) == b'{"a":2,"z":3}'


@in_one_test(
    ("text", "before", "after", "error"),
    [
        (f"{{{ENTRY}}}", None, ENTRY, Present),
        ('{"n": 5}', None, ENTRY, Differs),
        ('{"a": 5}', ENTRY, None, Absent),
        ('{"n": 5}', ENTRY, None, Differs),
        (f"{{{ENTRY}, {ENTRY}}}", ENTRY, None, Differs),
        *(
            (text, None, ENTRY, WrongShape)
            for text in ("", "[]", "null", '{"a":1', '{"a":1,}', '\ufeff{"a":1}', "[" * 100_000, '{"a":NaN}')
        ),
        ("{}", None, "n", WrongShape),
        ("{}", None, '"n": 1, "m": 2', WrongShape),
    ],
)
def test_a_member_that_cannot_go_in_or_out_is_refused(text: str, before: str | None, after: str | None, error: type[ValueError]) -> None:
    with pytest.raises(error):
        spliced(text.encode(), before.encode() if before else None, after.encode() if after else None, M)


def cell(text: str | None) -> Cell | None:
    return None if text is None else Cell(text.encode(), "file")


@in_one_test(
    ("change", "stored", "expected"),
    [
        (Change("k", cell("a"), cell("b")), "a", ChangeState.BEFORE),
        (Change("k", cell("a"), cell("b")), "b", ChangeState.AFTER),
        (Change("k", cell("a"), cell("b")), "c", ChangeState.NEITHER),
        (Change("k", None, cell("b")), None, ChangeState.BEFORE),
        (Change("k", cell("a"), None), None, ChangeState.AFTER),
        (Change("k", None, cell("x"), Element.STRING), '["a"]', ChangeState.BEFORE),
        (Change("k", None, cell("x"), Element.STRING), None, ChangeState.BEFORE),
        (Change("k", None, cell("x"), Element.STRING), '["x", "later"]', ChangeState.AFTER),
        (Change("k", cell("x"), None, Element.STRING), '["x"]', ChangeState.BEFORE),
        (Change("k", cell("x"), None, Element.STRING), "[]", ChangeState.AFTER),
        (Change("k", cell("x"), cell("y"), Element.STRING), '["x"]', ChangeState.BEFORE),
        (Change("k", cell("x"), cell("y"), Element.STRING), '["y"]', ChangeState.AFTER),
        (Change("k", cell("x"), cell("y"), Element.STRING), '["x", "y"]', ChangeState.NEITHER),
        (Change("k", None, cell("x"), Element.STRING), "{}", ChangeState.NEITHER),
        (Change("k", None, cell(ENTRY), M), '{"a": 1}', ChangeState.BEFORE),
        (Change("k", None, cell(ENTRY), M), '{"a":1,"n":{"sessionId":"é"}}', ChangeState.AFTER),
        (Change("k", None, cell(ENTRY), M), '{"n": {"sessionId": "é", "updatedAt": 5}}', ChangeState.NEITHER),
        (Change("k", None, cell(ENTRY), M), f"{{{ENTRY}, {ENTRY}}}", ChangeState.NEITHER),
        (Change("k", None, cell(ENTRY), M), None, ChangeState.NEITHER),
        (Change("k", None, cell(ENTRY), M), "[]", ChangeState.NEITHER),
        (Change("k", cell(ENTRY), None, M), f"{{{ENTRY}}}", ChangeState.BEFORE),
        (Change("k", cell(ENTRY), None, M), "{}", ChangeState.AFTER),
        (Change("k", cell('"n": 1'), cell('"n": 2'), M), '{"n": 1}', ChangeState.BEFORE),
        (Change("k", cell('"n": 1'), cell('"n": 2'), M), '{"n": 2}', ChangeState.AFTER),
        (Change("k", cell('"n": 1'), cell('"n": 2'), M), '{"n": true}', ChangeState.NEITHER),
    ],
    ids=str,
)
def test_what_a_store_holds_of_a_change(change: Change, stored: str | None, expected: ChangeState) -> None:
    assert state(change, cell(stored)) is expected
