"""What a program hands to its model of a path: the cut at a compaction or reset, edits of the context, and texts for what is no message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.conversation.model import Chunk, Dropped, Kind, Message
from inspector.programs.pi_openclaw.blocks import message_blocks
from inspector.programs.pi_openclaw.readers.rows import PathRow, in_template, is_mirror, mapping, word

COMPACTED = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{}\n</summary>"
CAME_BACK = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}</summary>"
_ROLES = ("user", "assistant", "tool", "system")
_EDITABLE = ("user", "assistant", "toolResult", "custom", "hookMessage")
_EXCLUDED = "excluded from the context by the person who ran it"
_MIRROR = "a copy of what the program showed by itself, for display only"


@dataclass(frozen=True, slots=True)
class Rules:
    """How one version makes messages of a path. `edits`: applies context_edit; `system`: knows system messages, and drops those that
    a compaction kept; `resets`: knows reset rows; `mirrors`: leaves out what it showed on its own account; `hooks`: sends messages of the
    role hookMessage, which files below version 3 have."""

    edits: bool = False
    system: bool = False
    resets: bool = False
    mirrors: bool = False
    hooks: bool = False


@dataclass(slots=True)
class Context:
    """`messages` as the program's context has them; `sent` without those that its converter leaves out."""

    messages: list[Message] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def context_of(path: Sequence[PathRow], rules: Rules) -> Context:
    context = Context()
    selected = _selected(path, rules, context)
    edits = {word(row.about.get("targetId")): row for row in selected if row.type == "context_edit"} if rules.edits else {}
    for row in selected:
        messages = _messages(row, rules)
        edit = edits.get(row.id) if row.id and row.type in ("message", "custom_message") else None
        if edit is not None and messages:
            messages = _edited(row, messages, edit, context)
        for message in messages:
            context.messages.append(message)
            if why := _unsent(row, message, rules):
                context.dropped.append(Dropped(message.chunks, why, intentional=why in (_EXCLUDED, _MIRROR), skipped=True))
            else:
                context.sent.append(message)
    return context


def _selected(path: Sequence[PathRow], rules: Rules, context: Context) -> list[PathRow]:
    """The rows that count: after the last compaction or reset all, before it those that it keeps; a compaction comes first."""
    bounds = ("compaction", "reset") if rules.resets else ("compaction",)
    at = next((index for index in range(len(path) - 1, -1, -1) if path[index].type in bounds), None)
    if at is None:
        return list(path)
    bound = path[at]
    kept_from = bound.about.get("firstKeptEntryId")
    first = next((index for index in range(at) if isinstance(kept_from, str) and path[index].id == kept_from), at)
    if first == at and kept_from != bound.id and isinstance(kept_from, str):
        context.warnings.append(
            f"the {bound.type} {bound.id} keeps entries from {kept_from[:40]!r} on, which is not above it on the path: nothing before it is kept"
        )
    kept_rows = list(path[first:at])
    if bound.type == "reset":
        kept_rows = [row for row in kept_rows if row.type == "message" and row.role in ("user", "assistant", "tool")]
        answerable = {chunk.call_id for row in kept_rows for chunk in row.chunks if chunk.kind is Kind.TOOL_CALL}
        kept_rows = [row for row in kept_rows if row.role != "tool" or row.chunks[0].call_id in answerable]
    elif rules.system:
        kept_rows = [row for row in kept_rows if row.role != "system"]
    # Rows are not hashable by content at a fair price: their place distinguishes them.
    kept_ids = {id(row) for row in kept_rows}
    cut_chunks = tuple(chunk for row in path[:at] if id(row) not in kept_ids and _messages(row, rules) for chunk in row.chunks)
    if cut_chunks:
        context.dropped.append(Dropped(cut_chunks, f"before the {bound.type} {bound.id}, which keeps nothing of it", intentional=True))
    return [bound, *(row for row in kept_rows if row.type not in bounds), *path[at + 1 :]]


def _messages(row: PathRow, rules: Rules) -> list[Message]:
    """At most two: the system message of a compaction, and its summary."""
    about, first = row.about, row.chunks[0]
    match row.type:
        case "message":
            return [Message(row.role, row.chunks)]
        case "custom_message":
            content = about.get("content")
            return [Message("user", entry_chunks(first, "user", content if content is not None else []))]
        case "branch_summary" if about.get("summary"):
            return [Message("user", entry_chunks(first, "user", CAME_BACK.format(in_template(about, "summary"))))]
        case "compaction":
            system = mapping(about.get("systemMessage")) if rules.system else {}
            before = [Message("system", entry_chunks(first, "system", system.get("content")))] if system else []
            return [*before, Message("user", entry_chunks(first, "user", COMPACTED.format(in_template(about, "summary"))))]
    return []


def entry_chunks(first: Chunk, role: str, content: Any) -> tuple[Chunk, ...]:
    """The chunks of a message that the program makes of an entry or an edit: they keep its place and its line."""
    stored = "toolResult" if role == "tool" else role
    blocks = message_blocks({"role": stored, "content": content})
    stem = first.key.rpartition(".")[0] or first.key
    return tuple(
        replace(
            first,
            key=f"{stem}.{at}",
            role=role,
            kind=block.kind,
            payload={**block.payload, "entry": first.payload.get("entry")},
            chunk_idx=at,
            damage=block.damage,
            reason=block.reason,
        )
        for at, block in enumerate(blocks)
    )


def _edited(row: PathRow, messages: list[Message], edit: PathRow, context: Context) -> list[Message]:
    replacement = edit.about.get("replacement")
    if replacement is None:
        context.dropped.append(
            Dropped(row.chunks, f"removed from the context by the context edit {edit.id}", intentional=True, skipped=True)
        )
        return []
    stored = "custom" if row.type == "custom_message" else word(row.about.get("role"))
    if stored not in _EDITABLE or not isinstance(replacement, Mapping):
        context.warnings.append(
            f"the context edit {edit.id} does nothing: its target is no message with content, or its replacement no object"
        )
        return messages
    content, first = replacement.get("content"), row.chunks[0]
    if isinstance(content, str) and row.role in ("assistant", "tool"):
        content = [{"type": "text", "text": content}]
    context.dropped.append(Dropped(row.chunks, f"replaced in the context by the context edit {edit.id}", intentional=True))
    new = entry_chunks(first, row.role or "user", content)
    if row.role == "tool":
        # Only the content is replaced: whose result it is stays.
        replaced = {name: value for name, value in new[0].payload.items() if name in ("content", "blocks", "wire")}
        unchanged = {name: value for name, value in first.payload.items() if name not in ("content", "blocks", "wire")}
        new = (replace(new[0], payload={**unchanged, **replaced}),)
    return [Message(row.role or "user", new)]


def _unsent(row: PathRow, message: Message, rules: Rules) -> str:
    """Why the program's converter leaves a message of the context out; "" where it does not."""
    about = row.about
    if all(chunk.kind is Kind.UNREADABLE for chunk in message.chunks) and not any("block" in chunk.payload for chunk in message.chunks):
        return message.chunks[0].reason or "it cannot be read"
    if about.get("excludeFromContext") is True and (rules.resets or about.get("role") == "bashExecution"):
        return _EXCLUDED
    if row.type == "message" and about.get("role") == "hookMessage" and not rules.hooks:
        return "the role hookMessage is that of files below version 3: in later ones the program leaves such a message out"
    if message.role not in _ROLES or (message.role == "system" and not rules.system):
        return f"the role {about.get('role')!r} is none that the program sends to a model"
    if rules.mirrors and message.role == "assistant" and is_mirror(about):
        return _MIRROR
    return ""
