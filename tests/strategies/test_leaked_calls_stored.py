"""Calls that a store holds as text: made the calls that they spell, in every format through its own writer, with the results that trace and ledger have."""

import json
from typing import Any

import pytest

from inspector.conversation.edits import Plan, Safety
from inspector.conversation.model import Conversation, Kind
from inspector.demo.dispatch_incident import CONVERSATION, store_rows, trace_records
from inspector.planning import preview as previews
from inspector.planning.preview import NothingToDo, Preview, compose
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.programs.formats import Cell, Record, Stored, after
from inspector.programs.gbrain.format import GBRAIN
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import OURS, written_by
from inspector.strategies.catalogue import strategy
from inspector.traces.log_record import record_of
from inspector.traces.model import Trace
from inspector.traces.tree import build
from tests.folding import in_one_test
from tests.programs.dispatch.appended_stores import A, Block, Store, T, U, appended, er, tc, th, tr
from tests.programs.dispatch.previews import OPTIONS
from tests.programs.dispatch.strategies.incidents import TURN, believed, trace_of
from tests.programs.gbrain import conformance_rows as gbrain_rows
from tests.programs.pi_openclaw.session_files import a, header, lines, text, u
from tests.programs.pi_openclaw.strategies import repaired_trees as trees
from tests.programs.request_bodies import bodies
from tests.programs.rollouts.strategies import repaired_sessions as rollouts

PROMOTE, GUESS, DROP = "promote-leaked-call", "promote-guessed-call", "drop-leaked-call"
LS = '<tool_call>{"name":"ls","arguments":{"path":"/"}}</tool_call>'
CAT = '<tool_call>{"name":"cat","arguments":{"n":7}}</tool_call>'
WORDS = f"I look.\n{LS}\n{CAT}"
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
)
UNTYPED = "<function=head>\n<parameter=lines>\n7\n</parameter>\n</function>"

Said = list[tuple[str, str, Any]]
WANTED: Said = [
    ("assistant", "text", "I look.\n"),
    ("assistant", "ls", {"path": "/"}),
    ("assistant", "cat", {"n": 7}),
    ("tool", "tool-result", OURS),
    ("tool", "tool-result", OURS),
]


def said(conversation: Conversation, made_up: str = OURS) -> Said:
    """Role, kind or tool, words or input; the words of the program for a synthetic result stand as ours."""
    return [
        (chunk.role, chunk.tool_name, chunk.payload["input"])
        if chunk.kind is Kind.TOOL_CALL
        else (chunk.role, chunk.kind.value, OURS if chunk.kind is Kind.TOOL_RESULT and written_by(chunk) else chunk.text)
        for chunk in conversation.chunks
    ]


def codes(case: Case) -> set[str]:
    return {finding.code for finding in findings(case, RULES)}


LEFT = {"TOOL401", "TOOL402"}
"""Notes that a result is made up."""

SHAPES: dict[str, Any] = {
    "anthropic": {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": "text", "text": WORDS}]}, {"role": "user", "content": "and?"}]},
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": WORDS}, {"role": "user", "content": "and?"}]},
    "mistral": {"model": "m", "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": WORDS}, {"role": "user", "content": "and?"}]},
    "openai-responses": {"model": "m", "input": [{"type": "message", "role": "user", "content": "go"}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": WORDS, "annotations": []}]}, {"type": "message", "role": "user", "content": "and?"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": [{"text": WORDS}]}, {"role": "user", "parts": [{"text": "and?"}]}]},
    "bedrock": {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "go"}]}, {"role": "assistant", "content": [{"text": WORDS}]}, {"role": "user", "content": [{"text": "and?"}]}]},
    "ai-sdk": [{"role": "user", "content": "go"}, {"role": "assistant", "content": [{"type": "text", "text": WORDS}]}, {"role": "user", "content": "and?"}],
}  # fmt: skip


def body(wire: str, value: Any, *names: str) -> tuple[Case, Case]:
    """Before, and as the written file is read again."""
    held = bodies.stored(wire, value)
    case = case_of(held.conversation, "as-sent")
    edits = compose(case, [strategy(name) for name in names])
    return case, case_of(bodies.stored(wire, bodies.written(wire, held, *edits)).conversation, "as-sent")


