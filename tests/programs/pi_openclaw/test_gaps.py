"""Repairs of sessions in which an entry names a parent that no line has: what is above the gap stays as unknown as it was, and the gap goes on being reported."""

from collections.abc import Sequence

import pytest

from inspector.conversation.edits import Plan
from inspector.planning.preview import compose
from inspector.programs.formats import Change, Stored, after
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, call, entry, header, line, lines, r, text, u
from tests.programs.pi_openclaw.strategies.repaired_trees import FORMATS, stored

REPLAY, INSERT, NEW = "replay-suffix", "insert-and-reparent", "new-session"
PI, BEFORE_PRODUCTION, PRODUCTION = "pi-1.5", "openclaw-2026.7", "openclaw-2026.9"

# The answer e2 never reached the disk.
LOST_ANSWER = lines(
    *(header(), u("e1", None, "first"), u("e3", "e2", "second"), a("e4", "e3", call("c!1"))),
    *(r("e5", "e4", "c!1", "result"), u("e9", "e5", "third")),
)


def repaired(data: bytes, names: Sequence[str], reader: str, mode: str = INSERT) -> bytes:
    """The file after a plan of these strategies, and back again: undo gives every byte back."""
    base = stored(data, format_of(reader))
    case = case_of(base.conversation, reader)
    path, form = Stored(case.conversation, base.records), FORMATS[format_of(reader)]
    edits = compose(case, [strategy(name) for name in names])
    options = form.options(mode, path, "11111111-2222-5333-8444-555555555555")
    changes = form.write(Plan("/d", base.conversation.native_id, mode, tuple(names), frozenset(), "", edits, options), path)
    assert_undone(base, changes)
    change = changes[0].after
    assert change is not None
    return change.data


def assert_undone(base: Stored, changes: Sequence[Change]) -> None:
    records = after(base.records, changes)
    assert list(after(records, [change.reversed() for change in changes])) == list(base.records)


def format_of(reader: str) -> str:
    return "pi" if reader == PI else "openclaw"


def opened(data: bytes, reader: str) -> Case:
    return case_of(stored(data, format_of(reader)).conversation, reader)


def words(data: bytes, reader: str) -> list[str]:
    return [chunk.text or chunk.tool_name for chunk in opened(data, reader).conversation.chunks]


def gaps(data: bytes, reader: str) -> list[tuple[str, str]]:
    """Severity and entry of what TREE101 reports, but for notes."""
    reports = [finding for finding in findings(opened(data, reader), RULES) if finding.code == "TREE101"]
    return [(report.severity.value, report.message.split("'")[1]) for report in reports if report.severity.value != "note"]


def changed_lines(old: bytes, new: bytes) -> list[str]:
    """The ids of the lines that a repair changed."""
    kept = set(new.splitlines())
    return [text_of.split(b'"id":"')[1].split(b'"')[0].decode() for text_of in old.splitlines() if text_of not in kept]


# OpenClaw 2026.9 goes on past the gap.


@pytest.mark.parametrize("mode", [INSERT, REPLAY])
def test_ids_renamed_below_a_gap_leave_the_entry_after_it_as_it_is(mode: str) -> None:
    data = repaired(LOST_ANSWER, ["rename-invalid-ids"], PRODUCTION, mode)
    assert changed_lines(LOST_ANSWER, data) == ([] if mode == REPLAY else ["e4", "e5"])
    assert words(data, PRODUCTION) == ["first", "second", "bash", "result", "third"]
    assert words(data, BEFORE_PRODUCTION) == words(LOST_ANSWER, BEFORE_PRODUCTION)
    assert gaps(data, PRODUCTION) == gaps(LOST_ANSWER, PRODUCTION) == [("warning", "e3")]


def test_a_new_session_has_no_gap() -> None:
    data = repaired(LOST_ANSWER, ["rename-invalid-ids"], PRODUCTION, NEW)
    assert words(data, PRODUCTION) == words(data, PI) == ["first", "second", "bash", "result", "third"]


def test_the_repair_of_the_gap_still_names_the_parent() -> None:
    data = repaired(LOST_ANSWER, ["reparent-orphan-entry"], PRODUCTION)
    assert data == LOST_ANSWER.replace(b'"parentId":"e2"', b'"parentId":"e1"')
    assert gaps(data, PRODUCTION) == []


def test_a_result_that_is_put_above_a_gap_hangs_below_its_call_and_no_program_begins_with_it() -> None:
    unanswered = lines(header(), u("e1", None, "go"), a("e2", "e1", call("c1")), u("e4", "e3", "and?"), a("e5", "e4", text("well")))
    data = repaired(unanswered, ["insert-openclaw-result"], PRODUCTION)
    assert changed_lines(unanswered, data) == []
    assert words(data, PRODUCTION)[1] == "bash" and words(data, PRODUCTION)[3:] == ["and?", "well"]
    assert words(data, BEFORE_PRODUCTION) == words(data, PI) == ["and?", "well"]
    assert gaps(data, PRODUCTION) == [("warning", "e4")]


