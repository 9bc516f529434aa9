"""A cache whose file was damaged gives no answer, and no traceback: the answer is worked out again."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from time import sleep

from inspector.sources.scan_cache import scan_cache
from inspector.sources.unchanged import SETTLED_NS

LONG_AGO = 1_785_000_000
ANSWERS = "SELECT COUNT(*) FROM answers"


def test_an_answer_that_cannot_be_unpacked_is_worked_out_again(tmp_path: Path) -> None:
    session, database = tmp_path / "session.jsonl", tmp_path / "scans.sqlite3"
    session.write_bytes(b"a session")
    os.utime(session, (LONG_AGO, LONG_AGO))
    with scan_cache(database) as cache, closing(sqlite3.connect(database)) as connection:
        # A file that was just written is not kept: its time has a grain.
        sleep(SETTLED_NS / 1e9 + 0.05)
        cache.answer("which", (session,), lambda: ("an answer", [b"a session"]))
        cache.keep()
        assert connection.execute(ANSWERS).fetchone() == (1,)
        connection.execute("UPDATE answers SET answer = x'00'")
        connection.commit()
        assert cache.answer("which", (session,), lambda: ("worked out", [b"a session"])) == "worked out"
        cache.keep()
        assert cache.answer("which", (session,), lambda: ("not asked", None)) == "worked out"
