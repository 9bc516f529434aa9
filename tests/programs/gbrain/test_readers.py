"""What each replay of gbrain makes of the 15 rows of its conformance table: messages, counters, what it would run, and what the SDK says of it.

U user, A assistant with the ids of its calls, R results: `a=VALUE`, `a!TEXT` an error, `a=?` one that only a run of the tool could give.
"""

from dataclasses import replace

import pytest

from inspector.conversation import notation
from inspector.conversation.model import Chunk, Conversation, Kind, Message, Reading
from inspector.profiles.judging import judged
from inspector.programs.gbrain.encoding import output_of
from inspector.programs.gbrain.readers import (
    FORMATS,
    READERS,
    RECOVERED,
    VERSIONS,
    GbrainVersion,
    Replay,
    by_message,
    counters,
    paired,
    rows,
    runs_of,
)
from inspector.readers.catalogue import clients, names, reader
from inspector.text.jsontext import compact
from tests.folding import in_one_test
from tests.programs.gbrain.conformance_rows import ROWS, Case, conversation, missing

TABLE = """
1 naive   U A(a b)
1 pr1934  U A(a b) R(a={"h":3} b={"b":1})
1 head    U A(a b) R(a={"h":3} b={"b":1}) | next 3
2 naive   U A(a b)
2 pr1934  U A(a b) R(a!boom b!tool result unavailable on replay)
2 head    U A(a b) R(a!boom b=?) | next 3, runs body
3 naive   U A(a)
3 pr1934  U A(a) R(a!tool failed)
3 head    U A(a) R(a!tool failed) | next 3
4 naive   U A(a)
4 pr1934  U A(a) R(a!tool result unavailable on replay)
4 head    U A(a) R(a=?) | next 3, runs head
5 naive   U A(a)
5 pr1934  U A(a) R(a=null)
5 head    U A(a) R(a=null) | next 3
6 naive   U A
6 pr1934  U A
6 head    U A | terminal
7 naive   U A(a)
7 pr1934  U A(a) R(a!tool result unavailable on replay)
7 head    U A(a) R(a=?) | next 3, runs head
8 naive   U A(t1) R(t1="{\\"h\\":3}") | next 3
8 pr1934  U A(t1) R(t1={"h":3}) R(t1="{\\"h\\":3}") | next 3
8 head    U A(t1) R(t1="{\\"h\\":3}") | next 3
9 naive   U A(a a)
9 pr1934  U A(a a) R(a="second" a="second")
9 head    U A(a a) R(a="first" a="second") | next 3
10 naive  U A(a) A(c) | next 3, turn 2, collides
10 pr1934 U A(a) R(a={"h":3}) A(c) R(c={"b":1}) | next 3, turn 2, collides
10 head   U A(a) R(a={"h":3}) A(c) R(c={"b":1}) | next 5, turn 2
11 naive  U A(a) R(a={"h":3}) A | next 4, turn 2
11 pr1934 U A(a) R(a={"h":3}) R(a={"h":3}) A | next 4, turn 2
11 head   U A(a) R(a={"h":3}) A | next 4, turn 2, terminal
12 naive  U A(a)
12 pr1934 U A(a) R(a!tool result unavailable on replay)
12 head   U A(a) R(a=?) | next 3, runs nosuch
13 naive  U A(a) U R(a={"h":3}) | next 4
13 pr1934 U A(a) R(a!tool result unavailable on replay) U R(a={"h":3}) | next 4
13 head   U A(a) R(a=?) U R(a={"h":3}) | next 4, runs head
14 naive  U A(a) R(z=1) | next 3
14 pr1934 U A(a) R(a!tool result unavailable on replay) R(z=1) | next 3
14 head   U A(a) R(z=1 a!tool result unavailable (recovered after interrupted run)) | next 3
15 naive  U A(a)
15 pr1934 U A(a) R(a={"at":"2026-06-07T10:00:00.000Z"})
15 head   U A(a) R(a={"at":"2026-06-07T10:00:00.000Z"}) | next 3
"""
LINES = [line.split(maxsplit=2) for line in TABLE.strip().split("\n")]
SENT_TWICE = {
    "8": ["gbrain-pr1934"],
    "11": ["gbrain-pr1934"],
    "13": ["gbrain-pr1934", "gbrain-head"],
    "14": ["gbrain-pr1934", "gbrain-head"],
}
"""Rows that the SDK lets pass and Anthropic refuses, by the reader that makes them so."""


def spelled(chunk: Chunk) -> str:
    if chunk.key.startswith("would-run:"):
        return f"{chunk.call_id}=?"
    return f"{chunk.call_id}!{chunk.text}" if chunk.is_error else f"{chunk.call_id}={compact(output_of(chunk))}"


