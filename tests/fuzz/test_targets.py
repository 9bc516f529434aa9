"""Inputs near to what is stored, sent and asked: nothing that reads them raises, and what once did is a case in `cases/`."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.addresses import import_incident
from tests.fuzz.targets import TARGETS, Target

CASES = Path(__file__).parent / "cases"
PIECES = (
    *(
        b"",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
        b":",
        b"\\",
        b"\n",
        b"\r\n",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        rb"\ud800",
        rb"\u0000",
    ),
    *(
        b"null",
        b"true",
        b"0",
        b"-1",
        b"1e999",
        b"9" * 400,
        b"NaN",
        b"[]",
        b"{}",
        b'""',
        b"[[[[[[[[",
        b'{"id":1}',
        b"\xf0\x9f\x92\xa9",
        b"../",
        b"%00",
        b"%ff",
    ),
    *(b'"id":', b'"type":', b'"role":', b'"content":', b'"parentId":null', b'"toolCallId"', b"tool_use", b"user", b"assistant", b"data: "),
)
edits = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 40), st.sampled_from(PIECES)), min_size=1, max_size=4)


def changed(seed: bytes, places: list[tuple[int, int, bytes]]) -> bytes:
    """`seed` with bytes replaced at places counted around its end."""
    for place, length, piece in places:
        at = place % (len(seed) + 1)
        seed = seed[:at] + piece + seed[at + length :]
    return seed


def assert_promises(target: Target, examples: int, most_seeds: int | None = None) -> None:
    seeds = target.seeds()
    for seed in seeds[:most_seeds]:
        target.run(seed)

    @settings(max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(range(len(seeds))), edits)
    @example(0, [(0, 1 << 20, b"")])
    def holds(number: int, places: list[tuple[int, int, bytes]]) -> None:
        target.run(changed(seeds[number], places))

    holds()


@pytest.fixture
def incident(db: None, tmp_path: Path) -> None:
    import_incident(tmp_path)


PURE = [name for name, target in TARGETS.items() if not target.opens_database]


@pytest.mark.parametrize("name", PURE)
def test_any_input_is_read_or_refused(name: str) -> None:
    assert_promises(TARGETS[name], 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", PURE)
def test_many_inputs_are_read_or_refused(name: str) -> None:
    assert_promises(TARGETS[name], 40)


@pytest.mark.usefixtures("incident")
def test_any_address_is_answered() -> None:
    assert_promises(TARGETS["address"], 10, most_seeds=0)


@pytest.mark.slow
@pytest.mark.usefixtures("incident")
def test_many_addresses_are_answered() -> None:
    assert_promises(TARGETS["address"], 60)


@pytest.mark.parametrize("case", sorted(CASES.glob("*/*")), ids=lambda case: f"{case.parent.name} {case.name}")
@pytest.mark.usefixtures("incident")
def test_what_was_found_stays_repaired(case: Path) -> None:
    TARGETS[case.parent.name].run(case.read_bytes())
