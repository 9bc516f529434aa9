"""PostgreSQL: what is in a database, and its rows as records at one moment."""

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from inspector.programs.formats import TOO_LARGE, UNREAD, Cell, Record, Relation, Shape
from inspector.programs.relation_rows import record_of
from inspector.sources import reach
from inspector.sources.dsn import Dsn
from inspector.sources.postgres_problems import HiddenRows, OtherType, ServerRefused, SeveralSchemas, named, not_connected
from inspector.sources.problems import NoTable
from inspector.text import limits

Connection = psycopg.Connection[tuple[Any, ...]]
_LARGE = Cell(b"", TOO_LARGE)
"""Of a row with a value over the limit."""
BATCH = 500
"""Rows that the server sends at a time."""
READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# Where the address says nothing else: a host that does not answer, or a net that swallows packets, must not be waited for all day.
_PATIENCE = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
# PGLite serves one session, and hangs up on the next until it has noticed that the last one is over.
_HUNG_UP, _PAUSES = "server closed the connection unexpectedly", (0.1, 0.3, 0.6)
# Values come as the server prints them whatever the role's own settings are: the digest must not depend on who looks.
_SETTINGS = {
    "datestyle": "ISO, MDY",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    # An error instead of rows that are left out, through views too; and no function of a policy is run.
    "row_security": "off",
    # A scan of a large store may take minutes; a statement that hangs for longer holds back the server's clean-up.
    "statement_timeout": "600000",
    "idle_in_transaction_session_timeout": "0",
    "transaction_timeout": "0",
    # Everything is fetched, so nothing is gained by a plan that is quick with its first row.
    "cursor_tuple_fraction": "1",
}
_WHOLE = ("smallint", "integer", "bigint")


@contextmanager
def transaction(where: Dsn, begin: str, **settings: str) -> Iterator[Connection]:
    """One transaction, rolled back at the end unless it was committed inside. Raises NoServer, NotLetIn, NoLogin, Unknown and what `named` gives.

    Nothing is set for the session and no statement is prepared by name: a pooler may give each transaction another session.
    """
    with closing(_connected(where)) as connection:
        try:
            connection.execute(begin)
            _set(connection, _SETTINGS | settings)
            yield connection
        except psycopg.Error as error:
            raise named(error, where, broken=connection.broken) from None
        except UnicodeDecodeError:
            raise ServerRefused(where, "a value is not valid UTF-8") from None
        finally:
            # A pooler throws a session away whose client leaves in the middle of a transaction. Whatever was committed stays, even if this fails.
            if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")


def _connected(where: Dsn) -> Connection:
    """Raises OutOfReach before anything is asked of the server, and what `not_connected` gives."""
    reach.refuse(where)
    parts = {**_PATIENCE, **conninfo_to_dict(where.conninfo), "client_encoding": "UTF8", "application_name": "inspector"}
    for seconds in (*_PAUSES, None):
        try:
            return psycopg.connect("", autocommit=True, prepare_threshold=None, **parts)  # type: ignore[arg-type]
        except psycopg.Error as error:
            if seconds is None or _HUNG_UP not in str(error):
                raise not_connected(error, where) from None
            time.sleep(seconds)
    raise AssertionError("the last try returns or raises")


def _set(connection: Connection, settings: Mapping[str, str]) -> None:
    """For this transaction only; a server that is too old for one of them goes without. Built-in names win over those of the search path."""
    connection.execute(
        """SELECT pg_catalog.set_config(s.name, v.value, true) FROM pg_catalog.json_each_text(%s::pg_catalog.json) AS v(name, value)
           JOIN pg_catalog.pg_settings s ON pg_catalog.lower(s.name) OPERATOR(pg_catalog.=) v.name""",
        (json.dumps(dict(settings)),),
    )
    search(connection, "pg_catalog, {}, pg_temp")


