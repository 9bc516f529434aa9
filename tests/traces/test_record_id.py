"""Record ids: the collector's rule, spelled as JavaScript spells JSON."""

import pytest

from inspector.text.js_json import canonical, number, parse
from inspector.traces.record_id import fnv1a, record_id
from tests.folding import in_one_test
from tests.traces.stores import EXAMPLES


@pytest.mark.parametrize(("expected", "record"), EXAMPLES.items(), ids=EXAMPLES)
def test_ids_of_upstreams_own_examples(expected: str, record: dict[str, object]) -> None:
    assert record_id(record) == expected
    assert record_id(dict(reversed(record.items()))) == expected


def test_the_body_is_part_of_the_id() -> None:
    record = EXAMPLES["99e3f0d1ffe69fc0"]
    assert record_id({**record, "body": "another"}) != record_id(record)


@in_one_test(
    ("value", "spelled"),
    [
        (1.0, "1"), (-0.0, "0"), (0, "0"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (1e-6, "0.000001"), (1e-7, "1e-7"),
        (-1.5e-9, "-1.5e-9"), (123.456, "123.456"), (-0.25, "-0.25"), (2**53 + 1, "9007199254740992"), (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"), (1234567890123456789012, "1.2345678901234568e+21"),
        (10**400, "null"), (float("inf"), "null"),
    ],
)  # fmt: skip
def test_numbers_are_spelled_as_javascript_spells_them(value: float, spelled: str) -> None:
    assert number(value) == spelled


def test_strings_are_escaped_as_javascript_escapes_them() -> None:
    assert canonical('\b\t\n\f\r\x00\x1f"\\/\x7f\u2028é😀') == '"\\b\\t\\n\\f\\r\\u0000\\u001f\\"\\\\/\x7f\u2028é😀"'
    assert canonical("\ud800x\udfff") == '"\\ud800x\\udfff"'
    assert canonical("\ud83d\ude00") == '"😀"'


def test_keys_are_sorted_by_utf16_unit_at_every_level_and_not_by_code_point() -> None:
    assert canonical({"b": [{"\uffff": 1, "😀": 2}], "a": {}, "B": [], "10": None, "9": True}) == (
        '{"10":null,"9":true,"B":[],"a":{},"b":[{"😀":2,"\uffff":1}]}'
    )


def test_the_hash_runs_over_utf16_units_and_not_over_bytes() -> None:
    def by_hand(units: list[int]) -> str:
        value = 0xCBF29CE484222325
        for unit in units:
            value = (value ^ unit) * 0x100000001B3 % 2**64
        return f"{value:016x}"

    assert fnv1a("") == "cbf29ce484222325"
    assert fnv1a("aé😀") == by_hand([0x61, 0xE9, 0xD83D, 0xDE00])
    assert fnv1a("\ud800") == by_hand([0xD800])


def test_hostile_nesting_is_a_value_error_and_no_crash() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse("[" * 100_000)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        canonical(deep)


@in_one_test("text", ["NaN", '{"a":Infinity}', "-Infinity", "{", "", "'a'"])
def test_what_javascript_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)
