"""What reads bytes that others wrote, each as a function of bytes that raises nothing: stores of each program, captured streams, and what people paste.

An input of a store is the number of one of its files (its first byte) and the content of that file; the other files stay as they are.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from inspector.actions.planning import refuse_doubles
from inspector.actions.problems import Refused
from inspector.checking import NotAHistory, check_all
from inspector.conversation import notation
from inspector.conversation.edits import Plan
from inspector.demo.stream_incident import capture_files
from inspector.planning import preview
from inspector.planning.recommend import recommended
from inspector.presentation.explain.answer import recognized
from inspector.presentation.stream.report import analysed
from inspector.profiles.catalogue import PROFILES
from inspector.programs.formats import Format, Stored, WriteRefused
from inspector.readers.catalogue import names, reader
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.sources import reading
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem
from inspector.strategies.catalogue import strategy
from inspector.streams.captures import catalogue as captures
from inspector.streams.captures.base import NoCapture
from inspector.streams.correcting import CannotCorrect, correct
from inspector.streams.leaked_calls import Where, text_calls
from inspector.testing.kit import Sample
from tests.fuzz.addresses import ADDRESSES, ask
from tests.programs.gemini_cli.test_kit import SAMPLES as GEMINI_CLI
from tests.programs.opencode.test_opencode import SAMPLES as OPENCODE
from tests.streams import spoken
from tests.streams.call_syntax_cases import SPELLINGS
from tests.testing.test_own_programs import SAMPLES as OWN

MEMORY = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Target:
    """`seeds` are whole inputs; `run` raises AssertionError where a promise is broken, and nothing else where none is."""

    seeds: Callable[[], Sequence[bytes]]
    run: Callable[[bytes], None]
    opens_database: bool = False


# Stores ---------------------------------------------------------------------------------------------------------------------------


@cache
def _made(sample: Sample) -> tuple[str, list[Path]]:
    folder = Path(tempfile.mkdtemp(prefix="inspector-fuzz-", dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = sample.make(folder)
    return path, [entry for entry in sorted(folder.rglob("*")) if entry.is_file()]


def _seeds_of(sample: Sample) -> list[bytes]:
    return [bytes([number]) + file.read_bytes() for number, file in enumerate(_made(sample)[1])]


def _read_store(sample: Sample, data: bytes) -> None:
    path, files = _made(sample)
    file = files[data[0] % len(files)] if data else files[0]
    whole = file.read_bytes()
    file.write_bytes(data[1:])
    try:
        use_store(path)
    finally:
        file.write_bytes(whole)


def use_store(path: str) -> None:
    """Checks every conversation, reads it by every reader, and previews what is recommended and each strategy that a finding names, in every mode."""
    try:
        for _ in check_all(Path(path)):
            pass
        store = reading.read_store(place(path))
    except (SourceProblem, NotAHistory) as problem:
        assert "\n" not in str(problem).strip() and str(problem), repr(str(problem))
        return
    for stored in store.conversations:
        for name in names(store.format.name):
            client = reader(name)
            read = client.read(client.path(stored.conversation) if client.path else stored.conversation)
            assert read.reader == name
        # As every command and page does before it plans: no edit can name one of two records with one key.
        with suppress(Refused):
            refuse_doubles(stored)
            _preview(store.format, stored)


def _preview(format_: Format, stored: Stored) -> None:
    case = case_of(stored.conversation, names(format_.name)[0])
    reported = findings(case, RULES)
    offered = sorted({name for finding in reported for name in finding.repaired_by})
    for chosen in (recommended(case, reported), *((strategy(name),) for name in offered)):
        edits = preview.compose(case, chosen)
        for mode in format_.modes:
            options = format_.options(mode.name, stored, "fuzz")
            plan = Plan(
                "x",
                stored.conversation.native_id,
                mode.name,
                tuple(each.name for each in chosen),
                preview.safety_of(chosen),
                "",
                edits,
                options,
            )
            try:
                preview.preview(case, stored, format_, plan, chosen, "anthropic", "anthropic-2026-07")
            except preview.NothingToDo:
                continue
            except WriteRefused as refused:
                assert refused.reason.endswith((".", ".)", '."')), refused.reason


# Streams and texts ----------------------------------------------------------------------------------------------------------------


def _opened(data: bytes) -> Callable[[int], Iterator[bytes]]:
    def opened(offset: int = 0) -> Iterator[bytes]:
        yield data[offset:]

    return opened


def _read_capture(data: bytes) -> None:
    with suppress(NoCapture):
        for exchange in captures.exchanges(_opened(data), "x"):  # type: ignore[arg-type]
            assert analysed(exchange).verdict
            with suppress(CannotCorrect):
                correct(exchange)


def _capture_seeds() -> list[bytes]:
    return [
        *capture_files().values(),
        spoken.chat(spoken.text("Hi"), spoken.call(), spoken.finish("tool_calls")),
        spoken.messages(*spoken.SAID, *spoken.USED, spoken.reason("tool_use")),
        spoken.responses(*spoken.SPOKEN, *spoken.CALLED, spoken.completed(spoken.ITEM, spoken.FUNCTION)),
        spoken.ndjson(spoken.line("Hi"), spoken.line(tool_calls=[spoken.OLLAMA_CALL]), spoken.LAST),
    ]


def _read_text_calls(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for where in (Where(), Where("thinking", closed=True, after="answer", finish="stop")):
        for call in text_calls(text, None, where):
            assert 0 <= call.start <= call.end <= len(text)


def _explain(data: bytes) -> None:
    for candidate in recognized(data.decode("utf-8", "replace")):
        assert candidate.rule.id and candidate.profiles


def _error_texts() -> list[bytes]:
    return [rule.text.encode() for profile in PROFILES for rule in profile.rules]


def _read_notation(data: bytes) -> None:
    try:
        conversation, _ = notation.load(data.decode("utf-8", "replace"))
    except notation.NotationError as refused:
        assert str(refused).startswith("Line ")
        return
    text = notation.dump(conversation)
    assert notation.dump(notation.load(text)[0]) == text


NOTATION = (
    b"1 user 0.0 text hi",
    b'2 assistant 1.0 tool-call a name="ls" {"x": 1}\n3 tool 2.0 tool-result a "ok"',
    b"#! X\n4 - . error no",
)

TARGETS: dict[str, Target] = {
    **{
        f"store {name}": Target(lambda sample=sample: _seeds_of(sample), lambda data, sample=sample: _read_store(sample, data))  # type: ignore[misc]
        for name, sample in {
            **OWN,
            **{f"gemini-cli {name}": sample for name, sample in GEMINI_CLI.items()},
            **OPENCODE,
        }.items()
    },
    "capture": Target(_capture_seeds, _read_capture),
    "call syntax": Target(lambda: [spelling.text.encode() for spelling in SPELLINGS], _read_text_calls),
    "explain": Target(_error_texts, _explain),
    "notation": Target(lambda: NOTATION, _read_notation),
    "address": Target(lambda: [address.encode() for address in ADDRESSES], ask, opens_database=True),
}
