"""A finding names the strategies that repair it in this conversation, each held against the plan that it gives; where none does, it says why."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from inspector.conversation import notation
from inspector.conversation.edits import EditMismatch, Plan
from inspector.demo.rollouts_incident import SESSION, incident_files
from inspector.planning.preview import NothingToDo, Preview, compose, digest, preview, safety_of
from inspector.planning.suggested import suggested
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.g0 import DISPATCH_G0, READ_ONLY
from inspector.programs.formats import Cell, Change, Format, Record, Stored, WriteRefused
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.rules.base import Case, Finding, at_least, case_of, findings
from inspector.rules.catalogue import RULES, rule
from inspector.strategies.catalogue import strategy
from tests.folding import in_one_test
from tests.programs.dispatch.test_g0 import turn
from tests.programs.dispatch.test_simulated_server import DAMAGES, Damage
from tests.programs.pi_openclaw.session_files import header, lines
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import FORMATS, TABLE, stored

FRESH = "11111111-2222-5333-8444-555555555555"


def previews(case: Case, base: Stored, format_: Format, name: str) -> Iterator[Preview]:
    """What the strategy alone would do, in each mode that writes it."""
    if case.tree is not None:
        base = replace(base, conversation=case.conversation)
    chosen = [strategy(name)]
    for mode in format_.modes:
        options = format_.options(mode.name, base, FRESH)
        plan = Plan(
            "source", base.conversation.native_id, mode.name, (name,), safety_of(chosen), digest(base), compose(case, chosen), options
        )
        try:
            yield preview(case, base, format_, plan, chosen, format_.default_projection, format_.default_profile)
        except (NothingToDo, WriteRefused, EditMismatch):
            continue


def reported(case: Case, finding: Finding) -> list[str]:
    """The anchors of what the finding's rule reports as at least as severe."""
    found = findings(case, [rule(finding.code)])
    return [each.key.rpartition("moved:")[2] for each in found if at_least(each.severity, finding.severity)]


def held_against_plans(case: Case, base: Stored, format_: Format) -> tuple[Finding, ...]:
    found = findings(case, RULES)
    suggestions = suggested(case, found, base)
    for finding, suggestion in zip(found, suggestions, strict=True):
        before = reported(case, finding)
        for name in finding.repaired_by:
            plans = list(previews(case, base, format_, name))
            # A new conversation has other keys: where the same one can be written, that tells more.
            later = [
                reported(each.after.case, finding)
                for each in plans
                if each.after.case.conversation.native_id == base.conversation.native_id
            ]
            later = later or [reported(each.after.case, finding) for each in plans]
            helps = any(finding.key not in after and len(after) < len(before) for after in later)
            assert (name in suggestion.repaired_by) == helps, f"{finding.code} at {finding.key!r}: {name}"
        assert suggestion.repaired_by or suggestion.no_repair_reason.endswith(".")
    return suggestions


@in_one_test("reader", ["dispatch-legacy", "exact"])
@in_one_test("damage", DAMAGES, ids=lambda damage: damage.name)
def test_of_every_damage_of_a_store_only_what_repairs_it_is_suggested(damage: Damage, reader: str) -> None:
    server, _ = damage.make(Random(7))
    held_against_plans(server.case(reader), server.store.stored(), DISPATCH)


@in_one_test("reader", ["verbatim", "pi-1.5"])
@in_one_test("name", TABLE)
def test_of_every_shape_of_a_session_only_what_repairs_it_is_suggested(name: str, reader: str) -> None:
    base = stored(lines(header(), *chain(TABLE[name][0])))
    held_against_plans(case_of(base.conversation, reader), base, FORMATS["pi"])


@pytest.mark.parametrize("number", [0, 1])
def test_of_the_crashed_session_and_of_its_crash_file(number: int) -> None:
    records = [Record(key, Cell(data, "file")) for key, data in sorted(incident_files().items())]
    base = list(ROLLOUTS.read(records))[number]
    suggestions = held_against_plans(case_of(base.conversation, "rollouts"), base, ROLLOUTS)
    by_code = {each.code: each for each in suggestions}
    if base.conversation.native_id == SESSION:
        # There is no trace, and between the first two answers there is no call that lacks its result.
        assert by_code["TOOL102"].repaired_by == ("insert-interrupted-result",)
        assert suggestions[1].code == "MSG401" and suggestions[1].repaired_by == ("merge-same-role-messages",)
    else:
        assert {each.repaired_by for each in suggestions} == {()}
        assert all("never written: repair the session that it names" in each.no_repair_reason for each in suggestions)


