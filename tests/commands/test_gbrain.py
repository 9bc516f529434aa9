"""gbrain's jobs at the keyboard: what a person reads before and after a repair, and one sentence where there is none."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from inspector.demo import gbrain_incident
from tests.actions.test_gbrain_repair import LEDGER, everything, indexes, put, repair, store  # noqa: F401
from tests.commands.running import run
from tests.postgres.fixtures import _postgres, database, server  # noqa: F401
from tests.programs.gbrain.strategies.repaired_jobs import DAMAGED

pytestmark = pytest.mark.django_db


def test_the_diff_shows_the_rows_that_come_at_the_index_that_they_get(store: str) -> None:  # noqa: F811
    ran = repair(store, *LEDGER, "--plan")
    assert ran.status == 0 and "mode fill-rows" in ran.out and "nothing is lost or invented" in ran.out
    assert [line for line in ran.out.splitlines() if line.startswith("+") and "tool-result" in line] == [
        '+3 tool 2.0 tool-result a "{\\"h\\":3}" name=head json=ai-sdk',
        "+5 tool 4.0 tool-result c x name=body",
        "+8 tool 6.0 tool-result a 1 name=head json=ai-sdk",
        "+9 tool 6.1 tool-result b 2 name=body json=ai-sdk",
    ]


def test_the_same_rows_give_the_same_digest_and_another_output_another_one(store: str) -> None:  # noqa: F811
    digests = [repair(store, *LEDGER, "--plan", "--json").json["plan_digest"] for _ in range(2)]
    with closing(psycopg.connect(store, autocommit=True)) as connection:
        connection.execute("UPDATE subagent_tool_executions SET output = '3' WHERE job_id = 7 AND message_idx = 3")
    assert digests[0] == digests[1] != repair(store, *LEDGER, "--plan", "--json").json["plan_digest"]


@pytest.mark.parametrize(
    ("how", "status", "words"),
    [
        (("--strategy", "insert-recovered-result", "--plan"), 1, "would change nothing"),
        (("--strategy", "merge-same-role-messages", "--plan"), 2, "no row of gbrain is removed"),
        (("--strategy", "fix-counter", "--apply"), 1, "would change nothing"),
        (("--strategy", "rename-repeated-ids", "--apply"), 2, "run the tool again"),
        ((*LEDGER, "--mode", "fork", "--plan"), 2, "fill-rows (in-place)"),
        ((*LEDGER, "--out", ""), 2, "Name the new file"),
        ((*LEDGER, "--out", "/no/such/folder/repair.sql"), 2, "its folder does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(store: str, how: tuple[str, ...], status: int, words: str) -> None:  # noqa: F811
    before = everything(store)
    ran = repair(store, *how)
    assert (ran.status, ran.err.count("\n")) == (status, 1) and words in ran.err, ran.err
    assert everything(store) == before


def test_words_at_the_index_of_the_results_are_not_lost(database: str) -> None:  # noqa: F811
    put(database, DAMAGED["words at the index, gateway"])
    before = everything(database)
    # Asked for by name it is refused; asked for what would repair it, there is nothing that could.
    for how, status in ((LEDGER, 2), (("--for", "ai-sdk-6"), 1)):
        ran = repair(database, *how, "--apply")
        assert ran.status == status and "holds words of the user" in ran.err and ran.err.count("\n") == 1
    assert everything(database) == before


def test_a_job_whose_row_somebody_holds_is_left_alone(store: str) -> None:  # noqa: F811
    with closing(psycopg.connect(store)) as worker:
        worker.execute("SELECT 1 FROM minion_jobs WHERE id = 7 FOR UPDATE")
        ran = repair(store, *LEDGER, "--apply")
        assert ran.status == 2 and "nothing was written" in ran.err and ran.err.count("\n") == 1
    assert indexes(store) == [0, 1, 3, 5]


def test_the_ledger_comes_before_words_that_are_made_up(database: str, tmp_path: Path) -> None:  # noqa: F811
    put(database, DAMAGED["row 2"])
    assert repair(database, "--for", "ai-sdk-6", "--plan", "--json").json["request"]["strategies"] == [
        "insert-ledger-results",
        "insert-interrupted-result",
    ]
    done = repair(database, "--for", "ai-sdk-6", "--apply", "--json").json
    assert run("verify", done["repair"]).out.startswith("The store holds exactly what this repair wrote")
    assert repair(database, "--for", "ai-sdk-6", "--plan").status == 1


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "gbrain.sql"
    path.write_text(gbrain_incident.script())
    return path


def test_the_calls_that_an_error_names_lead_to_their_job(export: Path) -> None:
    told = run("explain", "[chat(glm)] Tool results are missing for tool calls call_7d1f0a2c, call_7d1f0a2d", "--target", export)
    assert told.status == 0 and "Looked for in 4107 (" in told.out, told.err
    assert "repaired by: insert-ledger-results (safe), recommended; would change nothing here: move-results," in told.out
    told = run("explain", "Tool results are missing for tool calls call_none", "--target", export)
    assert told.status == 0 and "SDK-1" in told.out and "with --conversation" in told.out and not told.err


def test_a_script_says_how_it_is_run(export: Path, tmp_path: Path) -> None:
    ran = run("repair", export, "--conversation", "4107", *LEDGER, "--out", tmp_path / "my repair.sql")
    assert ran.status == 0 and f"psql -v ON_ERROR_STOP=1 -f '{tmp_path}/my repair.sql' DATABASE" in ran.out


def test_an_error_that_was_repaired_is_not_said_to_stand(store: str) -> None:  # noqa: F811
    with closing(psycopg.connect(store, autocommit=True)) as connection:
        connection.execute("UPDATE minion_jobs SET error_text = 'Tool results are missing for tool calls a, b.' WHERE id = 7")
    assert "TOOL601, SDK-1, found at seq" in run("scan", store).out
    assert repair(store, *LEDGER, "--apply").status == 0
    assert "TOOL601, SDK-1, not found in what is stored now" in run("scan", store).out
