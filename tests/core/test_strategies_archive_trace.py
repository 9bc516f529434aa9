"""Strategies that need more than the rows: an archive, a trace, rows of an older generation. And those that drop what is left over."""

import json
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from typing import Any

import pytest

from inspector.conversation.edits import Plan, apply
from inspector.conversation.model import Conversation
from inspector.conversation.queries import true_messages
from inspector.planning import preview as previews
from inspector.planning.preview import NothingToDo, Preview
from inspector.planning.recommend import sequence
from inspector.presentation.explain.advice import advised, observed, remedies, repaired_by
from inspector.presentation.explain.answer import explained_in, recognized
from inspector.programs.dispatch.format import DISPATCH, chunk_key
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.programs.dispatch.rules import abort_placeholder, baked_merge, legacy_messages, lost_steering, pair_cut_by_compaction
from inspector.programs.formats import Stored, WriteRefused, after
from inspector.rules import orphaned_tool_result, unanswered_call, unanswered_tail_call
from inspector.rules.base import Rule, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.text import jsontext
from inspector.text.jsontext import compact
from inspector.traces.log_record import record_of
from inspector.traces.model import Trace
from inspector.traces.tree import build
from tests.core.append import A, Said, Store, T, U, appended, sy, tc, th, tr, tx
from tests.core.building import OPTIONS, read, shown, spelled

TURN = "turn-1782600000000-abc"
STEP = f"{TURN}#0"
MODES = ("same-rows", "new-conversation")