@in_one_test("wire", SHAPES)
def test_request_bodies(wire: str) -> None:
    assert set(SHAPES) == set(bodies.FORMATS)
    before, later = body(wire, SHAPES[wire], PROMOTE)

    assert "THINK301" in codes(before) and codes(later) <= LEFT
    assert said(later.conversation)[1:-1] == WANTED
    assert [len(message.chunks) for message in later.messages if message.role == "assistant"] == [3]


@pytest.mark.parametrize("mode", [rollouts.IN_PLACE, rollouts.AS_CHILD])
def test_rollouts(mode: str) -> None:
    about = {"provider": "anthropic", "api": "anthropic-messages", "model": "m"}
    session = [rollouts.line("user", "go"), rollouts.line("assistant", [rollouts.text(WORDS)], **about), rollouts.line("user", "and?")]

    preview, files = rollouts.repaired(rollouts.session(rollouts.PARENT, session), PROMOTE, mode=mode)

    assert rollouts.loads(files) and said(preview.after.case.conversation)[1:-1] == WANTED
    assert codes(preview.after.case) <= LEFT and preview.after.judgement.violations == ()


@pytest.mark.parametrize("mode", trees.MODES)
@pytest.mark.parametrize("format_name", trees.FORMATS)
def test_pi_and_openclaw(format_name: str, mode: str) -> None:
    data = lines(header(), u("00000001", None), a("00000002", "00000001", text(WORDS)), u("00000003", "00000002", "and?"))

    later = trees.written(data, [PROMOTE], mode, format_name)

    assert said(later.conversation)[1:-1] == WANTED and codes(later) <= LEFT


def gbrain_store(*runs: gbrain_rows.Run, words: str = WORDS) -> Stored:
    return gbrain_rows.stored(gbrain_rows.Case("", "", {0: gbrain_rows.ASKED, 1: ("assistant", [gbrain_rows.text(words)])}, runs))


def gbrain(*runs: gbrain_rows.Run, words: str = WORDS) -> Said:
    held = gbrain_store(*runs, words=words)
    edits = compose(case_of(held.conversation, "gbrain-head"), [strategy(PROMOTE)])
    plan = Plan("s", held.conversation.native_id, GBRAIN.modes[0].name, (PROMOTE,), frozenset(), "", edits)
    (found,) = GBRAIN.read(after(held.records, GBRAIN.write(plan, held)))
    return said(found.conversation)[1:]


def test_gbrain_takes_the_result_from_its_ledger_and_the_id_that_the_run_has() -> None:
    assert gbrain() == WANTED
    head = '<tool_call>{"name":"head","arguments":{}}</tool_call>'

    assert gbrain(gbrain_rows.Run(1, 0, "run-1", "head", output={"h": 3}), words=head)[1] == ("tool", "tool-result", '{"h":3}')
    assert gbrain(gbrain_rows.Run(1, 0, "run-1", "other", output={"h": 3}), words=head)[1] == ("tool", "tool-result", OURS)
    assert gbrain(gbrain_rows.Run(1, 0, "run-1", "head", "pending"), words=head)[1] == ("tool", "tool-result", OURS)


def test_its_cost_says_whether_a_result_is_recorded() -> None:
    run = gbrain_rows.Run(1, 0, "run-1", "head", output={"h": 3})
    head = '<tool_call>{"name":"head","arguments":{}}</tool_call>'
    costs = [
        strategy(PROMOTE).of(case_of(gbrain_store(*runs, words=words).conversation, "gbrain-head"))
        for runs, words in (((run,), head), ((), head), ((), "no call"), ((run,), f"{head}{head}"))
    ]
    beginnings = [
        "A call that the program never saw; its result is the one that is recorded. The markup",
        "A call that the program never saw; no run of it is recorded, so its result is synthetic and marked as an error. The markup",
        strategy(PROMOTE).cost,
        strategy(PROMOTE).cost,
    ]
    assert all(
        of.cost.startswith(beginning) and of.safety == strategy(PROMOTE).safety for of, beginning in zip(costs, beginnings, strict=True)
    )


