"""The store of the benchmark: as large as asked, the same every time, and of rows that read well."""

from bench.generate import rows
from inspector.conversation.model import Kind
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.formats import Cell, Record
from inspector.text import jsontext


def test_it_has_as_many_conversations_and_chunks_as_asked() -> None:
    made = list(rows(7, 500))
    assert sum(":chunk:" in key for _, key, _ in made) == 500
    assert sum(key.endswith(":meta") for _, key, _ in made) == 7


def test_it_is_the_same_on_every_run() -> None:
    assert list(rows(3, 100)) == list(rows(3, 100))


def test_its_rows_are_readable_and_of_all_common_kinds() -> None:
    records = [Record(key, Cell(jsontext.encode(value))) for _, key, value in rows(3, 300)]
    chunks = [chunk for stored in DISPATCH.read(records) for chunk in stored.conversation.chunks]
    assert {chunk.kind for chunk in chunks} == {Kind.TEXT, Kind.THINKING, Kind.TOOL_CALL, Kind.TOOL_RESULT}
    assert all(chunk.step_id and chunk.at for chunk in chunks if chunk.kind is Kind.TOOL_CALL)
