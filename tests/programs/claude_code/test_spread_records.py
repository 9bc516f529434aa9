"""A record that somebody formatted over several lines: nothing of it is lost, and no repair takes it out."""

import json

from inspector.conversation.edits import Set
from inspector.planning.preview import compose
from inspector.rules.catalogue import all_findings
from inspector.strategies.catalogue import strategy
from tests.programs.claude_code.session_lines import a, case, text, u

TALK = (u("u1", None), a("a1", "u1", "m1", text("one")), u("u2", "a1", "two"))


def test_its_lines_are_one_finding_that_says_what_to_do() -> None:
    spread = json.dumps(TALK[1], indent=2).encode()
    (found,) = [finding for finding in all_findings(case(TALK[0], spread, TALK[2])) if finding.code == "STORE801"]
    assert found.total == len(spread.splitlines()) and "are one record, written over several lines" in found.message
    assert not found.repaired_by and "write the record on one line" in found.no_repair_reason


def test_lines_that_cannot_be_read_are_moved_out_and_those_of_a_record_are_not() -> None:
    spread = json.dumps(TALK[1], indent=2).encode()
    repair = [strategy("quarantine-unreadable-lines")]
    assert compose(case(TALK[0], spread, TALK[2]), repair) == ()
    (edit,) = compose(case(TALK[0], spread, b'{"torn', TALK[2]), repair)
    assert isinstance(edit, Set) and edit.new == str(len(spread.splitlines()) + 1)


def test_a_line_below_it_is_not_led_elsewhere_and_below_a_torn_one_is() -> None:
    repair = [strategy("relink-lost-line")]
    spread, torn = json.dumps(TALK[1], indent=2).encode(), json.dumps(TALK[1]).encode()[:-30]
    assert compose(case(TALK[0], spread, TALK[2]), repair) == ()
    assert compose(case(TALK[0], torn, TALK[2]), repair)


def test_what_the_versions_make_of_it_is_said() -> None:
    spread = json.dumps(TALK[1], indent=2).encode()
    (found,) = [finding for finding in all_findings(case(TALK[0], spread, TALK[2])) if finding.code == "STORE801"]
    assert found.message.endswith(
        "Claude Code before 2.1.200 skips it without an error. Later versions read it, and what is shown here is without it."
    )
