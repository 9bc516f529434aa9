"""The stores of the benchmark: as large as asked, the same every time, and of rows that read well."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

from bench import inputs, plain
from inspector.conversation.model import Kind
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.sources.reading import Store, read
from inspector.text import jsontext

KINDS = {Kind.TEXT, Kind.THINKING, Kind.TOOL_CALL, Kind.TOOL_RESULT}


def test_a_dispatch_db_has_as_many_conversations_and_chunks_as_asked() -> None:
    rows = list(inputs.rows(7, 500))
    assert sum(":chunk:" in key for _, key, _ in rows) == 500
    assert sum(key.endswith(":meta") for _, key, _ in rows) == 7


def test_a_dispatch_db_is_the_same_on_every_run() -> None:
    assert list(inputs.rows(3, 100)) == list(inputs.rows(3, 100))


def test_its_rows_are_readable_and_of_all_common_kinds() -> None:
    records = [Record(key, Cell(jsontext.encode(value))) for _, key, value in inputs.rows(3, 300)]
    chunks = [chunk for stored in DISPATCH.read(records) for chunk in stored.conversation.chunks]
    assert {chunk.kind for chunk in chunks} == KINDS
    assert all(chunk.step_id and chunk.at for chunk in chunks if chunk.kind is Kind.TOOL_CALL)


def test_sessions_are_those_of_both_programs_with_as_many_chunks_as_asked(tmp_path: Path) -> None:
    paths = inputs.fleet(tmp_path, 40, (300,), 3)
    assert [path.parent.name for path in paths] == ["pi", "sessions", "pi", "sessions"]
    contents = [read(path) for path in paths]
    assert [content.format.name for content in contents if isinstance(content, Store)] == ["pi", "openclaw", "pi", "openclaw"]
    assert [len(chunks_of(path)) for path in paths] == [40, 40, 40, 300]
    assert {chunk.kind for chunk in chunks_of(paths[3])} == KINDS


def test_sessions_of_claude_code_are_read_whole_and_damaged_nowhere(tmp_path: Path) -> None:
    paths = inputs.claude_fleet(tmp_path, 40, (300,), 2)
    store = read(paths[0].parent)
    assert isinstance(store, Store) and store.format.name == "claude-code"
    assert sorted(len(stored.conversation.chunks) for stored in store.conversations) == [40, 40, 300]
    cases = [case_of(stored.conversation, store.format.default_reader) for stored in store.conversations]
    assert {chunk.kind for case in cases for chunk in case.conversation.chunks} == KINDS
    assert sum(len(case.conversation.chunks) for case in cases) == 380, "a resume reaches every line"
    assert {finding.code for case in cases for finding in findings(case, RULES)} <= {"THINK401", "TOOL101"}, (
        "but for the last turn, which is cut"
    )


def test_the_plain_loop_reads_as_many_chunks_of_either_shape(tmp_path: Path) -> None:
    for name, files in (("pi", inputs.fleet(tmp_path, 40, (), 2)), ("claude", inputs.claude_fleet(tmp_path, 40, (), 2))):
        address = str(tmp_path / f"{name}.sqlite3")
        plain.parsed_and_inserted(files, address)
        with closing(sqlite3.connect(address)) as own:
            assert own.execute("SELECT count(*), count(DISTINCT conversation) FROM chunks").fetchone() == (80, 2)


def test_a_lost_result_and_words_are_where_they_are_asked_for(tmp_path: Path) -> None:
    whole = inputs.session(tmp_path / "a.jsonl", 300, 5).read_text().splitlines()
    lost = inputs.session(tmp_path / "b.jsonl", 300, 5, loses=True, needles={2: "a needle"}).read_text().splitlines()
    assert len(lost) == len(whole) - 1 and "a needle" in lost[3] and "a needle" not in "".join(whole)
    results = [json.loads(line)["message"]["toolCallId"] for line in whole if "toolResult" in line]
    assert results[inputs.LOST - 1] not in "".join(line for line in lost if "toolResult" in line)


def test_a_file_grows_by_a_new_turn_after_its_last_entry(tmp_path: Path) -> None:
    path = inputs.session(tmp_path / "a.jsonl", 100, 5)
    before = path.read_bytes()
    new = inputs.grown(path, 10)
    assert path.stat().st_size == len(before) + new and path.read_bytes().startswith(before)
    assert len(chunks_of(path)) == 110


def test_chunks_are_cut_where_they_are_enough() -> None:
    assert len(list(inputs.chunks(Random(1), 17))) == 17


def chunks_of(path: Path) -> list[object]:
    content = read(path)
    assert isinstance(content, Store)
    return [chunk for stored in content.conversations for chunk in stored.conversation.chunks]