@pytest.mark.parametrize("mode", [INSERT, REPLAY])
def test_a_gap_whose_entry_above_leaves_the_path_is_closed(mode: str) -> None:
    """OpenClaw 2026.9 would hang the entry after the gap onto the very one that the repair takes out."""
    data = lines(header(), u("e1", None, "first"), r("e2", "e1", "c1"), u("e4", "e3", "second"), a("e5", "e4", text("well")))
    after_repair = repaired(data, ["drop-orphaned-results"], PRODUCTION, mode)
    assert words(after_repair, PRODUCTION) == ["first", "second", "well"]


# The others begin at it.


FUSED = lines(
    *(header(), u("e1", None, "first"), u("e3", "e2", "second")),
    line(a("e5", "e3", call("c1"))) + line(r("e8", "e5", "c1", "result")),
    u("e9", "e8", "third"),
)


@pytest.mark.parametrize("reader", ["openclaw-2026.1", BEFORE_PRODUCTION, PRODUCTION, PI])
def test_records_that_come_back_below_a_gap_take_nothing_from_what_openclaw_reads_above_it(reader: str) -> None:
    data = repaired(FUSED, ["split-fused-line"], reader)
    assert changed_lines(FUSED, data) == []
    assert words(data, PRODUCTION) == ["first", "second", "bash", "result", "third"]
    assert words(data, BEFORE_PRODUCTION) == ["second", "bash", "result", "third"]


@pytest.mark.parametrize("reader", [PI, BEFORE_PRODUCTION])
def test_what_is_put_before_a_gap_takes_the_lost_parent_over(reader: str) -> None:
    begins_with_answer = lines(header(), u("e1", None, "first"), a("e3", "e2", text("answer")), u("e4", "e3", "second"))
    data = repaired(begins_with_answer, ["start-with-user"], reader)
    first = opened(data, reader).conversation.chunks[0]
    assert (first.role, first.parent) == ("user", "e2") and words(data, reader)[1:] == ["answer", "second"]
    assert [severity for severity, _ in gaps(data, reader)] == ["error"]
    assert words(data, PRODUCTION)[0] == "first"


@pytest.mark.parametrize("reader", [PI, BEFORE_PRODUCTION])
def test_what_follows_an_entry_that_leaves_the_path_begins_at_the_gap_now(reader: str) -> None:
    orphaned = lines(header(), u("e1", None, "first"), r("e3", "e2", "c1"), u("e4", "e3", "second"), a("e5", "e4", text("well")))
    data = repaired(orphaned, ["drop-orphaned-results"], reader)
    assert data == orphaned.replace(b'"parentId":"e3"', b'"parentId":"e2"')
    assert ("error", "e4") in gaps(data, reader)
    assert words(data, PRODUCTION) == words(orphaned, PRODUCTION)
    whole = repaired(orphaned, ["reparent-orphan-entry", "drop-orphaned-results"], reader)
    assert words(whole, reader) == ["first", "second", "well"] and ("error", "e4") not in gaps(whole, reader)


def test_an_openclaw_session_that_begins_with_a_lost_parent_loses_its_first_entry_in_every_program() -> None:
    """With the lost parent the next entry would hang below the one that left: it is OpenClaw's leaf by then."""
    first_is_orphan = lines(header(), r("e3", "e2", "c1"), u("e4", "e3", "second"), a("e5", "e4", text("well")))
    data = repaired(first_is_orphan, ["drop-orphaned-results"], PRODUCTION)
    assert words(data, PRODUCTION) == words(data, BEFORE_PRODUCTION) == ["second", "well"]


def test_a_compaction_that_openclaw_puts_before_a_path_does_not_lead_it_past_its_own_gap() -> None:
    """The compaction names a lost parent, and the path would go on above it once an entry hangs below it."""
    compaction = entry("compaction", "e2", "e1", summary="sum", firstKeptEntryId="e0", tokensBefore=3)
    path = (a("e7", None, call("c!1")), r("e8", "e7", "c!1", "result"), u("e9", "e8", "on"))
    data = lines(header(), u("e0", None, "hidden"), compaction, *path)
    assert words(data, PRODUCTION) == ["sum", "bash", "result", "on"]
    assert words(repaired(data, ["rename-invalid-ids"], PRODUCTION), PRODUCTION) == ["sum", "bash", "result", "on"]