@dataclass(frozen=True)
class Incident:
    """A store whose conversation `c1` is broken, what else is known of it, what repairs it, and the rule that says so."""

    store: Store
    repaired_by: str
    rule: Rule
    archive: str | None = None
    trace: Trace | None = None
    modes: tuple[str, ...] = MODES

    def stored(self) -> Stored:
        return self.store.stored()

    def preview(self, mode: str, *names: str, stored: Stored | None = None) -> Preview:
        of = stored or self.stored()
        chosen = [strategy(name) for name in names or (self.repaired_by,)]
        known = self.store.conversation(self.archive) if self.archive else None
        case = case_of(of.conversation, "dispatch-legacy", self.trace, archive=known)
        edits = previews.compose(case, chosen)
        native_id = of.conversation.native_id
        plan = Plan("source", native_id, mode, names, previews.safety_of(chosen), previews.digest(of), edits, OPTIONS)
        return previews.preview(case, of, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat")

    def repaired(self, mode: str = "same-rows", *names: str) -> Conversation:
        return self.preview(mode, *names).after.case.conversation


def compacted(store: Store, keep: int, *later: tuple[Said, ...]) -> Store:
    """As the program compacts: the rows move to an archive, and a summary and the last `keep` messages, as load() has them, are appended."""
    kept = [Said(message.role, tuple(dict(chunk.payload) for chunk in message.chunks)) for message in read(store.conversation()).messages]
    made = Store({key.replace("conv:c1:", "conv:archive:"): value for key, value in store.values.items()})
    made.append(Said("system", (sy("summary"),)), *kept[-keep:])
    for messages in later:
        made.append(*messages)
    made.values["conv:c1:meta"] = compact({**json.loads(made.values["conv:c1:meta"]), "compactedFrom": "archive"})
    return made


def trace_of(*steps: dict[str, Any]) -> Trace:
    """One step each: `prompt` and `request` are lists of messages, `tools` the closes of tool spans."""
    records: list[dict[str, Any]] = []

    def opened(span: str, name: str, parent: str, **more: Any) -> None:
        head = {"kind": "span-open", "spanId": span, "name": name, "parentSpanId": parent, "timestamp": len(records), "extensionId": "x"}
        records.append({**head, "conversationId": "c1", "turnId": TURN, **more})

    for number, step in enumerate(steps):
        opened(f"s{number}", "step", "")
        if "prompt" in step:
            body = json.dumps({"messages": step["prompt"], "tools": []})
            opened(f"p{number}", "prompt", f"s{number}", body=body, attributes={"messageCount": len(step["prompt"])})
        if "request" in step:
            opened(f"r{number}", "provider.request", f"s{number}", body=json.dumps({"model": "m", "messages": step["request"]}))
        for call_id, error in step.get("tools", {}).items():
            opened(f"t{call_id}", "tool-call", f"s{number}", attributes={"name": "ls", "toolCallId": call_id})
            records.append({**records[-1], "kind": "span-close", "durationMs": 1, "status": "ok", "attributes": {"isError": error}})
    read = [record_of(fields, str(order), order, fields.get("body"), pytest.fail) for order, fields in enumerate(records)]
    return build("c1", read, lambda name: name.encode("utf-8", "surrogatepass"))


def believed(*messages: Said) -> list[dict[str, Any]]:
    return [{"role": message.role, "chunks": list(message.blocks)} for message in messages]


HISTORY = (U("hello"), A(th("greets"), "hi there"), U("read files"), A(th("asks"), "which?"))
ASKED = A("let me see", tc("a", step=STEP), tc("b", step=STEP))
FOUND_A, FOUND_B = T(tr("a", "found a", step=STEP)), T(tr("b", "found b", step=STEP))
STEERED = U("only the tests")


def baked() -> Incident:
    store = compacted(appended(*([message] for message in HISTORY)), 3, (U("go on"),), (A("ok"),))
    return Incident(store, "realign-with-archive", baked_merge.RULE, archive="archive")


def cut(keep: int = 2, input: Any = None) -> Incident:
    asked = A("let me see", tc("a", input=input, step=STEP), tc("b", step=STEP))
    store = compacted(appended([U("go"), asked, FOUND_A, FOUND_B, A("both are there")]), keep)
    return Incident(store, "restore-call-from-archive", pair_cut_by_compaction.RULE, archive="archive")


def lost_result(trace: Trace | None = None) -> Incident:
    known = trace or trace_of({"prompt": believed(U("go"))}, {"prompt": believed(U("go"), ASKED, FOUND_A, FOUND_B)})
    store = appended([U("go")], [ASKED, FOUND_A], [U("and?")], [A("there")])
    return Incident(store, "recover-result-from-trace", unanswered_call.RULE, trace=known)


def lost_tail() -> Incident:
    return replace(lost_result(), store=appended([U("go")], [ASKED, FOUND_A]), rule=unanswered_tail_call.RULE)


def steered() -> Incident:
    store = appended([U("go")], [ASKED, FOUND_A, FOUND_B], [A("only tests then")], [U("thanks")])
    trace = trace_of({"prompt": believed(U("go"))}, {"prompt": believed(U("go"), ASKED, FOUND_A, FOUND_B, STEERED)})
    return Incident(store, "insert-lost-steering", lost_steering.RULE, trace=trace)


def stranded(*more: str) -> Incident:
    old = [{"role": "user", "chunks": [tx("hello")]}, {"role": "assistant", "chunks": [th("greets"), tx("hi there")]}]
    values = {f"conv:c1:msg:{number:010d}": text for number, text in enumerate([*map(compact, old), *more])}
    store = Store({**values, "conv:c1:seq": str(len(values))}).append(U("are you there?")).append(A("who?"))
    return Incident(store, "convert-legacy-messages", legacy_messages.RULE, modes=("new-conversation",))


def aborted() -> Incident:
    results = (T(tr("a", "Aborted", error=True)), T(tr("b", "Aborted", error=True)))
    return Incident(appended([U("go")], [A("let me see"), *results], [U("and?")]), "drop-abort-placeholders", abort_placeholder.RULE)


def orphaned() -> Incident:
    store = appended([U("go"), A("let me see")], [T(tr("gone", "found")), A("there")])
    return Incident(store, "drop-orphaned-results", orphaned_tool_result.RULE)


INCIDENTS = {made.__name__: made() for made in (baked, cut, lost_result, lost_tail, steered, stranded, aborted, orphaned)}


def choices(name: str) -> list[tuple[str, ...]]:
    """The strategy alone, with each other one, all of them, and some in between."""
    every = [each.name for each in STRATEGIES if each.name not in ("convert-legacy-messages", "rename-in-fork") or each.name == name]
    random = Random(name)
    some = [tuple(each for each in every if each == name or random.random() < 0.5) for _ in range(4)]
    pairs = [pair for pair in combinations(every, 2) if name in pair]
    return [(name,), *pairs, tuple(every), *some]


WAYS = [
    pytest.param(incident, mode, names, id=f"{key}-{mode}-{number}")
    for key, incident in INCIDENTS.items()
    for mode in incident.modes
    for number, names in enumerate(choices(incident.repaired_by))
]


@pytest.mark.parametrize(("incident", "mode", "names"), WAYS)
def test_the_laws_of_every_repair_hold(incident: Incident, mode: str, names: tuple[str, ...]) -> None:
    preview, before = incident.preview(mode, *names), incident.store.records()
    planned, result = apply(incident.stored().conversation, preview.plan.edits), preview.after.case.conversation
    assert [(chunk.role, chunk.payload, chunk.msg_idx) for chunk in result.chunks] == [
        (chunk.role, chunk.payload, chunk.msg_idx) for chunk in planned.chunks
    ]
    assert [len(message.chunks) for message in true_messages(result.chunks)] == [
        len(message.chunks) for message in true_messages(planned.chunks)
    ]
    there = {record.key: record.value for record in before}
    assert all(change.before == there.get(change.key) for change in preview.changes if not change.element)
    done = after(before, preview.changes)
    assert done != before
    assert after(done, [change.reversed() for change in preview.changes]) == before
    assert not findings(preview.after.case, (incident.rule,))
    written = next(found for found in DISPATCH.read(done) if found.conversation.native_id == result.native_id)
    with pytest.raises(NothingToDo):
        incident.preview(mode, *names, stored=written)


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_each_incident_is_found_by_the_rule_that_names_its_strategy(incident: Incident) -> None:
    assert incident.repaired_by in incident.rule.repaired_by
    archive = incident.store.conversation(incident.archive) if incident.archive else None
    assert findings(case_of(incident.store.conversation(), "exact", incident.trace, archive=archive), (incident.rule,))


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_what_is_not_there_is_not_guessed(incident: Incident) -> None:
    if incident.archive or incident.trace:
        with pytest.raises(NothingToDo):
            replace(incident, archive=None, trace=None).preview("same-rows")


def of(conversation: Conversation) -> str:
    return spelled(true_messages(conversation.chunks))


@pytest.mark.parametrize("mode", MODES)
def test_a_baked_merge_gets_its_roles_and_boundaries_back_and_every_reader_agrees(mode: str) -> None:
    incident = baked()
    assert of(incident.stored().conversation) == "S1 U[2-7] U8 A9"
    repaired = incident.repaired(mode)
    assert of(repaired) == "S1 U2 A[3-4] U5 A[6-7] U8 A9"
    assert [chunk.seq - (chunk.chunk_idx or 0) for chunk in repaired.chunks] == [1, 2, 3, 3, 5, 6, 6, 8, 9]
    for reader in ("dispatch-legacy", "dispatch-role-split", "exact"):
        assert shown(read(repaired, reader).grouped) == shown(true_messages(repaired.chunks))


def test_realigning_leaves_the_bytes_of_every_chunk() -> None:
    for change in baked().preview("same-rows").changes:
        assert change.before is not None and change.after is not None
        old, new = (jsontext.decode(cell.data) for cell in (change.before, change.after))
        assert old[slice(*jsontext.members(old)["chunk"])] == new[slice(*jsontext.members(new)["chunk"])]


def test_a_row_that_the_archive_does_not_hold_keeps_its_role_inside_a_baked_message() -> None:
    incident = baked()
    key = chunk_key("c1", 4)
    incident.store.values[key] = incident.store.values[key].replace("hi there", "something else")
    assert of(incident.repaired()) == "S1 U2 A3 U4 U5 A[6-7] U8 A9"


def test_one_short_word_that_the_model_once_said_does_not_turn_the_user_into_the_model() -> None:
    store = appended([U("ready?"), A("ok"), U("what is the time?"), A("noon")])
    compacting = Incident(compacted(store, 1, (U("ok"),)), "realign-with-archive", baked_merge.RULE, archive="archive")
    with pytest.raises(NothingToDo):
        compacting.preview("same-rows")


@pytest.mark.parametrize("mode", MODES)
def test_the_call_comes_back_with_the_results_that_were_cut_with_it(mode: str) -> None:
    assert of(cut().stored().conversation) == "S1 T2 A3"
    repaired = cut().repaired(mode)
    assert of(repaired) == "S1 A[2-4] T5 T6 A7"
    assert [chunk.call_id for chunk in repaired.chunks] == ["", "", "a", "b", "a", "b", ""]


def test_restored_rows_are_the_bytes_of_the_archive() -> None:
    incident = cut(input={"n": 0})
    key = chunk_key("archive", 3)
    written = incident.store.values[key].replace('{"n":0}', '{"n": 1.0, "big": 1e21, "2": 12345678901234567890}')
    incident.store.values[key] = written
    restored = incident.repaired().chunks[2].raw.decode()
    assert restored[: restored.index(',"role"')] == written[: written.index(',"role"')]


def test_a_call_id_that_the_archive_holds_twice_is_left_alone() -> None:
    incident = cut()
    twice = appended([U("go"), A(tc("b", "other")), ASKED, FOUND_B])
    incident.store.values.update({key.replace("conv:c1:", "conv:archive:"): value for key, value in twice.values.items()})
    with pytest.raises(NothingToDo):
        incident.preview("same-rows")


@pytest.mark.parametrize("mode", MODES)
def test_a_lost_result_comes_back_behind_the_results_that_are_there(mode: str) -> None:
    repaired = lost_result().repaired(mode)
    assert of(repaired) == "U1 A[2-4] T5 T6 U7 A8"
    assert repaired.chunks[5].payload == tr("b", "found b", step=STEP)


def test_the_real_result_wins_over_a_made_up_one_and_the_rest_is_made_up() -> None:
    trace = trace_of({"prompt": believed(U("go"), ASKED, FOUND_B)})
    incident = replace(lost_result(trace), store=appended([U("go")], [ASKED], [U("and?")]))
    repaired = incident.repaired("same-rows", "recover-result-from-trace", "insert-interrupted-result")
    results = {chunk.call_id: chunk.text for chunk in repaired.chunks if chunk.role == "tool"}
    assert results == {"a": INTERRUPTED, "b": "found b"}


def test_an_error_that_a_provider_gave_is_explained_with_the_real_result() -> None:
    incident = lost_result()
    case = case_of(incident.stored().conversation, "dispatch-legacy", incident.trace)
    text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
    explanation = next(each for each in explained_in(recognized(text), case, "dispatch-openai") if each.candidate.rule.id == "OC-1")
    advice = advised(case, "openai-chat", "dispatch-openai", observed([explanation], text, [case]))
    assert "recover-result-from-trace" in advice.names and "insert-interrupted-result" not in advice.names
    assert repaired_by(remedies(explanation, case, advice)) == advice.names
    (made_up,) = [each for each in remedies(explanation, case, advice) if each.strategy.name == "insert-interrupted-result"]
    assert made_up.edits and not made_up.is_recommended
    assert [each.name for each in sequence(case, findings(case, RULES), "openai-chat", "dispatch-openai").candidate.strategies] == [
        *advice.names
    ]


@pytest.mark.parametrize(("said", "closed", "error"), [("sent", False, False), ("sent", True, True), ("Unknown tool: ls", None, True)])
def test_a_request_alone_gives_the_text_and_the_tool_span_whether_it_was_an_error(said: str, closed: bool | None, error: bool) -> None:
    tools = {} if closed is None else {"tools": {"b": closed}}
    trace = trace_of({"request": [], **tools}, {"request": [{"role": "tool", "content": said, "tool_call_id": "b"}]})
    assert lost_result(trace).repaired().chunks[5].payload == tr("b", said, error=error, step=STEP)


@pytest.mark.parametrize(
    "said",
    [
        [T(tr("b", "one")), T(tr("b", "two"))],
        [T(tr("b", INTERRUPTED, error=True))],
        [T({"type": "tool-result", "toolCallId": "b", "content": ["no", "text"]})],
        [T({"type": "tool-result", "toolCallId": ["b"], "content": "x"})],
        [T(tr("c", "another"))],
    ],
)
def test_a_result_that_is_not_known_for_certain_is_not_recovered(said: list[Said]) -> None:
    with pytest.raises(NothingToDo):
        lost_result(trace_of({"prompt": believed(*said)})).preview("same-rows")


def test_an_id_that_two_calls_share_gets_no_result() -> None:
    incident = replace(lost_result(), store=appended([U("go")], [ASKED, FOUND_A], [U("and?")], [A(tc("b"))]))
    with pytest.raises(NothingToDo):
        incident.preview("same-rows")


@pytest.mark.parametrize("mode", MODES)
def test_what_was_said_during_a_turn_stands_behind_the_results_that_were_there(mode: str) -> None:
    repaired = steered().repaired(mode)
    assert of(repaired) == "U1 A[2-4] T5 T6 U7 A8 U9"
    assert repaired.chunks[6].text == "only the tests"


def test_two_things_said_between_the_same_steps_keep_their_order() -> None:
    last = believed(U("go"), ASKED, FOUND_A, FOUND_B, STEERED, U("and docs", "please"))
    repaired = replace(steered(), trace=trace_of({"prompt": believed(U("go"))}, {"prompt": last})).repaired()
    assert of(repaired) == "U1 A[2-4] T5 T6 U7 U[8-9] A10 U11"
    assert [chunk.text for chunk in repaired.chunks[6:9]] == ["only the tests", "and docs", "please"]


@pytest.mark.parametrize("broken", ["{not json", '{"role":"user"}', '{"role":"user","chunks":[5,null,{"type":"video"}]}'])
def test_the_older_generation_comes_first_in_the_fork_and_what_cannot_be_read_stays_behind(broken: str) -> None:
    repaired = stranded(broken).repaired("new-conversation")
    assert of(repaired) == "U1 A[2-3] U4 A5"
    assert [chunk.text for chunk in repaired.chunks] == ["hello", "greets", "hi there", "are you there?", "who?"]


def test_the_older_generation_is_not_written_in_place() -> None:
    with pytest.raises(WriteRefused, match="only in a new conversation; choose that mode"):
        stranded().preview("same-rows")


@pytest.mark.parametrize("mode", MODES)
def test_abort_placeholders_go_and_other_results_stay(mode: str) -> None:
    incident = aborted()
    incident.store.append(T(tr("c", "Aborted")), T(tr("d", "Aborted by hand", error=True)))
    assert [chunk.text for chunk in incident.repaired(mode).chunks] == ["go", "let me see", "and?", "Aborted", "Aborted by hand"]


def test_a_result_whose_call_stands_elsewhere_or_may_stand_in_an_unreadable_row_is_not_dropped() -> None:
    store = appended([T(tr("early", "x"))], [U("go")], [A(tc("early"))], [T(tr("hidden", "y"))], [A("there")])
    store.values[chunk_key("c1", 5)] = '{"chunk":{"type":"tool-call","toolCallId":"hidden"'
    with pytest.raises(NothingToDo):
        Incident(store, "drop-orphaned-results", orphaned_tool_result.RULE).preview("same-rows")


def test_rows_that_are_not_touched_keep_their_bytes() -> None:
    for incident in INCIDENTS.values():
        spaced = incident.stored().conversation.chunks[0]
        wide = Store({**incident.store.values, spaced.key: f" {spaced.raw.decode()} "})
        for mode in incident.modes:
            first = replace(incident, store=wide).repaired(mode).chunks
            kept = next(chunk for chunk in first if chunk.payload == spaced.payload)
            assert kept.raw.startswith(b" ") and kept.raw.endswith(b" ")


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_after_a_repair_rows_and_trace_agree_as_before(incident: Incident) -> None:
    preview = incident.preview(incident.modes[0], incident.repaired_by)
    before, repaired = (
        {found.code for found in findings(case, RULES) if found.code.startswith("TRACE")}
        for case in (preview.before.case, preview.after.case)
    )
    assert repaired <= before
