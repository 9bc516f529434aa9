"""The gbrain incident: what each of its jobs shows, as an export and in a real PostgreSQL."""

from pathlib import Path

import psycopg
import pytest

from inspector.demo.gbrain_incident import DEMO_JOBS, script
from inspector.profiles.judging import judged
from inspector.programs.gbrain.facts import GATEWAY_BALANCED, GATEWAY_GAPPED, LEGACY, PATH
from inspector.rules.base import case_of, findings
from inspector.rules.catalogue import RULES
from inspector.sources.places import place
from inspector.sources.reading import Store, read_store
from tests.postgres.fixtures import _postgres, empty  # noqa: F401 (fixtures)


@pytest.fixture
def export(tmp_path: Path) -> Store:
    path = tmp_path / "gbrain.sql"
    path.write_text(script())
    return read_store(path)


def test_each_job_shows_what_it_is_there_for(export: Store) -> None:
    assert export.format.name == "gbrain-export" and export.problems == ()
    found = {stored.conversation.native_id: stored.conversation for stored in export.conversations}
    assert found.keys() == DEMO_JOBS
    codes = {number: sorted({hit.code for hit in findings(case_of(job, "gbrain-naive"), RULES)}) for number, job in found.items()}
    assert codes == {
        "3877": [],
        "4064": ["STORE603", "TOOL601"],
        "4098": ["STORE601", "TOOL601"],
        "4107": ["TOOL601"],
        "4119": ["TOOL602"],
        "4131": [],
        "4136": [],
    }
    assert (found["3877"].fact(PATH), found["4098"].fact(PATH), found["4131"].fact(PATH)) == (LEGACY, GATEWAY_GAPPED, GATEWAY_BALANCED)
    refused = {n for n, job in found.items() if not judged(case_of(job, "gbrain-naive").reading, job, "ai-sdk-6", "ai-sdk")[1].sendable}
    assert refused == {"4064", "4098", "4107", "4119"}


def test_a_server_that_loads_it_gives_the_same_jobs(export: Store, empty: str) -> None:  # noqa: F811
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(script().encode())
    served = read_store(place(empty))
    ours = {stored.conversation.native_id: stored.conversation for stored in export.conversations}
    for stored in served.conversations:
        job = ours[stored.conversation.native_id]
        assert (job.ledger, [chunk.payload for chunk in job.chunks]) == (
            stored.conversation.ledger,
            [chunk.payload for chunk in stored.conversation.chunks],
        )
        assert {name: fact.value for name, fact in job.facts.items()} == {
            name: fact.value for name, fact in stored.conversation.facts.items()
        }
    assert len(served.conversations) == len(ours)
