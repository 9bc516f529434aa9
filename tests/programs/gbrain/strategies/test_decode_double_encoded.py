"""What `decode-double-encoded` changes in the rows of a job, and what is refused in a sentence."""

from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.relation_rows import record_of, relation_of, row_of
from inspector.text import jsonb
from tests.programs.gbrain.conformance_rows import BY_NUMBER, records
from tests.programs.gbrain.strategies.repaired_jobs import JOBS, recommended, rows, tried


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
