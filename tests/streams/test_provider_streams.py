"""Streams of real providers: what is legal is silent, and any split of the bytes gives the same."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.rules.base import Severity
from inspector.streams.captures.catalogue import sniffed
from inspector.streams.model import End, Exchange, How, Read, Side
from inspector.streams.run import OneSide, one_side
from tests.corpus import CORPUS, needs

PATHS = sorted((CORPUS / "streams").rglob("*.chunks.txt"))
BROKEN = {
    "duplicate-message-start.chunks.txt": {"start-repeated"},
    "spliced-message-start.chunks.txt": {"start-repeated", "block-left-open", "id-or-model-changed"},
}
"""Those that were made to be broken, and how."""
UNREAD = {"Gemini", "Gemini interactions", "Cohere", "Bedrock Converse"}

CASSETTES = sorted(path for path in (CORPUS / "vcr-cassettes").rglob("*") if path.suffix in (".yaml", ".yml", ".json", ".har"))

pytestmark = [pytest.mark.corpus, needs("streams")]


def exchanges(path: Path) -> list[Exchange]:
    data = path.read_bytes()
    kind = sniffed(lambda offset=0: iter([data[offset:]]), path.name)
    assert kind is not None
    return list(kind.exchanges(lambda offset=0: iter([data[offset:]]), path.name))


def split(exchange: Exchange, sizes: Iterator[int]) -> OneSide:
    whole = b"".join(each.data for each in exchange.happenings() if isinstance(each, Read))

    def happenings() -> Iterator[Read | End]:
        at = 0
        while at < len(whole):
            size = next(sizes)
            yield Read(Side.BACKEND, whole[at : at + size])
            at += size
        yield End(Side.BACKEND, How.UNKNOWN)

    return one_side(Exchange("x", happenings, exchange.sides, exchange.request, lacks=exchange.lacks), Side.BACKEND)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_what_is_legal_is_silent(path: Path) -> None:
    for exchange in exchanges(path):
        found = one_side(exchange, Side.BACKEND)

        assert found.names == BROKEN.get(path.name, set()), [each.first for each in found.evidence]
        assert bool(found.assembled.blocks) or found.unsupported in UNREAD
        assert all(each.complete or path.name in BROKEN for answer in found.answers for each in answer.blocks)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_any_split_gives_the_same(path: Path) -> None:
    dice = random.Random(path.name)
    for exchange in exchanges(path):
        found = one_side(exchange, Side.BACKEND)
        for sizes in (iter(lambda: 1, 0), iter(lambda: dice.randrange(1, 400), 0)):
            again = split(exchange, sizes)

            assert (again.answers, again.evidence, again.counts, again.events) == (
                found.answers,
                found.evidence,
                found.counts,
                found.events,
            )


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.name)
def test_recorded_answers_have_no_errors(path: Path) -> None:
    for exchange in exchanges(path):
        for side in exchange.sides:
            found = one_side(exchange, side)

            assert [each.first for each in found.evidence if each.rule.severity is Severity.ERROR] == []
            assert found.assembled.blocks or found.unsupported
