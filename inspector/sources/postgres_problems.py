"""What can be wrong with a database server, each as a condition with one sentence that ends in what to do next."""

from dataclasses import dataclass

import psycopg
from psycopg import errors

from inspector.sources.dsn import Dsn
from inspector.sources.problems import Busy, SourceProblem, shown


@dataclass(eq=False)
class ServerProblem(SourceProblem):
    """`detail`: the words of the server, or of libpq."""

    detail: str
    text_limit = 300


class NoServer(ServerProblem):
    template = "There is no connection to {place} ({detail}); check host, port and parameters, and that the server runs."


class NotLetIn(ServerProblem):
    """The server answers, and ends the session before it begins: it starts, stops, or has too many already."""

    template = "{place} answers and lets nobody in ({detail}); wait until it does, then try again."


class NoLogin(ServerProblem):
    template = (
        "{place} refuses the login ({detail}); check the user, and give the password in PGPASSWORD or ~/.pgpass: Inspector never keeps one."
    )


class UnknownDatabase(SourceProblem):
    """The server is there, the database is not."""

    template = "{place} names a database that the server does not have; check the name after the last slash."


@dataclass(eq=False)
class HiddenRows(SourceProblem):
    """Row level security shows this role a part of the rows or none, without any error. `tables` is () where only a view's owner is kept from them."""

    role: str
    tables: tuple[str, ...]

    @property
    def sentence(self) -> str:
        what = f"of {', '.join(map(shown, self.tables))} " if self.tables else ""
        return (
            f"Row level security hides rows {what}from the role {shown(self.role)} in {self.place}, without any error; "
            "log in as the owner of the tables or as a role with BYPASSRLS."
        )


class NoRight(ServerProblem):
    template = (
        "The role that is logged in to {place} may not do this ({detail}), so nothing was written; "
        "log in as the owner of the tables, or let the owner grant what is missing."
    )


class ReadOnly(ServerProblem):
    """Something would write: a view or a function of the database while it is read, or we on a standby."""

    template = (
        "{place} cannot be written to here ({detail}), so nothing was; to write, name the primary server; "
        "where this was a read, a view or function of the database tries to write."
    )


class TooSlow(ServerProblem):
    template = (
        "{place} was asked for something that was cancelled ({detail}), so nothing was written; "
        "try again when the server is less busy, or pick one job with --conversation."
    )


class ServerRefused(ServerProblem):
    """What the server refused for a reason without a name of its own here."""

    template = "{place} could not do what it was asked ({detail}), so nothing was written; the server's log may say more."


@dataclass(eq=False)
class OffSearchPath(SourceProblem):
    """The tables are there, but no plain name finds them."""

    schemas: tuple[str, ...]

    @property
    def sentence(self) -> str:
        first = shown(self.schemas[0])
        return (
            f"{self.place} has such tables in the schema {' and in '.join(map(shown, self.schemas))}, which is not on the search_path of this role; "
            f"put ?options=-csearch_path%3D{first} after the address, or ALTER ROLE ... SET search_path."
        )


@dataclass(eq=False)
class SeveralSchemas(SourceProblem):
    """Plain names find tables that do not belong together."""

    qualified_names: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return (
            f"{self.place} has the tables of one store in several schemas ({', '.join(map(shown, self.qualified_names))}), so that rows of two stores would be mixed; "
            "choose one with ?options=-csearch_path%3DSCHEMA after the address."
        )


@dataclass(eq=False)
class OtherType(SourceProblem):
    table: str
    column: str
    type: str
    template = (
        "The column {column} of {table} in {place} is {type}, where whole numbers are wanted; "
        "it is not the table of the program: check database and search_path."
    )


class LostConnection(SourceProblem):
    template = "The connection to {place} was lost; check the server, then try again."


class UnknownOutcome(SourceProblem):
    """The connection ended while COMMIT was under way: only the server knows."""

    template = (
        "The connection to {place} was lost while the write was being committed; whether it was written is not known: "
        "run `verify` on the repair once the server answers."
    )


def named(error: psycopg.Error, where: Dsn, waited_ms: int = 0, broken: bool = False) -> SourceProblem:
    """The named condition for what the driver or the server says. `broken`: the connection is gone. No sentence repeats what could hold a password."""
    state = error.sqlstate or ""
    message = " ".join((error.diag.message_primary or str(error)).split())
    # A timeout of an idle transaction ends the session as well.
    if broken or state.startswith(("08", "57P", "25P03")):
        return LostConnection(where)
    match error:
        case errors.LockNotAvailable() | errors.DeadlockDetected():
            return Busy(where, waited_ms)
        case errors.QueryCanceled():
            return TooSlow(where, message)
        # The message is in the server's language; the place in its source is not.
        case errors.InsufficientPrivilege() if error.diag.source_function == "check_enable_rls":
            return HiddenRows(where, "that is logged in", ())
        case errors.InsufficientPrivilege():
            return NoRight(where, message)
        case errors.ReadOnlySqlTransaction():
            return ReadOnly(where, message)
    if state.startswith("28"):
        return NoLogin(where, message)
    if state == "3D000":
        return UnknownDatabase(where)
    return ServerRefused(where, message)


def not_connected(error: psycopg.Error, where: Dsn) -> SourceProblem:
    """What kept a session from starting. libpq gives words and no code for it."""
    if error.sqlstate:
        return named(error, where)
    message = " ".join(str(error).split())
    # What libpq says of the last address that it tried, without those before.
    reason, lowered = (message.rpartition("failed: ")[2] or message).partition(" Is the server running")[0], message.lower()
    if any(word in lowered for word in ("password", "authentication", "pg_hba.conf")) or ("role" in lowered and "not exist" in lowered):
        return NoLogin(where, reason)
    if "database" in lowered and "does not exist" in lowered:
        return UnknownDatabase(where)
    return NotLetIn(where, reason) if "fatal" in lowered else NoServer(where, reason)
