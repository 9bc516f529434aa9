"""What every program must guarantee, checked with sample stores.

    @pytest.mark.django_db
    @pytest.mark.parametrize("check", kit.CHECKS, ids=lambda check: check.__name__)
    def test_scribe(check: kit.Check, tmp_path: Path) -> None:
        check(SAMPLE, tmp_path)

Every check writes the sample below the folder that it is given, and fails with an AssertionError that says what was not kept.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from django.test import override_settings

from inspector.actions.apply_repair import apply_repair
from inspector.actions.comparison import target_of
from inspector.actions.decide_repair import approve_repair
from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.conversation.edits import Edit, EditMismatch, Plan, Replace, Safety, stored_key
from inspector.conversation.model import Chunk, Kind
from inspector.models import Conversation, Repair, loading
from inspector.planning.preview import compose
from inspector.planning.recommend import composed
from inspector.planning.suggested import in_modes
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Change, Format, InFiles, Stored, WriteMode, WriteRefused
from inspector.programs.registry import program_of
from inspector.readers.catalogue import names, reader
from inspector.rules.base import case_of
from inspector.rules.synthetic_texts import is_synthetic
from inspector.sources import reading
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem
from inspector.sources.reading import NotRecognized
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.text.jsontext import compact

WHO = "kit"
# The database of a test ends with its process, and so does the key of its log: that of the data folder belongs to another database.
_own_log = partial(override_settings, INSPECTOR_AUDIT_KEY_FILE=None)
CUTS, LEAST_CUTS = 12, 3
"""Places at which a file is cut, and at which a byte is changed; of each of many files, at least the second number."""
_DAY = 24 * 60 * 60
SQLITE = b"SQLite format 3\0"
LONE_SURROGATE = rb"\ud800"
"""Half a character as JSON text escapes it: no UTF-8 has it, and models do write it."""


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
    """All content of the store, where it is not in files below the folder."""

    @property
    def write_modes(self) -> tuple[str, ...]:
        program = program_of(self.format)
        assert program is not None, f"no registered program has the format {self.format}"
        format_ = next(candidate for candidate in program.formats if candidate.name == self.format)
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
        _writes_only_edits(sample, store.format, stored, mode)


def gives_every_conversation_an_id(sample: Sample, folder: Path) -> None:
    """A copy of a session next to it is another conversation, or it is not read at all."""
    address = sample.make(_fresh(folder))
    if not isinstance(reading.read_store(place(address)).format, InFiles):
        return
    path = Path(address)
    session = path if path.is_file() else next(file for file in sorted(path.rglob("*")) if file.is_file())
    shutil.copyfile(session, session.with_name(f"copy-{session.name}"))
    with suppress(NotRecognized):
        store = reading.read_store(place(str(folder if path.is_file() else path)))
        ids = [stored.conversation.native_id for stored in store.conversations]
        assert len(set(ids)) == len(ids), f"two sessions have one id: {ids}"


@_own_log()
def is_repaired_without_a_last_line_feed(sample: Sample, folder: Path) -> None:
    """The last line of a file may lack its end: what a repair writes after it goes on a line of its own."""

    def make(where: Path) -> str:
        path = sample.make(where)
        for file in where.rglob("*"):
            if file.is_file() and (data := file.read_bytes()).endswith(b"\n") and not data.startswith(SQLITE):
                file.write_bytes(data.removesuffix(b"\n"))
        return path

    is_repaired_and_undone(replace(sample, make=make), folder)


def _writes_only_edits(sample: Sample, format_: Format, stored: Stored, mode: str) -> None:
    if _mode(format_, mode).alias != "fork":
        assert not _changes(sample, format_, stored, mode, ()), f"{mode} writes without an edit"
    case = case_of(stored.conversation, format_.default_reader)
    with suppress(EditMismatch):
        _changes(sample, format_, stored, mode, compose(case, [strategy(name) for name in sample.strategies]))


@_own_log()
def is_repaired_and_undone(sample: Sample, folder: Path) -> None:
    """In every mode: previewed, applied, verified, and taken back to the last byte."""
    for mode in sample.write_modes:
        path = sample.make(_fresh(folder))
        _at_rest(folder)
        before = _content(sample, folder, path)
        repair = _approved(sample, path, mode)
        apply_repair(repair, WHO, interactive=True)
        assert repair.state == Repair.State.VERIFIED, f"{mode}: {repair.outcome}"
        holds, sentence = verify_repair(repair)
        assert holds, f"{mode}: {sentence}"
        assert _content(sample, folder, path) != before, f"{mode}: nothing was written"
        written = _stored(sample, path, target_of(repair))
        edits_left = compose(case_of(written.conversation, repair.reader), [strategy(name) for name in sample.strategies])
        assert not edits_left, f"{mode}: the strategies find {len(edits_left)} edits in what they wrote"
        undo_repair(repair, WHO, interactive=True)
        assert _content(sample, folder, path) == before, f"{mode}: undo does not restore every byte"


@_own_log()
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
    """A file that is cut off or has wrong bytes is read as far as it goes, or refused in a sentence, and never changed without an edit."""
    path = sample.make(_fresh(folder))
    files = [entry for entry in sorted(folder.rglob("*")) if entry.is_file()]
    for file in files:
        whole = file.read_bytes()
        for damaged in _damaged(whole, max(CUTS // len(files), LEAST_CUTS)):
            file.write_bytes(damaged)
            try:
                store = reading.read_store(place(path), sample.format)
                for stored in store.conversations:
                    for name in names(store.format.name):
                        client = reader(name)
                        client.read(client.path(stored.conversation) if client.path else stored.conversation)
                    for mode in sample.write_modes:
                        _writes_only_edits(sample, store.format, stored, mode)
            except SourceProblem as problem:
                assert problem.sentence.count("\n") == 0, problem.sentence
        file.write_bytes(whole)


def loses_nothing_without_a_mark(sample: Sample, folder: Path) -> None:
    """Whatever strategy, in every mode: what it is not marked to lose or to change is read as before, and what could be opened can be."""
    stored = _stored(sample, sample.make(_fresh(folder)))
    format_ = format_named(sample.format)
    case = case_of(stored.conversation, format_.default_reader)
    for known in STRATEGIES:
        for used in composed(case, [known.name])[0]:
            changed = {stored_key(edit.old) for edit in known.edits(case) if isinstance(edit, Replace)}
            before = {_content_of(chunk) for message in case.messages for chunk in message.chunks if stored_key(chunk) not in changed}
            for mode, later in in_modes(case, stored, format_.default_projection, format_.default_profile, [known.name]):
                assert case.reading.failure or not later.reading.failure, f"{mode}: after {known.name} {later.reading.failure}"
                lost = before - {_content_of(chunk) for message in later.messages for chunk in message.chunks}
                assert Safety.LOSSY in used.safety or not any(lost), f"{mode}: {known.name} loses {sorted(lost)}"


def _content_of(chunk: Chunk) -> str:
    """The words of a chunk, or what it calls; "" of a placeholder, which a repair may take out."""
    if is_synthetic(chunk) or chunk.kind is not Kind.TOOL_CALL:
        return "" if is_synthetic(chunk) else chunk.text
    return f"{chunk.tool_name} {compact(chunk.payload.get('input'))}"


CHECKS: tuple[Check, ...] = (
    is_recognized,
    is_read_alike,
    gives_every_conversation_an_id,
    writes_nothing_without_edits,
    is_repaired_and_undone,
    is_repaired_without_a_last_line_feed,
    refuses_a_store_that_went_on,
    takes_damage,
    loses_nothing_without_a_mark,
)


def _stored(sample: Sample, path: str, native_id: str = "") -> Stored:
    named = native_id or sample.conversation
    return next(stored for stored in reading.read_store(place(path)).conversations if stored.conversation.native_id == named)


def _changes(sample: Sample, format_: Format, stored: Stored, mode: str, edits: Sequence[Edit]) -> Sequence[Change]:
    options = format_.options(mode, stored, "kit")
    plan = Plan("kit", stored.conversation.native_id, mode, sample.strategies if edits else (), frozenset(), "", tuple(edits), options)
    try:
        return format_.write(plan, stored)
    except WriteRefused:
        return ()


def _mode(format_: Format, name: str) -> WriteMode:
    return next(mode for mode in format_.modes if mode.name == name)


def _approved(sample: Sample, path: str, mode: str) -> Repair:
    import_targets([path], WHO)
    row = Conversation.objects.select_related("source").get(native_id=sample.conversation, source__path=path, is_gone=False)
    repair = propose_repair(row, request_for(row.source, loading.stored(row), sample.strategies, mode), WHO)
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    return repair


def _fresh(folder: Path) -> Path:
    # The next test's database gives the same row ids again.
    loading.forget()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _at_rest(folder: Path) -> None:
    """As a store that nobody wrote to for a day: of programs without locks, a file that was just written is left alone."""
    for file in folder.rglob("*"):
        written = file.stat().st_mtime - _DAY
        os.utime(file, (written, written))


def _content(sample: Sample, folder: Path, path: str) -> object:
    """The bytes of every file; of a SQLite database its rows, since a page may be written again without a change."""
    if sample.content is not None:
        return sample.content(path)
    contents: dict[str, object] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.endswith(("-wal", "-shm", "-journal")):
            data = file.read_bytes()
            contents[file.relative_to(folder).as_posix()] = _rows(file) if data.startswith(SQLITE) else data
    return contents


def _rows(file: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        connection.text_factory = bytes
        tables = [name.decode() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return [repr((table, row)) for table in tables for row in connection.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2')]  # noqa: S608


def _damaged(whole: bytes, cuts: int) -> Iterator[bytes]:
    for number in range(cuts):
        place = len(whole) * number // cuts
        yield whole[:place]
        yield whole[:place] + b"\xff" + whole[place + 1 :]
        yield whole[:place] + LONE_SURROGATE + whole[place + len(LONE_SURROGATE) :]
