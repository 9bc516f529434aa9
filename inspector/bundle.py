"""One sealed conversation as named members with digests: its records, what it was compacted from, its trace, findings and repairs."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.conversation.model import Conversation, Fact
from inspector.programs.catalogue import UnknownFormat, format_named
from inspector.programs.formats import FILE, ROW, TOO_LARGE, Cell, Format, PacksRecords, Record, Stored
from inspector.programs.registry import program_or_default
from inspector.programs.sealed import MANIFEST, is_sealed
from inspector.text import jsontext
from inspector.traces.log_record import LATEST
from inspector.traces.model import TraceRecord

VERSION = 1
MASKED = "Secrets were masked when it was sealed: masked texts are not the stored bytes, whose digests the bundle keeps."

IDENTITY = "sealed-identity"
"""Name of the fact that keeps what links that leave the machine call the conversation: what it is made of may be masked here."""
BLEEDING = "bleeding"
"""Name of the fact that keeps which other ids the program took for this one, as a JSON list of texts: those are not in the bundle."""

_STORAGE = ("text", "blob", "integer", "real", "null", FILE, ROW, TOO_LARGE)
_BODY = re.compile("[0-9a-f]{64}")
_IDENTITY = re.compile("[0-9a-f]{12}")
_TRACES, _BODIES = "traces/records.ndjson", "traces/bodies/"
_TEXTS = ("id", "kind", "extension_id", "name", "message", "level", "span_id", "parent_span_id", "conversation_id", "turn_id", "status")
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(_TEXTS, (str,)),
    "timestamp": (int,),
    "order": (int,),
    "duration_ms": (int, type(None)),
    "attributes": (dict,),
    "links": (list,),
    "body": (str, type(None)),
}

Members = dict[str, bytes]
Mask = Callable[[bytes], bytes]


class BrokenBundle(Exception):
    """The members are not what was sealed. `reason` is the part of a sentence that says what is wrong."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class BundleOrigin:
    """Where a bundle was taken: the source's path and format, when that was read (epoch ms), and by whom it was judged."""

    path: str
    format: str
    read_at: int
    reader: str
    projection: str
    profile: str
    tool: str
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Sealed:
    """`conversations`: the sealed one first, then what it was compacted from. `trace` is None where none was known; `bodies` by name.

    `bleeding`: ids whose rows its program reads as the sealed conversation's too; opened again they are in the fact of that name, as `identity` is.
    """

    origin: BundleOrigin
    conversations: tuple[Stored, ...]
    trace: tuple[TraceRecord, ...] | None
    bodies: Mapping[str, bytes]
    bleeding: tuple[str, ...] = ()
    identity: str = ""


def inner(format_name: str) -> Format:
    """The format of what a bundle of this origin holds. Raises BrokenBundle."""
    try:
        if not is_sealed(format_name):
            return format_named(format_name)
    except UnknownFormat:
        pass
    raise BrokenBundle(f"it holds a conversation of format {format_name[:60]!r}, which this Inspector does not know")