def shape(message: Message) -> str:
    told = {Kind.TOOL_CALL: lambda chunk: chunk.call_id, Kind.TOOL_RESULT: spelled}
    held = [told[chunk.kind](chunk) for chunk in message.chunks if chunk.kind in told]
    return {"user": "U", "assistant": "A", "tool": "R"}[message.role] + (f"({' '.join(held)})" if held else "")


def counted(reading: Reading) -> str:
    """What differs from the usual: the next index after two rows, one turn, a free index."""
    report = reading.report
    assert report["initialMessages"] is False
    return ", ".join(
        [f"next {report['nextMessageIdx']}"] * (report["nextMessageIdx"] != 2)
        + [f"turn {report['nextTurnIdx']}"] * (report["nextTurnIdx"] != 1)
        + [f"runs {name}" for name in report["wouldRun"]]
        + ["collides"] * bool(report["collides"])
        + ["terminal"] * report["terminal"]
    )


def refusals(found: Conversation, name: str, profile: str) -> list[str]:
    return [violation.text for violation in judged(reader(name).read(found), found, profile, "ai-sdk")[1].violations]


def noted(text: str) -> Conversation:
    return replace(notation.load(text)[0], format="gbrain")


def test_each_row_has_a_line_for_each_reader() -> None:
    assert [(number, f"gbrain-{name}") for number, name, _ in LINES] == [(row.number, of.name) for row in ROWS for of in READERS]


@in_one_test(("number", "name", "wanted"), LINES, ids=lambda value: value[:9])
def test_what_a_reader_makes_of_a_row(number: str, name: str, wanted: str) -> None:
    reading = reader(f"gbrain-{name}").read(conversation(number))
    said = counted(reading)
    assert " ".join(map(shape, reading.messages)) + (f" | {said}" if said else "") == wanted


@in_one_test("profile", ["ai-sdk-6", "ai-sdk-7"])
@in_one_test("row", ROWS, ids=lambda row: row.number)
def test_the_sdk_says_of_the_naive_map_what_it_said_when_it_was_run(row: Case, profile: str) -> None:
    assert refusals(conversation(row.number), "gbrain-naive", profile) == ([row.refusal] if row.refusal else [])


@pytest.mark.parametrize("profile", ["ai-sdk-6", "ai-sdk-7"])
@pytest.mark.parametrize("name", ["gbrain-pr1934", "gbrain-head"])
def test_the_sdk_takes_every_row_that_was_healed(name: str, profile: str) -> None:
    assert {row.number: said for row in ROWS if (said := refusals(conversation(row.number), name, profile))} == {}


@pytest.mark.parametrize("number", SENT_TWICE)
def test_what_the_sdk_lets_pass_and_a_provider_refuses(number: str) -> None:
    found = conversation(number)
    assert [of.name for of in READERS if refusals(found, of.name, "anthropic-2026-07")][-len(SENT_TWICE[number]) :] == SENT_TWICE[number]
    assert all(not refusals(found, name, "ai-sdk-6") for name in SENT_TWICE[number])


def test_a_single_missing_result_and_several_are_said_in_the_words_of_the_sdk() -> None:
    assert missing("a") == "Tool result is missing for tool call a."
    assert refusals(conversation("9"), "gbrain-naive", "ai-sdk-6") == [missing("a")]
    assert refusals(conversation("10"), "gbrain-naive", "ai-sdk-6") == [missing("a", "c")]


@pytest.mark.parametrize(
    ("number", "wanted"), [("13", f'U A(a) R(a!{RECOVERED}) U R(a={{"h":3}})'), ("14", f"U A(a) R(z=1 a!{RECOVERED})")]
)
def test_the_border_of_a_request_puts_a_stub_in_and_leaves_the_late_or_foreign_result(number: str, wanted: str) -> None:
    """`repairToolPairing` alone, as the table has it of these two rows: whoever reaches it has not come through the ledger."""
    assert " ".join(map(shape, paired(rows(conversation(number), Replay())))) == wanted


def test_a_collision_says_what_is_lost_and_whose_output_would_be_given() -> None:
    said = reader("gbrain-pr1934").read(conversation("10")).report["collides"]
    assert (
        said
        == "index 3 is taken: the next turn would be lost (ON CONFLICT DO NOTHING), and its first call would be answered with the stored output of 'body'"
    )


