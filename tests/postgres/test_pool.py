"""serve on PostgreSQL: its threads share a few connections, whatever asks it at once."""

import os
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from inspector.access_token import bearer
from inspector.management.commands.serve import DATABASE_CONNECTIONS
from tests.postgres.fixtures import _postgres, empty  # noqa: F401
from tests.shell.test_serve import manage, serving

CLIENTS = 3 * DATABASE_CONNECTIONS

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_all_threads_together_open_no_more_connections_than_the_pool_has(empty: str, tmp_path: Path) -> None:  # noqa: F811
    """Each of 64 threads kept its own: two servers used more than PostgreSQL allows."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("INSPECTOR_", "DJANGO_"))}
    own = {"INSPECTOR_DATABASE_URL": empty, "INSPECTOR_AUDIT_KEY_FILE": str(tmp_path / "audit-key"), "DJANGO_SECRET_KEY": "for one test"}
    environ = ours | own
    subprocess.run(manage("migrate", "--verbosity", "0"), env=environ, check=True, timeout=120)
    with (
        serving(environ, "--port", "0") as (_, served),
        psycopg.connect(empty) as locking,
        psycopg.connect(empty, autocommit=True) as looking,
    ):

        def ask() -> int:
            request = urllib.request.Request(f"{served['url']}conversations.json", headers=bearer())
            with urllib.request.urlopen(request, timeout=120) as answer:
                answer.read()
                return int(answer.status)

        def connected(state: str = "%") -> int:
            sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND datname = current_database() AND coalesce(wait_event_type, '') LIKE %s"
            row = looking.execute(sql, ("inspector's own", state)).fetchone()
            assert row is not None
            return int(row[0])

        assert ask() == 200
        # Nobody gets an answer before all have asked.
        locking.execute("LOCK TABLE inspector_conversation IN ACCESS EXCLUSIVE MODE")
        with ThreadPoolExecutor(CLIENTS) as pool:
            answers = [pool.submit(ask) for _ in range(CLIENTS)]
            until = time.monotonic() + 15
            while connected("Lock") < DATABASE_CONNECTIONS and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(1)
            waiting, all_of_them = connected("Lock"), connected()
            locking.rollback()
            assert {answer.result() for answer in answers} == {200}
        assert waiting == all_of_them == DATABASE_CONNECTIONS
        assert connected() <= DATABASE_CONNECTIONS
