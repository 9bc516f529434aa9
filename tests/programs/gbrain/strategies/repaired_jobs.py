"""Jobs of gbrain, and the previews of strategies for them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from inspector.conversation.edits import Plan
from inspector.planning.preview import NothingToDo, Preview, compose, digest, preview, safety_of
from inspector.planning.recommend import sequence
from inspector.programs.formats import Record, Stored, WriteRefused, after
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.tables import MESSAGES
from inspector.programs.relation_rows import record_of, relation_of, row_of
from inspector.rules.base import Case as Judged
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy
from inspector.text import jsonb
from tests.programs.gbrain.conformance_rows import AB, ASKED, ROWS, A, Block, Case, Run, call, records, result, stored, text

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


def assert_words_are_made_up_only_for_a_call_whose_run_did_not_end(name: str, words: str) -> None:
    for number in ("4", "7", "12"):
        assert said(tried(JOBS[f"row {number}"], name), 2) == [("a", words, True)]
    assert said(tried(JOBS["row 2"], name), 2) == [("b", words, True)]
    with pytest.raises(NothingToDo):
        tried(JOBS["row 1"], name)


def assert_where_the_index_is_taken_it_is_refused_and_what_to_do_is_said(name: str, strategy: str, words: str) -> None:
    with pytest.raises(WriteRefused, match=words):
        tried(JOBS[name], strategy)
    # So it is not recommended either, and the reason is the same.
    judged_case = case(JOBS[name])
    found = sequence(judged_case, findings(judged_case, RULES), "ai-sdk-6", "ai-sdk")
    assert not found.candidate.strategies and (words in found.why_not or "No sequence" in found.why_not)
