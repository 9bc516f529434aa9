"""Request bodies: the JSON that a provider was sent, whole or its bare list of messages, in any of the wire shapes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inspector.conversation.edits import Plan
from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.programs.formats import Cell, Change, Format, Record, Shape, Stored, WriteMode
from inspector.projections.base import AI_SDK, ANTHROPIC, AS_SENT, BEDROCK, GEMINI, MISTRAL, OPENAI_CHAT, OPENAI_RESPONSES
from inspector.text import jsontext
from inspector.wires import detection as request_detection
from inspector.wires import elsewhere as request_elsewhere
from inspector.wires import ids as request_ids
from inspector.wires import writing as request_writing
from inspector.wires.layout import BlockTexts, Layout, laid_out
from inspector.wires.names import WIRES
from inspector.wires.shapes import responses
from inspector.wires.shapes.base import WireBlock, WireShape, unknown, with_message_fields
from inspector.wires.shapes.catalogue import SHAPES

NATIVE_ID = "request"
"""Every body holds one conversation and no id of it; the file that it came in may take another name at any time."""

_TITLES = {
    ANTHROPIC: "Anthropic Messages",
    OPENAI_CHAT: "OpenAI Chat Completions",
    OPENAI_RESPONSES: "OpenAI Responses",
    GEMINI: "Gemini generateContent",
    BEDROCK: "Bedrock Converse",
    MISTRAL: "Mistral chat",
    AI_SDK: "AI SDK ModelMessage list",
}
_SAMPLES = {
    ANTHROPIC: '{"model":"claude-…","max_tokens":1024,"messages":[{"role":"user","content":"hello"}]}',
    OPENAI_CHAT: '{"model":"gpt-…","messages":[{"role":"user","content":"hello"}],"max_completion_tokens":1024}',
    OPENAI_RESPONSES: '{"model":"gpt-…","input":[{"role":"user","content":"hello"}]}',
    GEMINI: '{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}',
    BEDROCK: '{"modelId":"anthropic.…","messages":[{"role":"user","content":[{"text":"hello"}]}]}',
    MISTRAL: '{"model":"mistral-…","messages":[{"role":"user","content":"hello"}]}',
    AI_SDK: '[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"read","input":{}}]}]',
}
_PROFILES = {ANTHROPIC: "anthropic-2026-07", AI_SDK: "ai-sdk-6"}


class RequestBody(Format):
    """One wire shape. Which shape a file is of, only the whole of it says: `request_detection` does, not `sniff`."""

    default_reader = AS_SENT
    modes: tuple[WriteMode, ...] = (
        WriteMode("same-file", "writes the repaired request to the same file; what was not repaired keeps its bytes", "in-place"),
    )

    def __init__(self, name: str, wire: str) -> None:
        self.name = name
        self.wire = wire
        self.shape: WireShape = SHAPES[wire]
        self.title = f"Request body: {_TITLES[wire]}, whole or the bare list"
        self.sample = _SAMPLES[wire]
        self.default_projection = f"{wire}+{AS_SENT}"
        self.default_profile = _PROFILES.get(wire, wire)

    def wants(self, key: str) -> bool:
        return "/" not in key

    def sniff(self, shape: Shape) -> float:
        return 0.0

    def read(self, records: Iterable[Record]) -> Iterator[Stored]:
        """One conversation for each record. Raises NotARequest."""
        for record in records:
            layout = laid_out(record.value.data, self.shape)
            chunks = list(_chunks(layout, self.shape))
            if self.shape.may_omit_ids:
                chunks = request_ids.tied(chunks)
            chunks = request_ids.with_names(chunks)
            if self.wire == OPENAI_RESPONSES:
                chunks = list(request_elsewhere.set_apart(chunks, layout.values, responses.continues(layout.body) is not None))
            conversation = Conversation(
                NATIVE_ID, self.name, tuple(chunks), _facts(layout, self.shape, record.key), record.key.rpartition("/")[2]
            )
            yield Stored(conversation, (record,))

    def write(self, plan: Plan, stored: Stored) -> Sequence[Change]:
        """One change, of the whole file; none where no byte differs. Raises WriteRefused, EditMismatch."""
        before = stored.records[0]
        data = request_writing.written(plan, stored, self.shape, self._read_back)
        return [] if data == before.value.data else [Change(before.key, before.value, Cell(data, before.value.type))]

    def warning(self, changes: Sequence[Change]) -> str:
        bodies = ((change.before.data, change.after.data) for change in changes if change.before and change.after)
        if all(request_detection.still_shows(self.name, before, after) for before, after in bodies):
            return ""
        return f"The repaired body no longer shows which wire shape it has: name the format when you read it, with --format {self.name}."

    def _read_back(self, data: bytes) -> Conversation:
        return next(self.read([Record("", Cell(data, "file"))])).conversation


def _chunks(layout: Layout, shape: WireShape) -> Iterator[Chunk]:
    seq = 0
    name = next((name for name in shape.system if name in layout.body), None)
    if name is not None:
        text = layout.member(name) or ""
        texts = BlockTexts(text if text.startswith("{") else f"{{{jsontext.compact(name)}:{text}}}")
        for index, block in enumerate(shape.system_blocks(layout.body[name])):
            seq += 1
            inside = block.at[1:] if text.startswith("{") else block.at
            yield _chunk(block, ".".join(map(str, block.at)) or name, seq, -1, index, text if block.whole else texts.at(inside))
    for number, value in enumerate(layout.values):
        texts = BlockTexts(layout.element(number)) if layout.text[layout.start] == "[" else BlockTexts("{}")
        for index, block in enumerate(blocks_of(value, shape)):
            seq += 1
            path = ".".join(map(str, (shape.lists[0], number, *block.at)))
            yield _chunk(block, path, seq, number, index, texts.at(() if block.whole else block.at))


def blocks_of(value: Any, shape: WireShape) -> list[WireBlock]:
    """The blocks of one element of the list."""
    if isinstance(value, dict):
        return with_message_fields(value, list(shape.read(value)), shape) or [unknown("", value, shape.wire, ())]
    payload = {"type": "control", "block": value, "wire": shape.wire}
    return [WireBlock("", Kind.UNREADABLE, payload, (), True, "not-object", "the message is no object")]


def _chunk(block: WireBlock, key: str, seq: int, msg_idx: int, index: int, text: str) -> Chunk:
    raw = jsontext.encode(text)
    return Chunk(key, seq, block.role, block.kind, block.payload, msg_idx, index, raw, block.damage, block.reason)


def _facts(layout: Layout, shape: WireShape, key: str) -> Mapping[str, Fact]:
    body = layout.body
    tools = [name for tool in body["tools"] if (name := _tool_name(tool))] if isinstance(body.get("tools"), list) else []
    model = next((body[name] for name in ("model", "modelId") if isinstance(body.get(name), str)), None)
    values = {"model": model, "thinking": shape.thinking(body), "tools": ", ".join(tools) or None}
    if shape.wire == OPENAI_RESPONSES:
        values["continues"] = responses.continues(body)
    return {name: Fact(name, value, key) for name, value in values.items() if value is not None}


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    inner = tool.get("function") if isinstance(tool.get("function"), dict) else tool
    return inner["name"] if isinstance(inner, dict) and isinstance(inner.get("name"), str) else ""


def start_of(conversation: Conversation, record: Record, chunk: Chunk) -> int | None:
    """The byte at which the message of the chunk starts; None of a system prompt, which is no message."""
    layout = laid_out(record.value.data, next(format_.shape for format_ in REQUEST_BODIES if format_.name == conversation.format))
    if chunk.msg_idx is None or not 0 <= chunk.msg_idx < len(layout.spans):
        return None
    return len(jsontext.encode(layout.mark + layout.text[: layout.spans[chunk.msg_idx][0]]))


REQUEST_BODIES = tuple(RequestBody(name, wire) for name, wire in WIRES.items())
