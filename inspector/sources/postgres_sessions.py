"""Whether two addresses lead to one database: only its server knows, since hosts have many names."""

from inspector.sources.dsn import Dsn
from inspector.sources.postgres import READING, transaction


def sees_lock(where: Dsn, number: int) -> bool:
    """Whether a session of the database `where` holds the advisory lock `number` (below 2**63). Raises what `transaction` raises."""
    with transaction(where, READING) as connection:
        row = connection.execute(
            """SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
               WHERE l.locktype = 'advisory' AND l.classid = %s::bigint::oid AND l.objid = %s::bigint::oid AND l.objsubid = 1""",
            (number >> 32, number & 0xFFFFFFFF),
        ).fetchone()
    return row is not None and row[0] > 0