# Dispatch, and what a trace adds.


def leaking(*blocks: Block | str) -> Store:
    return appended([U("go")], [A(*blocks)], [U("and?")], [A("sorry")])


def dispatch(store: Store, *names: str, trace: Trace | None = None) -> Preview:
    held = store.stored()
    case = case_of(held.conversation, "dispatch-legacy", trace)
    chosen = [strategy(name) for name in names or (PROMOTE,)]
    edits = compose(case, chosen)
    plan = Plan(
        "source",
        held.conversation.native_id,
        "same-rows",
        tuple(each.name for each in chosen),
        previews.safety_of(chosen),
        previews.digest(held),
        edits,
        OPTIONS,
    )
    return previews.preview(case, held, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat")


def made(preview: Preview) -> list[tuple[str, str, Any]]:
    """Calls and results of the result: id, tool, input or words."""
    chunks = [chunk for chunk in preview.after.case.conversation.chunks if chunk.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT)]
    return [(chunk.call_id, chunk.tool_name, chunk.payload.get("input", chunk.text)) for chunk in chunks]


def offering(*tools: dict[str, Any]) -> Trace:
    """A trace whose one step had these tools."""
    records = [
        {"kind": "span-open", "spanId": "s", "name": "step", "parentSpanId": "", "timestamp": 0},
        {"kind": "span-open", "spanId": "r", "name": "provider.request", "parentSpanId": "s", "timestamp": 1, "body": json.dumps({"messages": [], "tools": list(tools)})},
    ]  # fmt: skip
    read = [
        record_of({"extensionId": "x", "conversationId": "c1", "turnId": TURN} | each, str(order), order, each.get("body"), pytest.fail)
        for order, each in enumerate(records)
    ]
    return build("c1", read, lambda name: name.encode())


def tool(name: str, **types: str) -> dict[str, Any]:
    properties = {parameter: {"type": kind} for parameter, kind in types.items()}
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


def test_several_calls_at_the_end_of_a_turn_each_get_a_result() -> None:
    assert [(name, what) for _, name, what in made(dispatch(leaking(th(WORDS))))] == [
        ("ls", {"path": "/"}),
        ("cat", {"n": 7}),
        ("ls", INTERRUPTED),
        ("cat", INTERRUPTED),
    ]
    in_two = dispatch(leaking(th(f"I look.\n{LS}"), CAT))
    assert [(name, what) for _, name, what in made(in_two)][:2] == [("cat", {"n": 7}), ("cat", INTERRUPTED)]


def test_a_thought_of_the_call_that_follows_is_a_draft_and_stays() -> None:
    preview = dispatch(leaking(th(f"I look.\n{LS}"), LS))

    assert [what for _, _, what in made(preview)] == [{"path": "/"}, INTERRUPTED]
    assert preview.after.case.conversation.chunks[1].text == f"I look.\n{LS}"


def test_the_id_that_the_text_gives_is_kept_where_it_is_free() -> None:
    assert [call_id for call_id, _, _ in made(dispatch(leaking(th(KIMI))))] == ["functions.ls:0"] * 2
    taken = appended([U("go")], [A(tc("functions.ls:0")), T(tr("functions.ls:0"))], [A(th(KIMI))])
    assert {call_id for call_id, _, _ in made(dispatch(taken))} == {"functions.ls:0", "insp-4"}


def test_a_parameter_of_unknown_type_is_guessed_only_for_who_asks_for_it() -> None:
    store = leaking(th(UNTYPED))

    with pytest.raises(NothingToDo):
        dispatch(store)
    assert made(dispatch(store, GUESS))[0][2] == {"lines": "7"}
    (found,) = (each for each in findings(case_of(store.conversation(), "dispatch-legacy"), RULES) if each.code == "THINK301")
    assert found.repaired_by == (GUESS, DROP) and any("lines" in text for _, text in found.evidence)
    assert Safety.INVENTED in strategy(GUESS).safety and strategy(GUESS).manual_only and "guessed" in strategy(GUESS).cost


