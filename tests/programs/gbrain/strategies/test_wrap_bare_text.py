"""What `wrap-bare-text` changes in the rows of a job, and what is refused in a sentence."""

import pytest

from inspector.planning.preview import NothingToDo
from inspector.programs.formats import Stored
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.tables import MESSAGES
from inspector.programs.relation_rows import record_of, relation_of, row_of
from inspector.text import jsonb
from tests.programs.gbrain.conformance_rows import BY_NUMBER, records, text
from tests.programs.gbrain.strategies.repaired_jobs import JOBS, case, recommended, rows, tried


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