def search(connection: Connection, path: str) -> None:
    """Sets the search path for this transaction; {} is replaced by the schemas that are on it."""
    before, _, after = path.partition("{}")
    connection.execute(
        """SELECT pg_catalog.set_config('search_path', pg_catalog.concat(%s::pg_catalog.text, pg_catalog.array_to_string(ARRAY(
           SELECT pg_catalog.quote_ident(s) FROM pg_catalog.unnest(pg_catalog.current_schemas(false)) s
           WHERE s OPERATOR(pg_catalog.<>) ALL ('{pg_catalog,pg_temp}'::pg_catalog.name[])), ', '), %s::pg_catalog.text), true)""",
        (before, after),
    )


@dataclass(frozen=True, slots=True)
class VisibleTable:
    """A table or view that a plain name finds: its schema, and its columns with their types, in order."""

    schema: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Database:
    """The database inside one transaction. Good only inside its `with`."""

    where: Dsn
    connection: Connection
    tables: Mapping[str, VisibleTable]

    def require(self, relation: Relation) -> tuple[str, ...]:
        """The columns of it that are there, () for an optional one that is not. Raises NoTable, OtherType."""
        table = self.tables.get(relation.name)
        if table is None and relation.optional:
            return ()
        if table is None or not set(relation.required) <= table.columns.keys():
            raise NoTable(self.where, relation.name, () if table is None else relation.required)
        for name in (relation.conversation, *relation.key):
            if name in table.columns and table.columns[name] not in _WHOLE:
                raise OtherType(self.where, relation.name, name, table.columns[name])
        return tuple(name for name in relation.columns if name in table.columns)

    def rows(self, relation: Relation, conversation: str | None = None) -> Iterator[tuple[str, Record]]:
        """Records with the number of their conversation, in the order of it and of the key; through a cursor of the server."""
        columns = self.require(relation)
        if not columns:
            return
        with self.connection.cursor(name=f"inspector_{relation.name}") as cursor:
            cursor.itersize = BATCH
            cursor.execute(_selected(relation, columns, conversation))
            place = columns.index(relation.conversation)
            for is_large, *row in cursor:
                yield str(row[place]), Record(UNREAD, _LARGE) if is_large else record_of(relation, dict(zip(columns, row, strict=True)))

    def conversations(self, relations: Sequence[Relation], conversation: str | None = None) -> Iterator[list[Record]]:
        """The records of one conversation after the other, by number: no more than one is held. Of one only, where it is named.

        Of one with a value over the limit a single record, whose key is UNREAD and whose value is the number.
        """
        for relation in relations:
            self.require(relation)
        streams = [_grouped(self.rows(relation, conversation)) for relation in relations]
        waiting = [next(stream, None) for stream in streams]
        while any(group is not None for group in waiting):
            first = min(int(group[0]) for group in waiting if group is not None)
            records: list[Record] = []
            for number, group in enumerate(waiting):
                if group is not None and int(group[0]) == first:
                    records += group[1]
                    waiting[number] = next(streams[number], None)
            is_large = any(record.value is _LARGE for record in records)
            yield [Record(UNREAD, Cell(str(first).encode(), TOO_LARGE))] if is_large else records

    def numbers(self, relation: Relation) -> list[str]:
        """The numbers of all conversations, in order."""
        self.require(relation)
        with self.connection.cursor(name="inspector_numbers") as cursor:
            cursor.itersize = BATCH * 10
            cursor.execute(_selected(relation, (relation.conversation,), None))
            return [str(number) for _, number in cursor]

    def hidden(self, relations: Sequence[Relation]) -> tuple[str, ...]:
        """Tables of which row level security may show this role only a part, or nothing."""
        names = [relation.name for relation in relations if relation.name in self.tables]
        rows = self.connection.execute(
            """SELECT c.relname FROM pg_class c WHERE c.oid = ANY(ARRAY(SELECT to_regclass(quote_ident(n))::oid FROM unnest(%s::text[]) n))
               AND row_security_active(c.oid) ORDER BY 1""",
            (names,),
        ).fetchall()
        return tuple(str(row[0]) for row in rows)

    @property
    def role(self) -> str:
        row = self.connection.execute("SELECT current_user").fetchone()
        return str(row[0]) if row else ""


