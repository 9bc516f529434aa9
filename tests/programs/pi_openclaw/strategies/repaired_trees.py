"""Sessions that are trees, repaired in memory and as written."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from inspector.conversation.edits import Plan, apply
from inspector.conversation.model import Fact, Kind
from inspector.conversation.tree import LEAF
from inspector.planning.preview import compose
from inspector.planning.recommend import sequence
from inspector.profiles.judging import judged
from inspector.programs.formats import Format, Stored, after
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.pi import PI
from inspector.rules.base import Case, Severity, at_least, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.catalogue import strategy
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, records, u
from tests.programs.pi_openclaw.shapes import chain, shape_of

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


def recommended(case: Case) -> tuple[list[str], Case]:
    found = sequence(case, findings(case, RULES), PROFILE, PROJECTION)
    assert not found.why_not
    return [each.name for each in found.candidate.strategies], found.candidate.case


def refused(case: Case) -> list[str]:
    return [violation.text for violation in judged(case.reading, case.conversation, PROFILE, PROJECTION)[1].violations]


def written(
    data: bytes, names: Sequence[str], mode: str, format_name: str = "pi", leaf: str | None = None, reader: str = "verbatim"
) -> Case:
    """The case of the bytes that a plan of these strategies writes, read by the client that repairs nothing."""
    base = stored(data, format_name, leaf)
    case = case_of(base.conversation, reader)
    path = Stored(case.conversation, base.records)
    form = FORMATS[format_name]
    edits = compose(case, [strategy(name) for name in names])
    options = form.options(mode, path, "11111111-2222-5333-8444-555555555555")
    plan = Plan("/data/sessions", base.conversation.native_id, mode, tuple(names), frozenset(), "", edits, options)
    changes = form.write(plan, path)
    found = [each.conversation for each in form.read(after(base.records, changes)) if each.conversation.native_id == form.target(plan)]
    return case_of(found[0], reader)


BRANCH = (u("u1", None, "list it"), a("a1", "u1", call("c1")), r("r1", "a1", "c1", "a.py b.py"), u("u2", "a1", "and?"))


def assert_the_words_of_a_placeholder_result_can_be_chosen(name: str, format_name: str, words: str, details: bool) -> None:
    data = lines(header(), *chain("U A(c1) U"))
    final = repaired(case_of(stored(data, format_name).conversation, "verbatim"), name, "insert-interrupted-result")
    assert [chunk.text for chunk in final.conversation.chunks if chunk.kind is Kind.TOOL_RESULT] == [words]
    later = written(data, [name], "replay-suffix", format_name)
    (result,) = (chunk for chunk in later.conversation.chunks if chunk.kind is Kind.TOOL_RESULT)
    assert (result.text, result.is_error, is_synthetic(result)) == (words, True, True)
    expected = {"openclawSyntheticMissingToolResult": True, "reason": "missing_tool_result"} if details else None
    assert result.payload["entry"].get("details") == expected


def codes(case: Case, least: Severity = Severity.WARNING) -> list[str]:
    return [found.code for found in findings(case, RULES) if at_least(found.severity, least)]
