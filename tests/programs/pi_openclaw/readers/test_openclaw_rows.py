"""Which rows OpenClaw 2026.9.6 reads: measured with its session manager, on rows put into a store of its own."""

from typing import Any

import pytest

from inspector.conversation.model import Reading
from inspector.programs.pi_openclaw.readers.openclaw_rows import is_time
from inspector.readers.catalogue import reader
from inspector.rules.base import case_of
from inspector.rules.catalogue import all_findings
from tests.programs.pi_openclaw.session_files import a, call, entry, header, lines, pi, r, text, u

U1, A1, R1 = u("u1", None, "list it"), a("a1", "u1", call("c1")), r("r1", "a1", "c1", "a.py")
A2, U2 = a("a2", "r1", text("one file"), stopReason="stop"), u("u2", "a2", "so?")
SUMMARY = {"summary": "they talked", "firstKeptEntryId": "u2", "tokensBefore": 9}


def reading_of(*values: Any, name: str = "openclaw-2026.9", version: int = 3) -> Reading:
    client = reader(name)
    assert client.path
    return client.read(client.path(pi(lines(header(version=version), *values))))


def said(*values: Any, name: str = "openclaw-2026.9", version: int = 3) -> list[str]:
    reading = reading_of(*values, name=name, version=version)
    return [reading.failure] if reading.failure else [message.chunks[0].text or message.chunks[0].call_id for message in reading.messages]


def with_message(row: dict[str, Any], **changed: Any) -> dict[str, Any]:
    message = {name: value for name, value in (row["message"] | changed).items() if value is not ...}
    return row | {"message": message}


@pytest.mark.parametrize("message", [None, False, "", "words", 5, [], ...])
def test_a_row_whose_message_is_no_object_is_left_out_and_nothing_throws(message: Any) -> None:
    """The builder of the context alone would throw at it; the manager hands it no such row."""
    bad = {name: value for name, value in (A2 | {"message": message}).items() if value is not ...}
    assert said(U1, A1, R1, bad, U2) == ["list it", "c1", "a.py", "so?"]


@pytest.mark.parametrize("content", [None, 5, {"a": 1}, [None], ["words"], [{"text": "words"}], [text("one file"), {"type": 5}], ...])
def test_content_that_is_neither_a_text_nor_a_list_of_blocks_costs_the_row(content: Any) -> None:
    assert said(U1, A1, R1, with_message(A2, content=content), U2) == ["list it", "c1", "a.py", "so?"]
    assert "reads no such row" in " ".join(each.why for each in reading_of(U1, A1, R1, with_message(A2, content=content), U2).dropped)


@pytest.mark.parametrize("content", ["one file", [], [{"type": "hologram"}], [text("one file"), {"type": "text"}]])
def test_a_block_of_an_unknown_type_does_not(content: Any) -> None:
    assert len(reading_of(U1, A1, R1, with_message(A2, content=content), U2).messages) == 5


@pytest.mark.parametrize(
    "changed",
    [
        {"toolCallId": ...},
        {"toolCallId": None},
        {"toolName": ...},
        {"isError": "false"},
        {"isError": ...},
        {"content": 5},
        {"content": ...},
    ],
)
def test_a_result_that_lacks_a_member_is_left_out_and_its_call_gets_a_synthetic_one(changed: dict[str, Any]) -> None:
    (_, _, made, *_) = said(U1, A1, with_message(R1, **changed), A2, U2)
    assert made.startswith("[openclaw] missing tool result")


@pytest.mark.parametrize(
    "changed", [{}, {"toolName": ""}, {"isError": True}, {"content": "a.py"}, {"content": {"type": "text", "text": "a.py"}}]
)
def test_a_result_with_all_members_is_read(changed: dict[str, Any]) -> None:
    """A text or an object for the content becomes a list where OpenClaw takes a file over."""
    assert not reading_of(U1, A1, with_message(R1, **changed), A2, U2).dropped


@pytest.mark.parametrize(
    "changed", [{"summary": None}, {"summary": 5}, {"tokensBefore": "9"}, {"firstKeptEntryId": ""}, {"timestamp": None}, {"timestamp": 5}]
)
def test_a_compaction_with_a_member_of_a_wrong_type_compacts_nothing(changed: dict[str, Any]) -> None:
    rows = (U1, A1, R1, A2, U2, entry("compaction", "k", "u2", **SUMMARY) | changed)
    assert said(*rows)[0] == "list it"
    assert "they talked" in said(*rows[:5], entry("compaction", "k", "u2", **SUMMARY))[0]


