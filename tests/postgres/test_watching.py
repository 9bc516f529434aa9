"""A database that is watched: what is written to it shows, and a look costs the same however much there is."""

import time
from collections.abc import Callable

import pytest

from inspector.actions import watching
from inspector.actions.import_source import import_targets
from inspector.models import Conversation, Source, Watch
from inspector.sources import postgres_watched
from inspector.sources.dsn import Dsn
from inspector.sources.places import place
from inspector.sources.postgres_problems import NoServer, UnknownDatabase
from inspector.sources.problems import SourceProblem
from inspector.watcher import Watching
from tests.postgres.making import asked, dangling, many, run


def at(dsn: str) -> Dsn:
    where = place(dsn)
    assert isinstance(where, Dsn)
    return where


def mark(dsn: str) -> str:
    return postgres_watched.mark(at(dsn), "gbrain")


@pytest.mark.parametrize("small", [16 << 20, 0])
def test_every_write_to_its_tables_is_seen_and_no_other(database: str, empty: str, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no small table by what the server counts alone, which comes a moment late."""
    monkeypatch.setattr(postgres_watched, "SMALL", small)
    dangling(database, 1)
    settled(database)
    for write in (
        "INSERT INTO minion_jobs (id, name, status, data, created_at, updated_at) VALUES (7, 'subagent', 'failed', '{}', now(), now())",
        "UPDATE minion_jobs SET status = 'completed' WHERE id = 7",
        "DELETE FROM minion_jobs WHERE id = 7",
    ):
        before = mark(database)
        run(database, "CREATE TABLE IF NOT EXISTS other (a int)", "INSERT INTO other VALUES (1)")
        assert settled(database) == before, "another table"
        run(database, write, *([] if small else ["SELECT pg_stat_force_next_flush()"]))
        end = time.monotonic() + 20
        while mark(database) == before:
            assert time.monotonic() < end, write
            time.sleep(0.05)
        settled(database)


def settled(dsn: str) -> str:
    """The mark, when the counts of what was written before have arrived."""
    last, since = mark(dsn), time.monotonic()
    while time.monotonic() - since < 0.4:
        time.sleep(0.05)
        if (now := mark(dsn)) != last:
            last, since = now, time.monotonic()
    return last


def test_an_open_transaction_shows_when_it_is_committed(database: str) -> None:
    import psycopg

    dangling(database, 1)
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE minion_jobs SET status = 'completed'")
        before = settled(database)
        assert mark(database) == before
        connection.commit()
    assert mark(database) != before


def test_a_look_costs_the_same_however_much_there_is(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_watched, "SMALL", 1 << 20)
    many(database, 300)
    assert asked(database, "SELECT sum(pg_relation_size(oid)) > 1048576 FROM pg_class WHERE relname LIKE 'subagent%'") == [(True,)]
    queries: list[str] = []
    rows = postgres_watched._rows
    monkeypatch.setattr(postgres_watched, "_rows", lambda *given: queries.append(given[1]) or rows(*given))  # type: ignore[func-returns-value]
    mark(database)
    assert queries == []


def test_what_cannot_be_asked_is_a_sentence(database: str, empty: str) -> None:
    with pytest.raises(UnknownDatabase):
        mark(empty + "_not_there")
    with pytest.raises(NoServer):
        mark("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")
    run(empty, "CREATE VIEW minion_jobs AS SELECT 1 AS id")
    with pytest.raises(SourceProblem, match="minion_jobs, which is a view"):
        mark(empty)


@pytest.mark.django_db(transaction=True)
def test_what_is_written_to_a_database_is_imported(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dangling(database, 1)
    import_targets([database], "tester")
    looks = Watching()
    looks.turn()
    assert not Watch.objects.exists(), "a database is watched where somebody says so"
    watching.set_watching(Source.objects.get(), "tester", True)
    monkeypatch.setattr(watching, "OF_SERVERS", 0.2)

    def until(is_so: Callable[[], object]) -> None:
        end = time.monotonic() + 20
        while not is_so():
            assert time.monotonic() < end, list(Watch.objects.values())
            time.sleep(min(looks.turn(), 0.1))

    until(Watch.objects.exclude(mark="").exists)
    dangling(database, 2)
    until(lambda: Conversation.objects.count() == 2)
    run(database, "ALTER TABLE minion_jobs RENAME TO jobs_away")
    until(Watch.objects.exclude(problem="").exists)
    run(database, "ALTER TABLE jobs_away RENAME TO minion_jobs")
    until(Watch.objects.filter(problem="").exists)
