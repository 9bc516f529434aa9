"""Whether rows of a PostgreSQL database changed: by what its server counts of each table, and, of tables that are small, by which transaction wrote each row."""

import hashlib
from dataclasses import dataclass

from psycopg import sql

from inspector.programs.catalogue import format_named
from inspector.programs.formats import InRelations
from inspector.sources.dsn import Dsn
from inspector.sources.postgres import READING, Connection, transaction
from inspector.sources.problems import SourceProblem

SMALL = 16 << 20
"""Bytes of all tables together whose rows are looked at one by one, and only when some transaction wrote something since the last look."""
_PATIENCE = {"statement_timeout": "2000", "lock_timeout": "500"}
_looked: dict[str, tuple[str, str]] = {}
"""By the name of a database: the transactions that the server had seen at the last look, and the mark."""


@dataclass(eq=False)
class NotCounted(SourceProblem):
    """A relation of which the server keeps no counts."""

    table: str
    template = "{place} cannot be watched: the server counts no changes of {table}, which is a view or a table in parts. Import it again when you need it."


def mark(where: Dsn, format_name: str) -> str:
    """Another one when rows were written. One connection for a moment, and nothing in proportion to the store. Raises SourceProblem."""
    format_ = format_named(format_name)
    names = [relation.name for relation in format_.relations] if isinstance(format_, InRelations) else []
    with transaction(where, READING, **_PATIENCE) as connection:
        seen = _one(connection, "SELECT pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text")
        known = _looked.get(where.name)
        if known is not None and known[0] == seen:
            return known[1]
        tables = connection.execute(
            """SELECT c.relname::text, c.relkind::text, c.oid::text, pg_relation_filenode(c.oid)::text, coalesce(pg_relation_size(c.oid), 0),
                      pg_stat_get_tuples_inserted(c.oid), pg_stat_get_tuples_updated(c.oid), pg_stat_get_tuples_deleted(c.oid)
               FROM unnest(%s::text[]) n JOIN pg_class c ON c.oid = to_regclass(quote_ident(n)) ORDER BY 1""",
            (names,),
        ).fetchall()
        if other := next((row for row in tables if row[1] not in ("r", "m")), None):
            raise NotCounted(where, str(other[0]))
        rows = [_rows(connection, str(row[0])) for row in tables] if sum(row[4] for row in tables) <= SMALL else []
    # The counts come some seconds late; the rows of a small table say it at once, and the counts would only say it again.
    facts = [row[:5] for row in tables] + rows if rows else tables
    digest = hashlib.sha256(repr((names, facts)).encode()).hexdigest()
    _looked[where.name] = seen, digest
    return digest


def _rows(connection: Connection, table: str) -> str:
    """How many there are, and a sum over where each is and which transaction wrote it: an update writes its row a second time."""
    query = sql.SQL("SELECT count(*) || ' ' || coalesce(sum(hashtextextended(xmin::text || ctid::text, 0)), 0) FROM {}")
    row = connection.execute(query.format(sql.Identifier(table))).fetchone()
    return str(row[0]) if row else ""


def _one(connection: Connection, query: str) -> str:
    row = connection.execute(query).fetchone()
    return str(row[0]) if row else ""
