"""One element goes into or out of a JSON array of strings, and no other byte moves."""

import json

import pytest

from inspector.sources.elements import Absent, NotAnArray, Present, spliced


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["[]", "[ ]", '["a"]', ' ["a" , "b"\t] ', '[\n  "a",\n  "b"\n]\n', r'["\u00e9"]'])
@pytest.mark.parametrize("name", ["x", 'q"\\\n\0', "é😀", "\udcff", "a,]"])
def test_taking_out_what_was_added_gives_every_byte_back(text: str, name: str) -> None:
    element = name.encode("utf-8", "surrogateescape")
    added = spliced(text.encode(), None, element)
    assert json.loads(added.decode("utf-8", "surrogateescape"))[-1] == name
    assert spliced(added, element, None) == text.encode()


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "text",
    [
        "{}", "null", '"a"', "[1]", '["a",]', '[,"a"]', '["a" "b"]', '["a"', '["a"]x', "[[]]", '["a",null]', "[" * 100_000,
        '["a\nb"]', r'["\x"]', '\ufeff["a"]', '["a\\"]', "[",
    ],
)  # fmt: skip
def test_what_is_no_array_of_strings_is_refused(text: str) -> None:
    with pytest.raises(NotAnArray):
        spliced(text.encode(), None, b"x")
