"""Who is hurt by a stored tree, and how: one sentence for each client that is."""

from inspector.readers.catalogue import clients
from inspector.reports.readers_hurt import hurts
from tests.readers.trees import chain, say, stored


def test_a_sound_conversation_hurts_nobody() -> None:
    assert hurts(stored(chain("U A(c1 c2) R(c1=ok) R(c2=ok) U A('done')"))) == {}


def test_the_branch_case_is_refused_as_stored_and_made_up_for_by_all_others() -> None:
    found = hurts(stored([say("u1", None), say("a1", "u1", "A(c1)"), say("r1", "a1", "R(c1=real)"), say("u2", "a1")]))
    assert list(found) == clients("pi")
    assert found.pop("verbatim") == "sends what a strict provider refuses: the call 'c1' has no result after it"
    assert set(found.values()) == {"makes up 1 result: 'c1'"}


def test_a_late_result_is_lost_by_one_doubled_by_another_and_saved_by_a_third() -> None:
    found = hurts(stored(chain("U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U")))
    assert "loses 1 real result: that of 'c1' (seq 7)" in found["openclaw-2026.1"]
    assert "does not follow its call" in found["pi-1.5"] or "more than one result" in found["pi-1.5"]
    assert "openclaw-2026.7" not in found
    assert "openclaw-2026.9" not in found


def test_a_cycle_says_who_reads_nothing_at_all() -> None:
    found = hurts(stored([say("u1", "a1"), say("a1", "u1", "A('x')")]))
    assert found["pi-1.5"].startswith("reads nothing: the parents form a cycle at the entry 'a1'")
    assert "the active path is empty" in found["openclaw-2026.9"]
    assert "cycle" in found["openclaw-2026.7"]


def test_a_missing_parent_hides_history_from_all_but_the_one_that_rebases() -> None:
    found = hurts(stored([say("u1", None), say("a1", "u1", "A('x')"), say("u2", "gone")]))
    assert "what was above it is hidden" in found["pi-1.5"]
    assert "context builder" in found["openclaw-2026.9"]


def test_openclaws_database_is_opened_by_its_own_version_only() -> None:
    tree = stored(chain("U A(c1) U"))
    assert list(hurts(type(tree)(tree.native_id, "openclaw-sqlite", tree.chunks, tree.facts))) == ["verbatim", "openclaw-2026.9"]
