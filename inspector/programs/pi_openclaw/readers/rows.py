"""The rows of a session file as its programs see them: the entries that they parse, and the leaf that a person chose instead of theirs."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation
from inspector.conversation.tree import LEAF, Entry, entries, last_by_id
from inspector.text import jsontext
from inspector.text.js_json import stringify
from inspector.text.json_lines import BOM
from inspector.text.jsontext import Unreadable
from inspector.text.light import MAPPING, light_dataclass

PI, OPENCLAW, OPENCLAW_SQLITE = "pi", "openclaw", "openclaw-sqlite"
_UNPARSED = ("torn", "nul", "not-json", "fused")
_MIRRORS = ("delivery-mirror", "gateway-injected")
_CURRENT = 3
_NO_MAPPING: Mapping[str, Any] = {}


@light_dataclass(frozen=True, slots=True)
class PathRow:
    """The chunks of one entry. `about` is what it keeps next to the content: empty for a message that a strategy put in.

    `id`, `parent` and `type` are what it says there, as text: readers ask a dozen times for those of each row.
    """

    chunks: tuple[Chunk, ...]
    about: Mapping[str, Any]
    id: str
    parent: str
    type: str

    @property
    def role(self) -> str:
        return self.chunks[0].role


def word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, MAPPING) else _NO_MAPPING


def rows(path: Conversation) -> tuple[PathRow, ...]:
    """In the order of the path, which is that of the conversation."""
    groups: list[list[Chunk]] = []
    for chunk in path.chunks:
        if groups and queries.same_message(groups[-1][-1], chunk):
            groups[-1].append(chunk)
        else:
            groups.append([chunk])
    return tuple([_row(tuple(chunks)) for chunks in groups])


def _row(chunks: tuple[Chunk, ...]) -> PathRow:
    about = mapping(chunks[0].payload.get("entry"))
    # A strategy's message has no entry yet: the format gives it one when it is written.
    kind = word(about.get("type")) or ("message" if chunks[0].role else "")
    return PathRow(chunks, about, word(about.get("id")), word(about.get("parentId")), kind)


def parsed(tree: Conversation) -> tuple[Entry, ...]:
    """The entries of the lines that JSON.parse takes: none of a fused line, whose records only we recover, and no header."""
    return tuple(entry for entry in entries(tree) if entry.type != "session" and "fused" not in entry.about)


def in_template(about: Mapping[str, Any], name: str) -> str:
    """A member as JavaScript puts it into a text."""
    value = about.get(name)
    if isinstance(value, MAPPING):
        return "[object Object]"
    return value if isinstance(value, str) else stringify(value) if name in about else "undefined"


def is_below(path: Conversation, version: int) -> bool:
    """Whether the programs bring the file up to that version: 2 gives every line an id, 3 renames the role hookMessage. What is no number is below nothing."""
    try:
        return float(path.fact("version") or _CURRENT) < version
    except ValueError:
        return False


def value_of(chunk: Chunk) -> Any:
    """What a line that is JSON but no object says; True where it cannot be read again."""
    try:
        return jsontext.parse(jsontext.decode(bytes(chunk.raw).removeprefix(BOM)))
    except (Unreadable, ValueError):
        return True


def is_skipped(chunk: Chunk) -> bool:
    """Whether a line that is JSON but no object is false for JavaScript: pi skips it. A list without members is true there."""
    return value_of(chunk) in (None, 0, False, "")


def ends_without_entry(tree: Conversation) -> bool:
    """Whether the last line that pi keeps is no object: it has no leaf then."""
    for chunk in reversed(tree.chunks):
        entry = chunk.payload.get("entry")
        if isinstance(entry, Mapping) and "fused" not in entry:
            return False
        if chunk.damage == "not-object" and is_skipped(chunk):
            continue
        if not isinstance(entry, Mapping) and chunk.damage not in _UNPARSED:
            return chunk.damage == "not-object"
    return False


def chosen(tree: Conversation, all_entries: Sequence[Entry]) -> Entry | None:
    """The entry that a person chose for the leaf; None where nobody did, or where it is unknown: the programs then take their own."""
    leaf = tree.fact(LEAF)
    if not leaf:
        return None
    return last_by_id(all_entries).get(leaf) or next(
        (entry for entry in all_entries if entry.chunks[0].key.rpartition(".")[0] == leaf), None
    )


STORED_NAME = "spelling"
"""The member of a payload that has the stored name of a type or of an id, where it is not the one that pi writes."""


def stored_name(chunk: Chunk, usual: str) -> str:
    """How the stored block names what canonical payloads have one word for: the type of a call, or the key of a result's id."""
    return word(chunk.payload.get(STORED_NAME)) or usual


def model_of(chunk: Chunk) -> tuple[object, object, object]:
    """Provider, model and api of the answer that the chunk is of."""
    entry = mapping(chunk.payload.get("entry"))
    return entry.get("provider"), entry.get("model"), entry.get("api")


def model_name(chunk: Chunk) -> str:
    """`provider/model` of an answer; "" of what OpenClaw wrote by itself."""
    entry = mapping(chunk.payload.get("entry"))
    provider, model = entry.get("provider"), entry.get("model")
    if chunk.role != "assistant" or provider == OPENCLAW or not isinstance(model, str):
        return ""
    return f"{provider}/{model}" if isinstance(provider, str) else model


def is_mirror(entry: Mapping[str, Any]) -> bool:
    """Whether OpenClaw wrote the answer to show it and never sends it: what a channel delivered, or what the gateway itself said."""
    return entry.get("provider") == OPENCLAW and entry.get("model") in _MIRRORS


def target_of(path: Sequence[PathRow]) -> tuple[object, object, object]:
    """Provider, model and api of the next request: the last on the path; the api is that by which the model last answered."""
    answers = [
        row for row in path if row.type == "message" and row.role == "assistant" and row.about and row.about.get("provider") != OPENCLAW
    ]
    last = answers[-1] if answers else None
    change = next((row for row in reversed(path) if row is last or row.type == "model_change"), None)
    if change is None or change is last:
        return model_of(last.chunks[0]) if last else (None, None, None)
    model = (change.about.get("provider"), change.about.get("modelId"))
    answered_models = (model_of(row.chunks[0]) for row in reversed(answers))
    return next((answer for answer in answered_models if answer[:2] == model), (*model, None))
