"""What `renumber-messages` writes: one number for each message, and no other byte."""

import json

from tests.programs.dispatch.appended_stores import A, Store, U, appended, th
from tests.programs.dispatch.strategies.repaired_rows import MODES, codes, nothing_to_do, repaired, rows


def sharing() -> Store:
    """Each append counts from 0, so that all three messages have one number."""
    return appended([U("hello")], [A(th("hm"), "hi")], [U("go")])


@MODES
def test_messages_that_share_a_number_get_one_each_counted_from_1(mode: str) -> None:
    preview = repaired(sharing(), "renumber-messages", mode=mode)
    assert [(row["role"], row["msgIdx"], row["chunkIdx"]) for row in rows(preview)] == [
        ("user", 1, 0),
        ("assistant", 2, 0),
        ("assistant", 2, 1),
        ("user", 3, 0),
    ]
    assert "MSG101" in [finding.code for finding in preview.before.findings]
    assert "MSG101" not in codes(preview)


def test_only_the_number_of_a_row_changes() -> None:
    for change in repaired(sharing(), "renumber-messages").changes:
        assert change.before is not None and change.after is not None
        assert json.loads(change.after.data) | {"msgIdx": 0} == json.loads(change.before.data)


def test_messages_that_no_reader_merges_are_left_alone() -> None:
    assert nothing_to_do(appended([U("hello"), A("hi"), U("go")]), "renumber-messages")
