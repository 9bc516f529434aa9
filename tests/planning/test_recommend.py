"""What is recommended for a profile: found by trying, at most four steps, nothing real lost where a place keeps it, and accepted once written."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from inspector.conversation import notation
from inspector.conversation.edits import Plan, between
from inspector.conversation.model import Chunk, Conversation, Kind
from inspector.demo.rollouts_incident import SESSION, incident_files
from inspector.planning.preview import digest, safety_of
from inspector.planning.recommend import MOST, Recommendation, composed, for_profile
from inspector.profiles.base import Profile
from inspector.profiles.catalogue import PROFILES, profile
from inspector.profiles.judging import judged
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Cell, Record, Stored, after
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.projections.base import AS_SENT
from inspector.projections.catalogue import projection
from inspector.rules.base import Case, case_of
from inspector.rules.synthetic_texts import is_synthetic
from inspector.wires.names import WIRES
from tests.folding import in_one_test
from tests.judges.reading import HISTORIES

NAMES = [judge.name for judge in PROFILES]
# Why nothing repairs it, by the rule that is left: a signature cannot be made up.
NOBODY = {"GE-8"}
# An image that a role does not have: no strategy takes images out, or moves them into another message.
WITH_IMAGES = {"image-of-the-assistant": {"MI-13", "SDK-3", "SDK-7", "TE-7"}, "image-in-the-system-prompt": {"MI-13", "TE-7"}}
# Results that answer no call, or stand beside a better answer of the same call: no place in a request keeps them.
WITHOUT_A_PLACE = {
    *("call-as-text", "duplicate-result-other-content", "result-without-call-after-user", "result-without-call-after-text"),
    *("result-with-unknown-id", "result-with-foreign-id-beside", "starts-with-result"),
    *("batch-of-three-and-a-foreign-result", "second-step-answered-with-the-first-id", "result-behind-the-system-prompt"),
}
FORMATS = ["openai-chat-request", "anthropic-request", "rollouts"]
each_share = pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.slow)], ids=["a third of the profiles", "all"])


def case(name: str, format_name: str = "openai-chat-request") -> Case:
    conversation, _ = notation.load(HISTORIES[name], name, format_name)
    return case_of(conversation, AS_SENT)


def recommendation(found: Case, judge: Profile) -> Recommendation:
    return for_profile(found, judge.name, judge.projection or judge.wire)


def judges(name: str, share: int, first: int = 0) -> Sequence[Profile]:
    """Every `share`-th profile; of another history they are others."""
    return PROFILES[(list(HISTORIES).index(name) + first) % share :: share]


def results(chunks: tuple[Chunk, ...]) -> Counter[str]:
    return Counter(chunk.text for chunk in chunks if chunk.kind is Kind.TOOL_RESULT and not is_synthetic(chunk))


@each_share
@pytest.mark.parametrize("format_name", FORMATS)
@in_one_test("name", HISTORIES, most=50)
def test_every_history_has_a_sequence_for_every_profile_or_a_reason(name: str, format_name: str, share: int) -> None:
    for judge in judges(name, share, FORMATS.index(format_name)):
        found = case(name, format_name)
        made = recommendation(found, judge)
        assert len(made.candidate.strategies) <= MOST
        again = composed(found, [each.name for each in made.candidate.strategies])[1]
        left = judged(again.reading, again.conversation, judge.name, judge.projection or judge.wire)[1].violations
        if made.why_not:
            assert {violation.id for violation in left} & (NOBODY | WITH_IMAGES.get(name, set())) and judge.name in made.why_not
        else:
            assert not left, f"{judge.name}: {left[0].id} is left"


@each_share
@in_one_test("name", HISTORIES, most=50)
def test_a_real_result_is_kept_wherever_some_place_keeps_it(name: str, share: int) -> None:
    for judge in judges(name, share):
        found = case(name)
        made = recommendation(found, judge)
        gone = set(results(found.conversation.chunks)) - set(results(made.candidate.case.conversation.chunks))
        if gone:
            assert name in WITHOUT_A_PLACE, f"{judge.name}: {gone}"
            assert any("tool-result" in said for said in made.losses)


@pytest.mark.parametrize("wire", sorted(set(WIRES.values())))
@in_one_test("name", HISTORIES)
def test_a_body_that_is_repaired_and_written_is_accepted_when_it_is_read_again(name: str, wire: str) -> None:
    """Through the bytes: the body of the history, read, repaired for its own profile, written, read, judged."""
    format_name = next(name for name, each in WIRES.items() if each == wire)
    format_ = format_named(format_name)
    body = projection(wire).project(case(name).messages)
    if not body.values:
        pytest.skip("nothing of it can be said in this shape")
    data = json.dumps({"model": "m", body.root: body.values}).encode()
    stored = next(iter(format_.read([Record("body.json", Cell(data, "file"))])))
    found, judge = case_of(stored.conversation, AS_SENT), profile(format_.default_profile)
    made = for_profile(found, judge.name, format_.default_projection)
    if made.why_not or not made.candidate.strategies:
        assert not made.why_not or judge.name in made.why_not
        return
    written = after_writing(format_name, stored, found, made)
    reading = case_of(written, AS_SENT).reading
    left = judged(reading, written, judge.name, format_.default_projection)[1].violations
    assert not left, f"{[each.name for each in made.candidate.strategies]}: {left[0].id} at {left[0].path}"


def after_writing(format_name: str, stored: Stored, found: Case, made: Recommendation) -> Conversation:
    format_ = format_named(format_name)
    edits = between(found.conversation, made.candidate.case.conversation)
    names = tuple(each.name for each in made.candidate.strategies)
    mode = format_.modes[0].name
    plan = Plan(
        "source", "request", mode, names, safety_of(made.candidate.strategies), digest(stored), edits, format_.options(mode, stored, "x")
    )
    (change,) = format_.write(plan, stored)
    assert change.after is not None
    return next(iter(format_.read([replace(stored.records[0], value=change.after)]))).conversation


@pytest.mark.parametrize("mode", [mode.name for mode in ROLLOUTS.modes])
@pytest.mark.parametrize("name", NAMES)
def test_the_crashed_session_is_repaired_for_every_profile_and_accepted_when_read_again(name: str, mode: str) -> None:
    records = [Record(key, Cell(data, "file")) for key, data in sorted(incident_files().items())]
    stored = next(each for each in ROLLOUTS.read(records) if each.conversation.native_id == SESSION)
    found = case_of(stored.conversation, "rollouts")
    made = for_profile(found, name, ROLLOUTS.default_projection)
    assert not made.why_not or made.candidate.judgement.violations[0].id in NOBODY
    if made.why_not or not made.candidate.strategies:
        return
    edits = between(found.conversation, made.candidate.case.conversation)
    names = tuple(each.name for each in made.candidate.strategies)
    options = ROLLOUTS.options(mode, stored, "20260101_000000_abcdef")
    plan = Plan("source", SESSION, mode, names, safety_of(made.candidate.strategies), digest(stored), edits, options)
    target = ROLLOUTS.target(plan)
    written = next(each for each in ROLLOUTS.read(after(records, ROLLOUTS.write(plan, stored))) if each.conversation.native_id == target)
    reading = case_of(written.conversation, "rollouts").reading
    assert judged(reading, written.conversation, name, ROLLOUTS.default_projection)[1].sendable


def test_thinking_of_earlier_turns_goes_from_the_crashed_session_and_the_provider_still_accepts_it() -> None:
    """Its last message is the user's, and the answer before that is the latest one."""
    records = [Record(key, Cell(data, "file")) for key, data in sorted(incident_files().items())]
    stored = next(each for each in ROLLOUTS.read(records) if each.conversation.native_id == SESSION)
    found = case_of(stored.conversation, "rollouts")
    _, final = composed(found, ["strip-old-thinking"])
    thinking = [chunk.seq for chunk in found.conversation.chunks if chunk.kind is Kind.THINKING]
    assert len([chunk for chunk in final.conversation.chunks if chunk.kind is Kind.THINKING]) == len(thinking) - 1
    assert judged(final.reading, final.conversation, "anthropic-2026-07", ROLLOUTS.default_projection)[1].sendable
