"""The files of a projects folder: a session each, the agents that it started in a folder of its name, and what else lies there."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspector.conversation.model import Conversation, Fact
from inspector.programs.claude_code.facts import facts_of, title_of
from inspector.programs.claude_code.lines import read_session
from inspector.programs.formats import Head, Listed, Record, Stored
from inspector.text import json_lines

NAME = "claude-code"
SUFFIX = ".jsonl"
_RESULTS = "tool-results"
_CUT = re.compile(rb'\A\s*\{\s*"(?:parentUuid|isSidechain|type|sessionId)"\s*:[^\n]*"(?:parentUuid|isSidechain|sessionId)"\s*:')
"""A first line that is longer than what is looked at: its members come before its content."""
_LINKS = frozenset(("parentUuid", "leafUuid", "isSidechain"))
_RECORDS = frozenset(("file-history-snapshot", "queue-operation", "api-request", "api-request-shape", "api-request-blob"))
_LOOKED_AT = 4096
_PROJECT = re.compile(r"(?:^|/)projects/-[^/]+/[0-9a-f-]{36}\.jsonl$")
_AGENT = re.compile(r"(?:^|/)(?P<session>[^/]+)/subagents/agent-[^/]+\.jsonl$")


def likeness(head: bytes) -> float:
    """How sure the first bytes of a file make it that this is a session: by the members of its first lines, not by what they quote."""
    start = head[:_LOOKED_AT].removeprefix(json_lines.BOM)
    *whole, cut = start.split(b"\n")
    for line in whole or [cut]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and (not _LINKS.isdisjoint(value) or value.get("type") in _RECORDS):
            return 0.8
    return 0.8 if _CUT.match(start) else 0.0


def likeness_of_names(keys: Sequence[str]) -> float:
    return 0.9 if any(_PROJECT.search(key) or _AGENT.search(key) for key in keys) else 0.0


def is_wanted(key: str) -> bool:
    name = key.rpartition("/")[2]
    return "/" not in key or name.endswith(SUFFIX)


def unread(keys: Sequence[str]) -> Iterator[str]:
    results = [key for key in keys if f"/{_RESULTS}/" in key]
    if results:
        yield f"{len(results):,} {'file holds' if len(results) == 1 else 'files hold'} results of tools that were too large for their session, and {'is' if len(results) == 1 else 'are'} not read: {results[0].partition('/')[2]}{', …' if len(results) > 1 else ''}."


def listed(groups: Sequence[str], shared: Sequence[Record], head: Head) -> Sequence[Listed]:
    """A session is named by its file, as the program finds it; an agent by that of its session and its own."""
    names = [_native(key) for key in groups]
    counts = Counter(names)
    unique = [name if counts[name] == 1 else f"{name} {key}" for name, key in zip(names, groups, strict=True)]
    return [Listed(native, key, _started_by(key)) for native, key in zip(unique, groups, strict=True)]


def _native(key: str) -> str:
    stem = key.rpartition("/")[2].removesuffix(SUFFIX)
    agent = _AGENT.search(key)
    return f"{agent['session']}/{stem}" if agent else stem


def _started_by(key: str) -> dict[str, Fact]:
    agent = _AGENT.search(key)
    return {"agentOf": Fact("agentOf", agent["session"], key)} if agent else {}


def read_group(of: Listed, records: Sequence[Record]) -> Stored:
    (record,) = records
    session = read_session(record.value.data)
    tree = Conversation(of.native_id, NAME, tuple(session.chunks))
    return Stored(replace(tree, facts={**facts_of(session, tree, record.key), **of.facts}, title=title_of(session.chunks)), (record,))
