"""The bench of request bodies measures what it says: bodies without a fault, and a growth that is told when it is not linear."""

import itertools
from collections.abc import Callable

import pytest

from bench import bodies
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record
from inspector.programs.request_bodies.readers import read


def test_its_bodies_are_whole_and_of_the_length_that_is_asked_for() -> None:
    format_ = format_named(bodies.FORMAT)
    conversation = next(iter(format_.read([Record("r.json", Cell(bodies.body(40), "file"))]))).conversation
    assert len({chunk.msg_idx for chunk in conversation.chunks}) == 41
    assert judged(read(conversation), conversation, "anthropic-2026-07", format_.default_projection)[1].sendable


@pytest.mark.parametrize(("growth", "is_linear"), [(1.0, True), (4.0, False)])
def test_it_tells_what_grows_faster_than_its_body(monkeypatch: pytest.MonkeyPatch, growth: float, is_linear: bool) -> None:
    monkeypatch.setattr(bodies, "MESSAGES", (4, 8))
    monkeypatch.setattr(bodies, "PROFILES", PROFILES[:1])
    # One round: three times json.loads, then reading and one profile, for each length.
    seconds = itertools.chain([1.0, 1.0, 1.0, 5.0, 5.0], [1.0, 1.0, 1.0, 5.0, 5.0 * growth])

    def timed(work: Callable[[], object]) -> float:
        return next(seconds)

    table, within = bodies.measured(timed, 1)
    assert within is is_linear and PROFILES[0].name in table
    assert ("within" if is_linear else "over") in table.splitlines()[-1]
