"""Nothing that stands in a session file makes a reader raise, hang or slow down: any parents, any ids, any types, and very long chains."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.conversation.model import Conversation, Reading
from inspector.readers.catalogue import names, reader
from tests.programs.pi_openclaw.shapes import HEADER, chain, entry, message, say, stored

CLIENTS = names("pi")
MANY = 10_000
SECONDS = 5

ids = st.sampled_from(["a", "b", "c", "d", "", " ", "a.0", "line:1", "zz"])
values = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 2), st.floats(allow_nan=False), ids, st.just([]), st.just({"content": "x"}), st.just(["x"])
)
any_id = st.one_of(ids, ids, ids, values)
types = st.one_of(
    st.sampled_from(
        ["message", "message", "message", "compaction", "reset", "context_edit", "branch_summary", "custom_message", "leaf", "label", "x"]
    ),
    values,
)
tokens = st.sampled_from(["U", "S", "A('t')", "A(a)", "A(a b)", "A(a a)^error", "R(a=ok)", "R(b=SYN)", "R(-=x)", "R(a:call_id=x)"])
bodies = st.one_of(
    tokens.map(message),
    tokens.map(message),
    st.fixed_dictionaries({"role": values, "content": values, "stopReason": values}),
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["assistant", "toolResult", "user", "bashExecution", "custom"]),
            "content": st.one_of(
                values, st.lists(st.fixed_dictionaries({"type": values, "id": values, "name": values, "text": values}), max_size=2)
            ),
            "toolCallId": values,
            "isError": values,
        }
    ),
    values,
)
entries = st.fixed_dictionaries(
    {"type": types},
    optional={
        "id": any_id,
        "parentId": any_id,
        "timestamp": values,
        "message": bodies,
        "targetId": any_id,
        "appendParentId": any_id,
        "appendMode": st.one_of(st.just("side"), values),
        "firstKeptEntryId": any_id,
        "summary": values,
        "replacement": values,
        "fromId": values,
        "content": values,
        "systemMessage": values,
        "provider": values,
        "modelId": values,
    },
)
lines = st.one_of(entries, entries, entries, entries, st.sampled_from([b"{", b"5", b"null", b"", b"\0\0", b'{"id":"a"}{"id":"b"}', b"[]"]))


def reading_of(name: str, tree: Conversation) -> Reading:
    client = reader(name)
    assert client.path
    return client.read(client.path(tree))


@pytest.mark.slow
@given(st.lists(lines, max_size=10), st.sampled_from([HEADER, HEADER, None, {"type": "session", "id": "x"}]), st.one_of(st.none(), ids))
@settings(max_examples=400, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_no_reader_raises_and_each_says_what_it_leaves_out(held: list[Any], header: Any, leaf: str | None) -> None:
    tree = stored(held, header=header, leaf=leaf)
    for name in CLIENTS:
        client = reader(name)
        assert client.path
        path = client.path(tree)
        reading = client.read(path)
        assert bool(reading.failure) <= (reading.messages == ())
        assert {chunk.key for chunk in path.chunks} <= {chunk.key for chunk in tree.chunks}
        known = {chunk.seq for chunk in path.chunks}
        assert all(set(message.seqs) <= known for message in reading.messages)
        assert all(each.why for each in reading.dropped)
        sent = {seq for message in reading.messages for seq in message.seqs}
        left_out = {seq for each in reading.dropped for seq in each.seqs}
        if reading.grouped and not reading.failure:
            assert {seq for message in reading.grouped for seq in message.seqs} <= sent | left_out, name


def long_chain(shape: str, many: int = MANY) -> list[dict[str, Any]]:
    turn = [entry_["message"] for entry_ in chain(shape)]
    return [entry(f"e{at}", f"e{at - 1}" if at else None, message=turn[at % len(turn)]) for at in range(many)]


LONG = {
    "turns": lambda: long_chain("U A(c1) R(c1=ok) A('done')"),
    "calls without results": lambda: long_chain("U A(c1) A(c2)"),
    "results without calls": lambda: long_chain("R(c1=ok) R(-=x)"),
    "one call and its results permanently": lambda: [say("e0", None, "A(c1)"), *long_chain("R(c1=SYN) R(c1=ok)")[1:]],
    "one id for all calls, then all results": lambda: [
        entry(f"e{at}", f"e{at - 1}" if at else None, message=message("A(c1)" if at < MANY / 2 else "R(c1=ok)")) for at in range(MANY)
    ],
    "leaf rows that name leaf rows": lambda: [
        say("e0", None),
        *(entry(f"e{at}", f"e{at - 1}", type="leaf", targetId=f"e{at - 1}") for at in range(1, MANY // 2)),
        *(say(f"f{at}", f"e{MANY // 2 - 1}") for at in range(MANY // 2)),
    ],
    "a cycle": lambda: [say("e0", f"e{MANY - 1}"), *long_chain("U")[1:]],
    "compactions": lambda: [
        say("e0", None),
        *(entry(f"e{at}", f"e{at - 1}", type="compaction", summary="s", firstKeptEntryId="e0") for at in range(1, MANY)),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", LONG)
def test_the_time_grows_with_the_entries_whatever_they_are(case: str) -> None:
    tree = stored(LONG[case]())
    for name in CLIENTS:
        began = time.process_time()
        reading_of(name, tree)
        assert time.process_time() - began < SECONDS, name


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_entries_is_read() -> None:
    tree = stored(long_chain("U A(c1) R(c1=ok) A('done')", 100_000))
    for name in ("pi-1.5", "openclaw-2026.9"):
        assert len(reading_of(name, tree).messages) == 100_000


def test_the_file_is_not_changed_by_reading_it() -> None:
    held = chain("U A(c1) U")
    before = json.dumps(held)
    tree = stored(held)
    chunks = tree.chunks
    for name in CLIENTS:
        reading_of(name, tree)
    assert json.dumps(held) == before
    assert tree.chunks == chunks
