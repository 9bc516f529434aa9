"""What to change in the code of a proxy or server, for each row of the table, wherever a finding is shown."""

from pathlib import Path

import pytest

from inspector.demo.stream_incident import LEAKED, PREMATURE, capture_files
from inspector.presentation.catalogue.entries import stream_rules
from inspector.presentation.markdown import stream_md
from inspector.presentation.stream.report import analysed, stream_report
from inspector.rules.base import Severity
from inspector.streams.fixed_in_code import FIXED_IN_CODE
from inspector.streams.model import How
from inspector.streams.violations import ALL_STREAM_RULES, STREAM_RULES, StreamRule
from tests.commands.running import run
from tests.folding import in_one_test

from .golden.cases import CASES as GOLDEN
from .spoken import ROLE, exchange, finish, sse, text


@in_one_test("row", [row for row in STREAM_RULES if row.severity is not Severity.NOTE], ids=lambda row: row.name)
def test_every_error_and_warning_says_what_to_change(row: StreamRule) -> None:
    assert row.fixed_in_code.endswith(".") and row.fixed_in_code[0].isupper()


def test_no_sentence_is_for_a_row_that_is_not_there() -> None:
    assert set(FIXED_IN_CODE) <= {rule.name for rule in ALL_STREAM_RULES}


def test_the_catalogue_and_the_command_say_it() -> None:
    (row,) = (each for each in stream_rules() if each["code"] == "STREAM101")
    assert row["fixed_in_code"].startswith("Write the client's terminal when the backend's own has been read")
    assert all("fixed_in_code" in each for each in stream_rules())


@pytest.mark.django_db
class TestCommands:
    def test_rules_and_scan(self, tmp_path: Path) -> None:
        (tmp_path / "x.capture.jsonl").write_bytes(capture_files()[f"{PREMATURE}.capture.jsonl"])

        assert "In code: Write the client's terminal when" in run("rules", "STREAM101").out
        scanned = run("scan", tmp_path / "x.capture.jsonl")
        assert "      in code: Write the client's terminal when the backend's own has been read" in scanned.out
        (stream,) = run("scan", tmp_path / "x.capture.jsonl", "--json").json["streams"]
        found = {each["code"]: each["fixed_in_code"] for each in stream["findings"]}
        assert found["STREAM101"].startswith("Write the client's terminal")

    def test_a_call_written_as_text_is_one_finding_with_the_advice_for_streams(self, tmp_path: Path) -> None:
        (tmp_path / "x.capture.jsonl").write_bytes(capture_files()[f"{LEAKED}.capture.jsonl"])
        (stream,) = run("scan", tmp_path / "x.capture.jsonl", "--json").json["streams"]

        (found,) = stream["findings"]
        assert found["code"] == "STREAM126" and found["fixed_in_code"].startswith("End the reasoning")


def test_what_is_only_noted_asks_for_no_change() -> None:
    (found,) = analysed(exchange(sse(ROLE, text("Hi"), finish()), how=How.EOF)).findings

    assert (found.rule, found.severity, found.fixed_in_code) == ("missing-terminal", Severity.NOTE, "")


def test_a_text_for_an_issue_says_it_once_for_each_rule() -> None:
    case = next(each for each in GOLDEN if each.name == "older O-O")
    report = stream_report("x", analysed(case.exchange()))
    md = stream_md(report, (), {})

    assert md.count("STREAM101 in code: ") == 1 and "does not end an answer" in md