def seal(sealed: Sealed, reports: Mapping[str, Any], mask: Mask | None = None) -> Members:
    """The members of a bundle, its manifest first; the same content gives the same bytes. `reports`: name -> JSON, kept next to it.

    With `mask` every text goes through it; the digest of each original record and body is kept.
    """
    format_ = inner(sealed.origin.format)
    members: Members = {}
    originals: dict[str, str] = {}
    listed_conversations = []
    for number, stored in enumerate(sealed.conversations):
        member = f"conversations/{number}.ndjson"
        members[member] = b"".join(_record_line(record, mask, format_) for record in stored.records)
        about: dict[str, Any] = {
            "member": member,
            "native_id": _masked(stored.conversation.native_id, mask),
            "shared": {name: _masked(value, mask) for name, value in _shared(stored, sealed.origin.format).items()},
        }
        if not number and sealed.identity:
            about["identity"] = sealed.identity
        if not number and sealed.bleeding:
            about["bleeding"] = [other_id if mask is None else _masked_text(other_id, mask) for other_id in sealed.bleeding]
        listed_conversations.append({**about, "part": "archive" if number else "sealed"})
    names: dict[str, str] = {}
    for name in sorted(sealed.bodies):
        data = sealed.bodies[name] if mask is None else mask(sealed.bodies[name])
        names[name] = digest(data)
        members[_BODIES + names[name]] = data
        if names[name] != name:
            originals[_BODIES + names[name]] = name
    if sealed.trace is not None:
        members[_TRACES] = b"".join(_trace_line(record, names, mask) for record in sealed.trace)
    for name, report in reports.items():
        data = _json(report)
        members[f"{name}.json"] = data if mask is None else mask(data)
    listed = [
        {"name": name, "size": len(members[name]), "sha256": digest(members[name])}
        | ({"original_sha256": originals[name]} if name in originals else {})
        for name in sorted(members)
    ]
    origin = sealed.origin
    program = program_or_default(origin.format).name
    source = {"path": origin.path if mask is None else _masked_text(origin.path, mask), "format": origin.format, "program": program}
    manifest = {
        "evidence_bundle": VERSION,
        "tool": origin.tool,
        "masked": mask is not None,
        "note": MASKED if mask is not None else "Every record and body has the bytes that were stored.",
        "source": {**source, "read_at": origin.read_at},
        "judged": {"reader": origin.reader, "projection": origin.projection, "profile": origin.profile},
        "conversations": listed_conversations,
        "trace": sealed.trace is not None,
        "members": listed,
    }
    return {MANIFEST: _json(manifest), **{name: members[name] for name in sorted(members)}}


def unseal(members: Mapping[str, bytes]) -> Sealed:
    """What was sealed, every digest verified first. Raises BrokenBundle; whatever else hostile members could raise becomes one."""
    manifest = _manifest(members)
    _verify(manifest, members)
    try:
        return _opened(manifest, members)
    except BrokenBundle:
        raise
    except jsontext.Unreadable as problem:
        raise BrokenBundle(f"a member is {problem.reason}") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise BrokenBundle(f"its manifest or a member is not of the form that `bundle` writes ({type(problem).__name__})") from None


def _manifest(members: Mapping[str, bytes]) -> dict[str, Any]:
    if MANIFEST not in members:
        raise BrokenBundle(f"it has no {MANIFEST}")
    try:
        manifest = json.loads(members[MANIFEST])
    except (ValueError, RecursionError):
        raise BrokenBundle(f"its {MANIFEST} is not JSON") from None
    if not isinstance(manifest, dict) or type(manifest.get("evidence_bundle")) is not int:
        raise BrokenBundle(f"its {MANIFEST} is not one of an evidence bundle")
    if manifest["evidence_bundle"] != VERSION:
        raise BrokenBundle(f"it is of version {manifest['evidence_bundle']}, and this Inspector reads version {VERSION}")
    return manifest


def _verify(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> None:
    listed = manifest.get("members")
    if not isinstance(listed, list) or not all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in listed):
        raise BrokenBundle(f"its {MANIFEST} lists no members")
    digests = {row["name"]: row.get("sha256") for row in listed}
    if missing := sorted(digests.keys() - members.keys()):
        raise BrokenBundle(f"{missing[0]} is missing")
    if foreign := sorted(members.keys() - digests.keys() - {MANIFEST}):
        raise BrokenBundle(f"{foreign[0]} is not listed in its {MANIFEST}")
    for name, sha256 in digests.items():
        if digest(members[name]) != sha256:
            raise BrokenBundle(f"the digest of {name} is not the one in its {MANIFEST}: the bytes were changed after it was sealed")


