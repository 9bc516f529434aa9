"""Runs a command with Inspector's own models on a private PostgreSQL: `python -m tests.postgres.run pytest -m database`.

The server stops with the command, on Ctrl-C and SIGTERM too. INSPECTOR_TEST_POSTGRES names a server to use instead (see `server`).
"""

import os
import signal
import subprocess
import sys

from tests.postgres.server import NoPostgres, Server, started


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with started() as server:
            return _ran(arguments, server)
    except NoPostgres as problem:
        sys.stderr.write(f"{problem}\n")
        return 2


def _ran(arguments: list[str], server: Server) -> int:
    address = server.dsn("inspector", "" if server.folder is None else "postgres")
    program = subprocess.Popen(arguments, env={**os.environ, "INSPECTOR_DATABASE_URL": address})
    try:
        while True:
            try:
                return program.wait()
            except KeyboardInterrupt:
                # The terminal told the program as well, which has its summary to print.
                continue
    finally:
        if program.poll() is None:
            program.terminate()
            program.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
