"""Addresses of PostgreSQL as libpq reads them. Imported for an address only: psycopg costs more than the settings of every command together."""

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

SECRET = {"scram_client_key", "scram_server_key"} | {
    option.keyword.decode() for option in Conninfo.get_defaults() if option.dispchar == b"*"
}
"""Parameters that are never shown."""


def parameters(address: str) -> dict[str, str] | None:
    """None for what libpq does not read; its own message would repeat what was typed."""
    try:
        return {name: str(value) for name, value in conninfo_to_dict(address).items() if value is not None}
    except (ProgrammingError, UnicodeError):
        return None
