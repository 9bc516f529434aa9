"""What `rename-repeated-ids` changes in the rows of a job, and what is refused in a sentence."""

from inspector.text import jsonb
from tests.programs.gbrain.conformance_rows import ASKED, Case, call, result, stored
from tests.programs.gbrain.strategies.repaired_jobs import rows, tried


def test_an_id_that_is_renamed_leaves_every_other_member_of_its_block() -> None:
    block = {**call("a", "head", n=1), "providerMetadata": {"google": {"thoughtSignature": "s"}}, "own": [1]}
    answers = [{**result("a", "head", 1.5), "own": {"n": 2}}, {**result("a", "head", [2]), "own": 3}]
    job = stored(Case("", "", {0: ASKED, 1: ("assistant", [call("a", "head", n=1), block]), 2: ("user", answers)}))
    made = rows(job, tried(job, "rename-repeated-ids"))
    assert jsonb.parse(made[1]) == [call("a", "head", n=1), {**block, "toolCallId": "a_2"}]
    assert made[2] == jsonb.printed([answers[0], {**answers[1], "toolCallId": "a_2"}])
