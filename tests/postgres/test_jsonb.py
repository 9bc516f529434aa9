"""`formats.jsonb` prints what the server prints: asked of the server itself."""

import json
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.text import jsonb
from inspector.text.jsonb import NotStorable
from tests.postgres.server import Server

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def asking(_postgres: Server) -> Iterator[Connection]:
    with closing(psycopg.connect(_postgres.owner, autocommit=True)) as connection:
        yield connection


def said(asking: Connection, text: str) -> str:
    row = asking.execute("SELECT (%s::text)::jsonb::text", (text,)).fetchone()
    assert row is not None
    return str(row[0])


_DIGITS = st.text("0123456789", min_size=1, max_size=25)
_NUMBERS = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{whole.lstrip('0') or '0'}{fraction}{exponent}",
    st.sampled_from(["", "-"]),
    _DIGITS,
    st.one_of(st.just(""), st.builds(".".__add__, _DIGITS)),
    st.one_of(
        st.just(""),
        st.builds(
            lambda mark, sign, power: f"{mark}{sign}{power}", st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 420)
        ),
    ),
)
_WORDS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
_STRINGS = st.one_of(
    _WORDS.map(json.dumps),
    _WORDS.map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from(['"\\/"', '"\\u007f\\u0001"', '"\\ud83d\\ude00"']),
)
_KEYS = st.one_of(_STRINGS, st.sampled_from(['"a"', '"b"', '"aa"', '"é"', '"zz"', '""']))
_SPACES = st.sampled_from(["", " ", "\n\t "])


def _listed(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda held, space: f"[{space}{f'{space},'.join(held)}]", st.lists(values, max_size=5), _SPACES)


def _object(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.builds(lambda name, space, value: f"{name}{space}:{value}", _KEYS, _SPACES, values)
    return st.builds(lambda held, space: f"{{{space}{f',{space}'.join(held)}}}", st.lists(member, max_size=6), _SPACES)


TEXTS = st.recursive(
    st.one_of(st.sampled_from(["null", "true", "false"]), _NUMBERS, _STRINGS),
    lambda values: st.one_of(_listed(values), _object(values)),
    max_leaves=15,
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_any_value_is_printed_as_the_server_prints_it(asking: Connection, text: str) -> None:
    stored = said(asking, text)
    assert jsonb.printed(jsonb.parse(stored)) == stored
    assert jsonb.printed(jsonb.parse(text)) == stored


ODD = [
    "1.50",
    "1.0",
    "-1.10",
    "0",
    "-0",
    "0.0",
    "-0.00",
    "0e5",
    "-0e5",
    "0e-5",
    "0.000e3",
    "1e3",
    "1E+3",
    "1e-3",
    "1.50e1",
    "1.5e-7",
    "1e400",
    "-1e400",
    "1e-400",
    "123456789012345678901234567890",
    "-9223372036854775809",
    "1e131071",
    "1e-16383",
    "9" * 5000,
    "-" + "9" * 5000,
    "0." + "1" * 5000,
    '"\\u0001\\u001f\\b\\f\\n\\r\\t\\"\\\\/\\u007f\\u0080\\u2028\\ufeff\\uffff"',
    '"😀"',
    '{"b":1,"a":2,"aa":3,"é":4,"z":5,"":6}',
    '{"a":1,"a":2}',
    "[]",
    "{}",
    "[[],{}]",
    '{"aaa":1,"\\u00e9":2,"zz":3}',
    '{"\\ud83d\\ude00":1,"\\uffff":2,"abcd":3}',
    "[" * 390 + "]" * 390,
]


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:30].encode("ascii", "backslashreplace").decode())
def test_odd_values_are_printed_as_the_server_prints_them(asking: Connection, text: str) -> None:
    stored = said(asking, text)
    assert jsonb.printed(jsonb.parse(stored)) == stored
    assert jsonb.printed(jsonb.parse(text)) == stored


@pytest.mark.parametrize(
    "value",
    [0.1, -0.0, 1e22, 1.5, 5e-324, 1.7976931348623157e308, 2**70, True, None, Decimal("1.10"), ("a", 1)],
    ids=lambda value: repr(value),
)
def test_values_of_python_too(asking: Connection, value: Any) -> None:
    printed = jsonb.printed(value)
    assert said(asking, printed) == printed


@pytest.mark.parametrize("text", ['"\\u0000"', '"\\ud800"', '{"\\u0000":1}', "1e131072", "1e-16384", "1e999999999", "1e-999999999"])
def test_what_the_server_does_not_keep_is_refused_here_too(asking: Connection, text: str) -> None:
    with pytest.raises(psycopg.Error):
        said(asking, text)
    with pytest.raises(NotStorable):
        jsonb.printed(jsonb.parse(text))


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), "\udc00", b"x", {1, 2}], ids=repr
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(NotStorable):
        jsonb.printed([value])


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, "NaN", "[Infinity]", "", "{", "[1,]"])
def test_a_text_that_jsonb_never_printed_is_refused(text: str) -> None:
    with pytest.raises(NotStorable):
        jsonb.parse(text)


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    value: Any = 0
    for _ in range(500):
        value = [value]
    with pytest.raises(NotStorable, match="levels deep"):
        jsonb.printed(value)
