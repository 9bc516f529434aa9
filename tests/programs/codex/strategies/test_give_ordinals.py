"""Records of a paginated thread are counted one after the other again."""

import pytest

from tests.programs.codex.threads import PAGINATED, THREADS, line, meta, user
from tests.programs.codex.writing_threads import NEW, SAME, conversation, edits_of, repaired, values

GIVE = "give-ordinals"


@pytest.mark.parametrize("mode", [SAME, NEW])
@pytest.mark.parametrize("name", ["ordinal missing at the end", "ordinal missing", "ordinal reused", "ordinals with a gap"])
def test_the_count_is_whole_and_nothing_else_changes(name: str, mode: str) -> None:
    after = values(repaired(THREADS[name], GIVE, mode=mode))
    assert [value["ordinal"] for value in after] == list(range(10))
    assert [value["payload"] for value in after[1:]] == [value["payload"] for value in values(PAGINATED)[1:]]


def test_lines_before_the_first_wrong_one_keep_their_bytes() -> None:
    before, after = THREADS["ordinal reused"], repaired(THREADS["ordinal reused"], GIVE)
    assert after.splitlines()[:5] == before.splitlines()[:5] and conversation(after).fact("stops") is None


def test_a_count_that_starts_higher_goes_on_from_there() -> None:
    lines = [line(0, meta(history_mode="paginated"), 7), line(1, user("q1"), 8), line(2, user("q2"), 8)]
    assert [value["ordinal"] for value in values(repaired(b"".join(lines), GIVE))] == [7, 8, 9]


@pytest.mark.parametrize("name", ["whole", "paginated", "paginated, last line torn"])
def test_a_whole_count_stays(name: str) -> None:
    assert not edits_of(THREADS[name], GIVE)
