"""Which rows compaction certainly kept: also in long histories in which most rows repeat."""

from time import perf_counter

from inspector.conversation.alignment import MOST_PAIRS, kept_places
from inspector.conversation.model import Conversation
from tests.programs.dispatch.appended_stores import A, Said, U, appended


def history(*messages: Said) -> Conversation:
    return appended(list(messages)).conversation()


def places(live: Conversation, archive: Conversation) -> dict[int, int]:
    """Seq here -> seq in the archive."""
    found = kept_places(live, archive)
    return {chunk.seq: archive.chunks[found[chunk.key]].seq for chunk in live.chunks if chunk.key in found}


def test_kept_rows_are_found_behind_the_summary_and_before_what_was_said_since() -> None:
    archive = history(U("one"), A("ok"), U("two"), A("ok"))
    live = history(Said("system", ({"type": "system", "text": "summary"},)), U("two"), A("ok"), U("three"), A("ok"))
    assert places(live, archive) == {2: 3, 3: 4}


def test_a_lone_short_text_may_be_chance_and_a_lone_long_one_is_none() -> None:
    long = "the very same words, which nobody writes twice by chance"
    assert places(history(U("new"), A("ok")), history(U("old"), A("ok"))) == {}
    assert places(history(U("new"), A(long)), history(U("old"), A(long))) == {2: 2}


def test_rows_that_moved_past_each_other_are_not_both_kept() -> None:
    first, second = [U("a"), A("b")], [U("c"), A("d"), U("e")]
    assert places(history(*second, *first), history(*first, *second)) == {1: 3, 2: 4, 3: 5}


def test_a_history_that_repeats_itself_is_aligned_between_the_rows_that_stand_once() -> None:
    turns = 400
    assert turns * turns > MOST_PAIRS
    said = [message for number in range(turns) for message in (U(f"please {number}"), A("ok"))]
    live = history(U("summary"), *said[2:])
    assert places(live, history(*said)) == {seq: seq + 1 for seq in range(2, 2 * turns)}


def test_nothing_is_claimed_where_rows_only_repeat() -> None:
    same = [U("ok") for _ in range(400)]
    assert kept_places(history(*same), history(*same)) == {}


def test_a_long_history_with_a_change_in_every_third_row_takes_no_second() -> None:
    said = [U(f"please {number}" if number % 8 else "ok") for number in range(6000)]
    changed = [U(f"other {number}") if number % 3 == 0 else message for number, message in enumerate(said)]
    live, archive = history(*changed), history(*said)
    start = perf_counter()
    found = kept_places(live, archive)
    assert perf_counter() - start < 2 and len(found) > 3500
