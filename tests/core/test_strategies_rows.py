"""Strategies that repair single rows, each on real records: what is written, what stays byte for byte, what is left alone, and that it can be undone."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from inspector.conversation.edits import EditMismatch, Plan, Set, apply
from inspector.conversation.model import Kind
from inspector.planning import preview as previews
from inspector.planning.preview import NothingToDo, Preview, compose
from inspector.planning.recommend import recommended
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.projection import arguments
from inspector.programs.dispatch.readers import INTERRUPTED
from inspector.programs.dispatch.strategies.rename_in_fork import FRESH
from inspector.programs.formats import Cell, Record, Stored, WriteRefused, after
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.strategies.leaked_syntax import recovered
from inspector.strategies.sanitize_arguments import sanitized
from inspector.text import jsontext
from inspector.traces.model import Trace
from inspector.traces.tree import build
from tests.core.append import A, Block, Said, Store, T, U, appended, tc, th, tr, tx
from tests.core.building import FOR_A_PROVIDER, OPTIONS, plan_for, preview_of
from tests.traces.stores import both, opened

IN_PLACE, FORK = "same-rows", "new-conversation"
MODES = pytest.mark.parametrize("mode", [IN_PLACE, FORK])
CALL = "<function=run_shell>\n<parameter=command>\nfind . -name '*.py'\n</parameter>\n</function>"


def key(seq: int) -> str:
    return f"conv:c1:chunk:{seq:010d}"


def with_rows(store: Store, rows: dict[int, str]) -> Store:
    return Store({**store.values, **{key(seq): text for seq, text in rows.items()}})


def repaired(store: Store, *names: str, mode: str = IN_PLACE) -> Preview:
    """The preview, once the laws of every repair were seen to hold for it: undo gives every byte back, the same again finds nothing."""
    preview = preview_of(store.stored(), mode, names)
    before = store.records()
    done = after(before, preview.changes)
    assert after(done, [change.reversed() for change in preview.changes]) == before
    target = DISPATCH.target(preview.plan)
    found = next(found for found in DISPATCH.read(done) if found.conversation.native_id == target)
    assert [chunk.raw for chunk in found.conversation.chunks] == [chunk.raw for chunk in preview.after.case.conversation.chunks]
    with pytest.raises(NothingToDo):
        preview_of(found, mode, names)
    return preview


def nothing_to_do(store: Store, *names: str) -> bool:
    with pytest.raises(NothingToDo):
        preview_of(store.stored(), IN_PLACE, names)
    return True


def codes(preview: Preview) -> list[str]:
    return [finding.code for finding in preview.after.findings]


def rows(preview: Preview) -> list[dict[str, Any]]:
    return [json.loads(chunk.raw) for chunk in preview.after.case.conversation.chunks]


def written(preview: Preview) -> dict[str, str]:
    return {change.key: jsontext.decode(change.after.data) for change in preview.changes if change.after is not None and not change.element}


# sanitize-arguments


def calling(text: str) -> Store:
    return appended([U("go")], [A(tc("a", "todo_write", text)), T(tr("a", "args must be an object", "todo_write", error=True))])


@MODES
def test_arguments_that_are_no_json_become_the_hint_that_the_newest_converter_sends(mode: str) -> None:
    store = calling('{path: "/src/main.ts"}')
    preview = repaired(store, "sanitize-arguments", mode=mode)
    assert rows(preview)[1]["chunk"]["input"] == {"_malformed_arguments": '{path: "/src/main.ts"}'}
    assert "TOOL301" in [finding.code for finding in preview.before.findings]
    assert "TOOL301" not in codes(preview)
    assert preview.before.prompt.values == preview.after.prompt.values


def test_only_the_input_changes_and_every_other_byte_of_the_row_stays() -> None:
    head = ' { "role" : "assistant",\t"more":1e2,"chunk" : {"type":"tool-call", "toolCallId":"a","toolName":"l\\u0073","n":1.0 ,"input": '
    tail = ' ,"stepId":"turn-1782600000000-a#0"},"msgIdx":0 , "chunkIdx":0.0}\n'
    store = with_rows(calling("{}"), {2: head + json.dumps('{"path": "/src", "n": 1.0}') + tail})
    (change,) = repaired(store, "sanitize-arguments").changes
    assert (change.key, change.after) == (key(2), Cell((head + '{"path":"/src","n":1}' + tail).encode()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"path":"/src/main.ts"}', {"path": "/src/main.ts"}),
        ("x" * 500, {"_malformed_arguments": "x" * 200}),
        ("😀" * 150, {"_malformed_arguments": "😀" * 100}),
        ("y" * 199 + "😀", {"_malformed_arguments": "y" * 199 + "\ud83d"}),
        ("", {"_malformed_arguments": ""}),
        ("NaN", {"_malformed_arguments": "NaN"}),
        (" [1] ", [1]),
        ('{"2":1,"b":1e999,"1":10000000000000000000001}', {"1": 1e22, "2": 1, "b": None}),
        (json.dumps(json.dumps({"twice": "encoded"})), {"twice": "encoded"}),
    ],
)
def test_the_value_is_the_one_that_the_converter_reads_out_of_the_text(text: str, value: Any) -> None:
    assert sanitized(text) == value
    if not text.startswith('"'):
        assert arguments(sanitized(text)) == arguments(text)


@pytest.mark.parametrize("text", ["[" * 399 + "]" * 399, "[" * 9000 + "]" * 9000, "9" * 5000])
def test_arguments_over_what_is_read_here_are_left_alone(text: str) -> None:
    assert nothing_to_do(calling(text), "sanitize-arguments")


# deduplicate-results


def results(*said: Block, calls: Sequence[Block] = (tc("a"),)) -> Store:
    return appended([U("go")], [A(*calls), *(T(result) for result in said)], [A("done")])


@MODES
def test_a_result_that_was_stored_many_times_is_kept_once(mode: str) -> None:
    preview = repaired(results(*[tr("a", "listing")] * 10), "deduplicate-results", "renumber-messages", mode=mode)
    assert [row["chunk"]["type"] for row in rows(preview)] == ["text", "tool-call", "tool-result", "text"]
    assert "TOOL206" in [finding.code for finding in preview.before.findings]
    assert not {"TOOL206", "TOOL202"} & set(codes(preview))


def test_the_copy_behind_the_call_is_kept_and_its_neighbours_keep_their_bytes() -> None:
    store = appended([T(tr("a", "listing"))], [U("go")], [A(tc("a")), T(tr("a", "listing"))], [A("done"), T(tr("a", "listing"))])
    changes = repaired(store, "deduplicate-results").changes
    assert [(change.key, change.after) for change in changes] == [(key(1), None), (key(6), None)]


@pytest.mark.parametrize(
    "store",
    [
        results(tr("a", "one"), tr("a", "two")),
        results(tr("a", "ok"), tr("a", "ok", error=True)),
        results(tr("a", "ok", step="turn-1-a#0"), tr("a", "ok", step="turn-1-a#1")),
        results(tr("a", "ok"), tr("a", "ok"), calls=(tc("a"), tc("a", "pwd"))),
        results(tr("", "ok"), tr("", "ok"), calls=(tc(""),)),
        appended([U("go")], [A(tc("a")), T(tr("a", "ok"))], [U("go")], [A(tc("a")), T(tr("a", "ok"))]),
    ],
)
def test_results_that_differ_and_ids_that_calls_share_are_not_merged(store: Store) -> None:
    assert nothing_to_do(store, "deduplicate-results")


# rename-in-fork


def named(native_id: str) -> Stored:
    return Store().append(U("go"), A("done"), to=native_id).stored(native_id)


@pytest.mark.parametrize("native_id", ["a_b", "50%"])
def test_an_id_with_wildcards_becomes_a_fresh_one_in_a_fork(native_id: str) -> None:
    stored = named(native_id)
    preview = preview_of(stored, FORK, ["rename-in-fork"])
    assert preview.plan.edits == (Set("conversation", "id", native_id, FRESH),)
    renamed = preview.after.case.conversation
    assert renamed.native_id == OPTIONS["fork_id"]
    assert [chunk.raw for chunk in renamed.chunks] == [chunk.raw for chunk in stored.conversation.chunks]
    assert all(change.before is None for change in preview.changes)


def test_what_bled_into_the_old_id_does_not_bleed_into_the_new_one() -> None:
    stored = named("C1")
    case = case_of(stored.conversation, "exact", bleeding=("c1",))
    assert [finding.code for finding in findings(case, RULES)] == ["STORE303"]
    chosen = [strategy("rename-in-fork")]
    plan = Plan("source", "C1", FORK, ("rename-in-fork",), frozenset(), "", compose(case, chosen), OPTIONS)
    later = previews.preview(case, stored, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat").after
    assert later.findings == ()


def test_an_id_cannot_be_renamed_in_place() -> None:
    with pytest.raises(WriteRefused, match=r"cannot be renamed in place; repair into a new conversation \(--mode fork\)\.$"):
        preview_of(named("a_b"), IN_PLACE, ["rename-in-fork"])


@MODES
def test_an_id_without_wildcards_needs_no_other_and_a_plan_for_another_id_is_refused(mode: str) -> None:
    store = appended([U("go")])
    with pytest.raises(NothingToDo):
        preview_of(store.stored(), mode, ["rename-in-fork"])
    with pytest.raises(EditMismatch, match="fact id"):
        apply(store.conversation(), [Set("conversation", "id", "c2", FRESH)])


# rebuild-unreadable-row


def story() -> Store:
    return appended([U("do it")], [A(th("hm"), "calling", tc("x", "t")), T(tr("x", "made", "t"))], [A("done", "really")], [U("thanks")])


def without(store: Store, seq: int, *names: str, **wrong: Any) -> Store:
    row = json.loads(store.values[key(seq)])
    return with_rows(store, {seq: jsontext.compact({**{name: row[name] for name in row if name not in names}, **wrong})})


@MODES
@pytest.mark.parametrize(
    ("seq", "lost", "wrong"),
    [
        (2, ("msgIdx", "chunkIdx"), {}),
        (3, ("role", "msgIdx", "chunkIdx"), {}),
        (3, (), {"role": "robot"}),
        (3, (), {"msgIdx": "0"}),
        (4, ("role", "msgIdx"), {}),
        (5, ("role", "msgIdx", "chunkIdx"), {}),
        (6, ("role", "msgIdx", "chunkIdx"), {}),
        (7, ("msgIdx", "role"), {}),
        (8, ("msgIdx", "chunkIdx"), {}),
    ],
)
def test_a_row_gets_back_the_numbers_that_the_rows_beside_it_leave_open(mode: str, seq: int, lost: tuple[str, ...], wrong: Any) -> None:
    whole = story()
    preview = repaired(without(whole, seq, *lost, **wrong), "rebuild-unreadable-row", mode=mode)
    assert "STORE102" in [finding.code for finding in preview.before.findings]
    assert "STORE102" not in codes(preview)
    assert rows(preview)[seq - 1] == json.loads(whole.values[key(seq)])
    assert [row for at, row in enumerate(rows(preview)) if at != seq - 1] == [
        json.loads(whole.values[key(at)]) for at in range(1, 9) if at != seq
    ]


def test_the_chunk_of_a_rebuilt_row_keeps_its_bytes() -> None:
    odd = ' {"msgIdx":"0", "more":[1.0],"chunk":{"type":"text", "text":"\\u0068i","n":1e21}, "role":"assistant" } '
    (change,) = repaired(with_rows(story(), {3: odd}), "rebuild-unreadable-row").changes
    assert change.after is not None
    assert change.after.data.decode() == odd.replace('"0"', "0").replace('"assistant" }', '"assistant" ,"chunkIdx":1}')


def test_rows_tell_of_each_other_in_both_directions() -> None:
    store = story()
    for seq in (2, 3, 6):
        store = without(store, seq, "msgIdx", "chunkIdx")
    preview = repaired(store, "rebuild-unreadable-row")
    assert rows(preview) == [json.loads(story().values[key(seq)]) for seq in range(1, 9)]


@pytest.mark.parametrize(
    ("seq", "lost", "wrong"),
    [
        (7, ("msgIdx", "chunkIdx"), {}),
        (1, ("role",), {}),
        (8, ("role",), {}),
        (3, ("msgIdx",), {"chunkIdx": 2}),
        (3, ("msgIdx",), {"role": "user"}),
        (3, (), {"chunk": {"type": "video", "url": "x"}}),
        (3, (), {"chunk": {"type": "text"}}),
        (3, (), {"chunk": None}),
    ],
)
def test_a_row_for_which_more_than_one_place_or_content_would_do_stays_as_it_is(seq: int, lost: tuple[str, ...], wrong: Any) -> None:
    assert nothing_to_do(without(story(), seq, *lost, **wrong), "rebuild-unreadable-row")


def test_a_row_that_was_only_stored_as_a_blob_becomes_text_with_the_same_bytes() -> None:
    records = [Record(each.key, Cell(each.value.data, "blob")) if each.key == key(3) else each for each in story().records()]
    (stored,) = DISPATCH.read(records)
    assert stored.conversation.chunks[2].damage == "not-text"
    (change,) = preview_of(stored, IN_PLACE, ["rebuild-unreadable-row"]).changes
    assert change.after == Cell(story().values[key(3)].encode(), "text")


def traced(*prompts: list[Said]) -> Trace:
    """A trace whose prompts hold these messages."""
    bodies = {
        f"P{number}": json.dumps(
            {"messages": [{"role": said.role, "chunks": list(said.blocks)} for said in messages], "tools": []}
        ).encode()
        for number, messages in enumerate(prompts)
    }
    records = [
        record
        for number in range(len(prompts))
        for record in (
            *both(f"s{number}", "step", 10 * number, 10 * number + 5),
            opened(f"p{number}", "prompt", 10 * number + 1, f"s{number}", body=f"P{number}"),
        )
    ]
    return build("c1", records, bodies.get)


def said(store: Store) -> list[Said]:
    return [Said(role, tuple(json.loads(store.values[key(seq)])["chunk"] for seq in seqs)) for role, seqs in store.truth["c1"]]


def rebuilt(store: Store, *prompts: list[Said]) -> list[str]:
    """Texts of the rows after rebuilding with a trace, `-` for a row that is still unreadable."""
    case: Case = case_of(store.conversation(), "dispatch-legacy", traced(*prompts))
    found = apply(case.conversation, compose(case, [strategy("rebuild-unreadable-row")]))
    return [
        "-" if chunk.kind is Kind.UNREADABLE else f"{chunk.role} {chunk.msg_idx}.{chunk.chunk_idx} {chunk.text}" for chunk in found.chunks
    ]


@pytest.mark.parametrize("damage", ["{broken", "null", "{}", '{"chunk":null,"role":"assistant"}', ""])
def test_a_lost_chunk_comes_back_from_the_prompt_that_holds_it_between_the_same_neighbours(damage: str) -> None:
    whole = story()
    texts = rebuilt(with_rows(whole, {3: damage}), said(whole))
    assert texts == rebuilt(whole)
    assert texts[2] == "assistant 0.1 calling"


def test_a_prompt_says_where_a_message_begins() -> None:
    store = appended([U("one")], [A("two")], [U("three")])
    assert rebuilt(with_rows(store, {2: "{"}), said(store)) == ["user 0.0 one", "-", "user 0.0 three"]
    step = "turn-1782600000000-a#0"
    store = appended([U("one")], [A(tc("a", step=step)), T(tr("a", "two", step=step))], [A("three")])
    assert rebuilt(with_rows(store, {3: "{"}), said(store))[2] == "tool 1.0 two"


@pytest.mark.parametrize(
    "prompts",
    [
        [],
        [[U("do it"), A(th("hm"), "other", tc("x", "t"))], [U("do it"), A(th("hm"), "calling", tc("x", "t"))]],
        [[U("do it"), A(th("hm"), tc("x", "t"))]],
        [[U("do it"), A(th("hm"), "calling", "more", tc("x", "t"))]],
        [[U("do it"), A(th("hm"), "calling")]],
        [[Said("assistant", (th("hm"), {"type": "text", "text": [[]]}, tc("x", "t")))]],
        [[Said("assistant", (th("hm"), {}, tc("x", "t")))]],
    ],
)
def test_what_no_prompt_or_two_prompts_say_is_not_taken(prompts: list[list[Said]]) -> None:
    assert rebuilt(with_rows(story(), {3: "{broken"}), *prompts)[2] == "-"


def test_a_place_that_looks_the_same_elsewhere_in_the_store_is_no_proof() -> None:
    store = appended([A(th("hm"), "first", tc("a"))], [A(th("hm"), "second", tc("a"))])
    assert rebuilt(with_rows(store, {5: "{"}), said(store)[:1])[4] == "-"


# replace-unreadable-row


@MODES
@pytest.mark.parametrize("damage", ["{broken", "null", "[]", "{}", ""])
@pytest.mark.parametrize("seqs", [(1,), (2,), (3,), (5,), (8,), (3, 4, 5, 6), range(1, 9)])
def test_a_row_of_which_nothing_is_left_becomes_an_error_that_says_so(mode: str, damage: str, seqs: Sequence[int]) -> None:
    preview = repaired(with_rows(story(), dict.fromkeys(seqs, damage)), "replace-unreadable-row", mode=mode)
    assert not {"STORE101", "STORE102"} & set(codes(preview))
    for seq in seqs:
        assert rows(preview)[seq - 1]["chunk"] == {"type": "error", "message": f"unreadable row, {len(damage)} bytes kept by Inspector"}
    kept = [seq for seq in range(1, 9) if seq not in seqs]
    assert [rows(preview)[seq - 1] for seq in kept] == [json.loads(story().values[key(seq)]) for seq in kept]


def test_the_other_rows_are_grouped_as_before() -> None:
    store = with_rows(story(), {4: "{broken", 5: "null"})
    preview = repaired(store, "replace-unreadable-row")
    messages = [[row["chunk"]["type"] for row in rows(preview)[first:last]] for first, last in ((1, 5), (5, 7))]
    assert messages == [["thinking", "text", "error", "error"], ["text", "text"]]
    assert [(row["msgIdx"], row["chunkIdx"]) for row in rows(preview)] == [(0, 0), (0, 0), (0, 1), (0, 2), (0, 3), (0, 0), (0, 1), (0, 0)]


@pytest.mark.parametrize(
    "row",
    [
        "[" * 5000 + "]" * 5000,
        "1" * 5000,
        '{"chunk":{"type":"video","url":"x"},"role":"assistant","msgIdx":0,"chunkIdx":1}',
        '{"chunk":{"type":"text","text":"x"},"role":"robot"}',
    ],
)
def test_a_row_that_somebody_may_yet_read_is_not_replaced(row: str) -> None:
    assert nothing_to_do(with_rows(story(), {3: row}), "replace-unreadable-row")


# promote-leaked-call and drop-leaked-call


def leaking(*blocks: Block | str) -> Store:
    return appended([U("go")], [A(*blocks)], [U("and?")], [A("sorry")])


@MODES
def test_a_call_that_is_spelled_out_becomes_a_call_with_an_interrupted_result(mode: str) -> None:
    preview = repaired(leaking("so far", th(f"I look.\n{CALL}\n")), "promote-leaked-call", mode=mode)
    assert [(row["role"], row["msgIdx"], row["chunkIdx"]) for row in rows(preview)] == [
        ("user", 1, 0),
        ("assistant", 2, 0),
        ("assistant", 2, 1),
        ("assistant", 2, 2),
        ("tool", 3, 0),
        ("user", 4, 0),
        ("assistant", 5, 0),
    ]
    thought, call, result = (row["chunk"] for row in rows(preview)[2:5])
    assert thought == {"type": "thinking", "text": "I look.\n"}
    assert call == {"type": "tool-call", "toolCallId": "insp-3", "toolName": "run_shell", "input": {"command": "find . -name '*.py'"}}
    assert (result["toolCallId"], result["content"], result["isError"]) == ("insp-3", INTERRUPTED, True)
    assert "THINK301" in [finding.code for finding in preview.before.findings]
    assert not {"THINK301", "TOOL101", "TOOL102", "TOOL202"} & set(codes(preview))
    assert preview.warnings[0].startswith(
        """On resume the program sees the call run_shell with {"command":"find . -name '*.py'"}, closed as interrupted."""
    )
    assert preview.after.judgement.violations == ()


def test_a_chunk_of_nothing_but_the_call_becomes_the_call() -> None:
    preview = repaired(leaking(th(CALL)), "promote-leaked-call")
    assert [row["chunk"]["type"] for row in rows(preview)] == ["text", "tool-call", "tool-result", "text", "text"]
    assert written(preview)["conv:c1:seq"] == "5"


def test_an_id_that_is_taken_is_not_given_again() -> None:
    store = appended([U("go")], [A(tc("insp-5")), T(tr("insp-5"))], [A(th(CALL))])
    assert rows(repaired(store, "promote-leaked-call"))[3]["chunk"]["toolCallId"] == "insp-4"
    store = appended([U("go")], [A(tc("insp-4")), T(tr("insp-4"))], [A(th(CALL))])
    assert rows(repaired(store, "promote-leaked-call"))[3]["chunk"]["toolCallId"] == "insp-4-2"


@pytest.mark.parametrize(
    ("text", "before", "name", "input"),
    [
        ("<function=ls></function>", "", "ls", {}),
        (
            "<function=ls>\n<parameter=path>/</parameter><parameter=all>\n\nx\n\n</parameter>\n</function>\n",
            "",
            "ls",
            {"path": "/", "all": "\nx\n"},
        ),
        ("a\n</think>\n<tool_call>\n<function=ls>\n</function>\n</tool_call>", "a\n", "ls", {}),
        ('a\n  <tool_call>{"name":"ls","arguments":{"n":1.0,"t":"</tool_call>"}}</tool_call>', "a\n", "ls", {"n": 1, "t": "</tool_call>"}),
        ('<tool_call>\n{"arguments":"{\\"a\\":1}","name":"ls"}\n</tool_call>\n', "", "ls", {"a": 1}),
        ('<invoke name="ls">\n<parameter name="path">a < b && c</parameter>\n</invoke>', "", "ls", {"path": "a < b && c"}),
        (
            "```\n<function=quoted>\n```\n<function=ls>\n<parameter=t>```x```</parameter></function>",
            "```\n<function=quoted>\n```\n",
            "ls",
            {"t": "```x```"},
        ),
        ('a\n[TOOL_CALLS]ls[ARGS]{"n": 1.0}', "a\n", "ls", {"n": 1}),
        ("<tool_call>ls\n<arg_key>path</arg_key>\n<arg_value>/</arg_value>\n</tool_call>", "", "ls", {"path": "/"}),
        ("<toolbridge_calls><ls><n>1</n></ls></toolbridge_calls>", "", "ls", {"n": 1}),
        (
            '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ls\n```json\n{"path":"/"}\n```\n<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
            "",
            "ls",
            {"path": "/"},
        ),
    ],
)
def test_each_form_is_read_exactly(text: str, before: str, name: str, input: dict[str, Any]) -> None:
    found = recovered(text)
    assert found is not None
    assert [(found.before, call.name, call.input) for call in found.calls] == [(before, name, input)]


@pytest.mark.parametrize(
    "text",
    [
        "<function=run_shell>...",
        "<function=ls><parameter=path>/</parameter>",
        "<function=ls><parameter=path>/</function>",
        "<function=ls></function> and then",
        "<function=ls><parameter=a>1</parameter><parameter=a>2</parameter></function>",
        "<function=ls><parameter=a>x<parameter=b>y</parameter></function>",
        "<function=ls><parameter=a>x</parameter> </parameter></function>",
        "<function=ls><parameter=a>x</function></parameter></function>",
        "<function=ls words></function>",
        "<function=></function>",
        "<function=ls><parameter=></parameter></function>",
        "<tool_call><function=ls></function>",
        '<tool_call>{"name":"ls"}</tool_call>',
        '<tool_call>{"name":"ls","arguments":[]}</tool_call>',
        '<tool_call>{"name":"ls","arguments":{},"id":1}</tool_call>',
        '<tool_call>{"name":"","arguments":{}}</tool_call>',
        "<function=ls></function>\nand\n<function=pwd></function>",
        '<tool_call>{"name":"ls","arguments":' + '{"a":' * 500 + "1" + "}" * 501 + "</tool_call>",
        "<tool_call></tool_call>",
        "</tool_call><tool_call>",
        '<invoke name="ls" id="1"></invoke>',
        "<invoke name='ls'></invoke>",
        "as I said, <function=ls></function>",
        "```\n<function=ls></function>\n```",
        "```\n" * 50_001 + "<function=ls>" * 10_000,
        "<function=ls>" + "<parameter=a>" * 50_000,
        "<function=ls>" + " " * 100_000,
    ],
)
def test_a_call_that_is_cut_off_or_could_be_read_in_two_ways_is_left_as_text(text: str) -> None:
    assert recovered(text) is None
    assert nothing_to_do(leaking(th(text)), "promote-leaked-call")


@MODES
def test_leaked_calls_at_the_end_of_a_turn_are_dropped_whole(mode: str) -> None:
    preview = repaired(leaking("so far", th("<function=run_shell>..."), tx("<invoke ...")), "drop-leaked-call", mode=mode)
    assert [row["chunk"]["text"] for row in rows(preview)] == ["go", "so far", "and?", "sorry"]
    assert "THINK301" not in codes(preview)


@pytest.mark.parametrize(
    "store",
    [
        leaking(th(CALL), tc("a")),
        leaking(th(CALL), "Here you are."),
        appended([U(CALL)]),
        appended([U("go")], [A(th(CALL))], [A("went on")]),
    ],
)
def test_text_that_ends_no_turn_is_neither_promoted_nor_dropped(store: Store) -> None:
    assert nothing_to_do(store, "promote-leaked-call", "drop-leaked-call")


def test_what_a_person_must_choose_is_not_recommended() -> None:
    store = with_rows(leaking(th(CALL)), {4: "{broken"})
    case = case_of(store.conversation(), "dispatch-legacy")
    names = {of.name for of in recommended(case, findings(case, RULES))}
    assert names == {"renumber-messages"}
    assert {of.name for of in STRATEGIES if of.manual_only} >= {"promote-leaked-call", "drop-leaked-call", "rename-in-fork"}


def test_a_plan_of_all_of_them_mends_all_of_it() -> None:
    store = with_rows(leaking(th(CALL)), {1: "{broken"}).append(A(tc("b", input="{x")), T(tr("b")), T(tr("b")))
    names = [of.name for of in STRATEGIES if of.name not in {"rename-in-fork", *FOR_A_PROVIDER} and not of.beyond_dispatch]
    plan = plan_for(store.stored(), FORK, names)
    assert plan.edits
    left = set(codes(repaired(store, *names, mode=FORK)))
    assert not {"STORE101", "TOOL301", "TOOL206", "THINK301", "MSG101"} & left
