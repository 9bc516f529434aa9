"""The files of a projects folder: a session each, the agents that it started in a folder of its name, and what else lies there."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from inspector.conversation.model import Conversation, Fact
from inspector.programs.claude_code import quarantine
from inspector.programs.claude_code.around import AGENT, AGENT_FILE, RESULTS
from inspector.programs.claude_code.facts import facts_of, title_of
from inspector.programs.claude_code.lines import read_session
from inspector.programs.formats import Head, Listed, Record, Stored
from inspector.text import json_lines
from inspector.text.counted import counted

NAME = "claude-code"
SUFFIX = ".jsonl"
INDEX = "sessions-index.json"
"""A list of the sessions of its folder, which versions of the program keep and fill again."""
UNLISTED = "unlisted"
"""The fact that says why no list has a session."""
_CUT = re.compile(rb'\A\s*\{\s*"(?:parentUuid|isSidechain|type|sessionId)"\s*:[^\n]*"(?:parentUuid|isSidechain|sessionId)"\s*:')
"""A first line that is longer than what is looked at: its members come before its content."""
_LINKS = frozenset(("parentUuid", "leafUuid", "isSidechain"))
_RECORDS = frozenset(("file-history-snapshot", "queue-operation", "api-request", "api-request-shape", "api-request-blob"))
_LOOKED_AT = 4096
_PROJECT = re.compile(r"(?:^|/)projects/-[^/]+/[0-9a-f-]{36}\.jsonl$")


def likeness(head: bytes) -> float:
    """How sure the first bytes of a file make it that this is a session: by the members of its first lines, not by what they quote."""
    start = head[:_LOOKED_AT].removeprefix(json_lines.BOM)
    *whole, cut = start.split(b"\n")
    for line in whole or [cut]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and (not _LINKS.isdisjoint(value) or _is_record(value.get("type"))):
            return 0.8
    return 0.8 if _CUT.match(start) else 0.0


def _is_record(kind: object) -> bool:
    """`kind` may be anything: the file may be another program's."""
    return isinstance(kind, str) and kind in _RECORDS


def likeness_of_names(keys: Sequence[str]) -> float:
    return 0.9 if any(_PROJECT.search(key) or AGENT.search(key) for key in keys) else 0.0


def is_wanted(key: str) -> bool:
    name = key.rpartition("/")[2]
    return "/" not in key or name.endswith(SUFFIX) or name == INDEX


def group_of(key: str) -> str | None:
    """Every session file is a conversation; the list of a folder is shared, and lines that a repair moved out of a session are of none."""
    name = key.rpartition("/")[2]
    return None if name == INDEX else "" if name.endswith(quarantine.SUFFIX) else key


def unread(keys: Sequence[str]) -> Iterator[str]:
    results = [key for key in keys if f"/{RESULTS}/" in key]
    if results:
        yield f"{len(results):,} {'file holds' if len(results) == 1 else 'files hold'} results of tools that were too large for their session, and {'is' if len(results) == 1 else 'are'} read only where a call has no result: {results[0].partition('/')[2]}{', …' if len(results) > 1 else ''}."


def listed(groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
    """A session is named by its file, as the program finds it; an agent by that of its session and its own."""
    names = [_native(key) for key in groups]
    counts = Counter(names)
    unique = [name if counts[name] == 1 else f"{name} {key}" for name, key in zip(names, groups, strict=True)]
    lists = {_folder(record.key): _listed_ids(record.value.data) for record in shared}
    present: dict[str, set[str]] = {}
    for key in groups:
        present.setdefault(_folder(key), set()).add(_native(key))
    return [Listed(native, key, _started_by(key) | _in_list(key, lists, present)) for native, key in zip(unique, groups, strict=True)]


def _folder(key: str) -> str:
    return key.rpartition("/")[0]


def _listed_ids(data: bytes) -> frozenset[str]:
    """Ids of the sessions in a sessions-index.json; none where it has another shape."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return frozenset()
    rows = value.get("entries") if isinstance(value, dict) else None
    rows = rows if isinstance(rows, list) else []
    return frozenset(id_ for row in rows if isinstance(row, dict) and isinstance(id_ := row.get("sessionId"), str))


def _in_list(key: str, lists: Mapping[str, frozenset[str]], present: Mapping[str, set[str]]) -> dict[str, Fact]:
    """Why the list of its folder does not have a session; nothing of a file that was opened alone, and of an agent."""
    folder = _folder(key)
    ids = lists.get(folder)
    if not folder or AGENT_FILE.search(key) or not ids or _native(key) in ids:
        return {}
    # A row outlives its session: files are deleted after 30 days, and versions since about 2.1.30 write the list no more.
    lost = len(ids - present[folder])
    rows = f", {lost:,} of which {'has' if lost == 1 else 'have'} no file," if lost else ""
    return {
        UNLISTED: Fact(
            UNLISTED, f"{INDEX} lists {counted(len(ids), 'session')} of this folder{rows or ','} and not this one", f"{folder}/{INDEX}"
        )
    }


def own_name(native_id: str) -> str:
    """Without the file that tells a session from another one of its name."""
    names = [native_id[:at] for at, letter in enumerate(native_id) if letter == " " and _native(native_id[at + 1 :]) == native_id[:at]]
    return names[0] if names else native_id


def _native(key: str) -> str:
    stem = key.rpartition("/")[2].removesuffix(SUFFIX)
    agent = AGENT.search(key)
    return f"{agent['session']}/{stem}" if agent else stem


def _started_by(key: str) -> dict[str, Fact]:
    agent = AGENT.search(key)
    return {"agentOf": Fact("agentOf", agent["session"], key)} if agent else {}


def read_group(of: Listed, records: Sequence[Record]) -> Stored:
    (record,) = records
    session = read_session(record.value.data)
    tree = Conversation(of.native_id, NAME, tuple(session.chunks))
    return Stored(replace(tree, facts={**facts_of(session, tree, record.key), **of.facts}, title=title_of(session.chunks)), (record,))
