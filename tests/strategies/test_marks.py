"""What repairs are marked by holds in the bytes that they write: without a mark nothing that was read is lost, and nobody's words are added."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from inspector.conversation.edits import Safety
from inspector.conversation.model import Chunk, Kind
from inspector.planning.recommend import composed
from inspector.planning.suggested import in_modes
from inspector.programs.catalogue import format_named
from inspector.programs.formats import FILE, Cell, Record, Stored
from inspector.rules.base import Case, case_of
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.text.jsontext import compact
from tests.programs.claude_code import session_lines
from tests.programs.claude_code.families import FAMILIES
from tests.programs.codex import threads
from tests.programs.codex.writing_threads import case as thread_case
from tests.programs.pi_openclaw.session_files import header, lines
from tests.programs.pi_openclaw.shapes import chain
from tests.programs.pi_openclaw.strategies.repaired_trees import TABLE, of_shape

TALK = (threads.user("q1"), threads.assistant("a1"), threads.item(threads.said("developer", "Be brief.")), threads.user("q2"))

WORD = re.compile(r"\w+")
MADE_A_CALL = ("promote-leaked-call", "promote-guessed-call")
"""What they take out of a text is in the call that they make of it."""


def sessions(format_name: str) -> dict[str, bytes]:
    match format_name:
        case "claude-code":
            return {name: session_lines.lines(*family.lines) for name, family in FAMILIES.items()}
        case "codex":
            more = (threads.compacted("what happened", threads.said("user", "q1")), *TALK, threads.user("q3"), threads.rolled_back(1))
            return {"a talk": threads.thread(*TALK), "a talk after a compaction": threads.thread(*TALK, *more, *TALK)}
    return {name: lines(header(), *chain(shape)) for name, (shape, _) in TABLE.items()}


def damaged(data: bytes, random: Random) -> bytes:
    """A line less, twice, in another place, or torn."""
    rows = data.splitlines(keepends=True)
    one, other = random.randrange(1, len(rows)), random.randrange(1, len(rows))
    match random.choice(("lost", "twice", "elsewhere", "torn")):
        case "lost":
            del rows[one]
        case "twice":
            rows.insert(other, rows[one])
        case "elsewhere":
            rows.insert(other, rows.pop(one))
        case "torn":
            rows[one] = rows[one][: len(rows[one]) // 2] + b"\n"
    return b"".join(rows)


def stored(data: bytes, format_name: str) -> Iterator[Stored]:
    key = threads.NAME if format_name == "codex" else "0e6bd2a4-0000-4000-8000-000000000001.jsonl"
    yield from format_named(format_name).read([Record(key, Cell(data, FILE))])


def repaired(case: Case, of: Stored) -> Iterator[tuple[Strategy, Case]]:
    """Each strategy that changes something, as it is marked in the case, and what it leaves once it is written, in every mode that can."""
    format_ = format_named(case.conversation.format)
    for each in STRATEGIES:
        for used in composed(case, [each.name])[0]:
            for _, later in in_modes(case, of, format_.default_projection, format_.default_profile, [each.name]):
                yield used, later


def read(case: Case) -> Counter[tuple[Kind, str]]:
    """What the reader takes: calls by their tool and input, whose ids a repair may change, and results without placeholders."""
    chunks = [chunk for message in case.messages for chunk in message.chunks if not is_synthetic(chunk)]
    return Counter((chunk.kind, called(chunk) if chunk.kind is Kind.TOOL_CALL else chunk.text) for chunk in chunks)


def called(chunk: Chunk) -> str:
    return f"{chunk.tool_name} {compact(chunk.payload.get('input'))}"


@pytest.mark.parametrize("format_name", ["pi", "openclaw", "claude-code", "codex"])
def test_what_is_written_without_a_mark_keeps_all_that_was_read_and_adds_no_words(format_name: str) -> None:
    """Of whole sessions and of four damaged ones each, in every mode. One repair led messages off the path, and others into what a compaction leaves out."""
    random, repairs = Random(7), 0
    for title, data in sessions(format_name).items():
        for content in (data, *(damaged(data, random) for _ in range(4))):
            known = set(WORD.findall(content.decode("utf-8", "replace")))
            for of in stored(content, format_name):
                case = case_of(of.conversation, format_named(format_name).default_reader)
                before = read(case)
                for used, later in repaired(case, of):
                    repairs += 1
                    after, what = read(later), f"{used.name}: {title}"
                    assert not later.reading.failure or case.reading.failure, what
                    if Safety.LOSSY not in used.safety and used.name not in MADE_A_CALL:
                        assert not [key for key in before - after if key[1]], what
                    if Safety.INVENTED not in used.safety:
                        assert set(WORD.findall(" ".join(text for _, text in set(after) - set(before)))) <= known, what
    assert repairs > 20


def test_a_call_that_is_read_no_more_is_lost_although_another_is_read() -> None:
    """A call has no words: another call was taken for the same one."""
    rows = (
        threads.user("q0"),
        threads.call("c1"),
        threads.output("c1"),
        threads.user("q1"),
        threads.call("c2", arguments='{"a":1}'),
        threads.output("c2"),
    )
    case = thread_case(threads.thread(*rows))
    first, second = (chunk for chunk in case.conversation.chunks if chunk.kind is Kind.TOOL_CALL)
    without = case.with_conversation(replace(case.conversation, chunks=tuple(each for each in case.conversation.chunks if each != first)))
    here = strategy("move-results").of(case, without)
    assert (
        here.safety == {Safety.LOSSY}
        and here.cost.endswith(f"loses 1 chunk here, seq {first.seq}.")
        and second in without.conversation.chunks
    )


def test_what_moves_to_where_nothing_is_read_is_lost() -> None:
    """An instruction from after a compaction, moved to the front, is in no request any more."""
    compaction = threads.compacted("what happened", threads.said("user", "q1"))
    (front,), _ = composed(thread_case(threads.thread(*TALK)), ["system-first"])
    assert front.safety == frozenset() == strategy("system-first").safety
    (hidden,), _ = composed(thread_case(threads.thread(threads.user("q0"), compaction, *TALK)), ["system-first"])
    assert hidden.safety == {Safety.LOSSY} and "What codex reads loses 1 chunk here, seq " in hidden.cost


@pytest.mark.parametrize("name", ["rename-repeated-ids", "shorten-ids"])
def test_which_of_two_calls_of_one_id_came_back_is_a_guess(name: str) -> None:
    (guessed,), _ = composed(of_shape("U A(c1 c1) R(c1=one) U"), [name])
    assert guessed.safety == {Safety.INVENTED} and "nothing stored says so" in guessed.cost
    for certain in ("U A(c1 c1) R(c1=one) R(c1=two) U", "U A(c1) R(c1=one) U A(c1) U"):
        (renamed,), _ = composed(of_shape(certain), [name])
        assert renamed.safety == frozenset()