def test_a_compaction_keeps_from_a_row_on_that_is_left_out() -> None:
    cut = entry("compaction", "k", "u2", **SUMMARY | {"firstKeptEntryId": "a2"})
    assert said(U1, A1, R1, with_message(A2, content=None), U2, cut)[1:] == ["so?"]


@pytest.mark.parametrize("version", [1, 2])
def test_of_files_below_version_3_only_messages_are_looked_at(version: int) -> None:
    cut = entry("compaction", "k", "u2", summary="they talked", firstKeptEntryId="u2")
    assert "they talked" in said(U1, A1, R1, A2, U2, cut, version=version)[0]
    assert "so?" in said(U1, A1, R1, with_message(A2, content=None), U2, version=version) and said(U1, A1, R1, A2, U2, cut)[0] == "list it"


@pytest.mark.parametrize("name", ["openclaw-2026.7", "openclaw-2026.9"])
@pytest.mark.parametrize("time", ["2026-13-01T00:00:00.000Z", "yesterday", "", ...])
def test_a_time_of_a_summary_that_is_none_ends_the_build(time: Any, name: str) -> None:
    cut = {key: value for key, value in (entry("compaction", "k", "u2", **SUMMARY) | {"timestamp": time}).items() if value is not ...}
    assert said(U1, A1, R1, A2, U2, cut, name=name)[0].startswith(
        "Error: the compaction summary timestamp of the entry 'k' (seq 6) must be"
    )
    back = {
        key: value
        for key, value in (entry("branch_summary", "b", "u2", fromId="a2", summary="s") | {"timestamp": time}).items()
        if value is not ...
    }
    assert said(U1, A1, R1, A2, U2, back, name=name)[0].startswith("Error: the branch summary timestamp")
    note = {
        key: value
        for key, value in (entry("custom_message", "m", "u2", customType="x", content="n", display=True) | {"timestamp": time}).items()
        if value is not ...
    }
    assert said(U1, A1, R1, A2, U2, note, name=name)[0].startswith("Error: the custom message timestamp")


def test_a_time_that_nobody_asks_for_ends_nothing() -> None:
    """Of a message, of what a later compaction cut off, of a branch without a summary; and in releases that take any time."""
    bad = {"timestamp": "yesterday"}
    first, last = entry("compaction", "k", "u2", **SUMMARY), entry("compaction", "l", "k", **SUMMARY | {"firstKeptEntryId": "l"})
    assert "they talked" in said(U1, A1, R1, A2, U2, first | bad, last)[0]
    assert said(U1 | bad, A1, R1, A2 | bad, U2)[0] == "list it"
    assert said(U1, A1, R1, A2, U2, entry("branch_summary", "b", "u2", fromId="a2", summary="") | bad)[0] == "list it"
    assert "they talked" in said(U1, A1, R1, A2, U2, first | bad, name="openclaw-2026.1")[0]


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        *[(value, True) for value in ("2026-08-01T10:00:00.000Z", "2026-08-01", "2026-02-31T24:00:00Z", "Sat, 01 Aug 2026 10:00:00 GMT", "2026-08-01T10:00+02:00")],
        *[(value, False) for value in ("", "nope", "2026-13-01T00:00:00Z", "2026-08-32T00:00:00Z", "2026-08-01T25:00:00Z", None, 5, {})],
    ],
)  # fmt: skip
def test_what_javascript_takes_for_a_time(value: Any, is_one: bool) -> None:
    assert is_time(value) is is_one


def test_the_time_is_reported_with_its_place() -> None:
    tree = pi(lines(header(), U1, A1, R1, A2, U2, entry("compaction", "k", "u2", **SUMMARY) | {"timestamp": "yesterday"}))
    (found,) = [each for each in all_findings(case_of(tree, "openclaw-2026.9")) if each.code == "STORE508"]
    assert "OpenClaw throws an Error there" in found.message and not found.repaired_by
    assert not [each for each in all_findings(case_of(tree, "pi-1.5")) if each.code == "STORE508"]
