"""What a proxy was measured to make of simple answers: all violations that were named are found, and no other error."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.rules.base import Severity
from inspector.streams.captures import catalogue, own
from inspector.streams.leaked_calls import Where, text_calls
from inspector.streams.model import End, Exchange, Read, Side
from inspector.streams.run import Evidence, one_side
from inspector.streams.two_sides import judged, two_sides
from inspector.streams.violations import BY_NAME, STREAM_RULES
from tests.folding import in_one_test

from .golden.cases import CASES, FLOWS
from .golden.script import Golden

FOLDER = Path(__file__).parent / "golden"
NUMBERED = {number: rule.name for number, rule in enumerate(STREAM_RULES, 1)}


def path_of(case: Golden) -> Path:
    return FOLDER / f"{case.name.replace(' ', '-')}.jsonl"


def read(case: Golden) -> Exchange:
    def opened(offset: int = 0) -> list[bytes]:
        return [path_of(case).read_bytes()[offset:]]

    (exchange,) = catalogue.exchanges(lambda offset=0: iter(opened(offset)), case.name)
    return exchange


def names(found: tuple[Evidence, ...]) -> set[str]:
    return {each.rule.name for each in found}


def errors(found: set[str]) -> set[str]:
    return {name for name in found if BY_NAME[name].severity is Severity.ERROR}


@in_one_test("case", CASES, ids=lambda case: case.name)
def test_the_files_are_what_the_table_writes(case: Golden) -> None:
    assert path_of(case).read_bytes() == b"".join(own.written(case.exchange()))


@in_one_test("case", CASES, ids=lambda case: case.name)
def test_all_that_was_named_is_found_and_no_other_error(case: Golden) -> None:
    found = judged(read(case))
    assert found.sides is not None
    backend, client, both = names(found.evidence(Side.BACKEND)), names(found.evidence(Side.CLIENT)), names(found.sides.evidence)

    assert (backend, client, both) == (set(case.backend.split()), set(case.client.split()), set(case.sides.split()))
    named = {NUMBERED[number] for number in case.named}
    assert named <= backend | client | both
    # What the backend did itself is handed on, and no fault of the proxy.
    assert errors(client | both) - errors(backend) <= named | set(case.also)


@pytest.mark.parametrize("case", FLOWS[:2], ids=lambda case: case.name)
def test_the_correct_flows_of_the_report_are_without_findings(case: Golden) -> None:
    found = judged(read(case))

    assert [found.evidence(side) for side in Side] == [(), ()]
    assert found.sides is not None and (found.sides.evidence, found.sides.remarks) == ((), ())


def names_of(case: Golden, side: Side) -> set[str]:
    """What is found where only this side was captured."""
    exchange = read(case)

    def happenings() -> Iterator[Read | End]:
        return (each for each in exchange.happenings() if each.side is side)

    alone = replace(exchange, sides=(side,), happenings=happenings)
    assert two_sides(alone) is None
    return names(one_side(alone, side).evidence)


@pytest.mark.parametrize("case", FLOWS[2:], ids=lambda case: case.name)
def test_the_bug_is_named_with_both_sides_and_not_claimed_with_the_client_alone(case: Golden) -> None:
    found = two_sides(read(case))
    assert found is not None
    (premature,) = (each for each in found.evidence if each.rule.name == "premature-terminal")

    assert f"input 3 of {'5' if case is FLOWS[2] else '6'}" in premature.first[0].text
    # What the client read is a legal stream by itself.
    assert names_of(case, Side.CLIENT) == set()


def test_the_backend_alone_shows_the_wrapper_and_nothing_of_the_proxy() -> None:
    assert names_of(FLOWS[2], Side.BACKEND) == {"wrapper-unparsed"}


@pytest.mark.parametrize("number", ["06", "13"])
def test_calls_that_are_cut_off_are_candidates(number: str) -> None:
    case = next(case for case in CASES if case.name.startswith(number))
    (block,) = one_side(read(case), Side.CLIENT).assembled.blocks

    found = text_calls(block.text, {"search": {}}, Where())

    assert found and all(each.confidence == "low" and not each.closed for each in found)
