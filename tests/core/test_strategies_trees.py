"""Strategies on sessions that are trees: the path after each, what the combined repair leaves of 25 shapes, and what the written file then holds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.conversation.edits import Plan, Safety, apply
from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.conversation.pairing import answered
from inspector.conversation.tree import LEAF, spoken
from inspector.planning.preview import compose
from inspector.planning.recommend import MOST, sequence
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.programs.formats import Format, Stored, after
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.pi import PI
from inspector.programs.pi_openclaw.readers.result_pairing import MISSING, NO_RESULT
from inspector.readers.strict import strict_problems
from inspector.rules.base import Case, Severity, at_least, case_of, findings, stored_messages
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import OURS, is_synthetic
from inspector.strategies.catalogue import strategy
from inspector.strategies.truncate_before_incomplete import forgotten
from tests.formats.session_files import a, call, entry, header, line, lines, r, records, text, u
from tests.readers.trees import chain, shape_of

PROFILE, PROJECTION = "anthropic-2026-07", "anthropic"
MODES = ("replay-suffix", "insert-and-reparent", "new-session")
FORMATS: dict[str, Format] = {"pi": PI, "openclaw": OPENCLAW}

# Shape, and what the recommended repair makes of it; `MADE` is the synthetic result of the program that keeps the file.
TABLE = {
    "P01 valid pair": ("U A(c1) R(c1=ok) U", "="),
    "P02 missing, user follows": ("U A(c1) U", "U A(c1) R(c1=MADE) U"),
    "P03 missing at end": ("U A(c1)", "U A(c1) R(c1=MADE)"),
    "P04 parallel, one missing": ("U A(c1 c2) R(c2=ok) U", "U A(c1 c2) R(c2=ok) R(c1=MADE) U"),
    "P05 displaced after user": ("U A(c1 c2) U R(c2=ok)", "U A(c1 c2) R(c2=ok) R(c1=MADE) U"),
    "P06 displaced after text": ("U A(c1) A('hm') R(c1=ok) U", "U A(c1) R(c1=ok) A('hm') U"),
    "P07 displaced after tool turn": ("U A(c1) A(c2) R(c2=ok) R(c1=ok) U", "U A(c1) R(c1=ok) A(c2) R(c2=ok) U"),
    "P08 late result in a later turn": (
        "U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U",
        "U A(c1) R(c1=late) U A('t') U A(c9) R(c9=ok) U",
    ),
    "P09 duplicate in span": ("U A(c1) R(c1=first) R(c1=second) U", "U A(c1) R(c1=first) U"),
    "P10 duplicate in span at end": ("U A(c1) R(c1=first) R(c1=second)", "U A(c1) R(c1=first)"),
    "P11 duplicate far away": ("U A(c1) R(c1=first) A('ok') R(c1=second)", "U A(c1) R(c1=first) A('ok')"),
    "P12 synthetic then real": ("U A(c1) R(c1=SYN) R(c1=real) U", "U A(c1) R(c1=real) U"),
    "P13 real then synthetic": ("U A(c1) R(c1=real) R(c1=SYN) U", "U A(c1) R(c1=real) U"),
    "P14 orphan result": ("U R(zz=ok) A('ok')", "U A('ok')"),
    "P15 error turn, no result": ("U A(c1)^error U", "U U"),
    "P16 aborted turn with result": ("U A(c1)^aborted R(c1=partial) U", "="),
    "P17 id reused in next turn": ("U A(c1) R(c1=one) A(c1) R(c1=two) U", "="),
    "P18 id reused, first unanswered": ("U A(c1) U A(c1) R(c1=two) U", "U A(c1) R(c1=MADE) U A(c1) R(c1=two) U"),
    "P19 same id twice in one turn": ("U A(c1 c1) R(c1=one) R(c1=two) U", "U A(c1 c1_2) R(c1=one) R(c1_2=two) U"),
    "P20 result without any id": ("U A(c1) R(-=x) U", "U A(c1) R(c1=x) U"),
    "P21 result keyed toolUseId": ("U A(c1) R(c1:toolUseId=x) U", "U A(c1) R(c1=x) U"),
    "P22 result before its call": ("U R(c1=early) A(c1) U", "U A(c1) R(c1=early) U"),
    "P23 steering between parallel results": ("U A(c1 c2) R(c1=ok) U R(c2=ok) A('done')", "U A(c1 c2) R(c1=ok) R(c2=ok) U A('done')"),
    "P24 results in reverse order": ("U A(c1 c2) R(c2=b) R(c1=a) U", "="),
    "P25 leading orphan after a cut": ("R(c0=kept) A('x') U", "A('x') U"),
}
# Real results that no valid history can hold, and why.
LOST = {
    "P09": ("second", "one call takes one result, and the two differ"),
    "P10": ("second", "one call takes one result, and the two differ"),
    "P11": ("second", "one call takes one result, and the two differ"),
    "P14": ("ok", "its call is nowhere in the file"),
    "P25": ("kept", "its call is nowhere in the file"),
}


def stored(data: bytes, format_name: str = "pi", leaf: str | None = None) -> Stored:
    """The session as its format reads it: the whole file."""
    (found,) = FORMATS[format_name].read(records({"sessions/s.jsonl": data}))
    if leaf is None:
        return found
    return replace(found, conversation=replace(found.conversation, facts={**found.conversation.facts, LEAF: Fact(LEAF, leaf)}))


def of(*values: Any, format_name: str = "pi", leaf: str | None = None, reader: str = "verbatim") -> Case:
    return case_of(stored(lines(header(), *values), format_name, leaf).conversation, reader)


def of_shape(shape: str, format_name: str = "pi", reader: str = "verbatim") -> Case:
    return of(*chain(shape), format_name=format_name, reader=reader)


def repaired(case: Case, *names: str) -> Case:
    return case.with_conversation(apply(case.conversation, compose(case, [strategy(name) for name in names])))


def said(case: Case) -> str:
    return shape_of(case.reading.messages)


def texts(case: Case) -> list[str]:
    return [chunk.text or chunk.call_id for message in case.reading.messages for chunk in message.chunks]


def keys(case: Case) -> list[str]:
    return [chunk.key.removesuffix(".0") for chunk in case.conversation.chunks]


def recommended(case: Case) -> tuple[list[str], Case]:
    found = sequence(case, findings(case, RULES), PROFILE, PROJECTION)
    assert not found.why_not
    return [each.name for each in found.candidate.strategies], found.candidate.case


def refused(case: Case) -> list[str]:
    return [violation.text for violation in judged(case.reading, case.conversation, PROFILE, PROJECTION)[1].violations]


def written(data: bytes, names: Sequence[str], mode: str, format_name: str = "pi", leaf: str | None = None) -> Case:
    """The case of the bytes that a plan of these strategies writes, read by the client that repairs nothing."""
    base = stored(data, format_name, leaf)
    case = case_of(base.conversation, "verbatim")
    path = Stored(case.conversation, base.records)
    form = FORMATS[format_name]
    edits = compose(case, [strategy(name) for name in names])
    options = form.options(mode, path, "11111111-2222-5333-8444-555555555555")
    plan = Plan("/data/sessions", base.conversation.native_id, mode, tuple(names), frozenset(), "", edits, options)
    changes = form.write(plan, path)
    found = [each.conversation for each in form.read(after(base.records, changes)) if each.conversation.native_id == form.target(plan)]
    return case_of(found[0], "verbatim")


# The combined repair over table e.1.


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("name", TABLE)
def test_the_combined_repair_leaves_nothing_refused_and_loses_no_result_that_could_stay(name: str, format_name: str) -> None:
    shape, wanted = TABLE[name]
    case = of_shape(shape, format_name)
    _, final = recommended(case)
    made = {"pi": "NRP", "openclaw": "SYN"}[format_name]
    assert said(final) == (shape if wanted == "=" else wanted).replace("MADE", made)
    assert refused(final) == [] and strict_problems(final.reading.messages) == []
    kept = {chunk.text for chunk in final.conversation.chunks if chunk.kind is Kind.TOOL_RESULT}
    real = {chunk.text for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_RESULT and not is_synthetic(chunk)}
    assert real - kept == ({LOST[name[:3]][0]} if name[:3] in LOST else set())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [name for name, (_, wanted) in TABLE.items() if wanted != "=" and "P21" not in name])
def test_what_is_written_reads_back_as_the_combined_repair_promised(name: str, mode: str) -> None:
    shape, _ = TABLE[name]
    names, final = recommended(of_shape(shape))
    data = lines(header(), *chain(shape))
    later = written(data, names, mode)
    assert said(later) == said(final) and refused(later) == []
    assert all(chunk.payload.get("entry") for chunk in later.conversation.chunks)


# Every reader of these files, and the rules of every provider: no shape without a sequence, where strategies for it exist.
BY_READER = [
    *(("pi", name) for name in ("verbatim", "pi-0.68", "pi-0.69", "pi-0.87", "pi-1.5")),
    *(("openclaw", name) for name in ("openclaw-pr3565", "openclaw-2026.1", "openclaw-2026.7", "openclaw-2026.9", "openclaw-2026.9+sent")),
]
# No thought signature can be written by anybody but the model; pi drops empty thinking before it sends, so that DeepSeek never gets it.
NO_STRATEGY = {
    "GE-8": {("gemini-3", name) for _, name in BY_READER},
    "OV-4": {("deepseek-thinking", name) for _, name in BY_READER if "pi-" in name},
}


@pytest.mark.parametrize(("format_name", "reader"), BY_READER)
@pytest.mark.parametrize("name", TABLE)
def test_every_shape_has_a_sequence_by_every_reader_and_for_every_provider(name: str, format_name: str, reader: str) -> None:
    case = of_shape(TABLE[name][0], format_name, reader)
    troubles = findings(case, RULES)
    for judge in PROFILES:
        found = sequence(case, troubles, judge.name, FORMATS[format_name].default_projection)
        left = judged(found.candidate.case.reading, found.candidate.case.conversation, judge.name, FORMATS[format_name].default_projection)[
            1
        ].violations
        if found.why_not:
            assert any((judge.name, reader) in NO_STRATEGY.get(violation.id, ()) for violation in left), found.why_not
        else:
            assert not left and len(found.candidate.strategies) <= MOST, judge.name


@pytest.mark.parametrize("reader", ["verbatim", "pi-0.68", "pi-1.5"])
@pytest.mark.parametrize("name", [name for name in TABLE if "displaced" in name or "late" in name or "steering" in name])
def test_a_displaced_result_moves_to_its_call_whatever_pi_puts_in_its_place(name: str, reader: str) -> None:
    shape, wanted = TABLE[name]
    names, final = recommended(of_shape(shape, reader=reader))
    assert "move-results" in names
    assert shape_of(final.messages) == wanted.replace("MADE", "NRP")


@pytest.mark.parametrize("mode", MODES)
def test_the_id_of_a_result_that_pi_does_not_read_gets_the_name_that_it_reads(mode: str) -> None:
    shape = "U A(c1) R(c1:toolUseId=x) U"
    names, final = recommended(of_shape(shape, reader="pi-1.5"))
    assert names == ["use-tool-call-id"] and said(final) == "U A(c1) R(c1=x) U"
    later = written(lines(header(), *chain(shape)), names, mode)
    (result,) = (chunk for chunk in later.conversation.chunks if chunk.kind is Kind.TOOL_RESULT)
    assert b'"toolCallId":"c1"' in result.raw.replace(b" ", b"") and b"toolUseId" not in result.raw
    assert said(case_of(later.conversation, "pi-1.5")) == "U A(c1) R(c1=x) U"
    assert repaired(later, "use-tool-call-id").conversation == later.conversation
    # OpenClaw reads both names, and a result without any id has no name to change.
    assert recommended(of_shape(shape, "openclaw", "openclaw-2026.9"))[0] == []
    for other in ("U A(c1) R(-=x) U", "U A(c1) R(c1=x) U"):
        assert repaired(of_shape(other), "use-tool-call-id").conversation == of_shape(other).conversation


def test_every_kept_chunk_has_the_numbers_and_the_entry_that_the_file_gives_it() -> None:
    case = of_shape("U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U A(c2) U")
    before = {chunk.key: chunk for chunk in case.conversation.chunks}
    final = repaired(case, "move-results", "insert-interrupted-result")
    kept = [chunk for chunk in final.conversation.chunks if not chunk.key.startswith(("moved:", "new:"))]
    assert all(chunk is before[chunk.key] or chunk == before[chunk.key] for chunk in kept) and len(kept) == len(before) - 1
    (moved,) = (chunk for chunk in final.conversation.chunks if chunk.key.startswith("moved:"))
    assert replace(moved, key="e7.0") == before["e7.0"]
    (new,) = (chunk for chunk in final.conversation.chunks if chunk.key.startswith("new:"))
    assert (
        "entry" not in new.payload
        and new.msg_idx not in {chunk.msg_idx for chunk in before.values()}
        and new.seq > max(chunk.seq for chunk in before.values())
    )


def test_messages_stay_apart_where_two_results_are_put_in_side_by_side() -> None:
    final = repaired(of_shape("U A(c1 c2 c3) U"), "insert-interrupted-result")
    assert said(final) == "U A(c1 c2 c3) R(c1=NRP) R(c2=NRP) R(c3=NRP) U"
    assert len({chunk.seq for chunk in final.conversation.chunks}) == len(final.conversation.chunks)


@pytest.mark.parametrize("name", ["strip-thinking", "strip-old-thinking", "thinking-to-text"])
def test_an_answer_that_held_only_thinking_is_still_its_entry(name: str) -> None:
    thought = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    case = of(u("u1", None), a("a1", "u1", thought), u("u2", "a1"), a("a2", "u2", text("well")))
    final = repaired(case, name)
    assert [chunk.payload["entry"]["id"] for chunk in final.conversation.chunks] == ["u1", "a1", "u2", "a2"]
    assert not any(chunk.kind is Kind.THINKING for chunk in final.conversation.chunks)


def test_equal_results_of_two_entries_are_one_result_twice() -> None:
    final = repaired(of_shape("U A(c1) R(c1=ok) R(c1=ok) U"), "deduplicate-results")
    assert said(final) == "U A(c1) R(c1=ok) U"


def test_a_result_is_no_orphan_where_its_call_may_stand_in_a_line_that_cannot_be_read() -> None:
    torn = line(a("a1", "u1", call("c1")))[:-20]
    case = of(u("u1", None), torn, r("r1", "u1", "c1"), u("u2", "r1"))
    assert said(repaired(case, "drop-orphaned-results")) == "U R(c1=done) U"


def test_an_id_that_is_used_again_in_every_turn_takes_no_second_look() -> None:
    """Ten thousand turns of one id, as providers number calls again in each: each result goes to the call of its own turn."""
    turns = 10_000
    shape = chain("U") + [
        message
        for turn in range(turns)
        for message in (
            a(f"a{turn}", f"r{turn - 1}" if turn else "e1", call("exec_0")),
            r(f"r{turn}", f"a{turn}", "exec_0", f"of {turn}"),
        )
    ]
    case = of(*shape)
    assert all(found.results[0].text == f"of {turn}" for turn, found in enumerate(answered(case.messages)))


# Results on another branch (d.7).

BRANCH = (u("u1", None, "list it"), a("a1", "u1", call("c1")), r("r1", "a1", "c1", "a.py b.py"), u("u2", "a1", "and?"))


def test_the_branch_case_is_repaired_with_the_real_output_and_nothing_made_up() -> None:
    case = of(*BRANCH)
    assert texts(case) == ["list it", "c1", "and?"]
    names, final = recommended(case)
    assert names == ["reparent-to-result"]
    assert texts(final) == ["list it", "c1", "a.py b.py", "and?"] and refused(final) == []
    assert keys(final) == ["u1", "a1", "r1", "u2"]


@pytest.mark.parametrize("mode", MODES)
def test_the_branch_case_as_written(mode: str) -> None:
    later = written(lines(header(), *BRANCH), ["reparent-to-result"], mode)
    assert texts(later) == ["list it", "c1", "a.py b.py", "and?"]
    if mode == "insert-and-reparent":
        assert keys(later) == ["u1", "a1", "r1", "u2"], "only a parent is another one"
        assert [chunk.parent for chunk in later.conversation.chunks] == [None, "u1", "a1", "r1"]


@pytest.mark.parametrize("mode", MODES)
def test_a_result_further_down_the_file_is_copied_so_that_no_parent_comes_later(mode: str) -> None:
    rows = (*BRANCH[:2], BRANCH[3], BRANCH[2])
    later = written(lines(header(), *rows), ["reparent-to-result"], mode, leaf="u2")
    assert texts(later) == ["list it", "c1", "a.py b.py", "and?"]


@pytest.mark.parametrize("mode", MODES)
def test_parallel_results_that_were_written_as_siblings_are_chained(mode: str) -> None:
    rows = [
        u("u1", None),
        a("a1", "u1", call("c1"), call("c2"), call("c3")),
        r("r1", "a1", "c1", "one"),
        r("r2", "a1", "c2", "two"),
        r("r3", "a1", "c3", "three"),
        u("u2", "r3"),
    ]
    case = of(*rows)
    assert said(case) == "U A(c1 c2 c3) R(c3=three) U"
    names, final = recommended(case)
    assert names == ["reparent-to-result"] and said(final) == "U A(c1 c2 c3) R(c1=one) R(c2=two) R(c3=three) U"
    assert said(written(lines(header(), *rows), names, mode)) == said(final)


def test_a_real_result_on_another_branch_takes_the_place_of_a_made_up_one() -> None:
    rows = [*BRANCH[:3], r("s1", "a1", "c1", MISSING, isError=True), u("u2", "s1", "and?")]
    assert texts(repaired(of(*rows, format_name="openclaw"), "reparent-to-result")) == ["list it", "c1", "a.py b.py", "and?"]


def test_a_real_result_on_the_path_is_never_exchanged() -> None:
    rows = [*BRANCH[:3], r("r2", "a1", "c1", "other"), u("u2", "r2", "and?")]
    assert repaired(of(*rows), "reparent-to-result").conversation == of(*rows).conversation


@pytest.mark.parametrize("mode", MODES)
def test_what_another_branch_said_before_its_late_result_stays_there(mode: str) -> None:
    rows = [*BRANCH[:2], u("x1", "a1", "hello?"), a("x2", "x1", text("busy")), r("r1", "x2", "c1", "late"), u("u2", "a1", "and?")]
    data = lines(header(), *rows)
    assert texts(repaired(of(*rows), "reparent-to-result")) == ["list it", "c1", "late", "and?"]
    later = written(data, ["reparent-to-result"], mode)
    assert texts(later) == ["list it", "c1", "late", "and?"]
    if mode != "new-session":
        assert later.tree is not None
        other = replace(later.tree, facts={**later.tree.facts, LEAF: Fact(LEAF, "r1")})
        assert texts(case_of(other, "verbatim")) == ["list it", "c1", "hello?", "busy", "late"]


def test_the_result_of_another_turn_that_used_the_same_id_is_not_taken() -> None:
    rows = [*BRANCH[:2], u("x1", "a1"), a("x2", "x1", call("c1")), r("x3", "x2", "c1", "not this"), u("u2", "a1", "and?")]
    names, final = recommended(of(*rows))
    assert names == ["insert-interrupted-result"] and texts(final) == ["list it", "c1", NO_RESULT, "and?"]


def test_parents_that_form_a_cycle_end_every_search() -> None:
    rows = [u("l1", "l2"), a("l2", "l1", call("c1")), r("l3", "l2", "c1", "of the cycle"), *BRANCH[:2], BRANCH[3]]
    assert texts(repaired(of(*rows), "reparent-to-result")) == ["list it", "c1", "and?"]


def test_a_result_that_stands_nowhere_is_made_up_as_before() -> None:
    case = of(*BRANCH[:2], BRANCH[3])
    assert repaired(case, "reparent-to-result").conversation == case.conversation


# Truncation, as OpenClaw's pull request 3565 proposed it, on the path alone.


@pytest.mark.parametrize(
    ("shape", "left"),
    [
        ("U A(c1) R(c1=ok) U", "U A(c1) R(c1=ok) U"),
        ("U A(c1) U", "U"),
        ("U A(c1)", "U"),
        ("U A(c1 c2) R(c2=ok) U", "U"),
        ("U A(c1) R(c1=ok) A(c2) U", "U A(c1) R(c1=ok)"),
        # A late result is none for the request, which was the reviewers' objection.
        ("U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U", "U"),
        ("U A('t') U A(c1) U R(c1=late)", "U A('t') U"),
        # An answer that would end the history goes with the one after it.
        ("U A('t') U A('well') A('so') A(c1) U", "U A('t') U"),
        ("U A(c0) R(c0=ok) A('so') A(c1) U", "U A(c0) R(c0=ok)"),
        # With nothing before the cut only the user's newest message is left to go on with.
        ("A(c1) U", "U"),
        ("A('hi') A(c1) U A('t') U", "U"),
        ("S A(c1) U", "S U"),
    ],
)
def test_the_cut_goes_before_the_first_call_that_its_result_does_not_follow(shape: str, left: str) -> None:
    final = repaired(of_shape(shape), "truncate-before-incomplete")
    assert said(final) == left
    assert refused(final) == []


def test_a_cut_is_not_fooled_by_a_result_on_another_branch() -> None:
    assert texts(repaired(of(*BRANCH), "truncate-before-incomplete")) == ["list it"]


def test_after_the_result_was_moved_there_is_nothing_to_cut() -> None:
    final = repaired(of_shape("U A(c1) U A('t') U A(c9) R(c1=late) R(c9=ok) U"), "move-results", "truncate-before-incomplete")
    assert said(final) == "U A(c1) R(c1=late) U A('t') U A(c9) R(c9=ok) U"


def test_what_was_compacted_away_cuts_nothing_off() -> None:
    rows = [
        u("u1", None, "old"),
        a("a1", "u1", call("c1")),
        u("u2", "a1", "kept"),
        entry("compaction", "k1", "u2", summary="so far", firstKeptEntryId="u2", tokensBefore=9),
        u("u3", "k1", "new"),
    ]
    case = of(*rows)
    assert repaired(case, "truncate-before-incomplete").conversation == case.conversation
    assert repaired(case, "insert-interrupted-result").conversation == case.conversation


def test_a_cut_says_in_the_users_terms_what_is_forgotten() -> None:
    rows = [
        u("u1", None, "fix the login"),
        a("a1", "u1", call("c1")),
        u("u2", "a1", "and the tests"),
        a("a2", "u2", text("x")),
        u("u3", "a2", "now?"),
    ]
    case = of(*rows)
    (sentence,) = forgotten(case.conversation, repaired(case, "truncate-before-incomplete").conversation)
    assert sentence == (
        "The session forgets everything after 'fix the login' (seq 1): 4 messages, 2 of them the user's, with what the user said last, 'now?' (seq 5)."
    )
    first = of(*chain("A(c1) U A('t') U"))
    (sentence,) = forgotten(first.conversation, repaired(first, "truncate-before-incomplete").conversation)
    assert sentence == "The session forgets everything before 'go on' (seq 4): 3 messages, 1 of them the user's."
    assert list(forgotten(case.conversation, case.conversation)) == []


def test_no_one_gets_a_cut_who_did_not_ask_for_it() -> None:
    for shape, _ in TABLE.values():
        assert "truncate-before-incomplete" not in recommended(of_shape(shape))[0]
    found = strategy("truncate-before-incomplete")
    assert found.manual_only and found.safety == {Safety.LOSSY} and "forgets everything" in found.cost


@pytest.mark.parametrize("mode", MODES)
def test_a_cut_as_written_is_the_end_of_the_path(mode: str) -> None:
    later = written(lines(header(), *chain("U A(c1) R(c1=ok) A(c2) U")), ["truncate-before-incomplete"], mode)
    assert said(later) == "U A(c1) R(c1=ok)"


# Synthetic results, with the words of one's choice.


@pytest.mark.parametrize(
    ("name", "format_name", "words", "details"),
    [
        ("insert-interrupted-result", "pi", NO_RESULT, False),
        ("insert-interrupted-result", "openclaw", MISSING, True),
        ("insert-pi-result", "openclaw", NO_RESULT, False),
        ("insert-openclaw-result", "pi", MISSING, True),
        ("insert-plain-result", "openclaw", OURS, False),
    ],
)
def test_the_words_of_a_placeholder_result_can_be_chosen(name: str, format_name: str, words: str, details: bool) -> None:
    data = lines(header(), *chain("U A(c1) U"))
    final = repaired(case_of(stored(data, format_name).conversation, "verbatim"), name, "insert-interrupted-result")
    assert [chunk.text for chunk in final.conversation.chunks if chunk.kind is Kind.TOOL_RESULT] == [words]
    later = written(data, [name], "replay-suffix", format_name)
    (result,) = (chunk for chunk in later.conversation.chunks if chunk.kind is Kind.TOOL_RESULT)
    assert (result.text, result.is_error, is_synthetic(result)) == (words, True, True)
    expected = {"openclawSyntheticMissingToolResult": True, "reason": "missing_tool_result"} if details else None
    assert result.payload["entry"].get("details") == expected


def test_openclaw_puts_a_late_real_result_in_the_place_of_one_with_its_own_words() -> None:
    data = lines(header(), *chain("U A(c1) U"))
    for name, kept in (("insert-openclaw-result", "real"), ("insert-plain-result", OURS)):
        final = repaired(case_of(stored(data, "openclaw").conversation, "openclaw-2026.9"), "insert-interrupted-result")
        assert final.conversation, name
        tree = written(data, [name], "replay-suffix", "openclaw").tree
        assert tree is not None
        last = tree.chunks[-1].payload["entry"]["id"]
        late = stored(b"".join([tree_bytes(tree), line(r("late", last, "c1", "real")), b"\n"]), "openclaw").conversation
        read = case_of(late, "openclaw-2026.9").reading.messages
        assert [chunk.text for message in read for chunk in message.chunks if chunk.kind is Kind.TOOL_RESULT] == [kept]


def tree_bytes(tree: Conversation) -> bytes:
    raw = dict.fromkeys(chunk.raw for chunk in tree.chunks)
    return line(header()) + b"\n" + b"".join(each + b"\n" for each in raw)


# Failed turns.


@pytest.mark.parametrize(
    ("shape", "left"),
    [
        ("U A(c1)^error U", "U U"),
        ("U A(c1)^aborted R(c1=partial) U", "U U"),
        ("U A(c1 c2)^aborted R(c1=x) U R(c2=late)", "U U"),
        ("U A('cut sho')^aborted U", "U A('cut sho')^aborted U"),
        ("U A(c1) R(c1=ok) U", "U A(c1) R(c1=ok) U"),
    ],
)
def test_a_failed_turn_goes_with_its_results(shape: str, left: str) -> None:
    assert said(repaired(of_shape(shape), "drop-failed-turns")) == left


@pytest.mark.parametrize("reader", ["verbatim", "pi-1.5"])
@pytest.mark.parametrize("mode", MODES)
def test_an_aborted_turn_with_all_its_results_may_be_kept_instead(mode: str, reader: str) -> None:
    rows = chain("U A(c1)^aborted R(c1=partial) U")
    case = of(*rows, reader=reader)
    assert "TOOL209" in codes(case)
    assert said(repaired(case, "keep-failed-turn")) == "U A(c1) R(c1=partial) U"
    later = written(lines(header(), *rows), ["keep-failed-turn"], mode)
    assert said(case_of(later.conversation, "pi-1.5")) == "U A(c1) R(c1=partial) U" and codes(later) == []


@pytest.mark.parametrize(
    "shape",
    [
        "U A(c1)^error U",
        "U A(c1 c2)^aborted R(c1=ok) U",
        "U A(c1)^aborted R(c1=SYN) U",
        "U A(c1)^aborted U R(c1=late)",
        "U A('half')^aborted U",
        "U A(c1) R(c1=ok) U",
    ],
)
def test_what_is_not_whole_is_not_kept_as_if_it_were(shape: str) -> None:
    case = of_shape(shape)
    assert repaired(case, "keep-failed-turn").conversation == case.conversation


def test_an_aborted_turn_with_half_written_arguments_or_unsigned_thinking_is_not_kept() -> None:
    for block in (call("c1") | {"partialJson": '{"path'}, {"type": "toolCall", "id": "c1", "name": "ls", "arguments": None}):
        case = of(u("u1", None), a("a1", "u1", block, stopReason="aborted"), r("r1", "a1", "c1"))
        assert repaired(case, "keep-failed-turn").conversation == case.conversation
    thought = {"type": "thinking", "thinking": "hm"}
    case = of(u("u1", None), a("a1", "u1", thought, call("c1"), stopReason="aborted"), r("r1", "a1", "c1"))
    assert repaired(case, "keep-failed-turn").conversation == case.conversation


def test_no_result_is_made_up_for_a_failed_turn_that_pi_leaves_out() -> None:
    case = of_shape("U A(c1)^error U")
    assert repaired(case, "insert-interrupted-result", "insert-pi-result").conversation == case.conversation
    _, final = recommended(case)
    assert refused(case_of(final.conversation, "pi-1.5")) == []


def test_the_partial_result_of_an_aborted_turn_goes_only_where_the_program_makes_an_orphan_of_it() -> None:
    """pi leaves the answer out and sends the result; a client that sends the path as it is has no trouble with it."""
    shape = "U A(c1)^aborted R(c1=partial) U"
    assert recommended(of_shape(shape, reader="verbatim"))[0] == []
    names, final = recommended(of_shape(shape, reader="pi-1.5"))
    assert names == ["drop-failed-turns"] and said(final) == "U U"


# Lines and links.


def fused(*values: Any) -> bytes:
    return b"".join(line(value) for value in values)


@pytest.mark.parametrize("mode", MODES)
def test_two_records_on_one_line_come_back_onto_the_path(mode: str) -> None:
    rows = [u("u1", None, "one"), fused(a("a1", "u1", text("two")), u("u2", "a1", "three")), a("a2", "u2", text("four"))]
    case = of(*rows)
    assert texts(case) == ["four"]
    assert texts(repaired(case, "split-fused-line")) == ["one", "two", "three", "four"]
    assert texts(written(lines(header(), *rows), ["split-fused-line"], mode)) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("mode", MODES)
def test_a_fused_last_line_is_where_the_path_goes_on(mode: str) -> None:
    rows = [u("u1", None, "one"), fused(a("a1", "u1", text("two")), u("u2", "a1", "three"))]
    assert texts(repaired(of(*rows), "split-fused-line")) == ["one", "two", "three"]
    assert texts(written(lines(header(), *rows), ["split-fused-line"], mode)) == ["one", "two", "three"]


FUSED = (
    u("u1", None, "one"),
    fused(a("a1", "u1", text("two")), u("u2", "a1", "three")),
    a("a2", "u2", text("four")),
    u("u3", "a2", "five"),
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reader", ["openclaw-2026.7", "openclaw-2026.9"])
def test_openclaw_goes_on_past_a_fused_line_and_its_records_come_back_into_the_middle(reader: str, mode: str) -> None:
    case = of(*FUSED, format_name="openclaw", reader=reader)
    assert [chunk.text for chunk in case.conversation.chunks] == (
        ["one", "four", "five"] if reader == "openclaw-2026.9" else ["four", "five"]
    )
    final = repaired(case, "split-fused-line")
    assert [chunk.text for chunk in final.conversation.chunks] == ["one", "two", "three", "four", "five"]
    later = written(lines(header(), *FUSED), ["split-fused-line"], mode, "openclaw")
    assert texts(later) == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("mode", MODES)
def test_a_fused_line_whose_records_have_lines_of_their_own_is_only_a_note(mode: str, format_name: str) -> None:
    later = written(lines(header(), *FUSED), ["split-fused-line"], mode, format_name)
    told = [found for found in findings(later, RULES) if found.code == "STORE502"]
    if mode == "new-session":
        assert not told, "the new file has no such line"
    else:
        (note,) = told
        assert note.severity is Severity.NOTE and "each is on the path by a line of its own" in note.message
    assert codes(later) == [] and not compose(later, [strategy("split-fused-line")])


def test_a_fused_line_of_which_one_record_is_on_the_path_is_still_a_loss() -> None:
    rows = [*FUSED[:2], a("a2", "a1", text("two")), u("u3", "a2", "five")]
    case = of(*rows)
    (found,) = (found for found in findings(repaired(case, "split-fused-line"), RULES) if found.code == "STORE502")
    assert found.severity is Severity.WARNING and "u2" in found.message


def test_a_fused_line_that_the_program_went_on_without_stays_a_branch() -> None:
    rows = [u("u1", None, "one"), fused(a("a1", "u1", text("two")), u("u2", "a1", "three")), a("a2", "u1", text("four"))]
    case = of(*rows)
    assert repaired(case, "split-fused-line").conversation == case.conversation


def test_an_entry_below_the_header_is_a_root_and_gets_no_other_parent() -> None:
    session = header()["id"]
    case = of(entry("custom", "x1", None, customType="ui"), u("u1", session, "one"), a("a1", "u1", text("two")))
    assert codes(case, Severity.NOTE) == [] and case.reading.warnings == ()
    assert repaired(case, "reparent-orphan-entry").conversation == case.conversation


@pytest.mark.parametrize("mode", MODES)
def test_the_branch_that_a_dangling_parent_leaves_behind_is_only_a_note(mode: str) -> None:
    rows = [u("u1", None, "one"), a("a1", "u1", text("two")), u("u2", "gone", "three"), a("a2", "u2", text("four"))]
    later = written(lines(header(), *rows), ["reparent-orphan-entry"], mode)
    assert codes(later) == []
    left = [found for found in findings(later, RULES) if found.code == "TREE101"]
    assert len(left) == (mode == "replay-suffix") and all("nothing is missing" in found.message for found in left)


@pytest.mark.parametrize("mode", MODES)
def test_an_entry_without_parent_in_the_file_goes_on_from_the_one_before_it(mode: str) -> None:
    rows = [
        u("u1", None, "one"),
        a("a1", "u1", text("two")),
        u("u2", "gone", "three"),
        a("a2", "u2", text("four")),
        u("u3", "lost", "five"),
    ]
    case = of(*rows)
    assert texts(case) == ["five"]
    assert texts(repaired(case, "reparent-orphan-entry")) == ["one", "two", "three", "four", "five"]
    assert texts(written(lines(header(), *rows), ["reparent-orphan-entry"], mode)) == ["one", "two", "three", "four", "five"]
    assert Safety.INVENTED in strategy("reparent-orphan-entry").safety and "inferred" in strategy("reparent-orphan-entry").cost


def test_an_entry_that_openclaw_rebased_gets_the_parent_that_it_was_read_with() -> None:
    rows = [u("u1", None, "one"), a("a1", "u1", text("two")), u("u2", "gone", "three"), a("a2", "u2", text("four"))]
    case = of(*rows, format_name="openclaw", reader="openclaw-2026.9")
    assert texts(case) == ["one", "two", "three", "four"]
    final = repaired(case, "reparent-orphan-entry")
    assert [chunk.parent for chunk in final.conversation.chunks] == [None, "u1", "a1", "u2"]


@pytest.mark.parametrize("parent", ["u1", "u2"])
def test_a_parent_in_a_cycle_leads_nowhere_and_ends_every_search(parent: str) -> None:
    rows = [u("u1", "u2", "one"), a("u2", "u1", text("two")), u("u3", "gone", "three")]
    rows[0]["parentId"] = parent
    assert texts(repaired(of(*rows), "reparent-orphan-entry")) == ["three"]


def compacted(pointer: str, *rows: dict[str, Any], behind: Sequence[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    return [*rows, entry("compaction", "k1", rows[-1]["id"], summary="so far", firstKeptEntryId=pointer, tokensBefore=9), *behind]


PAIR = (
    u("u1", None, "old"),
    a("a1", "u1", call("c1"), call("c2")),
    r("r1", "a1", "c1", "x"),
    r("r2", "r1", "c2", "y"),
    u("u2", "r2", "kept"),
)


@pytest.mark.parametrize(
    ("pointer", "wanted"),
    [("r1", "a1"), ("r2", "a1"), ("a1", "a1"), ("u2", "u2"), ("u1", "u1"), ("k1", "k1")],
)
@pytest.mark.parametrize("mode", MODES)
def test_the_pointer_of_a_compaction_goes_back_to_the_call(pointer: str, wanted: str, mode: str) -> None:
    rows = compacted(pointer, *PAIR, behind=[u("u3", "k1", "new")])
    final = repaired(of(*rows), "fix-compaction-pointer")
    assert kept_from(final) == wanted
    if wanted != pointer:
        names, best = recommended(of(*rows))
        assert names == ["fix-compaction-pointer"] and refused(best) == []
        later = written(lines(header(), *rows), names, mode)
        assert texts(later) == texts(final) and refused(later) == []


@pytest.mark.parametrize("reader", ["verbatim", "pi-1.5", "openclaw-2026.9"])
@pytest.mark.parametrize("mode", MODES)
def test_a_pointer_that_is_in_no_line_leads_to_the_compaction_itself_and_no_reader_sees_a_difference(mode: str, reader: str) -> None:
    rows = compacted("nowhere", *PAIR, behind=[u("u3", "k1", "new")])
    case = of(*rows, reader=reader)
    assert "TREE105" in codes(case)
    final = repaired(case, "fix-compaction-pointer")
    assert kept_from(final) == "k1" and texts(final) == texts(case) and "TREE105" not in codes(final)
    later = written(lines(header(), *rows), ["fix-compaction-pointer"], mode)
    assert texts(later) == texts(of(*rows)) and "TREE105" not in codes(later)
    assert "which is what every program makes of it now" in strategy("fix-compaction-pointer").cost


def test_a_compaction_that_a_reset_of_openclaw_took_over_from_is_left_alone() -> None:
    rows = compacted("nowhere", *PAIR, behind=[entry("reset", "s1", "k1"), u("u3", "s1", "new")])
    case = of(*rows, format_name="openclaw", reader="openclaw-2026.9")
    assert repaired(case, "fix-compaction-pointer").conversation == case.conversation


def codes(case: Case, least: Severity = Severity.WARNING) -> list[str]:
    return [found.code for found in findings(case, RULES) if at_least(found.severity, least)]


def kept_from(case: Case) -> str:
    return next(str(chunk.payload["entry"]["firstKeptEntryId"]) for chunk in case.conversation.chunks if chunk.key.startswith("k1"))


def test_a_pointer_at_a_result_of_no_call_goes_past_it() -> None:
    rows = compacted("r0", r("r0", None, "c0"), u("u1", "r0", "kept"), a("a1", "u1", text("x")), behind=[u("u2", "a1")])
    rows[-1]["parentId"] = "k1"
    assert kept_from(repaired(of(*rows), "fix-compaction-pointer")) == "u1"


def test_a_pointer_to_another_branch_leads_behind_the_fork() -> None:
    rows = compacted("x1", u("u1", None, "old"), u("u2", "u1", "kept"), behind=[u("x1", "u1", "aside"), u("u3", "k1", "new")])
    assert kept_from(repaired(of(*rows), "fix-compaction-pointer")) == "u2"


def test_a_result_behind_a_compaction_that_kept_nothing_gets_its_call_back() -> None:
    rows = compacted("k1", u("u1", None, "old"), a("a1", "u1", call("c1")), behind=[r("r1", "k1", "c1", "late")])
    case = of(*rows)
    assert refused(case)
    names, final = recommended(case)
    assert names == ["fix-compaction-pointer"] and texts(final)[-2:] == ["c1", "late"]


@pytest.mark.parametrize("mode", MODES)
def test_a_pointer_is_right_also_where_the_call_is_written_anew(mode: str) -> None:
    first = (u("u0", None, "older"), a("a0", "u0", call("c1")), r("r0", "a0", "c1"))
    rows = compacted("r1", *first, PAIR[0] | {"parentId": "r0"}, *PAIR[1:], behind=[u("u3", "k1", "new")])
    names = ["rename-repeated-ids", "fix-compaction-pointer"]
    final = repaired(of(*rows), *names)
    assert texts(final)[1:] == ["c1_2", "c2", "x", "y", "kept", "new"]
    assert texts(written(lines(header(), *rows), names, mode)) == texts(final)


def test_thousands_of_entries_come_back_at_once() -> None:
    """A long history above a gap, and a gap in front of every entry: nothing recurses."""
    rows = [u("e0", None, "first"), *(u(f"e{at}", f"e{at - 1}") for at in range(1, 3000)), u("last", "gone", "end")]
    assert len(repaired(of(*rows), "reparent-orphan-entry").conversation.chunks) == 3001
    rows = [u("e0", None), *(u(f"e{at}", f"gone{at}") for at in range(1, 3000))]
    assert len(repaired(of(*rows), "reparent-orphan-entry").conversation.chunks) == 3000


# Other formats know none of this.


@pytest.mark.parametrize(
    "name",
    [
        "reparent-to-result",
        "reparent-orphan-entry",
        "split-fused-line",
        "fix-compaction-pointer",
        "drop-failed-turns",
        "truncate-before-incomplete",
    ],
)
def test_a_conversation_that_is_no_tree_is_left_alone(name: str) -> None:
    chunks = (
        Chunk("1", 1, "user", Kind.TEXT, {"type": "text", "text": "go"}, 0, 0),
        Chunk("2", 2, "assistant", Kind.TOOL_CALL, {"type": "tool-call", "toolCallId": "c", "toolName": "ls", "input": {}}, 1, 0),
    )
    case = case_of(Conversation("x", "anthropic-request", chunks), "as-sent")
    assert list(strategy(name).propose(case)) == []


def test_a_line_whose_records_are_a_branch_of_their_own_names_no_strategy() -> None:
    fused = line(a("a8", "u1", text("x"))) + line(u("u8", "a8", "mid"))
    apart = case_of(stored_tree(lines(header(), u("u1", None, "one"), fused, a("a2", "u1", text("end")))), "pi-1.5")
    (found,) = (each for each in findings(apart, RULES) if each.code == "STORE502")
    assert (
        found.repaired_by == () and "branch of their own" in found.no_repair_reason and not compose(apart, [strategy("split-fused-line")])
    )
    named = case_of(stored_tree(lines(header(), u("u1", None, "one"), fused, a("a2", "u8", text("end")))), "pi-1.5")
    (found,) = (each for each in findings(named, RULES) if each.code == "STORE502")
    assert found.repaired_by == ("split-fused-line",) and compose(named, [strategy("split-fused-line")])


def stored_tree(data: bytes) -> Conversation:
    (found,) = PI.read(records({"sessions/s.jsonl": data}))
    return found.conversation


def test_sentences_count_lines_as_editors_do() -> None:
    assert [spoken("line:3"), spoken("line:3/2"), spoken("line:3", 3), spoken("line:3", 7), spoken("u1")] == [
        "line 4", "line 4/2", "line 4", "'line:3'", "'u1'",
    ]  # fmt: skip


# Neighbors are those that the reader has.

MIRRORED = {"provider": "openclaw", "model": "delivery-mirror", "stopReason": "stop"}


def joined(*rows: Any, format_name: str = "openclaw", reader: str = "openclaw-2026.9") -> list[list[str]]:
    """The words of each stored message after merge-same-role-messages."""
    case = repaired(of(*rows, format_name=format_name, reader=reader), "merge-same-role-messages")
    return [[chunk.text for chunk in message.chunks] for message in stored_messages(case.conversation)]


@pytest.mark.parametrize("reader", ["openclaw-2026.9", "openclaw-2026.7", "verbatim", "pi-1.5"])
def test_a_copy_of_what_a_channel_showed_is_joined_to_no_answer(reader: str) -> None:
    """It was moved into the model's own answer, and from there it was sent, by a strategy that is called safe."""
    rows = (
        u("u1", None, "hello"),
        a("a1", "u1", text("Done."), stopReason="stop"),
        a("d1", "a1", text("MIRROR"), **MIRRORED),
        u("u2", "d1", "thanks"),
    )
    assert joined(*rows, reader=reader) == [["hello"], ["Done."], ["MIRROR"], ["thanks"]]
    assert not list(strategy("merge-same-role-messages").propose(of(*rows, format_name="openclaw", reader=reader)))


