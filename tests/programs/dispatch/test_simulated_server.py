"""Simulated servers: what goes wrong is named by its rule, what is clean is not named, and a recommended repair brings back what was said."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pytest

from inspector.conversation.edits import Plan
from inspector.conversation.queries import true_messages
from inspector.planning.preview import Preview, compose, digest, preview, safety_of
from inspector.planning.recommend import recommended
from inspector.programs.dispatch.format import DISPATCH
from inspector.rules.base import Case, Severity, at_least, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES
from inspector.text.jsontext import compact
from tests.programs.dispatch.appended_stores import Said, tr, tx
from tests.programs.dispatch.previews import OPTIONS
from tests.programs.dispatch.simulated_server import Server, Spoken, before_a_user_message, eventful, quiet, spoken

COUNT = int(os.environ.get("INSPECTOR_SIMULATIONS", "30"))
FEW = 8
"""Histories that every run of the tests looks at, so that each kind of damage is made at several places."""
CODES = {rule.code for rule in RULES}
MERGES = {"MSG101", "MSG102", "MSG103", "MSG104"}
PAIRING = frozenset({"TOOL101", "TOOL102", "TOOL202"})
each_count = pytest.mark.parametrize("count", [FEW, pytest.param(COUNT, marks=pytest.mark.slow)])
Break = Callable[[Random], tuple[Server, Spoken]]


@dataclass(frozen=True)
class Damage:
    """`codes`: one of each set must be named; `may`: what else follows from it. `by` is the strategy that brings everything back ("" where none can)."""

    name: str
    codes: tuple[frozenset[str], ...]
    make: Break
    may: frozenset[str] = frozenset()
    by: str = ""
    mode: str = "same-rows"
    counter: bool = False


def named(case: Case, at: Severity = Severity.WARNING) -> set[str]:
    return {found.code for found in findings(case, RULES) if at_least(found.severity, at)}


def repaired(server: Server, case: Case, mode: str) -> Preview | None:
    chosen = recommended(case, findings(case, RULES))
    if not chosen:
        return None
    stored = server.store.stored()
    edits = compose(case, chosen)
    plan = Plan("source", "c1", mode, tuple(each.name for each in chosen), safety_of(chosen), digest(stored), edits, OPTIONS)
    return preview(case, stored, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat")


def rows(server: Server) -> list[str]:
    return sorted(key for key in server.store.values if key.startswith("conv:c1:chunk:"))


def holding(server: Server, kind: str) -> list[str]:
    return [key for key in rows(server) if json.loads(server.store.values[key])["chunk"]["type"] == kind]


def one(*codes: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset({code}) for code in codes)


def value(change: Callable[[Random, Server, dict[str, str]], None], era: str = "batch") -> Break:
    """Damage to the values of a clean store."""

    def make(random: Random) -> tuple[Server, Spoken]:
        server = quiet(random, era)
        before = spoken(server.conversation())
        change(random, server, server.store.values)
        return server, before

    return make


def counter(text: str | None) -> Break:
    def change(random: Random, server: Server, values: dict[str, str]) -> None:
        values.pop("conv:c1:seq")
        if text is not None:
            values["conv:c1:seq"] = text

    return value(change)


def lower(random: Random, server: Server, values: dict[str, str]) -> None:
    values["conv:c1:seq"] = str(random.randrange(1, len(rows(server))))


def overwrite(text: str, kind: str = "") -> Break:
    def change(random: Random, server: Server, values: dict[str, str]) -> None:
        values[random.choice(holding(server, kind) if kind else rows(server))] = text

    return value(change)


def delete(kind: str) -> Break:
    def change(random: Random, server: Server, values: dict[str, str]) -> None:
        del values[random.choice([key for key in holding(server, kind) if key not in (rows(server)[0], rows(server)[-1])])]

    return value(change)


def delete_step(random: Random, server: Server, values: dict[str, str]) -> None:
    """The messages of a step inside a turn, which metrics and trace still count."""
    server.turn(3)
    step = f"turn-{server.now}-{server.turns}#{random.randrange(2)}"
    for message in true_messages(server.conversation().chunks):
        if any(chunk.step_id == step for chunk in message.chunks):
            for chunk in message.chunks:
                del values[chunk.key]


def payload(kind: str, edit: Callable[[dict[str, object]], Mapping[str, object]]) -> Break:
    def change(random: Random, server: Server, values: dict[str, str]) -> None:
        key = random.choice(holding(server, kind))
        row = json.loads(values[key])
        values[key] = compact({**row, "chunk": {**row["chunk"], **edit(row["chunk"])}})

    return value(change)


def repeat_result(random: Random, server: Server, values: dict[str, str]) -> None:
    said = json.loads(values[random.choice(holding(server, "tool-result"))])["chunk"]
    server.append(*(Said("tool", (said,)) for _ in range(random.randint(10, 20))))


def repeat_call_id(random: Random, server: Server, values: dict[str, str]) -> None:
    call = {"type": "tool-call", "toolCallId": "twice", "toolName": "ls", "input": {}, "stepId": "turn-1782600000009-z#0"}
    server.append(
        Said("user", (tx("go"),)), Said("assistant", (call, {**call, "input": {"n": 2}})), Said("tool", (tr("twice", "one"),)), Said("tool", (tr("twice", "two"),)), Said("assistant", (tx("ok"),))
    )  # fmt: skip


def meta(random: Random, server: Server, values: dict[str, str]) -> None:
    del values["conv:c1:meta"]


def unlist(random: Random, server: Server, values: dict[str, str]) -> None:
    values["conv-index"] = '["other"]'


def active(random: Random, server: Server, values: dict[str, str]) -> None:
    values["conv:c1:meta"] = values["conv:c1:meta"].replace('"idle"', '"active"')


def neighbor(random: Random, server: Server, values: dict[str, str]) -> None:
    server.store.append(Said("user", (tx("somebody else"),)), to="C1")


def synthesized(random: Random, server: Server, values: dict[str, str]) -> None:
    key = random.choice(holding(server, "tool-result"))
    row = json.loads(values[key])
    text = "interrupted: tool execution did not complete"
    values[key] = compact({**row, "chunk": {**row["chunk"], "content": text, "isError": True}})


def steered(random: Random) -> tuple[Server, Spoken]:
    server = quiet(random, "batch")
    server.turn(2, steering=True)
    said = next(
        text
        for text in (
            block["text"]
            for body in server.bodies.values()
            for each in json.loads(body)["messages"]
            for block in each["chunks"]
            if block["type"] == "text"
        )
        if text.startswith("steered")
    )
    before = spoken(server.conversation())
    place = max(at for at, (role, blocks) in enumerate(before) if role == "tool" and blocks[0].get("stepId", "").endswith("#0"))
    return server, [*before[: place + 1], ("user", [tx(said)]), *before[place + 1 :]]


def legacy(random: Random) -> tuple[Server, Spoken]:
    server = quiet(random, "batch", 2)
    before = spoken(server.conversation())
    server.strand()
    server.era = "batch"
    server.turn(1)
    return server, before + spoken(server.conversation())


def merged(random: Random) -> tuple[Server, Spoken]:
    server = quiet(random, "incremental", random.randint(2, 4))
    return server, spoken(server.conversation())


def baked(random: Random) -> tuple[Server, Spoken]:
    """Compaction of a merged history: a summary, then what was read from a message on that holds several."""
    server = quiet(random, "incremental", random.randint(2, 4))
    before = spoken(server.conversation())
    server.compact(lambda read: random.choice([place for place, said in enumerate(read) if _is_merged(said)]), "dispatch-legacy")
    said = spoken(server.conversation())
    count = sum(len(blocks) for _, blocks in said[1:])
    while sum(len(blocks) for _, blocks in before) > count:
        before = before[1:]
    return server, [said[0], *before]


def _is_merged(said: Said) -> bool:
    asked = [block for block in said.blocks if str(block.get("text", "")).startswith("please")]
    return bool(asked) and len(said.blocks) > 1


def cut(random: Random) -> tuple[Server, Spoken]:
    server = quiet(random, "batch", random.randint(2, 4))
    before = spoken(server.conversation())
    tools = [place for place, (role, _) in enumerate(before) if role == "tool" and before[place - 1][0] == "assistant"]
    place = random.choice(tools)
    server.compact(lambda read: place, "exact")
    return server, [spoken(server.conversation())[0], *before[place - 1 :]]


def raced(random: Random) -> tuple[Server, Spoken]:
    """What was said while compaction ran: the fork that it made holds it, and the rows that it wrote do not."""
    server = quiet(random, "batch", 3)
    before = spoken(server.conversation())
    server.compact(before_a_user_message, "exact")
    server.turn(1)
    archive = json.loads(server.store.values["conv:c1:meta"])["compactedFrom"]
    server.store.append(Said("user", (tx("said meanwhile"),)), to=archive, now=server.now)
    return server, before


DAMAGES = (
    Damage("counter lost", one("STORE202"), counter(None), by="fix-counter", counter=True),
    Damage("counter is garbage", one("STORE202"), counter("NaN"), by="fix-counter", counter=True),
    Damage("counter too low", one("STORE201"), value(lower), by="fix-counter", counter=True),
    Damage("row deleted", one("STORE203"), delete("text"), PAIRING),
    Damage("row garbled", one("STORE101"), overwrite('{"chunk":{"ty'), PAIRING | {"TRACE301", "THINK101"}),
    Damage("row null", one("STORE102"), overwrite("null"), PAIRING | {"TRACE301", "THINK101"}),
    Damage("result deleted", (*one("STORE203"), frozenset({"TOOL101", "TOOL102"})), delete("tool-result"), PAIRING | {"TRACE301"}),
    Damage("call deleted", one("STORE203", "TOOL202"), delete("tool-call"), PAIRING | {"TRACE301", "THINK101"}),
    Damage("step deleted", one("STORE203", "TRACE301"), value(delete_step)),
    Damage("result repeated", one("TOOL206"), value(repeat_result), frozenset({"TOOL202"}), by="deduplicate-results"),
    Damage("call id repeated", one("TOOL205"), value(repeat_call_id), frozenset({"TOOL202"})),
    Damage("arguments garbled", one("TOOL301"), payload("tool-call", lambda chunk: {"input": '{"path": "/'})),
    Damage("result huge", one("TOOL501"), payload("tool-result", lambda chunk: {"content": "x" * 60_000})),
    Damage("result made up", one("TOOL401"), value(synthesized)),
    Damage("meta row gone", one("STORE304"), value(meta)),
    Damage("index entry gone", one("STORE304"), value(unlist)),
    Damage("status left active", one("STORE305"), value(active)),
    Damage("id that bleeds", one("STORE303"), value(neighbor)),
    Damage("steering lost", one("MSG302"), steered, by="insert-lost-steering"),
    Damage("whole messages legacy", one("STORE301"), legacy, by="convert-legacy-messages", mode="new-conversation"),
    Damage("merge baked in by compaction", one("MSG301"), baked, PAIRING | MERGES, by="realign-with-archive"),
    Damage("pair cut by compaction", one("TOOL204"), cut, PAIRING, by="restore-call-from-archive"),
    Damage("lost in compaction", one("STORE302"), raced),
)


@each_count
def test_what_happened_by_itself_is_named_and_nothing_else(count: int) -> None:
    seen: set[str] = set()
    for number in range(count):
        server = eventful(Random(number))
        case = server.case()
        found, wanted = named(case), server.happened & CODES
        seen |= server.happened
        consequences = {"TOOL202"} if "TOOL203" in server.happened else set()
        assert wanted <= named(case, Severity.NOTE), f"history {number}: not named"
        assert found <= wanted | consequences, (
            f"history {number}: {[each.message for each in findings(case, RULES) if each.code in found - wanted]}"
        )
    assert count < 50 or seen >= {"TOOL101", "TOOL102", "TOOL203", "MSG201", "MSG202", "THINK101"}


@each_count
def test_a_quiet_server_is_clean_to_every_reader_that_parts_its_messages(count: int) -> None:
    for number in range(count):
        for era, readers in (
            ("batch", ("dispatch-legacy", "dispatch-legacy+r1", "dispatch-legacy+r2", "exact")),
            ("incremental", ("exact", "dispatch-role-split")),
        ):
            server = quiet(Random(number), era)
            if era == "batch" and number % 2:
                server.compact(before_a_user_message, "dispatch-legacy")
            for name in readers:
                assert not named(server.case(name)), f"history {number}, {era}, {name}"


@each_count
def test_a_merge_is_named_exactly_where_neighbours_share_their_number_and_is_repaired(count: int) -> None:
    for number in range(count):
        random = Random(number)
        server = eventful(random) if number % 2 else quiet(random, random.choice(("batch", "incremental")))
        case = server.case("dispatch-legacy")
        messages = true_messages(case.conversation.chunks)
        is_merged = any(a.chunks[-1].msg_idx == b.chunks[0].msg_idx for a, b in pairwise(messages))
        assert bool(named(case) & MERGES) == is_merged, f"history {number}"
        if is_merged and not server.happened:
            result = repaired(server, case, "same-rows")
            assert result is not None and "renumber-messages" in result.plan.strategies
            assert [(each.role, [dict(chunk.payload) for chunk in each.chunks]) for each in result.after.case.reading.messages] == spoken(case.conversation), f"history {number}"  # fmt: skip


@each_count
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_damage_is_named(damage: Damage, count: int) -> None:
    wanted = frozenset().union(*damage.codes)
    if missing := wanted - CODES:
        pytest.skip(f"{', '.join(sorted(missing))} is not in the catalogue yet")
    for number in range(count):
        server, _ = damage.make(Random(number))
        case = server.case()
        found, all_found = named(case), named(case, Severity.NOTE)
        for codes in damage.codes:
            assert codes & all_found, f"history {number}: {sorted(codes)} not named, only {sorted(all_found)}"
        extra = found - wanted - damage.may
        assert not extra, f"history {number}: {[each.message for each in findings(case, RULES) if each.code in extra]}"


@each_count
@pytest.mark.parametrize("damage", [each for each in DAMAGES if each.by], ids=lambda damage: damage.name)
def test_what_still_exists_is_brought_back(damage: Damage, count: int) -> None:
    if damage.by not in {strategy.name for strategy in STRATEGIES}:
        pytest.skip(f"{damage.by} is not in the catalogue yet")
    if missing := frozenset().union(*damage.codes) - CODES:
        pytest.skip(f"{', '.join(sorted(missing))} is not in the catalogue yet")
    for number in range(count):
        server, before = damage.make(Random(number))
        result = repaired(server, server.case(), damage.mode)
        assert result is not None, f"history {number}: nothing is recommended"
        after = result.after.case.conversation
        assert spoken(after) == before, f"history {number}, {result.plan.strategies}"
        if damage.counter:
            assert after.fact("counter") == str(len(after.chunks))
        assert not named(result.after.case) & frozenset().union(*damage.codes), (
            f"history {number}: still named after {result.plan.strategies}"
        )
