"""A light dataclass is one as every other, but for what it costs."""

import pickle
from dataclasses import dataclass, replace
from typing import Any

import pytest

from inspector.conversation.model import Chunk, Kind
from inspector.text.light import light_dataclass


@dataclass(frozen=True, slots=True)
class Usual:
    name: str
    items: tuple[int, ...] = ()


@light_dataclass(frozen=True, slots=True)
class Light:
    name: str
    items: tuple[int, ...] = ()


@pytest.mark.parametrize("kind", [Usual, Light])
def test_equal_values_are_one(kind: Any) -> None:
    value = kind("a", (1, 2))
    assert value == kind("a", (1, 2)) != kind("b", (1, 2))
    assert len({value, kind("a", (1, 2)), replace(value, name="b")}) == 2
    assert hash(value) == hash(Usual("a", (1, 2)))


@pytest.mark.parametrize("kind", [Usual, Light])
def test_it_has_no_other_members(kind: Any) -> None:
    with pytest.raises((AttributeError, TypeError)):
        kind("a").other = 1


def test_a_chunk_goes_to_another_process_as_it_is() -> None:
    chunk = Chunk("k", 1, "user", Kind.TEXT, {"type": "text", "text": "go"}, raw=b"{}")
    again = pickle.loads(pickle.dumps(chunk))
    assert again == chunk and again.raw == b"{}" and again.kind is Kind.TEXT
