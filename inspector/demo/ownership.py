"""Whether the files at the demo's place are the demo's: only those may be written again, and repaired from the pages at once."""

import uuid
from collections.abc import Mapping
from pathlib import Path

from inspector.conversation.model import Conversation
from inspector.demo import gbrain_incident
from inspector.demo.branch_incident import openclaw_files, pi_files
from inspector.demo.dispatch_incident import CONVERSATION, trace_records
from inspector.demo.dispatch_others import OTHERS
from inspector.demo.rollouts_incident import SESSION
from inspector.demo.stream_incident import IDS, capture_files
from inspector.programs.gbrain import exports as gbrain_exports
from inspector.programs.pi_openclaw import openclaw, pi
from inspector.programs.rollouts.crash import PREFIX
from inspector.programs.rollouts.format import ROLLOUTS
from inspector.sources import folders
from inspector.sources.captures import Captures
from inspector.sources.dsn import Dsn
from inspector.sources.reading import Store, Traces
from inspector.traces.record_id import record_id

TREES: Mapping[str, Mapping[str, bytes]] = {openclaw.NAME: openclaw_files(), pi.NAME: pi_files()}
"""Format, which is the name of the folder too -> path below it -> content as the demo writes it."""

STREAMS = "streams"
"""Name of the folder with the captures."""

CAPTURES: Mapping[str, bytes] = capture_files()
"""Name of each file in it -> content as the demo writes it."""


def is_ours(content: Store | Traces | Captures) -> bool:
    """A demo's store holds all its conversations, whatever was repaired in them; its trace is never written to."""
    if isinstance(content, Captures):
        return {exchange.native_id for exchange in content.exchanges} == {IDS.get(content.path.name)}
    if isinstance(content, Traces):
        return {record.id for record in content.records} == {record_id(record) for record in trace_records()}
    if {content.path.name, content.format.name} & TREES.keys():
        return content.path.name == content.format.name and _is_our_folder(content)
    names = {stored.conversation.native_id for stored in content.conversations}
    if content.format.name == gbrain_exports.NAME:
        return names == gbrain_incident.DEMO_JOBS
    if content.format.name == ROLLOUTS.name:
        repaired = [stored for stored in content.conversations if '"inspector"' in (stored.conversation.fact("tags") or "")]
        expected = {SESSION, *(name for name in names if name.startswith(PREFIX)), *(stored.conversation.native_id for stored in repaired)}
        return SESSION in names and names <= expected
    return {CONVERSATION, *OTHERS} <= names


def _is_our_folder(store: Store) -> bool:
    """All that it holds counts, links and what no format wants too: it would go with the folder. A session that a program wrote there is somebody's work."""
    if isinstance(store.path, Dsn) or not folders.is_folder(store.path):
        return False
    base = store.path.resolve()
    there = {place.relative_to(base).as_posix() for place in base.rglob("*") if place.is_symlink() or not place.is_dir()}
    repaired_files = {
        record.key.partition("/")[2]
        for stored in store.conversations
        if _is_of_a_repair(stored.conversation, there)
        for record in stored.records
    }
    own = TREES[store.format.name].keys()
    return own <= there <= own | repaired_files and _ids_of(store) >= {
        Path(name).stem.rpartition("_")[2] for name in own if name.endswith(".jsonl")
    }


def _ids_of(store: Store) -> set[str]:
    return {stored.conversation.native_id for stored in store.conversations}


def _is_of_a_repair(conversation: Conversation, there: set[str]) -> bool:
    """A repair names the new session by a UUID of version 5, which the programs never draw, and its parent."""
    try:
        version = uuid.UUID(conversation.native_id).version
    except ValueError:
        return False
    parent = (conversation.fact("parentSession") or "").rpartition("/")[2]
    return version == 5 and any(name.rpartition("/")[2] == parent for name in there)
