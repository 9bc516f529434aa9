"""Strategies on gbrain's jobs: what is put in where, what is refused in a sentence, and that nothing stored is renumbered, removed or respelled."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from inspector.conversation.edits import Plan
from inspector.planning.preview import NothingToDo, Preview, compose, digest, preview, safety_of
from inspector.planning.recommend import sequence
from inspector.profiles.judging import judged
from inspector.programs.formats import Record, Stored, WriteRefused, after
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.readers import RECOVERED, UNAVAILABLE, VERSIONS, counters
from inspector.programs.gbrain.tables import MESSAGES
from inspector.programs.relation_rows import record_of, relation_of, row_of
from inspector.rules.base import Case as Judged
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.rules.synthetic_texts import OURS
from inspector.strategies.catalogue import STRATEGIES, strategy
from inspector.text import jsonb
from inspector.text.jsontext import compact
from tests.gbrain_rows import AB, ASKED, BY_NUMBER, ROWS, A, Block, Case, Run, call, records, result, stored, text

READERS = [version.name for version in VERSIONS]
NOW = 1_790_000_000_000


def use(id_: str, name: str = "head") -> Block:
    return {"type": "tool_use", "id": id_, "name": name, "input": {"n": 1}}


def used(id_: str, content: Any = "ok") -> Block:
    return {"type": "tool_result", "tool_use_id": id_, "content": content}


RAN_A, RAN_B = Run(1, 0, "a", "head", output={"h": 3}), Run(1, 1, "b", "body", output={"b": 1})
DAMAGED: Mapping[str, Case] = {
    **{f"row {row.number}": row for row in ROWS},
    "a job from before #2820": Case(
        "", "", {0: ASKED, 1: A, 3: ("assistant", [call("c", "body")]), 5: AB},
        (RAN_A, Run(3, 0, "c", "body", output="x"), Run(5, 0, "a", "head", output=1), Run(5, 1, "b", "body", output=2)),
    ),
    "only the second is answered": Case("", "", {0: ASKED, 1: AB, 2: ("user", [result("b", "body", {"b": 1})])}, (RAN_A, RAN_B)),
    "words at the index, gateway": Case("", "", {0: ASKED, 1: A, 2: ("user", [text("and?")])}, (RAN_A,)),
    "words at the index, direct path": Case(
        "", "", {0: ASKED, 1: ("assistant", [text("well"), use("t1")]), 2: ("user", [text("[system] go on")])}, (Run(1, None, "t1", "head", output={"h": 3}),)
    ),
    "an answer at the index": Case("", "", {0: ASKED, 1: A, 2: ("assistant", [text("hm")])}, (RAN_A,)),
    "nothing at the index": Case("", "", {0: ASKED, 1: A, 2: ("user", []), 3: ("assistant", [text("hm")])}, (RAN_A,)),
    "one id in every turn": Case(
        "", "", {0: ASKED, 1: A, 2: ("user", [result("a", "head", 1)]), 3: A, 5: A},
        (Run(1, 0, "a", "head", output=1), Run(3, 0, "a", "head", output=2), Run(5, 0, "a", "head", "failed", error="late"))
    ),
    "an older ledger without places": Case("", "", {0: ASKED, 1: AB}, (Run(1, None, "a", "head", output="x"), Run(1, None, "other", "body", output="y"))),
    "one old run for two calls": Case(
        "", "", {0: ASKED, 1: ("assistant", [call("x", "head"), call("y", "head")])}, (Run(1, None, "y", "head", output="of y"), Run(1, None, "y2", "head", output="z"))
    ),
    "both paths in one job": Case("", "", {0: ASKED, 1: ("assistant", [use("t1")]), 2: ("user", [used("t1")]), 3: A}, (Run(3, 0, "a", "head", output="ok"),)),
    "thinking, unknown and torn blocks": Case(
        "", "", {0: ASKED, 1: ("assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"}, use("t1"), {"type": "mystery", "n": 1.10}, {"type": "tool_use"}, 7])}, ()
    ),
    "a question without an answer, twice": Case("", "", {0: ASKED, 1: ("user", [text("go on")]), 4: ("assistant", [text("done"), text(" ")])}, ()),
    "hostile words": Case("", "", {0: ("user", [text("$$'\\\"; DROP TABLE x; --\u202e\x01")]), 1: ("assistant", [call("$1'\\", "na'me")])}, (Run(1, 0, "$1'\\", "na'me", output="'\\$$"),)),
    "a call that another tool answers": Case("", "", {0: ASKED, 1: A, 2: ("user", [result("z", "head", 1), result("a", "head", 2), result("a", "head", 3)])}, ()),
}  # fmt: skip


def twice(row: Case, *indexes: int, bare: Sequence[int] = ()) -> Stored:
    """As `stored`, with messages whose content is the text of their array, or of words."""
    made: list[Record] = []
    relation = relation_of(GBRAIN.relations, f"{MESSAGES}:")
    assert relation is not None
    for record in records(row):
        columns = row_of(record.value)
        if record.key.startswith(MESSAGES) and int(columns["message_idx"] or 0) in (*indexes, *bare):
            columns["content_blocks"] = jsonb.printed(
                columns["content_blocks"] if int(columns["message_idx"] or 0) in indexes else "just words"
            )
        made.append(record_of(relation, columns) if record.key.startswith(MESSAGES) else record)
    (found,) = GBRAIN.read(made)
    return found


JOBS = {name: stored(row) for name, row in DAMAGED.items()} | {
    "encoded twice": twice(DAMAGED["a job from before #2820"], 1, 5),
    "encoded twice, half answered": twice(DAMAGED["only the second is answered"], 2),
    "bare words": twice(DAMAGED["words at the index, direct path"], bare=(0, 2)),
    "no list": twice(Case("", "", {0: ASKED, 1: A, 2: ("user", {"no": "list"})}, (RAN_A,))),  # type: ignore[arg-type]
}


def case(job: Stored, reader: str = "gbrain-naive") -> Judged:
    return case_of(job.conversation, reader, taken_at=NOW)


def tried(job: Stored, *names: str, reader: str = "gbrain-naive") -> Preview:
    """Raises NothingToDo, WriteRefused."""
    chosen = [strategy(name) for name in names]
    plan = Plan(
        "source", job.conversation.native_id, "fill-rows", names, safety_of(chosen), digest(job), compose(case(job, reader), chosen)
    )
    return preview(case(job, reader), job, GBRAIN, plan, chosen, "ai-sdk", "ai-sdk-6")


def recommended(job: Stored, goal: str = "ai-sdk-6") -> list[str]:
    judged_case = case(job)
    return [each.name for each in sequence(judged_case, findings(judged_case, RULES), goal, "ai-sdk").candidate.strategies]


def rows(job: Stored, made: Preview | None = None) -> dict[int, str]:
    """index -> content_blocks as the server will print them."""
    held = job.records if made is None else after(job.records, made.changes)
    found = (row_of(record.value) for record in held if record.key.startswith(f"{MESSAGES}:"))
    return {int(row["message_idx"] or 0): row["content_blocks"] or "" for row in found}


def said(made: Preview, index: int) -> list[Any]:
    """The results of a row as (id, output, is it an error)."""
    (job,) = GBRAIN.read(after([*made_of(made)], made.changes))
    return [
        (chunk.call_id, chunk.text, chunk.is_error) for chunk in job.conversation.chunks if chunk.msg_idx == index and chunk.role == "tool"
    ]


def made_of(made: Preview) -> Sequence[Record]:
    return next(job.records for job in JOBS.values() if digest(job) == made.plan.base_digest)


@pytest.mark.parametrize("name", JOBS)
def test_each_strategy_writes_what_it_previews_or_says_in_one_sentence_why_not(name: str) -> None:
    job = JOBS[name]
    before = rows(job)
    for reader in READERS:
        for names in [(each.name,) for each in STRATEGIES] + [tuple(recommended(job))]:
            try:
                made = tried(job, *names, reader=reader)
            except NothingToDo:
                continue
            except WriteRefused as refused:
                assert refused.reason.endswith(".") and "\n" not in refused.reason, names
                continue
            now = rows(job, made)
            assert all(change.key.startswith(f"{MESSAGES}:") and change.after is not None for change in made.changes), names
            assert before.keys() <= now.keys(), names
            assert after(after(job.records, made.changes), [change.reversed() for change in reversed(made.changes)]) == sorted(
                job.records, key=lambda each: each.key
            )
            assert all(isinstance(jsonb.parse(now[int(change.key.rpartition(":")[2])]), list) for change in made.changes), names
            assert not compose(made.after.case, [strategy(each) for each in names]), f"{names}: a second run finds something to do"


def test_each_call_gets_the_output_of_its_own_run_in_the_order_of_the_calls() -> None:
    made = tried(JOBS["row 1"], "insert-ledger-results")
    assert said(made, 2) == [("a", '{"h":3}', False), ("b", '{"b":1}', False)]
    assert said(tried(JOBS["row 9"], "insert-ledger-results"), 2) == [("a", "first", False), ("a", "second", False)]
    every_turn = tried(JOBS["one id in every turn"], "insert-ledger-results")
    assert (said(every_turn, 4), said(every_turn, 6)) == ([("a", "2", False)], [("a", "late", True)])
    assert rows(JOBS["one id in every turn"], every_turn)[2] == rows(JOBS["one id in every turn"])[2]


def test_a_run_is_found_by_place_and_id_then_by_id_then_by_place_alone_and_goes_to_one_call() -> None:
    assert said(tried(JOBS["an older ledger without places"], "insert-ledger-results"), 2) == [("a", "x", False), ("b", "y", False)]
    # By place alone the first call would have it; the second has its id.
    assert said(tried(JOBS["one old run for two calls"], "insert-ledger-results"), 2) == [("y", "of y", False)]
    assert not compose(case(JOBS["row 7"]), [strategy("insert-ledger-results")])


def test_a_failed_run_is_an_error_with_its_text_and_no_output_is_null() -> None:
    assert said(tried(JOBS["row 2"], "insert-ledger-results"), 2) == [("a", "boom", True)]
    assert said(tried(JOBS["row 3"], "insert-ledger-results"), 2) == [("a", "tool failed", True)]
    assert jsonb.parse(rows(JOBS["row 5"], tried(JOBS["row 5"], "insert-ledger-results"))[2])[0]["output"] is None


def test_a_number_of_the_ledger_keeps_its_digits() -> None:
    exact = "12345678901234567890.100"
    made = [
        record_of(relation, {**row_of(record.value), "output": f'{{"n": {exact}}}'})
        if (relation := relation_of(GBRAIN.relations, record.key)) and record.key.startswith("subagent_tool_executions")
        else record
        for record in records(BY_NUMBER["3"])
    ]
    (job,) = GBRAIN.read([record_of(relation, {**row_of(record.value), "status": "complete"}) if relation and "executions" in record.key else record for record in made for relation in [relation_of(GBRAIN.relations, record.key)]])  # fmt: skip
    assert exact in rows(job, tried(job, "insert-ledger-results"))[2]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("insert-replay-result", UNAVAILABLE),
        ("insert-recovered-result", RECOVERED),
        ("insert-plain-result", OURS),
        ("insert-interrupted-result", OURS),
    ],
)
def test_words_are_made_up_only_for_a_call_whose_run_did_not_end(name: str, words: str) -> None:
    for number in ("4", "7", "12"):
        assert said(tried(JOBS[f"row {number}"], name), 2) == [("a", words, True)]
    assert said(tried(JOBS["row 2"], name), 2) == [("b", words, True)]
    with pytest.raises(NothingToDo):
        tried(JOBS["row 1"], name)


def test_what_is_composed_makes_one_row_for_a_turn() -> None:
    for names in (("insert-ledger-results", "insert-replay-result"), ("insert-replay-result", "insert-ledger-results")):
        made = tried(JOBS["row 2"], *names)
        assert [change.key for change in made.changes] == [f"{MESSAGES}:0000000001:0000000002"]
        assert said(made, 2) == [("a", "boom", True), ("b", UNAVAILABLE, True)]


def test_a_row_that_answers_a_part_is_completed_in_the_order_of_the_calls_and_keeps_its_bytes() -> None:
    job = JOBS["only the second is answered"]
    made = tried(job, "insert-ledger-results")
    assert [call_id for call_id, _, _ in said(made, 2)] == ["a", "b"]
    assert rows(job)[2][1:-1] in rows(job, made)[2]


def test_a_gapped_job_ends_as_a_row_at_every_index_and_all_readers_count_alike() -> None:
    job = JOBS["a job from before #2820"]
    assert list(rows(job)) == [0, 1, 3, 5]
    made = tried(job, *recommended(job))
    assert made.plan.strategies == ("insert-ledger-results",) and not made.plan.safety
    assert list(rows(job, made)) == [0, 1, 2, 3, 4, 5, 6]
    assert [counters(version, job.conversation)["nextMessageIdx"] for version in VERSIONS] == [4, 4, 6]
    repaired = made.after.case.conversation
    assert [counters(version, repaired)["nextMessageIdx"] for version in VERSIONS] == [7, 7, 7]
    assert not any(counters(version, repaired)["collides"] for version in VERSIONS)
    assert {found.rule for found in made.before.findings} >= {"gapped-indexes", "result-only-in-ledger"}
    assert not {found.rule for found in made.after.findings} & {"gapped-indexes", "result-only-in-ledger"}


def test_filling_the_gaps_mends_the_index_that_was_taken() -> None:
    made = tried(JOBS["row 10"], "insert-ledger-results")
    assert "taken-index" in {found.rule for found in made.before.findings}
    assert not made.after.findings


def test_results_of_the_direct_path_stand_before_the_words_at_their_index_in_its_own_spelling() -> None:
    job = JOBS["words at the index, direct path"]
    made = tried(job, "insert-ledger-results")
    assert jsonb.parse(rows(job, made)[2]) == [
        {"type": "tool_result", "tool_use_id": "t1", "content": '{"h":3}'},
        {"type": "text", "text": "[system] go on"},
    ]


@pytest.mark.parametrize(
    ("name", "strategy", "words"),
    [
        ("words at the index, gateway", "insert-ledger-results", "holds words of the user"),
        ("an answer at the index", "insert-ledger-results", "is taken by an answer"),
        ("no list", "insert-ledger-results", "cannot be read"),
        ("row 13", "move-results", "holds words of the user"),
    ],
)
def test_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said(name: str, strategy: str, words: str) -> None:
    with pytest.raises(WriteRefused, match=words):
        tried(JOBS[name], strategy)
    # So it is not recommended either, and the reason is the same.
    judged_case = case(JOBS[name])
    found = sequence(judged_case, findings(judged_case, RULES), "ai-sdk-6", "ai-sdk")
    assert not found.candidate.strategies and (words in found.why_not or "No sequence" in found.why_not)


@pytest.mark.parametrize("goal", ["ai-sdk-6", "ai-sdk-7", "anthropic-2026-07", "openai-chat"])
@pytest.mark.parametrize("name", JOBS)
def test_what_is_recommended_for_a_provider_can_be_written(name: str, goal: str) -> None:
    names = recommended(JOBS[name], goal)
    assert not names or tried(JOBS[name], *names).changes


def test_words_in_a_bare_string_become_a_block_with_the_very_words_and_the_job_loads() -> None:
    job = JOBS["bare words"]
    made = tried(job, "wrap-bare-text")
    assert not made.plan.safety and {change.key[-1] for change in made.changes} == {"0", "2"}
    assert {index: jsonb.parse(rows(job, made)[index]) for index in (0, 2)} == {0: [text("just words")], 2: [text("just words")]}
    assert rows(job, made)[1] == rows(job)[1]
    assert case(job).reading.failure and not made.after.case.reading.failure
    assert "bare-text" in {found.rule for found in made.before.findings} and "bare-text" not in {
        found.rule for found in made.after.findings
    }
    assert recommended(job) == ["wrap-bare-text", "insert-ledger-results"]


@pytest.mark.parametrize("words", ["", " ", "[not a list", "{{", "line\nbreak \u202e 'quoted' \\ $$ </script>", "NaN"])
def test_bare_words_keep_every_sign(words: str) -> None:
    job = bare(words)
    assert jsonb.parse(rows(job, tried(job, "wrap-bare-text"))[0]) == [text(words)]


@pytest.mark.parametrize("words", ["5", "null", '"quoted"', '{"a": 1}', "[]"])
def test_a_bare_string_that_parses_is_loaded_as_what_it_spells_and_left_alone(words: str) -> None:
    with pytest.raises(NothingToDo):
        tried(bare(words), "wrap-bare-text")


def bare(words: str) -> Stored:
    relation = relation_of(GBRAIN.relations, f"{MESSAGES}:")
    assert relation is not None
    made = [
        record_of(relation, {**row_of(record.value), "content_blocks": jsonb.printed(words)})
        if record.key.startswith(MESSAGES) and row_of(record.value)["message_idx"] == "0"
        else record
        for record in records(BY_NUMBER["6"])
    ]
    (job,) = GBRAIN.read(made)
    return job


def test_an_empty_row_takes_the_results() -> None:
    assert said(tried(JOBS["nothing at the index"], "insert-ledger-results"), 2) == [("a", '{"h":3}', False)]


@pytest.mark.parametrize("status", ["active", "delayed", "waiting-children"])
def test_a_job_that_somebody_may_take_up_is_refused(status: str) -> None:
    (job,) = GBRAIN.read(records(BY_NUMBER["1"], status=status))
    with pytest.raises(WriteRefused, match=f"The job is {status}"):
        tried(job, "insert-ledger-results")


@pytest.mark.parametrize("status", ["failed", "dead", "paused", "cancelled", "completed", "waiting"])
def test_a_job_at_rest_is_not(status: str) -> None:
    (job,) = GBRAIN.read(records(BY_NUMBER["1"], status=status))
    assert tried(job, "insert-ledger-results").changes


def test_blocks_that_were_encoded_twice_become_an_array_and_change_in_nothing_else() -> None:
    single, double = JOBS["a job from before #2820"], JOBS["encoded twice"]
    made = tried(double, "decode-double-encoded")
    assert rows(double, made) == rows(single) and rows(double) != rows(single)
    assert {change.key[-1] for change in made.changes} == {"1", "5"}
    both = tried(JOBS["encoded twice, half answered"], *recommended(JOBS["encoded twice, half answered"]))
    assert rows(JOBS["encoded twice, half answered"], both) == rows(
        JOBS["only the second is answered"], tried(JOBS["only the second is answered"], "insert-ledger-results")
    )


def test_numbers_and_members_of_a_text_that_was_encoded_twice_stay_exact() -> None:
    odd = '[{"type": "text", "text": "a", "n": 1.10, "big": 12345678901234567890123.5, "cache_control": {"type": "ephemeral"}}]'
    (job,) = GBRAIN.read(
        [
            record_of(relation, {**row_of(record.value), "content_blocks": jsonb.printed(odd)})
            if "messages" in record.key and relation
            else record
            for record in records(BY_NUMBER["6"])
            for relation in [relation_of(GBRAIN.relations, record.key)]
        ]
    )
    assert rows(job, tried(job, "decode-double-encoded")) == {0: jsonb.printed(jsonb.parse(odd)), 1: jsonb.printed(jsonb.parse(odd))}


def test_an_id_that_is_renamed_leaves_every_other_member_of_its_block() -> None:
    block = {**call("a", "head", n=1), "providerMetadata": {"google": {"thoughtSignature": "s"}}, "own": [1]}
    answers = [{**result("a", "head", 1.5), "own": {"n": 2}}, {**result("a", "head", [2]), "own": 3}]
    job = stored(Case("", "", {0: ASKED, 1: ("assistant", [call("a", "head", n=1), block]), 2: ("user", answers)}))
    made = rows(job, tried(job, "rename-repeated-ids"))
    assert jsonb.parse(made[1]) == [call("a", "head", n=1), {**block, "toolCallId": "a_2"}]
    assert made[2] == jsonb.printed([answers[0], {**answers[1], "toolCallId": "a_2"}])


@pytest.mark.parametrize("name", ["rename-repeated-ids", "shorten-ids", "rename-invalid-ids", "sanitize-tool-names"])
def test_no_call_loses_its_run_in_the_ledger(name: str) -> None:
    """gbrain would not find it under another id, and run the tool a second time."""
    long = "x" * 80 + "!"
    job = stored(
        Case(
            "",
            "",
            {0: ASKED, 1: ("assistant", [call(long, "he ad"), call(long, "body")])},
            (Run(1, 0, long, "he ad", output=1), Run(1, 1, long, "body", output=2)),
        )
    )
    with pytest.raises(WriteRefused, match="run the tool again"):
        tried(job, name)
    made = tried(job, "insert-ledger-results", name)
    assert [
        words
        for _, words, _ in (
            (chunk.call_id, chunk.text, chunk.is_error) for chunk in made.after.case.conversation.chunks if chunk.role == "tool"
        )
    ] == ["1", "2"]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("profile", ["ai-sdk-6", "ai-sdk-7"])
@pytest.mark.parametrize("row", [row for row in ROWS if row.repairable], ids=lambda row: row.number)
def test_after_the_recommended_repair_no_reader_is_refused(row: Case, profile: str, reader: str) -> None:
    job = stored(row)
    names = recommended(job, profile)
    assert bool(names) == bool(row.refusal)
    repaired = tried(job, *names).after.case.conversation if names else job.conversation
    found = case_of(repaired, reader)
    assert judged(found.reading, repaired, profile, "ai-sdk")[1].sendable and not found.reading.failure


@pytest.mark.parametrize("row", [row for row in ROWS if row.repairable and row.refusal], ids=lambda row: row.number)
def test_what_is_recommended_says_what_the_ledger_has_before_it_makes_anything_up(row: Case) -> None:
    job = stored(row)
    made = tried(job, *recommended(job))
    outcomes = {compacted(run) for run in row.ledger if run.status != "pending" and run.index in row.messages}
    assert outcomes <= {chunk.text for chunk in made.after.case.conversation.chunks if chunk.role == "tool"}
    assert said_before(job) <= {chunk.text for chunk in made.after.case.conversation.chunks}


def compacted(run: Run) -> str:
    if run.status == "failed":
        return run.error or "tool failed"
    return run.output if isinstance(run.output, str) else compact(run.output)


def said_before(job: Stored) -> set[str]:
    return {chunk.text for chunk in job.conversation.chunks}


def test_a_result_is_never_put_behind_words_where_it_would_answer_nothing() -> None:
    """Words first, then the result twice: the one that is moved stands in front, and is the one that stays."""
    twice_ = [text("and?"), result("a", "head", 1), result("a", "head", 1)]
    job = stored(Case("", "", {0: ASKED, 1: A, 2: ("user", twice_)}))
    made = tried(job, "move-results", "deduplicate-results")
    assert jsonb.parse(rows(job, made)[2]) == [result("a", "head", 1), text("and?")]
    assert "displaced-result" not in {found.rule for found in made.after.findings}


def test_of_two_calls_of_one_id_the_second_never_lends_its_output_to_the_first() -> None:
    """The first is pending: a result put in for the second would be read as the answer of the first, and be put in again by the next repair."""
    same = ("assistant", [call("a", "head", n=1), call("a", "body", n=2)])
    job = stored(Case("", "", {0: ASKED, 1: same}, (Run(1, 0, "a", "head", "pending"), Run(1, 1, "a", "body", output="second"))))
    with pytest.raises(NothingToDo):
        tried(job, "insert-ledger-results")
    made = tried(job, "insert-plain-result")
    assert [(call_id, words) for call_id, words, _ in said_in(made, 2)] == [("a", OURS)]
    other = stored(Case("", "", {0: ASKED, 1: same}, (Run(1, 0, "a", "head", output="first"), Run(1, 1, "a", "body", "pending"))))
    with pytest.raises(NothingToDo):
        tried(other, "insert-plain-result")
    both = tried(other, "insert-ledger-results", "insert-plain-result")
    assert [words for _, words, _ in said_in(both, 2)] == ["first", OURS]


def said_in(made: Preview, index: int) -> list[Any]:
    return [
        (chunk.call_id, chunk.text, chunk.is_error)
        for chunk in made.after.case.conversation.chunks
        if chunk.msg_idx == index and chunk.role == "tool"
    ]


def test_a_block_that_is_null_stays_where_it_is() -> None:
    job = stored(Case("", "", {0: ASKED, 1: ("assistant", [None, call("a!", "head")]), 2: ("user", [result("a!", "head", 1)])}))  # type: ignore[list-item]
    made = rows(job, tried(job, "rename-invalid-ids"))
    assert jsonb.parse(made[1])[0] is None and jsonb.parse(made[1])[1]["toolCallId"] == jsonb.parse(made[2])[0]["toolCallId"] != "a!"