def _grouped(rows: Iterator[tuple[str, Record]]) -> Iterator[tuple[str, list[Record]]]:
    for number, group in groupby(rows, key=lambda row: row[0]):
        yield number, [record for _, record in group]


def _selected(relation: Relation, columns: Sequence[str], conversation: str | None) -> sql.Composed:
    """Whether a value of the row is over the limit, and every column as the server prints it, with its exact text: what is written back is compared with it.

    A value over the limit is not sent.
    """
    limit = sql.Literal(limits.LARGEST_VALUE)
    is_large = [sql.SQL("coalesce(octet_length({}::text), 0) > {}").format(sql.Identifier(name), limit) for name in columns]
    conditions: list[sql.Composable] = [sql.SQL("({})").format(sql.SQL(relation.where))] if relation.where else []
    conditions += [sql.SQL("{} IS NOT NULL").format(sql.Identifier(relation.conversation))]
    if conversation is not None:
        # As a number, so that an index serves it; what is none names no row.
        conditions.append(sql.SQL("{} = {}").format(sql.Identifier(relation.conversation), sql.Literal(number_of(conversation))))
    order = dict.fromkeys((relation.conversation, *relation.key))
    return sql.SQL("SELECT {}, {} FROM {} WHERE {} ORDER BY {}").format(
        sql.SQL(" OR ").join(is_large),
        sql.SQL(", ").join(
            sql.SQL("CASE WHEN {} THEN NULL ELSE {}::text END").format(large, sql.Identifier(name))
            for name, large in zip(columns, is_large, strict=True)
        ),
        sql.Identifier(relation.name),
        sql.SQL(" AND ").join(conditions),
        sql.SQL(", ").join(sql.SQL("{}.{}").format(sql.Identifier(relation.name), sql.Identifier(name)) for name in order),
    )


def number_of(text: str) -> int | None:
    """The number that a conversation is known by; None for what can be none."""
    digits = text.removeprefix("-")
    number = int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None
    return number if number is not None and abs(number) < 2**63 else None


@contextmanager
def snapshot(where: Dsn) -> Iterator[Database]:
    """A repeatable-read, read-only transaction. Raises what `transaction` raises; LostConnection may come in the middle of rows."""
    with transaction(where, READING) as connection:
        yield opened(where, connection)


def opened(where: Dsn, connection: Connection) -> Database:
    return Database(where, connection, MappingProxyType(_tables(connection)))


def _tables(connection: Connection) -> dict[str, VisibleTable]:
    """What a plain name finds here."""
    rows = connection.execute(
        """SELECT c.relname, n.nspname, array_agg(a.attname::text ORDER BY a.attnum), array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum)
           FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped AND pg_table_is_visible(c.oid)
           AND n.nspname NOT IN ('pg_catalog', 'information_schema') GROUP BY 1, 2"""
    ).fetchall()
    return {str(name): VisibleTable(str(schema), dict(zip(columns, types, strict=True))) for name, schema, columns, types in rows}


def identify(where: Dsn) -> Shape:
    with snapshot(where) as store:
        return Shape(b"", {name: tuple(table.columns) for name, table in store.tables.items()}, where.name, served=True)


def schemas_with(where: Dsn, tables: Collection[str]) -> tuple[str, ...]:
    """Schemas that hold one of the tables, whether or not a plain name finds it."""
    with transaction(where, READING) as connection:
        rows = connection.execute(
            """SELECT DISTINCT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname = ANY(%s) AND n.nspname !~ '^pg_' ORDER BY 1""",
            (list(tables),),
        ).fetchall()
        return tuple(str(row[0]) for row in rows)


def refuse_hidden(store: Database, relations: Sequence[Relation]) -> None:
    """Raises HiddenRows (an empty answer would be taken for an empty store), SeveralSchemas."""
    schemas = {relation.name: store.tables[relation.name].schema for relation in relations if relation.name in store.tables}
    if len(set(schemas.values())) > 1:
        raise SeveralSchemas(store.where, tuple(f"{schema}.{name}" for name, schema in schemas.items()))
    if names := store.hidden(relations):
        raise HiddenRows(store.where, store.role, names)
