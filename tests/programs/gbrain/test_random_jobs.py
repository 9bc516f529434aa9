"""Jobs of every mixture: whatever is recommended can be written, every strategy writes what it previews or says why not, and no real result is lost in silence."""

import json
from collections import Counter
from random import Random
from typing import Any

import pytest

from inspector.conversation.edits import Plan, Safety
from inspector.conversation.model import Conversation, Kind
from inspector.planning.preview import NothingToDo, Preview, compose, digest, preview, safety_of
from inspector.planning.recommend import sequence
from inspector.programs.formats import Stored, WriteRefused, after
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.readers import VERSIONS
from inspector.programs.gbrain.tables import MESSAGES
from inspector.programs.relation_rows import record_of, relation_of, row_of
from inspector.rules.base import Severity, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import is_synthetic
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.text import jsonb
from tests.folding import in_one_test
from tests.programs.gbrain.conformance_rows import Block, Case, Run, call, records, result, text

SEEDS = range(60)
GOALS = ("ai-sdk-6", "ai-sdk-7", "anthropic-2026-07", "openai-chat")
NAMES = ("head", "body", "he ad", "na'me", "x" * 70)
IDS = ("a", "a", "a!", "", "$1'\\", "x" * 90, "oneshot-12345678-p1")
WORDS = ("go on", "", " ", "$$'\\\"; --\u202e\x01", '{"a":1}', "5", "tool failed", "[not")
OUTPUTS = (None, True, 10**25, 1.5, "", "ok", [1, {"h": None}], {"b": "$$"})
STRANGE: tuple[Any, ...] = (
    7,
    None,
    {},
    {"type": "text"},
    {"type": "mystery"},
    {"type": "tool_use"},
    {"type": "thinking", "thinking": "hm", "signature": "s"},
)
CONTENTS = ("plain words", "", "5", '"x"', {"no": "list"}, None)


def a_call(random: Random, id_: str, is_v1: bool) -> Block:
    name = random.choice(NAMES)
    return {"type": "tool_use", "id": id_, "name": name, "input": {"q": 1}} if is_v1 else call(id_, name, q=1)


def a_result(random: Random, id_: str, is_v1: bool) -> Block:
    output = random.choice(OUTPUTS)
    if is_v1:
        return {"type": "tool_result", "tool_use_id": id_, "content": output if isinstance(output, str) else json.dumps(output)}
    return result(id_, random.choice(NAMES), output, random.random() < 0.2)


def a_run(random: Random, index: int, place: int, block: Block) -> Run:
    status = random.choice(("complete", "complete", "failed", "pending"))
    ordinal = random.choice((place, place, place, None, place + 3))
    id_ = block.get("id", block.get("toolCallId")) if random.random() < 0.9 else random.choice(IDS)
    error = random.choice((None, "boom")) if status == "failed" else None
    return Run(index + random.choice((0,) * 12 + (1, 2)), ordinal, id_, random.choice(NAMES), status, random.choice(OUTPUTS), error)


def job(random: Random) -> Stored:
    messages: dict[int, tuple[str, Any]] = {0: ("user", [text(random.choice(WORDS))])}
    ledger: list[Run] = []
    path, is_gapped, is_strange, index = random.choice((True, False, None)), random.random() < 0.4, random.random() < 0.2, 1
    for _ in range(random.randrange(5)):
        is_v1 = random.random() < 0.5 if path is None else path
        ids = [random.choice(IDS) if random.random() < 0.4 else f"call_{index}_{place}" for place in range(random.randrange(4))]
        made = [a_call(random, id_, is_v1) for id_ in ids]
        ledger += [a_run(random, index, place, block) for place, block in enumerate(made) if random.random() < 0.85]
        around = [text(random.choice(WORDS)) for _ in range(random.randrange(2))]
        messages[index] = ("assistant", [*around, *(random.sample(STRANGE, 1) if is_strange else []), *made])
        if ids and not is_gapped and random.random() < 0.5:
            results: list[Any] = [a_result(random, id_, is_v1) for id_ in ids if random.random() < 0.8]
            results += random.choice(([], [], [], [text("and?")], [a_result(random, "foreign", is_v1)], results[:1]))
            random.shuffle(results)
            messages[index + 1] = ("user", results)
        elif random.random() < 0.2:
            messages[index + 1] = (random.choice(("user", "assistant")), [text(random.choice(WORDS))])
        index += 2
    places = {(run.index, run.ordinal): run for run in ledger if run.ordinal is not None}
    row = Case("", "", messages, (*places.values(), *(run for run in ledger if run.ordinal is None)))
    return spelled(random, row)