def test_the_schema_that_the_trace_has_types_the_parameters() -> None:
    store = leaking(th(UNTYPED))

    assert made(dispatch(store, trace=offering(tool("head", lines="integer"))))[0][2] == {"lines": 7}
    assert made(dispatch(store, trace=offering(tool("head", lines="string"))))[0][2] == {"lines": "7"}


def test_a_tool_that_was_not_offered_is_not_called() -> None:
    with pytest.raises(NothingToDo):
        dispatch(leaking(th(LS)), trace=offering(tool("other")))
    named = {"tools": [tool("other")], **SHAPES["openai-chat"]}
    before, later = body("openai-chat", named, PROMOTE, GUESS)
    assert "THINK301" in codes(before) and later.conversation.chunks == before.conversation.chunks


def test_a_form_that_only_the_list_of_tools_tells_from_text_is_found_with_it() -> None:
    store, trace = leaking("<read_file><path>a</path></read_file>"), offering(tool("read_file", path="string"))

    assert "THINK301" not in codes(case_of(store.conversation(), "exact"))
    assert made(dispatch(store, trace=trace))[0][1:] == ("read_file", {"path": "a"})


def test_the_result_that_a_prompt_of_the_trace_has_is_taken_with_its_id() -> None:
    known = believed(U("go"), A(tc("call_9", "ls", {"path": "/"})), T(tr("call_9", "bin etc", "ls")))
    preview = dispatch(leaking(th(LS)), trace=trace_of({"prompt": known}))

    assert made(preview) == [("call_9", "ls", {"path": "/"}), ("call_9", "ls", "bin etc")]
    assert preview.warnings[0].endswith('the call ls with {"path":"/"}, and the result that is recorded of it.')


@pytest.mark.parametrize(
    "known",
    [
        [A(tc("call_9", "ls", {"path": "/tmp"})), T(tr("call_9", "bin etc", "ls"))],
        [A(tc("call_9", "cat", {"path": "/"})), T(tr("call_9", "bin etc", "cat"))],
        [A(tc("call_9", "ls", {"path": "/"}))],
        [A(tc("call_8", "ls", {"path": "/"}), tc("call_9", "ls", {"path": "/"})), T(tr("call_8", "a", "ls")), T(tr("call_9", "b", "ls"))],
    ],
    ids=["other arguments", "another tool", "no result", "two that differ"],
)
def test_what_is_recorded_of_another_call_is_not_taken(known: list[Any]) -> None:
    trace = trace_of({"prompt": believed(U("go"), *known)})

    assert [what for _, _, what in made(dispatch(leaking(th(LS)), trace=trace))] == [{"path": "/"}, INTERRUPTED]


def test_the_result_of_a_stored_call_is_not_given_twice() -> None:
    store = appended([U("go")], [A(tc("a", "ls", {"path": "/"})), T(tr("a", "bin etc", "ls"))], [A(th(LS))])
    trace = trace_of({"prompt": believed(U("go"), A(tc("a", "ls", {"path": "/"})), T(tr("a", "bin etc", "ls")))})

    assert [what for _, _, what in made(dispatch(store, trace=trace))] == [{"path": "/"}, "bin etc", {"path": "/"}, INTERRUPTED]


def test_signed_thinking_stays_whole_before_its_call() -> None:
    signed = [{"type": "thinking", "thinking": f"I look.\n{LS}", "signature": "c2ln"}]
    value = {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": signed}, {"role": "user", "content": "and?"}],
    }

    before, later = body("anthropic", value, PROMOTE)

    assert "THINK301" in codes(before) and codes(later) <= LEFT
    assert later.conversation.chunks[1].payload == before.conversation.chunks[1].payload
    assert [chunk.kind for chunk in later.conversation.chunks[1:4]] == [Kind.THINKING, Kind.TOOL_CALL, Kind.TOOL_RESULT]


