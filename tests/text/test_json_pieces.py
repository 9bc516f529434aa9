"""Members of a JSON text exchanged: all that is between them stays as it is."""

import json
from random import Random

import pytest

from inspector.text.json_pieces import amended, member_values

ODD = ' {  "a" : 1 ,\t"b\\u0061" :"x\\"y" , "" :[1, {"a":2}],"a":  {"b" :null}\n} '


def test_members_are_found_with_their_spaces_escapes_and_repeated_names() -> None:
    spans = member_values(ODD)
    assert [(name, ODD[at:end], value) for name, _, at, end, value in spans] == [
        ("a", "1", 1),
        ("ba", '"x\\"y"', 'x"y'),
        ("", '[1, {"a":2}]', [1, {"a": 2}]),
        ("a", '{"b" :null}', {"b": None}),
    ]
    assert [ODD[start : start + 1] for _, start, *_ in spans] == ['"'] * 4


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ODD),
        ({"a": "7"}, ODD.replace('{"b" :null}', "7")),
        ({"ba": "7", "": "8"}, ODD.replace('"x\\"y"', "7").replace('[1, {"a":2}]', "8")),
        ({"new": "7"}, ODD.replace('{"b" :null}', '{"b" :null} ,\t"new" : 7')),
    ],
)
def test_of_equal_names_the_last_is_exchanged_and_nothing_else_moves(values: dict[str, str], expected: str) -> None:
    assert amended(ODD, values) == expected


@pytest.mark.parametrize("is_compact", [True, False])
def test_any_object_reads_as_amended(is_compact: bool) -> None:
    random = Random(7)
    for _ in range(500):
        words = ["".join(random.choices('a"\\é\u2028 :,{', k=random.randrange(4))) for _ in range(12)]
        value = {name: random.choice((inner, 7, [inner], {inner: None})) for name, inner in zip(words[:4], words[4:8], strict=True)}
        text = json.dumps(value, ensure_ascii=is_compact, separators=(",", ":") if is_compact else None)
        names = random.sample(words, 3)
        assert json.loads(amended(text, dict.fromkeys(names, '"7"'))) == value | dict.fromkeys(names, "7")
        assert amended(text, {}) == text