def spelled(random: Random, row: Case) -> Stored:
    """Some jobs have messages that were encoded twice, or that are no list."""
    relation, how, made = relation_of(GBRAIN.relations, f"{MESSAGES}:"), random.random(), []
    assert relation is not None
    for record in records(row):
        if record.key.startswith(MESSAGES) and random.random() < 0.5:
            columns = row_of(record.value)
            if how < 0.15:
                columns["content_blocks"] = jsonb.printed(columns["content_blocks"])
            elif how > 0.9:
                columns["content_blocks"] = jsonb.printed(random.choice(CONTENTS))
            record = record_of(relation, columns)
        made.append(record)
    (found,) = GBRAIN.read(made)
    return found


def real(conversation: Conversation) -> Counter[str]:
    """Whose words are JSON by what they say: a block that is written again has its members in the order of the server."""
    words = (chunk.text for chunk in conversation.chunks if chunk.kind is Kind.TOOL_RESULT and not is_synthetic(chunk))
    return Counter("".join(sorted(text_)) for text_ in words)


def tried(stored: Stored, reader: str, goal: str, *names: str) -> Preview | None:
    """None where there is nothing to do. Raises WriteRefused."""
    case, chosen = case_of(stored.conversation, reader, taken_at=0), [strategy(name) for name in names]
    plan = Plan("s", "1", "fill-rows", names, safety_of(chosen), digest(stored), compose(case, chosen))
    try:
        made = preview(case, stored, GBRAIN, plan, chosen, "ai-sdk", goal)
    except NothingToDo:
        return None
    changed = after(after(stored.records, made.changes), [change.reversed() for change in reversed(made.changes)])
    assert changed == sorted(stored.records, key=lambda record: record.key)
    assert Safety.LOSSY in plan.safety or not real(stored.conversation) - real(made.after.case.conversation), names
    errors = [Counter(found.code for found in side.findings if found.severity is Severity.ERROR) for side in (made.before, made.after)]
    assert all(any(code in warning for warning in made.warnings) for code in errors[1] - errors[0]), names
    return made


@pytest.mark.slow
@in_one_test("seed", SEEDS, most=15)
def test_every_strategy_alone(seed: int) -> None:
    stored = job(Random(seed))
    for version in VERSIONS:
        for each in STRATEGIES:
            try:
                made = tried(stored, version.name, "ai-sdk-6", each.name)
            except WriteRefused as refused:
                assert refused.reason.endswith(".") and "\n" not in refused.reason
                continue
            assert made is None or not compose(made.after.case, [each]), f"{each.name} finds something to do again"


@pytest.mark.slow
@in_one_test("seed", SEEDS, most=15)
def test_what_is_recommended_is_written_and_reaches_its_goal(seed: int) -> None:
    stored = job(Random(seed))
    for reader in ("gbrain-naive", "gbrain-head"):
        case = case_of(stored.conversation, reader, taken_at=0)
        for goal in GOALS:
            found = sequence(case, findings(case, RULES), goal, "ai-sdk")
            if found.candidate.strategies and not found.why_not:
                made = tried(stored, reader, goal, *(each.name for each in found.candidate.strategies))
                assert made is not None and made.after.judgement.sendable and not made.after.case.reading.failure