@pytest.mark.parametrize(
    "run", ["@execution 3.- c body complete output=1", "@execution 3.1 c body complete output=1", "@execution 3.0 c body pending", ""]
)
def test_only_a_complete_run_of_the_first_place_would_be_given(run: str) -> None:
    found = noted(f"{run}\n1 user 0.0 text go\n2 assistant 1.0 tool-call a head {{}}\n3 assistant 3.0 tool-call c body {{}}")
    assert reader("gbrain-naive").read(found).report["collides"] == "index 3 is taken: the next turn would be lost (ON CONFLICT DO NOTHING)"


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_a_job_without_rows_begins_with_its_prompt_at_index_0(version: GbrainVersion) -> None:
    found = counters(version, noted(""))
    assert found == {"nextMessageIdx": 1, "nextTurnIdx": 0, "initialMessages": True, "collides": ""}


def test_head_says_what_it_would_run_and_under_which_condition() -> None:
    (of_none,) = reader("gbrain-head").read(conversation("12")).warnings
    assert of_none == (
        "head would run the tool 'nosuch' (seq 2) if it is registered, since no execution of the call is noted; "
        "if it is not, the model reads that the tool is not available"
    )
    (pending,) = reader("gbrain-head").read(conversation("4")).warnings
    assert pending == (
        "head would run the tool 'head' (seq 2) again if it is registered and idempotent, since its execution is pending; "
        "where it is not idempotent the job ends with an error, and if it is not, the model reads that the tool is not available"
    )


def test_runs_are_found_by_place_then_by_id_then_by_an_older_place() -> None:
    found = noted(
        "@execution 1.- old c complete output=3\n@execution 1.- z other complete output=4\n@execution 1.- z d complete output=5\n"
        "@execution 1.0 a a complete output=1\n@execution 1.7 b b complete output=2\n"
        "1 assistant 1.0 tool-call a a {}\n2 assistant 1.1 tool-call b b {}\n3 assistant 1.2 tool-call x d {}\n4 assistant 1.3 tool-call y c {}"
    )
    pairs = runs_of(Message("assistant", found.chunks), by_message(found.ledger)[1])
    assert [None if run is None else run.output for _, run in pairs] == [1, 2, 5, None]


def test_of_two_rows_with_one_id_the_later_counts_and_an_id_that_repeats_counts_for_none() -> None:
    found = noted("@execution 1.- a h failed\n@execution 1.- a h complete output=2\n1 assistant 1.0 tool-call a h {}")
    assert [run and run.status for _, run in runs_of(Message("assistant", found.chunks), found.ledger)] == ["complete"]
    twice = noted('@execution 1.5 a h complete output=2\n1 assistant 1.0 tool-call a h {}\n2 assistant 1.1 tool-call a h {"n":2}')
    assert [run for _, run in runs_of(Message("assistant", twice.chunks), twice.ledger)] == [None, None]


def test_head_keeps_an_index_that_words_have_and_sends_its_results_all_the_same() -> None:
    found = noted("@execution 1.0 a h complete output=1\n1 user 0.0 text go\n2 assistant 1.0 tool-call a h {}\n3 user 2.0 text and?")
    reading = reader("gbrain-head").read(found)
    assert " ".join(map(shape, reading.messages)) == "U A(a) R(a=1) U"
    assert reading.report["nextMessageIdx"] == 3


def test_what_the_shim_and_the_conversion_leave_out_is_listed() -> None:
    found = noted(
        '1 user 0.0 text go\n2 assistant 1.0 thinking hm\n3 assistant 1.1 tool-call a h {}\n4 tool 2.0 tool-result a f\n5 user 2.1 text "Be brief."\n'
        '6 user 3.0 control payload={"type":"control","empty":"[]"}'
    )
    for of in READERS:
        reading = of.read(found)
        assert [dropped.seqs for dropped in reading.dropped] == [(2,), (5,)]
        assert [shape(message) for message in reading.grouped] == ["U", "A(a)", 'R(a="f")', "U"]
        assert reading.grouped[2].chunks[0].tool_name == "__legacy__"


def test_words_that_gbrain_would_parse_as_json_end_the_job_when_it_is_loaded() -> None:
    found = noted('1 user 0.0 text payload={"type":"text","text":"go on","stored":{"encoding":"bare"}}')
    for of in READERS:
        reading = of.read(found)
        assert not reading.messages
        assert reading.failure == "the content of the message at index 0 (seq 1) is plain words, which gbrain parses as JSON"


def test_an_answer_that_says_nothing_is_not_taken_for_the_end() -> None:
    for text, ends in (("done", True), ('" "', False)):
        found = noted(f"1 user 0.0 text go\n2 assistant 1.0 text {text}")
        assert [of.read(found).report["terminal"] for of in READERS] == [False, False, ends]


def test_readers_are_offered_for_rows_of_a_server_and_for_an_export() -> None:
    for format_name in FORMATS:
        assert names(format_name) == ["gbrain-naive", "gbrain-pr1934", "gbrain-head"]
        assert clients(format_name) == ["gbrain-naive", "gbrain-head"]
