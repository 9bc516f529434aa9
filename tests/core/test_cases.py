"""Every rule against its case file, `tests/cases/<name of the rule>.txt`.

    === name fires=CODE@seq,CODE@seq [reader=NAME] [running | left-running]
    === name silent [reader=NAME] [running | left-running]

Below such a line stands a conversation in the notation, up to the next one. `fires` lists each finding of that rule with the
first seq that it names; other rules are not looked at. `running`: the status is active and the last activity a moment ago;
`left-running`: active, and nothing happened for a day. `raw SEQ TEXT` is a row exactly as stored, read as the store's rows are.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from inspector.conversation import notation
from inspector.conversation.model import Chunk, Conversation, Fact
from inspector.detectors.base import Case, Rule, Severity, case_of, findings
from inspector.detectors.catalogue import RULES, rule
from inspector.formats.base import Cell, Record
from inspector.formats.dispatch import chunk_key, read_chunk

FOLDER = Path(__file__).parent.parent / "cases"
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


def conversation(written: Written) -> Conversation:
    lines = [line for line in written.text.split("\n") if not RAW.fullmatch(line)]
    raw = [match for line in written.text.split("\n") if (match := RAW.fullmatch(line))]
    loaded, _ = notation.load("\n".join(lines))
    chunks = [*loaded.chunks, *(_raw(int(match.group(1)), match.group(2)) for match in raw)]
    facts = dict(loaded.facts)
    if written.state:
        facts |= {"status": Fact("status", "active"), "lastActivityAt": Fact("lastActivityAt", str(LAST_ACTIVITY[written.state]))}
    return replace(loaded, chunks=tuple(sorted(chunks, key=lambda chunk: chunk.seq)), facts=facts)


def _raw(seq: int, text: str) -> Chunk:
    return replace(read_chunk(Record(chunk_key("case", seq), Cell(text.encode())), seq), key=str(seq))


def fired(looked_at: Case, of: Rule) -> list[str]:
    return sorted(f"{finding.code}@{finding.seqs[0]}" for finding in findings(looked_at, (of,)))


def _file(of: Rule) -> list[Written]:
    return cases((FOLDER / f"{of.name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("of", "written"), [pytest.param(of, written, id=f"{of.name}: {written.name}") for of in RULES for written in _file(of)]
)
def test_the_rule_fires_where_the_case_says_and_nowhere_else(of: Rule, written: Written) -> None:
    looked_at = case_of(conversation(written), written.reader, taken_at=TAKEN_AT)
    assert fired(looked_at, of) == sorted(written.fires)


@pytest.mark.parametrize("of", RULES, ids=lambda of: of.name)
def test_more_cases_are_clean_than_fire(of: Rule) -> None:
    written = _file(of)
    firing = [case for case in written if case.fires]
    assert firing
    assert len(written) - len(firing) >= len(firing)
    assert len({case.name for case in written}) == len(written)


@pytest.mark.parametrize("of", RULES, ids=lambda of: of.name)
def test_its_own_example_fires(of: Rule) -> None:
    loaded, _ = notation.load(of.example)
    assert fired(case_of(loaded, "dispatch-legacy", taken_at=TAKEN_AT), of)


@pytest.mark.parametrize("of", RULES, ids=lambda of: of.name)
def test_findings_carry_what_the_page_shows(of: Rule) -> None:
    for written in _file(of):
        case = case_of(conversation(written), written.reader, taken_at=TAKEN_AT)
        for finding in findings(case, (of,)):
            assert (finding.code, finding.rule) == (of.code, of.name)
            assert finding.message.endswith(".")
            assert finding.total >= len(finding.seqs) > 0
            assert finding.key in {chunk.key for chunk in case.conversation.chunks}


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
