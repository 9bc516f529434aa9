"""What `rename-invalid-ids` changes in the rows of a job, and what is refused in a sentence."""

from inspector.text import jsonb
from tests.programs.gbrain.conformance_rows import ASKED, Case, call, result, stored
from tests.programs.gbrain.strategies.repaired_jobs import rows, tried


def test_a_block_that_is_null_stays_where_it_is() -> None:
    job = stored(Case("", "", {0: ASKED, 1: ("assistant", [None, call("a!", "head")]), 2: ("user", [result("a!", "head", 1)])}))  # type: ignore[list-item]
    made = rows(job, tried(job, "rename-invalid-ids"))
    assert jsonb.parse(made[1])[0] is None and jsonb.parse(made[1])[1]["toolCallId"] == jsonb.parse(made[2])[0]["toolCallId"] != "a!"
