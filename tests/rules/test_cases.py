"""Every rule against its case file, `tests/rules/cases/<name of the rule>.txt`.

    === name fires=CODE@seq,CODE@seq [reader=NAME] [running | left-running]
    === name silent [reader=NAME] [running | left-running]

Below such a line stands a case in the notation (`inspector.rules.case_notation`: the conversation, and lines for archive,
legacy messages, bleeding ids, metrics, trace), up to the next one. `fires` lists each finding of that rule with the first seq
that it names (`CODE@-`: it is about the whole conversation); other rules are not looked at. `running`: the status is active (of rollouts:
pending) and the last activity a moment ago; `left-running`: active, and nothing happened for a day. `raw SEQ TEXT` is a row exactly as stored,
read as the store's rows are.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from inspector.conversation import notation
from inspector.conversation.model import Chunk, Fact
from inspector.programs.dispatch.format import chunk_key
from inspector.programs.dispatch.rows import read_chunk
from inspector.programs.formats import Cell, Record
from inspector.rules.base import Case, Rule, Severity, case_of, findings
from inspector.rules.case_notation import load_case
from inspector.rules.catalogue import RULES, rule
from tests.folding import in_one_test

FOLDER = Path(__file__).parent / "cases"
TAKEN_AT = 1_782_600_000_000
LAST_ACTIVITY = {"running": TAKEN_AT - 1000, "left-running": TAKEN_AT - 24 * 3600 * 1000}
RAW = re.compile(r"raw (\d+) ?(.*)")
OPTION = re.compile(r" (?:(silent|running|left-running)|(fires|reader)=(\S+))(?= |$)")


class Written(NamedTuple):
    name: str
    fires: tuple[str, ...]
    reader: str
    state: str
    text: str


def cases(text: str) -> list[Written]:
    found = []
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        options = {word or key: value for word, key, value in OPTION.findall(head)}
        assert ("silent" in options) != ("fires" in options), f"{head!r} says neither or both of silent and fires="
        state = next((word for word in LAST_ACTIVITY if word in options), "")
        fires = tuple(options["fires"].split(",")) if "fires" in options else ()
        found.append(Written(OPTION.sub("", head), fires, options.get("reader", "dispatch-legacy"), state, body))
    return found


def case(written: Written) -> Case:
    lines = written.text.split("\n")
    raw = [match for line in lines if (match := RAW.fullmatch(line))]
    loaded = load_case("\n".join(line for line in lines if not RAW.fullmatch(line)), written.reader, TAKEN_AT)
    chunks = [*loaded.conversation.chunks, *(_raw(int(match.group(1)), match.group(2)) for match in raw)]
    facts = dict(loaded.conversation.facts)
    if written.state:
        status = "pending" if loaded.conversation.format == "rollouts" else "active"
        facts |= {"status": Fact("status", status), "lastActivityAt": Fact("lastActivityAt", str(LAST_ACTIVITY[written.state]))}
    return loaded.with_conversation(replace(loaded.conversation, chunks=tuple(sorted(chunks, key=lambda chunk: chunk.seq)), facts=facts))


def _raw(seq: int, text: str) -> Chunk:
    return replace(read_chunk(Record(chunk_key("case", seq), Cell(text.encode())), seq), key=str(seq))


def fired(looked_at: Case, of: Rule) -> list[str]:
    return sorted(f"{finding.code}@{finding.seqs[0] if finding.seqs else '-'}" for finding in findings(looked_at, (of,)))


def _file(of: Rule) -> list[Written]:
    return cases((FOLDER / f"{of.name}.txt").read_text(encoding="utf-8"))


def _listed(of: Rule) -> list[Written]:
    """None where the file is missing or cannot be read: that is one failure of its own test, not of the collection of all."""
    try:
        return _file(of)
    except (FileNotFoundError, AssertionError):
        return []


@in_one_test(
    ("of", "written"), [pytest.param(of, written, id=f"{of.name}: {written.name}") for of in RULES for written in _listed(of)], most=300
)
def test_the_rule_fires_where_the_case_says_and_nowhere_else(of: Rule, written: Written) -> None:
    assert fired(case(written), of) == sorted(written.fires)


@in_one_test("of", [of for of in RULES if (FOLDER / f"{of.name}.txt").exists()], ids=lambda of: of.name)
def test_more_cases_are_clean_than_fire(of: Rule) -> None:
    written = _file(of)
    firing = [each for each in written if each.fires]
    assert firing
    assert len(written) - len(firing) >= len(firing)
    assert len({each.name for each in written}) == len(written)


@in_one_test("of", RULES, ids=lambda of: of.name)
def test_its_own_example_fires(of: Rule) -> None:
    assert fired(load_case(of.example, "dispatch-legacy", TAKEN_AT), of)


@in_one_test("of", RULES, ids=lambda of: of.name)
def test_findings_carry_what_the_page_shows(of: Rule) -> None:
    for written in _listed(of):
        looked_at = case(written)
        for finding in findings(looked_at, (of,)):
            assert (finding.code, finding.rule) == (of.code, of.name)
            assert finding.message.endswith(".")
            assert finding.total >= len(finding.seqs)
            whole = looked_at.tree or looked_at.conversation
            anchors = {chunk.key for chunk in whole.chunks} if finding.seqs else {""}
            assert finding.key in anchors


def test_arguments_that_parse_are_only_a_note() -> None:
    loaded, _ = notation.load('1 assistant 0.0 tool-call a ls "{}"\n2 assistant 0.1 tool-call b ls "{"')
    found = findings(case_of(loaded, "dispatch-legacy"), (rule("TOOL301"),))
    assert [(finding.seqs, finding.severity) for finding in found] == [((2,), Severity.ERROR), ((1,), Severity.NOTE)]


def test_a_counter_that_is_too_high_is_only_a_note() -> None:
    loaded, _ = notation.load("@counter 5\n1 user 0.0 text go")
    assert [finding.severity for finding in findings(case_of(loaded, "exact"), (rule("wrong-counter"),))] == [Severity.NOTE]


def test_an_option_that_is_misspelt_is_not_taken_for_a_name() -> None:
    with pytest.raises(AssertionError, match="neither or both"):
        cases("=== name sillent\n")
