"""The bench of request bodies measures what it says: bodies without a fault, and the growth of what is not linear."""

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


def test_what_grows_faster_than_its_body_is_the_value() -> None:
    short, long = {bodies.PLAIN: 1.0, "read": 5.0, "a": 5.0}, {bodies.PLAIN: 2.0, "read": 10.0, "a": 40.0}
    measured = bodies.worst([short, long], 0.1)
    assert measured.value == 4.0 and measured.noise == 0.1 and measured.information.startswith("a;")
    assert bodies.worst([short, {name: 2 * seconds for name, seconds in short.items()}], 0.1).value == 1.0


@pytest.mark.slow
def test_reading_and_every_profile_are_measured() -> None:
    measured = bodies.measured(1, (4, 8))
    assert measured.value > 0 and measured.information.partition(";")[0] in {"read", *(profile.name for profile in PROFILES)}