def test_two_answers_are_joined_and_the_copy_between_them_follows_as_it_is() -> None:
    rows = (
        u("u1", None, "hello"),
        a("a1", "u1", text("one"), stopReason="stop"),
        a("d1", "a1", text("MIRROR"), **MIRRORED),
        a("a2", "d1", text("two"), stopReason="stop"),
    )
    assert joined(*rows) == [["hello"], ["one", "two"], ["MIRROR"]]
    tree = written(lines(header(), *rows), ["merge-same-role-messages"], "replay-suffix", "openclaw")
    assert texts(case_of(tree.tree or tree.conversation, "openclaw-2026.9")) == ["hello", "one", "two"]


@pytest.mark.parametrize(
    "rows",
    [
        # Every program leaves the failed answer out, and with it what was joined to it.
        (a("a1", "u1", text("one"), stopReason="error"), a("a2", "a1", text("two"), stopReason="stop")),
        (a("a1", "u1", text("one"), stopReason="stop"), a("a2", "a1", text("two"), stopReason="aborted")),
        (a("a1", "u1", text("one"), model="m1"), a("a2", "a1", text("two"), model="m2")),
    ],
    ids=["failed first", "failed after", "two models"],
)
def test_answers_that_programs_treat_otherwise_are_not_joined(rows: Sequence[Any]) -> None:
    for format_name, reader in (("openclaw", "openclaw-2026.9"), ("pi", "pi-1.5")):
        assert joined(u("u1", None, "hello"), *rows, format_name=format_name, reader=reader) == [["hello"], ["one"], ["two"]]


def test_what_a_compaction_cut_off_is_not_joined_to_what_it_keeps() -> None:
    rows = (
        u("u1", None, "hello"),
        a("a1", "u1", text("cut off"), stopReason="stop"),
        a("a2", "a1", text("kept"), stopReason="stop"),
        entry("compaction", "k1", "a2", summary="so far", firstKeptEntryId="a2", tokensBefore=9),
        u("u2", "k1", "on"),
    )
    assert joined(*rows, format_name="pi", reader="pi-1.5") == [["hello"], ["cut off"], ["kept"], ["on"]]
