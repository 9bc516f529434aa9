"""Stores that are read one conversation after the other: what is read is what was listed, or the store is opened again."""

from pathlib import Path

import pytest

from inspector.programs.catalogue import format_named
from inspector.sources.problems import Changing
from inspector.sources.streaming import opened
from tests.programs.pi_openclaw.session_files import header, lines, u


def test_a_session_that_another_one_replaced_after_it_was_listed_is_not_read_under_its_id(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(lines(header(id="one"), u("u1", None)))
    with opened(path.parent, format_named("pi"), False, "") as store:
        (listed,) = store.listed
        path.write_bytes(path.read_bytes() + lines(u("u2", "u1")))
        assert len(store.read(listed).conversation.chunks) == 2, "a session that went on is the same"
        path.write_bytes(lines(header(id="two"), u("u1", None)))
        with pytest.raises(Changing):
            store.read(listed)
