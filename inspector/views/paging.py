"""Pages of a list by where the one before ended: page 10,000 costs what page 1 does, and rows that come in meanwhile move nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db.models import Field, Model, Q, QuerySet
from django.http import QueryDict

PER_PAGE = 50
_ORPHANS = 5
"""Up to one row for so many of a page is not worth a page of its own: the page before has them too."""
_BETWEEN = "~"
"""Between the values of a place in an address: it is in no number and in no time."""

Row = TypeVar("Row")
Listed = TypeVar("Listed", bound=Model)


@dataclass(frozen=True, slots=True)
class Step:
    """Another page as its address names it: `page` is its number, for people; it has the rows `after` or `before` a place, where one is given."""

    page: int
    after: str = ""
    before: str = ""

    def query(self, params: QueryDict) -> str:
        """The query of an address that asks the same for this page."""
        rest = {name: values for name, values in params.lists() if name not in ("page", "after", "before")}
        own = {name: value for name in ("page", "after", "before") if (value := getattr(self, name))}
        return urlencode(rest | own, doseq=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWindow(Generic[Row]):
    """The rows of one page. `first` is the number of its first row, 0 where rows that came in since may have moved it."""

    rows: tuple[Row, ...]
    number: int
    pages: int
    total: int
    first: int
    newer: Step | None
    older: Step | None

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def in_memory(rows: Sequence[Row], params: QueryDict, per_page: int) -> ListWindow[Row]:
    """A page of a list that is computed whole at each view."""
    number, pages = _number(params, len(rows), per_page)
    start = (number - 1) * per_page
    newer, older = Step(number - 1) if number > 1 else None, Step(number + 1) if number < pages else None
    shown = tuple(rows[start : start + per_page] if number < pages else rows[start:])
    return ListWindow(rows=shown, number=number, pages=pages, total=len(rows), first=start + 1, newer=newer, older=older)


def window(rows: QuerySet[Listed], keys: Sequence[str], total: int, params: QueryDict, per_page: int = PER_PAGE) -> ListWindow[Listed]:
    """The page of `rows` that an address asks for: after or before a place, else by number, as addresses without a place do.

    `keys` are the columns that order them, never NULL and together unique; "-" before one that descends. An index has to begin with them,
    after what `rows` filters by. `total` is how many `rows` there are.
    """
    number, pages = _number(params, total, per_page)
    after, before = (_place(rows.model, keys, params.get(name, "")) for name in ("after", "before"))
    first = 0
    if before is not None:
        shown = _rows(rows, [key[1:] if key.startswith("-") else f"-{key}" for key in keys], before, per_page)
        if len(shown) > per_page:
            number = min(max(number, 2), max(pages - 1, 2))
            return _window(shown[:per_page][::-1], keys, number, pages, total, 0, has_older=True)
        after, number = None, 1
    elif after is not None:
        shown, has_older = _page(rows, keys, after, per_page)
        if shown:
            number = min(max(number, 2), max(pages - 1, 2)) if has_older else max(pages, 2)
            return _window(shown, keys, number, pages, total, 0, has_older)
        number = pages
    first = (number - 1) * per_page + 1
    # Of the rows that are left out only the keys are looked at, in the index.
    edge = rows.order_by(*keys).values_list(*_columns(keys))[first - 2 : first - 1].first() if number > 1 else None
    shown, has_older = _page(rows, keys, edge, per_page)
    return _window(shown, keys, number, pages, total, first, has_older)


def _window(
    rows: Sequence[Listed], keys: Sequence[str], number: int, pages: int, total: int, first: int, has_older: bool
) -> ListWindow[Listed]:
    values = attrgetter(*(column.replace("__", ".") for column in _columns(keys)))
    newer = Step(number - 1, before=_text(values(rows[0]))) if rows and number > 1 else None
    older = Step(number + 1, after=_text(values(rows[-1]))) if has_older else None
    return ListWindow(
        rows=tuple(rows), number=number, pages=max(pages, number), total=total, first=first if rows else 0, newer=newer, older=older
    )


def _page(rows: QuerySet[Listed], keys: Sequence[str], place: Sequence[Any] | None, per_page: int) -> tuple[list[Listed], bool]:
    """The rows of a page that begins after a place, and whether others follow: the last page has up to a fifth more."""
    shown = _rows(rows, keys, place, per_page + per_page // _ORPHANS)
    has_older = len(shown) > per_page + per_page // _ORPHANS
    return shown[:per_page] if has_older else shown, has_older


def _rows(rows: QuerySet[Listed], keys: Sequence[str], place: Sequence[Any] | None, per_page: int) -> list[Listed]:
    """One more than a page has, which says whether there is another."""
    return list((rows if place is None else rows.filter(_beyond(keys, place))).order_by(*keys)[: per_page + 1])


def _beyond(keys: Sequence[str], place: Sequence[Any]) -> Q:
    """Those that follow a place: equal to it in the first keys, beyond it in the next one."""
    beyond, equal = [], Q()
    for key, value in zip(keys, place, strict=True):
        column = key.removeprefix("-")
        beyond.append(equal & Q(**{f"{column}__{'lt' if key.startswith('-') else 'gt'}": value}))
        equal &= Q(**{column: value})
    # What all of them imply is where an index is entered.
    bound = "lte" if keys[0].startswith("-") else "gte"
    return Q(**{f"{keys[0].removeprefix('-')}__{bound}": place[0]}) & reduce(Q.__or__, beyond)


def _columns(keys: Sequence[str]) -> list[str]:
    return [key.removeprefix("-") for key in keys]


def _text(values: Any) -> str:
    """The values of one row as an address has them."""
    values = values if isinstance(values, tuple) else (values,)
    return _BETWEEN.join(value.isoformat() if isinstance(value, datetime) else str(value) for value in values)


def _place(model: type[Model], keys: Sequence[str], text: str) -> tuple[Any, ...] | None:
    """The values of a place that an address names; None where it names none, or something else."""
    words = text.split(_BETWEEN)
    if len(words) != len(keys):
        return None
    try:
        fields = [cast("Field[Any, Any]", model._meta.get_field(column)) for column in _columns(keys)]
        values = tuple(field.to_python(word) for field, word in zip(fields, words, strict=True))
    except (ValidationError, ValueError, OverflowError):
        return None
    return values if all(map(_is_usable, values)) else None


def _is_usable(value: Any) -> bool:
    """Whether a column can be compared with it: no integer has more than 64 bits, no time lacks a zone."""
    return (
        value.tzinfo is not None
        if isinstance(value, datetime)
        else value is not None and not (isinstance(value, int) and abs(value) >= 2**63)
    )


def _number(params: QueryDict, total: int, per_page: int = PER_PAGE) -> tuple[int, int]:
    """The page that is asked for, and how many there are: the first for what is no number, the last for one that is beyond them."""
    pages = max(1, -(-(total - per_page // _ORPHANS) // per_page))
    text = params.get("page", "1")
    number = int(text) if text.isascii() and text.removeprefix("-").isdecimal() and len(text) < 4000 else 1
    return (number if 1 <= number <= pages else pages), pages