class Refusing:
    """A format that notes which modes were tried and refuses some of them, in words that name the mode."""

    def __init__(self, format_: Format, refused: tuple[str, ...]) -> None:
        self._format, self._refused, self.tried = format_, refused, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._format, name)

    def write(self, plan: Plan, base: Stored) -> Sequence[Change]:
        alias = next(mode.alias for mode in self._format.modes if mode.name == plan.mode)
        self.tried.append(alias)
        if alias in self._refused:
            raise WriteRefused(f"Not as {alias}.")
        return self._format.write(plan, base)


@in_one_test(
    ("refused", "tried", "reason"),
    [
        ((), ["in-place"], ""),
        (("in-place",), ["in-place", "fork"], ""),
        (("in-place", "fork"), ["in-place", "fork"], "Not as fork."),
    ],
)
def test_a_new_conversation_is_only_made_where_nothing_less_can_be_written(
    refused: tuple[str, ...], tried: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [mode.alias for mode in ROLLOUTS.modes] == ["fork", "in-place"], "the first mode is the one that is offered"
    records = [Record(key, Cell(data, "file")) for key, data in sorted(incident_files().items())]
    base = next(each for each in ROLLOUTS.read(records) if each.conversation.native_id == SESSION)
    case = case_of(base.conversation, "rollouts")
    finding = next(each for each in findings(case, RULES) if each.code == "MSG401")
    format_ = Refusing(ROLLOUTS, refused)
    monkeypatch.setattr("inspector.planning.suggested.format_named", lambda name: format_)
    (suggestion,) = suggested(case, [finding], base)
    assert format_.tried == tried and suggestion.no_repair_reason == reason
    assert suggestion.repaired_by == (() if reason else ("merge-same-role-messages",))


BODY = "anthropic-request"


@pytest.mark.parametrize(
    ("text", "code", "wanted"),
    [
        # One stray result and one open call: it may be that call's. Of two it is not known, and nothing is taken for another's.
        (
            "user 0.0 text go\nassistant 1.0 tool-call a ls {}\ntool 2.0 tool-result b f",
            "TOOL202",
            ("adopt-results", "drop-orphaned-results"),
        ),
        ("user 0.0 text go\nassistant 1.0 text x\ntool 2.0 tool-result b f", "TOOL202", ("drop-orphaned-results",)),
        # The call of the first answer is what an inserted result would part them by.
        ("user 0.0 text go\nassistant 1.0 text x\nassistant 2.0 text y", "MSG401", ("merge-same-role-messages",)),
    ],
)
def test_a_strategy_that_changes_nothing_here_is_not_suggested(text: str, code: str, wanted: tuple[str, ...]) -> None:
    numbered = "\n".join(f"{number} {line}" for number, line in enumerate(text.split("\n"), start=1))
    case = case_of(notation.load(numbered, "request", BODY)[0], "as-sent")
    (finding,) = (each for each in suggested(case, findings(case, RULES)) if each.code == code)
    assert finding.repaired_by == wanted and set(wanted) < set(rule(code).repaired_by)


def test_a_finding_that_nothing_repairs_says_what_was_tried() -> None:
    case = case_of(
        notation.load("1 user 0.0 text go\n2 assistant 1.0 text x\n3 assistant 2.0 tool-call a ls {}", "request", BODY)[0], "as-sent"
    )
    finding = replace(next(each for each in findings(case, RULES) if each.code == "MSG401"), repaired_by=("adopt-results", "order-blocks"))
    (suggestion,) = suggested(case, [finding])
    assert suggestion.repaired_by == ()
    assert suggestion.no_repair_reason.startswith(
        "Each of these alone does not repair it: adopt-results, order-blocks. Several together may: where the provider rejects"
    )


def test_of_a_store_that_is_only_read_the_reason_is_said_instead() -> None:
    (base,) = DISPATCH_G0.read([record for record in turn() if not record.key.endswith(":4")])
    case = case_of(base.conversation, DISPATCH_G0.default_reader)
    (finding,) = (each for each in suggested(case, findings(case, RULES), base) if each.code == "TOOL102")
    assert rule("TOOL102").repaired_by and finding.repaired_by == () and finding.no_repair_reason == READ_ONLY
