"""Times of stores in epoch milliseconds: the same on every machine, and None for what is no time."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from inspector.text.timestamps import milliseconds
from tests.folding import in_one_test


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    "text", ["2026-08-01T10:00:00.123Z", "2026-08-01T12:00:00.123+02:00", "2026-08-01T10:00:00.123", "2026-08-01T10:00:00.123999"]
)
@pytest.mark.usefixtures("in_new_york")
def test_a_time_without_a_zone_is_in_utc_whatever_the_zone_of_the_machine(text: str) -> None:
    assert milliseconds(text) == 1_785_578_400_123


@in_one_test(
    "value", [None, 5, 5.5, True, [], {}, "", "yesterday", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+23:00", "2026-13-01T00:00:00"]
)
def test_what_is_no_time_has_none(value: Any) -> None:
    assert milliseconds(value) is None
