"""Damaged and hostile sessions: nothing raises, nothing is lost, and whatever is written reads back as planned."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from inspector.conversation.edits import Edit, Insert, Plan, Remove, Replace, apply
from inspector.conversation.model import Chunk, Kind
from inspector.demo.rollouts_incident import incident_files
from inspector.programs.formats import Cell, Record, WriteRefused, after
from inspector.programs.rollouts.alignment import aligned, ending
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.programs.rollouts.projection import convert
from inspector.programs.rollouts.readers import read
from tests.folding import in_one_test

WRONG: list[Any] = [None, 5, True, 1.5, "", [], {}, [None], [5], {"type": "text"}, {"type": ["a"]}, "\ud800", 10**30, {"type": "toolCall"}]
BYTES = (b"\n", b"\r\n", b"\xff", b"{", b'"', b"\x00", "\u2028".encode())


def mutated(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.03:
        return chance.choice(WRONG)
    if isinstance(value, dict):
        return {name: mutated(item, chance) for name, item in value.items() if chance.random() > 0.01}
    return [mutated(item, chance) for item in value] if isinstance(value, list) else value


def torn(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.choice(BYTES) + data[at:] if chance.random() < 0.5 else data[:at] + data[at + chance.randrange(200) :]
    return data


def hostile(seed: int) -> list[Record]:
    chance = random.Random(seed)
    found = []
    for key, data in sorted(incident_files().items()):
        parts = data.split(b"\n")[:-1] if key.endswith("jsonl") else [data]
        made = b"".join(json.dumps(mutated(json.loads(part), chance)).encode() + b"\n" for part in parts)
        found.append(Record(f".rollouts/{key}", Cell(torn(made, chance), "file")))
    return found


def edits(chunks: tuple[Chunk, ...], chance: random.Random) -> Iterator[Edit]:
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "t", "content": "made up", "isError": True}
    for chunk in chunks:
        if chance.random() < 0.2:
            yield Remove(chunk)
            continue
        if chunk.kind is Kind.TEXT and chance.random() < 0.2:
            yield Replace(chunk, replace(chunk, payload={**chunk.payload, "text": "new \u2028 \ud800"}))
        if chance.random() < 0.1:
            yield Insert(chunk.key, Chunk(f"new:{chunk.key}", 0, "tool", Kind.TOOL_RESULT, result, 90, 0))


@in_one_test("seed", range(40))
def test_a_hostile_store_is_read_judged_aligned_and_written(seed: int) -> None:
    records = hostile(seed)
    session, crash = ROLLOUTS.read(records)
    for found in (session.conversation, crash.conversation):
        assert len({chunk.key for chunk in found.chunks}) == len(found.chunks)
        convert(read(found).messages)
        ending(found, 5)
    aligned(session.conversation, crash.conversation)
    for mode in ("child", "same-file"):
        options = ROLLOUTS.options(mode, session, "fresh")
        made = tuple(edits(session.conversation.chunks, random.Random(seed)))
        plan = Plan("/x", session.conversation.native_id, mode, (), frozenset(), "base", made, options)
        try:
            changes = ROLLOUTS.write(plan, session)
        except WriteRefused as refused:
            assert refused.reason.endswith(".")
            continue
        written = [
            each.conversation
            for each in ROLLOUTS.read(after(session.records, changes))
            if each.conversation.native_id == ROLLOUTS.target(plan)
        ]
        wanted = apply(session.conversation, made).chunks
        assert [(chunk.role, chunk.kind, chunk.text) for chunk in written[0].chunks] == [
            (chunk.role, chunk.kind, chunk.text) for chunk in wanted
        ]
