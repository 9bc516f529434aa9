"""The one write to PostgreSQL: lock the conversation's row, compare with what was previewed, change, read back, all in one transaction."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from inspector.programs.formats import Cell, Change, Relation
from inspector.programs.relation_rows import relation_of, row_of
from inspector.sources.dsn import Dsn
from inspector.sources.postgres import WRITING, Connection, Database, VisibleTable, number_of, opened, refuse_hidden, search, transaction
from inspector.sources.postgres_problems import UnknownOutcome, named
from inspector.sources.problems import NAMED, Moved, NotKept

WAIT_MS = 2000
"""How long the lock of the conversation's row is waited for: its program may be at work."""


def commit(where: Dsn, relations: Sequence[Relation], guard: Mapping[str, Mapping[str, Cell]], changes: Sequence[Change]) -> float:
    """Writes `changes`, all or none, and returns the milliseconds for which the rows were locked.

    `guard`: number of a conversation -> every record of it, as it was when the plan was made. Raises Moved, Busy, NotKept, LostConnection (nothing was
    written), UnknownOutcome (the connection ended in the middle of COMMIT), and what `transaction` raises.
    """
    with transaction(where, WRITING, lock_timeout=str(WAIT_MS)) as connection:
        try:
            store = opened(where, connection)
            refuse_hidden(store, relations)
            start = time.perf_counter()
            touched = {relation.name for change in changes if (relation := relation_of(relations, change.key))}
            # First the row that the program itself locks when it takes a conversation up; new rows of others wait for it too, by their foreign key.
            for relation in relations:
                if relation is relations[0] or relation.name in touched:
                    _lock(store, relation, guard)
            _write(store, relations, guard, changes)
        except psycopg.Error as error:
            raise named(error, where, WAIT_MS, connection.broken) from None
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            # Constraints that are checked at the end fail here, and then nothing was written.
            raise (UnknownOutcome(where) if connection.broken else named(error, where)) from None
        return (time.perf_counter() - start) * 1000


def rehearse(
    where: Dsn,
    relations: Sequence[Relation],
    guard: Mapping[str, Mapping[str, Cell]],
    changes: Sequence[Change],
    look: Callable[[Sequence[Any]], bool],
) -> tuple[float, bool, bool]:
    """The same write, and its undo, on temporary tables of the same columns and constraints in a transaction that is rolled back.

    No stored row is touched and no sequence drawn from. Returns (milliseconds, whether `look` found the records as previewed, whether undo restored all
    of them). Raises what `commit` raises; NoRight where the role may make no temporary tables.
    """
    with transaction(where, WRITING, lock_timeout=str(WAIT_MS)) as connection:
        store = opened(where, connection)
        refuse_hidden(store, relations)
        for relation in relations:
            _shadow(store, relation, guard)
        # From here on a plain name finds the temporary table.
        search(connection, "pg_catalog, pg_temp, {}")
        start = time.perf_counter()
        _write(store, relations, guard, changes)
        milliseconds = (time.perf_counter() - start) * 1000
        written = _now(store, relations, guard)
        good = look([record for job_records in written.values() for record in job_records])
        after = {number: {record.key: record.value for record in records} for number, records in written.items()}
        _write(store, relations, after, [change.reversed() for change in reversed(changes)])
        back = {number: {record.key: record.value for record in records} for number, records in _now(store, relations, guard).items()}
        return milliseconds, good, all(back.get(number, {}) == dict(records) for number, records in guard.items())


def _shadow(store: Database, relation: Relation, guard: Mapping[str, object]) -> None:
    """A temporary table of the same name with the checks, unique indexes and defaults of the real one, and its rows of these conversations, whole."""
    if not store.require(relation):
        return
    run, shadow = store.connection.execute, sql.Identifier("pg_temp", relation.name)
    real = sql.Identifier(store.tables[relation.name].schema, relation.name)
    run(
        sql.SQL("CREATE TEMPORARY TABLE {} (LIKE {} INCLUDING ALL EXCLUDING IDENTITY) ON COMMIT DROP").format(
            sql.Identifier(relation.name), real
        )
    )
    columns = run(
        """SELECT a.attname::text, a.attgenerated <> '', a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%%'
           FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
           WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum""",
        (real.as_string(store.connection),),
    ).fetchall()
    for number, name in enumerate(str(name) for name, _, is_drawn in columns if is_drawn):
        # A number that is drawn stays drawn, whatever is rolled back: the shadow counts by itself, from the end.
        sequence, column = sql.Identifier("pg_temp", f"inspector_{relation.name}_{number}"[:63]), sql.Identifier(name)
        run(sql.SQL("CREATE TEMPORARY SEQUENCE {} AS bigint INCREMENT -1 MINVALUE -9000000000000000000 START -1").format(sequence))
        run(
            sql.SQL("ALTER TABLE {} ALTER COLUMN {} SET DEFAULT nextval({})").format(
                shadow, column, sql.Literal(sequence.as_string(store.connection))
            )
        )
    names = sql.SQL(", ").join(sql.Identifier(str(name)) for name, is_generated, _ in columns if not is_generated)
    run(
        sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE {} = ANY(%s::bigint[])").format(
            shadow, names, names, real, sql.Identifier(relation.conversation)
        ),
        ([number_of(number) for number in guard],),
    )


