"""What is kept packed, and what tells that another version packed it in another shape."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from enum import Enum
from typing import Any, NamedTuple, cast

import pytest

from inspector.presentation.conversation.placed import Block
from inspector.presentation.conversation.whole import Headline
from inspector.presentation.packed import LATER, packed, shape, unpacked
from inspector.rules.base import Finding


class Tone(Enum):
    PLAIN = "plain"


OtherTone = Enum("Tone", {"PLAIN": "quiet"})  # type: ignore[misc]


@dataclass(frozen=True)
class Row:
    words: str
    tone: Tone
    marks: Mapping[int, str]
    above: "Row | None" = None


def test_what_was_packed_is_read_again() -> None:
    row = Row("\ud800 and \0", Tone.PLAIN, {3: "x"}, Row("", Tone.PLAIN, {}))
    assert unpacked(Row, packed(row)) == row
    assert "words: <class 'str'>" in shape(Row)


@pytest.mark.parametrize(
    ("fields", "is_same"),
    [
        ({"words": str, "tone": Tone}, True),
        ({"words": str, "tone": OtherTone}, False),
        ({"words": str | None, "tone": Tone}, False),
        ({"words": str, "tone": Tone, "note": str}, False),
        ({"words": str}, False),
    ],
)
def test_a_field_or_type_is_another_shape_however_deep(fields: dict[str, Any], is_same: bool) -> None:
    assert (shape(holding(fields)) == shape(holding({"words": str, "tone": Tone}))) is is_same


def test_another_field_of_a_named_tuple_is_another_shape() -> None:
    """It is packed as a list, so that one more makes all of it unreadable."""
    short, long = (cast(Any, NamedTuple("Words", [(name, str) for name in names])) for names in (("said",), ("said", "why")))
    shapes = [shape(make_dataclass("Row", [("words", tuple[kind, ...])])) for kind in (short, long)]
    assert shapes[0] != shapes[1] and "why: <class 'str'>" in shapes[1]


def test_a_later_field_has_its_default_in_what_an_earlier_version_kept() -> None:
    """A conversation of 100,000 chunks is shown as an earlier version judged it until it is judged again, which takes minutes."""
    earlier = make_dataclass("Row", [("words", str)])
    later = make_dataclass("Row", [("words", str), ("led", Mapping[int, str], field(default_factory=dict, metadata=LATER))])
    assert shape(earlier) == shape(later)
    assert unpacked(later, packed(earlier("x"))) == later("x", {})
    assert unpacked(earlier, packed(later("x", {3: "y"}))) == earlier("x")


def test_what_pages_keep_has_the_shape_that_is_on_record() -> None:
    """With another one, what earlier versions kept is not shown, and the first page of a long conversation waits until it is judged: 25 s for 100,000 chunks. Where a field with a default is enough, make it `LATER`."""
    assert hashlib.sha256(shape(Headline, Block, Finding).encode()).hexdigest()[:12] == "e78ba9e9edbe"


def holding(fields: dict[str, Any]) -> type[Any]:
    """A class of rows of cells that have these fields."""
    cell: Any = make_dataclass("Cell", fields.items())
    return make_dataclass("Rows", [("rows", tuple[tuple[cell, ...], ...])])
