"""What every program must keep, checked with sample stores.

    @pytest.mark.django_db
    @pytest.mark.parametrize("check", kit.CHECKS, ids=lambda check: check.__name__)
    def test_scribe(check: kit.Check, tmp_path: Path) -> None:
        check(SAMPLE, tmp_path)

Every check writes the sample below the folder that it is given, and fails with an AssertionError that says what was not kept.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.conversation.edits import Plan
from inspector.models import Conversation, Repair, loading
from inspector.programs.formats import Stored, WriteRefused
from inspector.programs.registry import program_of
from inspector.readers.catalogue import names, reader
from inspector.sources import reading
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem

WHO = "kit"
CUTS = 12
"""Places at which a file is cut, and at which a byte is changed."""
SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Sample:
    """`make` writes the store below a folder and returns the path, or the address, that a person would name. `conversation` is the native id of
    one that `strategies` repair. `went_on` does to the store what its program does when the conversation goes on."""

    format: str
    make: Callable[[Path], str]
    conversation: str
    strategies: tuple[str, ...]
    went_on: Callable[[str], None]
    modes: tuple[str, ...] = ()
    """Those that a repair is written in; () = every mode of the format."""
    content: Callable[[str], object] | None = None
    """All that the store holds, where it is not in files below the folder."""

    @property
    def write_modes(self) -> tuple[str, ...]:
        program = program_of(self.format)
        assert program is not None, f"no registered program has the format {self.format}"
        format_ = next(each for each in program.formats if each.name == self.format)
        return self.modes or tuple(mode.name for mode in format_.modes)


Check = Callable[[Sample, Path], None]


def is_recognized(sample: Sample, folder: Path) -> None:
    """By its content alone, and by this program alone."""
    store = reading.read_store(place(sample.make(_fresh(folder))))
    assert store.format.name == sample.format, f"read as {store.format.name}"
    assert sample.conversation in [stored.conversation.native_id for stored in store.conversations]


def is_read_alike(sample: Sample, folder: Path) -> None:
    """Twice the same, with a key of its own for every chunk, and by every reader that is offered."""
    path = sample.make(_fresh(folder))
    first, second = (_stored(sample, path) for _ in range(2))
    assert first == second, "a second reading differs from the first"
    keys = [chunk.key for chunk in first.conversation.chunks]
    assert len(set(keys)) == len(keys) > 0, "two chunks have one key, or there are none"
    offered = names(sample.format)
    assert offered, "no reader is offered"
    for name in offered:
        client = reader(name)
        path_of = client.path or (lambda conversation: conversation)
        assert client.read(path_of(first.conversation)).reader == name


def writes_nothing_without_edits(sample: Sample, folder: Path) -> None:
    """No change, or a refusal that says so."""
    path = sample.make(_fresh(folder))
    store, stored = reading.read_store(place(path)), _stored(sample, path)
    for mode in sample.write_modes:
        if next(each for each in store.format.modes if each.name == mode).alias == "fork":
            continue
        plan = Plan(path, sample.conversation, mode, (), frozenset(), "", (), store.format.options(mode, stored, "kit"))
        with suppress(WriteRefused):
            assert list(store.format.write(plan, stored)) == [], f"{mode} writes without an edit"


def is_repaired_and_undone(sample: Sample, folder: Path) -> None:
    """In every mode: previewed, applied, verified, and taken back to the last byte."""
    for mode in sample.write_modes:
        path = sample.make(_fresh(folder))
        before = _content(sample, folder, path)
        repair = _approved(sample, path, mode)
        apply_repair(repair, WHO, interactive=True)
        assert repair.state == Repair.State.VERIFIED, f"{mode}: {repair.outcome}"
        holds, sentence = verify_repair(repair)
        assert holds, f"{mode}: {sentence}"
        assert _content(sample, folder, path) != before, f"{mode}: nothing was written"
        undo_repair(repair, WHO, interactive=True)
        assert _content(sample, folder, path) == before, f"{mode}: undo does not restore every byte"


def refuses_a_store_that_went_on(sample: Sample, folder: Path) -> None:
    """Between the approval and the write, and between the write and its undo: what came since is never lost."""
    for mode in sample.write_modes:
        path = sample.make(_fresh(folder))
        repair = _approved(sample, path, mode)
        sample.went_on(path)
        since = _content(sample, folder, path)
        try:
            apply_repair(repair, WHO, interactive=True)
        except Refused:
            assert _content(sample, folder, path) == since, f"{mode}: a refused write changed the store"
        else:
            raise AssertionError(f"{mode}: applied to a store that went on since")


def takes_damage(sample: Sample, folder: Path) -> None:
    """A file that is cut off or has a wrong byte is read as far as it goes, or refused in a sentence."""
    path = sample.make(_fresh(folder))
    for file in [each for each in sorted(folder.rglob("*")) if each.is_file()]:
        whole = file.read_bytes()
        for damaged in _damaged(whole):
            file.write_bytes(damaged)
            try:
                store = reading.read_store(place(path), sample.format)
                for stored in store.conversations:
                    for name in names(store.format.name):
                        client = reader(name)
                        client.read(client.path(stored.conversation) if client.path else stored.conversation)
            except SourceProblem as problem:
                assert problem.sentence.count("\n") == 0, problem.sentence
        file.write_bytes(whole)


CHECKS: tuple[Check, ...] = (
    is_recognized,
    is_read_alike,
    writes_nothing_without_edits,
    is_repaired_and_undone,
    refuses_a_store_that_went_on,
    takes_damage,
)


def _stored(sample: Sample, path: str) -> Stored:
    return next(stored for stored in reading.read_store(place(path)).conversations if stored.conversation.native_id == sample.conversation)


def _approved(sample: Sample, path: str, mode: str) -> Repair:
    import_targets([path], WHO)
    row = Conversation.objects.select_related("source").get(native_id=sample.conversation, source__path=path, is_gone=False)
    repair = propose_repair(row, request_for(row.source, loading.stored(row), sample.strategies, mode), WHO)
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    return repair


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _content(sample: Sample, folder: Path, path: str) -> object:
    """The bytes of every file; of a SQLite database its rows, since a page may be written again without a change."""
    if sample.content is not None:
        return sample.content(path)
    found: dict[str, object] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.endswith(("-wal", "-shm", "-journal")):
            data = file.read_bytes()
            found[file.relative_to(folder).as_posix()] = _rows(file) if data.startswith(SQLITE) else data
    return found


def _rows(file: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        tables = [name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return [repr((table, row)) for table in tables for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2')]  # noqa: S608


def _damaged(whole: bytes) -> Iterator[bytes]:
    for number in range(CUTS):
        place = len(whole) * number // CUTS
        yield whole[:place]
        yield whole[:place] + b"\xff" + whole[place + 1 :]