def _lock(store: Database, relation: Relation, guard: Mapping[str, object]) -> None:
    if store.require(relation):
        statement = sql.SQL("SELECT 1 FROM {} WHERE {} = ANY(%s::bigint[]) FOR UPDATE").format(
            sql.Identifier(relation.name), sql.Identifier(relation.conversation)
        )
        store.connection.execute(statement, ([number_of(number) for number in guard],))


def _now(store: Database, relations: Sequence[Relation], guard: Mapping[str, object]) -> dict[str, list[Any]]:
    return {number: next(store.conversations(relations, number), []) for number in guard}


def _write(store: Database, relations: Sequence[Relation], guard: Mapping[str, Mapping[str, Cell]], changes: Sequence[Change]) -> None:
    before = {number: dict(records) for number, records in guard.items()}
    for number, records in _now(store, relations, guard).items():
        _compare(store.where, before[number], {record.key: record.value for record in records})
    for change in changes:
        relation = relation_of(relations, change.key)
        if relation is None:
            raise NotKept(store.where, f"{change.key} is in none of its tables")
        _change(store.connection, relation, change, store.tables[relation.name])
    expected = {key: cell for records in before.values() for key, cell in records.items()}
    for change in changes:
        if change.after is None:
            expected.pop(change.key, None)
        else:
            expected[change.key] = change.after
    stored = {record.key: record.value for records in _now(store, relations, guard).values() for record in records}
    if stored != expected:
        odd = next(iter(sorted(key for key in stored.keys() | expected.keys() if stored.get(key) != expected.get(key))))
        raise NotKept(store.where, f"{odd} reads back otherwise than written")


def _compare(where: Dsn, before: Mapping[str, Cell], now: Mapping[str, Cell]) -> None:
    moved = [
        (key, "is new" if key not in before else "is gone" if key not in now else "has another value")
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    ]
    if moved:
        raise Moved(where, moved[:NAMED], len(moved))


def _change(connection: Connection, relation: Relation, change: Change, table: VisibleTable) -> None:
    before = None if change.before is None else row_of(change.before)
    after = None if change.after is None else row_of(change.after)
    if before is None and after is not None:
        _insert(connection, relation, after, table)
    elif before is not None and after is None:
        connection.execute(
            sql.SQL("DELETE FROM {} WHERE {}").format(sql.Identifier(relation.name), _is(relation, table)),
            [before[name] for name in relation.key],
        )
    elif before is not None and after is not None:
        names = [name for name in after if after[name] != before.get(name)]
        if names:
            connection.execute(
                sql.SQL("UPDATE {} SET {} WHERE {}").format(
                    sql.Identifier(relation.name),
                    sql.SQL(", ").join(sql.SQL("{} = {}").format(sql.Identifier(name), _cast(name, table)) for name in names),
                    _is(relation, table),
                ),
                [*(after[name] for name in names), *(before[name] for name in relation.key)],
            )


def _insert(connection: Connection, relation: Relation, row: Mapping[str, str | None], table: VisibleTable) -> None:
    """Columns that the record does not name take the table's own default."""
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(relation.name),
            sql.SQL(", ").join(sql.Identifier(name) for name in row),
            sql.SQL(", ").join(_cast(name, table) for name in row),
        ),
        list(row.values()),
    )


def _is(relation: Relation, table: VisibleTable) -> sql.Composed:
    return sql.SQL(" AND ").join(sql.SQL("{} = {}").format(sql.Identifier(name), _cast(name, table)) for name in relation.key)


def _cast(name: str, table: VisibleTable) -> sql.Composed:
    """A value as text, read by the server as the column's own type: jsonb stays jsonb."""
    return sql.SQL("CAST(%s::text AS {})").format(sql.SQL(table.columns.get(name, "text")))
