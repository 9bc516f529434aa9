"""Stores of one's own rows, imported and repaired as people do it: real files, and what they hold before and after."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.import_source import import_targets
from inspector.actions.import_store import Imported
from inspector.actions.planning import request_for
from inspector.actions.propose_repair import propose_repair
from inspector.models import Conversation, Repair, loading
from tests.kept import Kept
from tests.programs.dispatch.appended_stores import A, Store, T, U, er, tc, tr
from tests.sources.stores import Value, everything, make

__all__ = ["A", "Store", "T", "U", "Value", "er", "everything", "make", "tc", "tr"]

WHO = "tester"


def merged(store: Store | None = None, to: str = "c1") -> Store:
    """Two turns as the incremental server writes them: every reader by msgIdx takes the four messages for one."""
    store = store or Store()
    for said in (U("hello"), A("hi there"), U("more"), A("done")):
        store.append(said, to=to)
    return store


def broken(to: str = "c1") -> Store:
    """Everything that can be repaired in one conversation: merged messages, an error chunk, a call without a result in the middle."""
    store = Store()
    for said in ([U("go")], [A("calling", tc("x"), tc("y")), T(tr("x"))], [U("and?")], [A("sorry", er())], [U("again")], [A("done")]):
        store.append(*said, to=to)
    return store


def imported(path: Path, values: Mapping[Value, Value] | Store, native_id: str = "c1") -> Conversation:
    make(path, values.values if isinstance(values, Store) else values)
    return again(path, native_id)


def again(path: Path, native_id: str = "c1") -> Conversation:
    bring(path)
    return Conversation.objects.select_related("source").get(native_id=native_id, source__path=str(path))


def bring(*paths: Path) -> list[Imported]:
    return import_targets([str(path) for path in paths], WHO)


def run(path: Path, sql: str, *values: Value) -> None:
    """One statement on the store, as another program would write it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql, [value.encode() if isinstance(value, str) else value for value in values])


def put(path: Path, key: Value, value: Value) -> None:
    run(path, "INSERT OR REPLACE INTO kv VALUES ('conversation-store', CAST(? AS TEXT), CAST(? AS TEXT))", key, value)


def drop(path: Path, key: Value) -> None:
    run(path, "DELETE FROM kv WHERE key = CAST(? AS TEXT)", key)


def chunk_key(seq: int, native_id: str = "c1") -> str:
    return f"conv:{native_id}:chunk:{seq:010d}"


def row(text: str, role: str = "user", msg_idx: object = 0, chunk_idx: object = 0) -> str:
    return json.dumps({"chunk": {"type": "text", "text": text}, "role": role, "msgIdx": msg_idx, "chunkIdx": chunk_idx})


def pairs(path: Path) -> dict[str, bytes]:
    """Key -> value bytes of every row of the namespace."""
    return {bytes(found[1]).decode(): bytes(found[3]) for found in everything(path)}  # type: ignore[call-overload]


def texts(conversation: Conversation, revision: int | None = None) -> list[str]:
    return [chunk.text for chunk in loading.stored(conversation, revision).conversation.chunks]


def proposed(conversation: Conversation, *strategies: str, mode: str = "in-place", who: str = WHO) -> Repair:
    return propose_repair(conversation, request_for(conversation.source, loading.stored(conversation), strategies, mode), who)


def approved(conversation: Conversation, *strategies: str, mode: str = "in-place") -> Repair:
    repair = proposed(conversation, *strategies, mode=mode)
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    return repair


def approved_merge(kept: Kept, mode: str = "in-place") -> tuple[Path, Repair]:
    """A store of `merged`, and its approved repair."""

    def build(folder: Path) -> tuple[Path, Repair]:
        return folder / "a.db", approved(imported(folder / "a.db", merged()), "renumber-messages", mode=mode)

    return kept(f"approved {mode}", build)


def applied(conversation: Conversation, *strategies: str, mode: str = "in-place") -> Repair:
    repair = approved(conversation, *strategies, mode=mode)
    apply_repair(repair, WHO, interactive=True)
    return repair


def indexes(path: Path, native_id: str = "c1") -> list[Sequence[object]]:
    """(role, msgIdx, chunkIdx, text or type) of each row in key order."""
    prefix = f"conv:{native_id}:chunk:"
    rows = [json.loads(value) for key, value in sorted(pairs(path).items()) if key.startswith(prefix)]
    return [(each["role"], each["msgIdx"], each["chunkIdx"], each["chunk"].get("text", each["chunk"]["type"])) for each in rows]