def test_a_call_in_the_middle_of_a_turn_stays_text_and_the_strategy_says_so() -> None:
    store = appended([U("go")], [A(th(LS))], [A("went on")], [A(CAT)])

    assert [what for _, _, what in made(dispatch(store))] == [{"n": 7}, INTERRUPTED]
    assert "in the middle of a turn" in strategy(PROMOTE).cost


# The incident of the first report, with its trace.


def incident() -> tuple[Any, Trace]:
    records = [Record(key, Cell(value.encode())) for namespace, key, value in store_rows() if CONVERSATION in key]
    (held,) = (each for each in DISPATCH.read(records) if each.conversation.native_id == CONVERSATION)
    own = [fields for fields in trace_records() if fields["conversationId"] == CONVERSATION]
    read = [record_of(fields, str(order), order, fields.get("body"), pytest.fail) for order, fields in enumerate(own)]
    return held, build(CONVERSATION, read, lambda name: name.encode("utf-8", "surrogatepass"))


def test_the_incident_from_its_store_and_trace_to_a_history_that_a_provider_takes() -> None:
    held, trace = incident()
    case = case_of(held.conversation, "dispatch-legacy", trace)
    (leaked,) = (each for each in findings(case, RULES) if each.code == "THINK301")
    assert leaked.seqs == (14,) and any("declared a tool run_shell" in text for _, text in leaked.evidence)

    chosen = [strategy(PROMOTE), strategy("renumber-messages")]
    plan = Plan(
        "source",
        CONVERSATION,
        "same-rows",
        tuple(each.name for each in chosen),
        previews.safety_of(chosen),
        previews.digest(held),
        compose(case, chosen),
        OPTIONS,
    )
    preview = previews.preview(case, held, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat")

    assert made(preview)[-2:] == [("insp-14", "run_shell", {"command": "ls -la"}), ("insp-14", "run_shell", INTERRUPTED)]
    assert {each.code for each in preview.after.findings} <= LEFT
    assert preview.after.judgement.violations == () and preview.after.prompt.values[-1]["role"] == "tool"
    records = after(held.records, preview.changes)
    undone = after(records, [change.reversed() for change in preview.changes])
    assert sorted(undone, key=lambda record: record.key) == sorted(held.records, key=lambda record: record.key)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([("\n\n",)], id="a blank text in a message of its own"),
        pytest.param([(er("HTTP 500"),)], id="an error in a message of its own"),
        pytest.param(["\n\n"], id="a blank text"),
        pytest.param(["", er("HTTP 500")], id="an empty text and an error"),
    ],
)
def test_what_says_nothing_after_the_call_keeps_no_repair_away(after: list[Any]) -> None:
    """Qwen's and GLM's servers send a blank text after reasoning that held the whole answer."""
    apart = [A(*each) for each in after if isinstance(each, tuple)]
    store = appended(
        [U("go")], [A(th(LS), *(each for each in after if not isinstance(each, tuple)))], *([each] for each in apart), [U("and?")]
    )

    promoted, dropped = dispatch(store), dispatch(store, DROP)

    errors = [chunk for chunk in store.conversation().chunks if chunk.kind is Kind.ERROR]
    assert said(promoted.after.case.conversation)[:3] == [
        ("user", "text", "go"),
        ("assistant", "ls", {"path": "/"}),
        ("tool", "tool-result", OURS),
    ]
    for preview in (promoted, dropped):
        chunks = preview.after.case.conversation.chunks
        assert "THINK301" not in codes(preview.after.case) and preview.after.judgement.sendable
        assert [chunk.text for chunk in chunks if chunk.kind is Kind.ERROR] == [chunk.text for chunk in errors]
        assert not [chunk for chunk in chunks if chunk.kind is Kind.TEXT and not chunk.text.strip()]


def test_a_call_that_words_follow_can_only_be_dropped() -> None:
    store = leaking(LS, "I wait.")
    (found,) = (each for each in findings(case_of(store.conversation(), "exact"), RULES) if each.code == "THINK301")

    assert found.repaired_by == (DROP,)
    with pytest.raises(NothingToDo):
        dispatch(store)
    assert "THINK301" not in codes(dispatch(store, DROP).after.case)
