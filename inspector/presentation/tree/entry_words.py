"""An entry of a session in a few words: what it is, and what it says."""

from inspector.conversation.model import Chunk, Kind
from inspector.presentation.conversation.row_words import arguments
from inspector.presentation.masking import masked
from inspector.presentation.tree.model import Node
from inspector.presentation.visible import beginning

_WORDS = 200
_NAMES = {"toolResult": "result", "bashExecution": "command", "branchSummary": "branch summary", "compactionSummary": "compaction"}
_OWN = ("label", "name", "modelId", "thinkingLevel", "customType", "targetId", "reason", "kind")


def what(node: Node) -> str:
    """`user`, `assistant`, `result`, `compaction`, `model change`, or that it is no entry."""
    if not node.is_entry:
        return node.chunks[0].damage or node.type
    role = node.about.get("role") or node.chunks[0].role
    if node.type == "message" or not node.type:
        name = role if isinstance(role, str) and role else "message"
        return _NAMES.get(name, "result" if name == "tool" else name)[:40]
    return node.type.replace("_", " ")[:40]


def words(node: Node) -> str:
    """The beginning of what it says, on one line; of a call its name and arguments, of a control row its own fields."""
    parts: list[str] = []
    for chunk in node.chunks:
        if text := _of_chunk(chunk, len(node.chunks) == 1):
            parts.append(text)
        if sum(map(len, parts)) > _WORDS:
            break
    if not parts and node.is_entry:
        fields = ((name, node.about.get(name)) for name in _OWN)
        parts = [f"{name} {beginning(value, 80)}" for name, value in fields if isinstance(value, str) and value]
    # Masked before it is cut: the first half of a secret is one too.
    line = masked(" · ".join(parts))
    return line if len(line) <= _WORDS else f"{line[:_WORDS]}…"


def _of_chunk(chunk: Chunk, is_only: bool) -> str:
    if chunk.damage == "nul":
        return ""
    if chunk.kind is Kind.UNREADABLE and not chunk.text:
        return _line(beginning(chunk.raw[: 4 * _WORDS].decode("utf-8", "backslashreplace"), _WORDS))
    if chunk.kind is Kind.TOOL_CALL:
        return _line(f"→ {chunk.tool_name} {beginning(arguments(chunk), 4 * _WORDS)}")
    if chunk.kind is Kind.THINKING and not is_only:
        return ""
    text = _line(beginning(chunk.text, 4 * _WORDS))
    if chunk.kind is Kind.THINKING:
        return f"(thinking) {text}"
    return f"{chunk.tool_name}: {text}" if chunk.kind is Kind.TOOL_RESULT and chunk.tool_name else text


def _line(text: str) -> str:
    return masked(" ".join(text.split()))