def _opened(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> Sealed:
    source, judged, is_masked = manifest["source"], manifest["judged"], manifest["masked"]
    texts = (source["path"], source["format"], judged["reader"], judged["projection"], judged["profile"], manifest["tool"])
    if not all(isinstance(text, str) for text in texts) or not isinstance(is_masked, bool) or not _is_time(source["read_at"]):
        raise BrokenBundle(f"its {MANIFEST} does not say where it was taken")
    path, format_name, reader, projection, profile, tool = texts
    inner(format_name)
    origin = BundleOrigin(path, format_name, source["read_at"], reader, projection, profile, tool, is_masked)
    stored = tuple(_stored(about, members[about["member"]], origin) for about in manifest["conversations"])
    if not stored or len({sealed.conversation.native_id for sealed in stored}) < len(stored):
        raise BrokenBundle(f"its {MANIFEST} names no conversation, or one of them twice")
    bodies = {name.removeprefix(_BODIES): data for name, data in members.items() if name.startswith(_BODIES)}
    for name, data in bodies.items():
        if name != digest(data):
            raise BrokenBundle(f"{_BODIES}{name} does not hold the body of that name")
    lines = members.get(_TRACES, b"").splitlines() if manifest["trace"] else None
    return Sealed(origin, stored, None if lines is None else tuple(map(_trace_record, lines)), bodies)


def _stored(about: Mapping[str, Any], data: bytes, origin: BundleOrigin) -> Stored:
    records = tuple(_records(data, origin.masked))
    format_, native_id = inner(origin.format), about["native_id"]
    index = {name: Fact(name, value, f"bundle:{name}") for name, value in about["shared"].items()}
    # Those have places of their own in the manifest.
    if index.keys() & {BLEEDING, IDENTITY} or not all(isinstance(fact.value, str | None) for fact in index.values()):
        raise BrokenBundle("a shared fact is neither text nor null, or none that a conversation shares")
    if others := about.get("bleeding"):
        if not isinstance(others, list) or not all(isinstance(other, str) for other in others):
            raise BrokenBundle("the ids that its conversation is mistaken for are no list of texts")
        index[BLEEDING] = Fact(BLEEDING, json.dumps(others), f"bundle:{BLEEDING}")
    if "identity" in about:
        if not isinstance(about["identity"], str) or not _IDENTITY.fullmatch(about["identity"]):
            raise BrokenBundle("the shared id of its conversation is none")
        index[IDENTITY] = Fact(IDENTITY, about["identity"], f"bundle:{IDENTITY}")
    sealed = _named(native_id, tuple(format_.read(records)), origin)
    if sealed is None or len(sealed.records) != len(records):
        raise BrokenBundle(f"{about['member']} holds other records than those of the conversation that it names")
    content = replace(sealed.conversation, native_id=native_id, facts={**sealed.conversation.facts, **index})
    return replace(sealed, conversation=content)


def _named(native_id: str, candidates: Sequence[Stored], origin: BundleOrigin) -> Stored | None:
    """The conversation that the manifest names, of those that its records are read as. Raises BrokenBundle for a name that is no text."""
    if not isinstance(native_id, str):
        raise BrokenBundle("its conversation has no id")
    if not candidates:
        # Without records: only the index of its store names it.
        return Stored(Conversation(native_id, origin.format, ()), ())
    if len(candidates) == 1:
        own_id = candidates[0].conversation.native_id
        # Of session files whose headers have one id, each is known by its file too; and a mask may change what the id is read from.
        if origin.masked or native_id.startswith(f"{own_id} "):
            return candidates[0]
    return next((candidate for candidate in candidates if candidate.conversation.native_id == native_id), None)


def _shared(stored: Stored, format_name: str) -> dict[str, str | None]:
    """Facts that the conversation's own records do not give: they are in records that it shares with others (the index), or in files next to it."""
    own = next((read.conversation.facts for read in inner(format_name).read(stored.records)), {})
    facts = stored.conversation.facts
    return {name: fact.value for name, fact in sorted(facts.items()) if name not in own or own[name].value != fact.value}


def bleeding(conversation: Conversation) -> tuple[str, ...]:
    """The ids that were sealed with a conversation as those whose rows its program reads as its own; () for any other conversation."""
    ids = conversation.fact(BLEEDING)
    return () if ids is None else tuple(json.loads(ids))


def identity(conversation: Conversation) -> str:
    """What a conversation was called in links that leave the machine when it was sealed; "" for any other conversation."""
    return conversation.fact(IDENTITY) or ""


def _masked(value: str | None, mask: Mask | None) -> str | None:
    return value if value is None or mask is None else _masked_text(value, mask)


def _masked_text(text: str, mask: Mask) -> str:
    return mask(text.encode("utf-8", "replace")).decode()


def _record_line(record: Record, mask: Mask | None, format_: Format) -> bytes:
    data = record.value.data if mask is None else _masked_record(record.value.data, mask, format_)
    try:
        value = {"text": data.decode()}
    except UnicodeDecodeError:
        value = {"base64": base64.b64encode(data).decode()}
    return _json({"key": _masked(record.key, mask), "type": record.value.type, "sha256": digest(record.value.data), **value})


def _masked_record(data: bytes, mask: Mask, format_: Format) -> bytes:
    """A file of lines is masked line by line, so that each stays the JSON that it is; what goes over several lines is seen after that."""
    plain = format_.plain(data) if isinstance(format_, PacksRecords) else data
    return mask(b"".join(mask(line) for line in plain.splitlines(keepends=True)))


def _records(data: bytes, is_masked: bool) -> Iterator[Record]:
    for number, line in enumerate(data.splitlines(), start=1):
        row = json.loads(line)
        value = row["text"].encode() if "text" in row else base64.b64decode(row["base64"], validate=True)
        if not isinstance(row["key"], str) or not isinstance(row["type"], str):
            raise BrokenBundle(f"record {number} has no key and type")
        if row["type"] not in _STORAGE:
            raise BrokenBundle(f"record {number} is of type {row['type'][:20]!r}, which no store has")
        if not is_masked and row["sha256"] != digest(value):
            raise BrokenBundle(f"record {number} of a conversation does not have the digest next to it")
        yield Record(row["key"], Cell(value, row["type"]))


def _trace_line(record: TraceRecord, names: Mapping[str, str], mask: Mask | None) -> bytes:
    values = ((name, getattr(record, name)) for name in _TYPES)
    row: dict[str, Any] = {name: _masked(value, mask) if isinstance(value, str) else value for name, value in values}
    texts = {"message": record.message, "attributes": dict(record.attributes), "links": [dict(link) for link in record.links]}
    row |= texts if mask is None else json.loads(mask(_json(texts)))
    # A body that nobody holds keeps the name under which it was known.
    row["body"] = names.get(record.body, record.body) if record.body is not None else None
    return _json(row)


def _trace_record(line: bytes) -> TraceRecord:
    row = json.loads(line)
    if row.keys() != _TYPES.keys() or not all(isinstance(row[name], types) for name, types in _TYPES.items()):
        raise BrokenBundle("a trace record has other fields than trace records have")
    if not _is_time(row["timestamp"]) or not all(isinstance(link, dict) for link in row["links"]) or abs(row["order"]) >= 2**63:
        raise BrokenBundle("a trace record has a time, an order or links that none can have")
    if line.count(b"[") + line.count(b"{") > jsontext.MAX_DEPTH:
        # What is read here has to be kept, shown and written again by code that is nested deeper: the limit is that of every other source.
        jsontext.parse(json.dumps([row["attributes"], row["links"]]))
    if row["body"] is not None and not _BODY.fullmatch(row["body"]):
        raise BrokenBundle("a trace record names a body otherwise than by its digest")
    return TraceRecord(**{**row, "links": tuple(row["links"])})


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LATEST


def digest(data: bytes) -> str:
    """SHA-256 in hex, as everywhere in a bundle."""
    return hashlib.sha256(data).hexdigest()


def _json(value: Sequence[Any] | Mapping[str, Any]) -> bytes:
    """One line, ASCII: keys of hostile stores hold lone surrogates, and every reader of JSON restores them from escapes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
