"""What a session.json says, as facts; everything that it lacks or writes oddly is simply no fact."""

from collections.abc import Iterable
from typing import Any

from inspector.conversation.model import Chunk, Fact, Kind
from inspector.programs.formats import Record
from inspector.programs.rollouts.loading import session_problem
from inspector.text import jsontext
from inspector.text.timestamps import milliseconds

ZONE = "times in this store are local and name no zone; they are read as UTC"
KEYS = (
    *("session_id", "parent_id", "branch_point", "endpoint", "environment", "environment_state"),
    *("status", "reward", "tags", "created_at", "updated_at"),
)
SESSION_FACT = "session"
_TITLE = 80


def content(record: Record | None) -> dict[str, Any]:
    """The object of a session.json; {} where it cannot be read."""
    return jsontext.object_of(record.value.data) if record else {}


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else jsontext.compact(value)


def session_facts(record: Record | None, members: dict[str, Any]) -> dict[str, Fact]:
    """Facts of the session alone, without those of its messages."""
    key = record.key if record else ""
    facts: dict[str, Fact] = {}

    def add(name: str, value: Any) -> None:
        if value is not None and value != "":
            facts[name] = Fact(name, text_of(value), key)

    problem = session_problem(record.value.data if record else None)
    endpoint = members.get("endpoint") if isinstance(members.get("endpoint"), dict) else {}
    add("status", members.get("status"))
    for name in ("model", "provider", "api_base"):
        add(name, (endpoint or {}).get(name))
    add("thinking", _thinking((endpoint or {}).get("thinking")))
    add("parent", members.get("parent_id"))
    add("compactedFrom", members.get("parent_id"))
    add("branchPoint", members.get("branch_point"))
    for name, stored in (("createdAt", "created_at"), ("updatedAt", "updated_at")):
        moment = milliseconds(members.get(stored))
        add(name, None if moment is None else str(moment))
    add("tags", members.get("tags") or None)
    add("reward", members.get("reward"))
    add("unknownKeys", ", ".join(sorted(name for name in members if name not in KEYS)) or None)
    add("sessionProblem", problem or None)
    # Whole only where it has to be repaired: a repair sets this fact, and the writer encodes session.json from it.
    add(SESSION_FACT, members if problem and members else None)
    return facts


def _thinking(value: Any) -> str | None:
    if isinstance(value, dict):
        return "disabled" if value.get("type") == "disabled" else "enabled"
    return {True: "enabled", False: "disabled"}.get(value) if isinstance(value, bool) else None


def is_era_b(members: dict[str, Any]) -> bool:
    endpoint = members.get("endpoint")
    return isinstance(endpoint, dict) and ("thinking_budget" in endpoint or "extra" in endpoint)


def activity(facts: dict[str, Fact], chunks: Iterable[Chunk], key: str) -> dict[str, Fact]:
    """When anything last happened: an append does not touch updated_at, so the messages count as well."""
    times = [chunk.at for chunk in chunks if chunk.at is not None]
    times += [int(fact.value) for name in ("createdAt", "updatedAt") if (fact := facts.get(name)) and fact.value]
    if not times:
        return {}
    return {"lastActivityAt": Fact("lastActivityAt", str(max(times)), key), "timeZone": Fact("timeZone", ZONE, key)}


def title_of(chunks: Iterable[Chunk]) -> str:
    """The start of what the user said first: the store has no titles."""
    first = next((chunk.text for chunk in chunks if chunk.role == "user" and chunk.kind is Kind.TEXT and chunk.text.strip()), "")
    line = " ".join(first.split())
    return line if len(line) <= _TITLE else f"{line[:_TITLE]}…"
