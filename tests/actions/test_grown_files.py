"""A file that changed: our database keeps what changed, every revision loads byte for byte, and each chunk is known by its row."""

from pathlib import Path

import pytest
from django.db.models import Sum

from inspector.actions.import_source import import_targets
from inspector.models import ChunkRow, Conversation, Payload, Record, Revision, SearchText, loading
from inspector.planning.preview import digest
from inspector.text.pieces import MOST
from tests.programs.pi_openclaw.session_files import a, call, header, lines, r, text, u

pytestmark = pytest.mark.django_db


def turn(number: int, words: str = "w" * 2000) -> bytes:
    """Four lines with five chunks."""
    before = f"r{number - 1}" if number else None
    return lines(
        u(f"u{number}", before, words),
        a(f"a{number}", f"u{number}", text(f"{words} {number}"), call(f"c{number}", path=f"file {number}")),
        r(f"r{number}", f"a{number}", f"c{number}", f"{words} done {number}"),
    )


SESSION = [lines(header()), *(turn(number) for number in range(100))]


def kept() -> int:
    return Payload.objects.aggregate(size=Sum("size"))["size"] or 0


def import_(folder: Path, data: bytes) -> Conversation:
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_bytes(data)
    import_targets([str(folder)], "tester")
    loading.forget()
    return Conversation.objects.select_related("source").get()


def check_rows(row: Conversation, number: int) -> None:
    """The rows of the revision say of its chunks what the chunks say, and their bytes are theirs."""
    chunks = loading.stored(row, number).conversation.chunks
    rows = list(ChunkRow.objects.filter(ChunkRow.at(number), conversation=row).order_by("position"))
    assert [(r.position, r.key, r.seq, r.msg_idx, r.chunk_idx, r.role, r.kind, r.at_time) for r in rows] == [
        (position, chunk.key, chunk.seq, chunk.msg_idx, chunk.chunk_idx, chunk.role, chunk.kind.value, chunk.at)
        for position, chunk in enumerate(chunks)
    ]
    payloads = {payload.digest: bytes(payload.data) for payload in Payload.objects.filter(digest__in={r.payload for r in rows})}
    assert [payloads[r.payload][r.start : r.start + r.size] for r in rows] == [chunk.raw for chunk in chunks]
    texts = SearchText.objects.filter(SearchText.at(number), conversation=row)
    assert sum(texts.values_list("count", flat=True)) == len(chunks)


def test_a_file_that_grew_by_ten_lines_costs_ten_lines(tmp_path: Path) -> None:
    old = b"".join(SESSION)
    row = import_(tmp_path / "s", old)
    bytes_before, rows, chunks, texts = kept(), Record.objects.count(), ChunkRow.objects.count(), SearchText.objects.count()
    assert bytes_before == len(old) and rows > 10
    more = b"".join(turn(number) for number in range(100, 103)) + lines(u("u103", "r102", "on"))
    row = import_(tmp_path / "s", old + more)
    assert kept() - bytes_before == len(more)
    assert (Record.objects.count() - rows, ChunkRow.objects.count() - chunks, SearchText.objects.count() - texts) == (1, 13, 1)
    for table in (Record, ChunkRow, SearchText):
        assert not table.objects.exclude(until=None).exists()
    assert [record.value.data for record in loading.stored(row, 1).records] == [old]
    assert [record.value.data for record in loading.stored(row, 2).records] == [old + more]
    check_rows(row, 1)
    check_rows(row, 2)


EDITS = {
    "a line in the middle is another": [*SESSION[:50], turn(49, "other"), *SESSION[51:]],
    "turns are inserted": [*SESSION[:10], lines(u("x1", "r8", "inserted")), *SESSION[10:]],
    "turns are removed": [*SESSION[:10], *SESSION[20:]],
    "the header is another": [lines(header(cwd="/elsewhere")), *SESSION[1:]],
    "two places changed": [*SESSION[:3], turn(2, "other"), *SESSION[4:90], turn(89, "another"), *SESSION[91:]],
}


@pytest.mark.parametrize("changed", EDITS.values(), ids=EDITS)
def test_an_edit_costs_the_pieces_around_it(tmp_path: Path, changed: list[bytes]) -> None:
    old, new = b"".join(SESSION), b"".join(changed)
    import_(tmp_path / "s", old)
    before = kept()
    row = import_(tmp_path / "s", new)
    assert kept() - before <= 6 * MOST
    for number, data in ((1, old), (2, new)):
        stored = loading.stored(row, number)
        assert [record.value.data for record in stored.records] == [data]
        assert digest(stored) == Revision.objects.get(conversation=row, number=number).digest
        check_rows(row, number)
    # And back again: nothing has to be kept for that.
    after = kept()
    row = import_(tmp_path / "s", old)
    assert kept() - after <= MOST and [record.value.data for record in loading.stored(row, 3).records] == [old]
    check_rows(row, 3)


SHAPES = {
    "a torn last line that was completed": [b"".join(SESSION[:20]) + turn(19)[:-40], b"".join(SESSION[:20]) + turn(19)],
    "CRLF": [b"".join(SESSION[:20]).replace(b"\n", b"\r\n"), b"".join(SESSION[:22]).replace(b"\n", b"\r\n")],
    "NUL and bytes that are no UTF-8": [SESSION[0] + b"\0\0\n\xff\xfe\n" + SESSION[1], SESSION[0] + b"\0\0\n\xff\n" + SESSION[1]],
    "without a last line end": [b"".join(SESSION[:5]).rstrip(), b"".join(SESSION[:6]).rstrip()],
    "a file that became empty but for its header": [b"".join(SESSION[:50]), SESSION[0]],
    "equal lines": [SESSION[0] + lines(u("1", None, "again")) * 500, SESSION[0] + lines(u("1", None, "again")) * 700],
}


@pytest.mark.parametrize("states", SHAPES.values(), ids=SHAPES)
def test_any_bytes_of_every_revision_come_back(tmp_path: Path, states: list[bytes]) -> None:
    for data in states:
        row = import_(tmp_path / "s", data)
    for number, data in enumerate(states, start=1):
        assert [record.value.data for record in loading.stored(row, number).records] == [data]
        assert digest(loading.stored(row, number)) == Revision.objects.get(conversation=row, number=number).digest
        check_rows(row, number)


def test_two_copies_of_a_session_are_kept_once(tmp_path: Path) -> None:
    data = b"".join(SESSION)
    import_(tmp_path / "s", data)
    before = kept()
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "b.jsonl").write_bytes(data)
    import_targets([str(tmp_path / "t")], "tester")
    assert kept() == before and Conversation.objects.count() == 2
