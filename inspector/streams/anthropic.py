"""Anthropic's Messages as events: one message, its blocks one after the other, each with its deltas."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inspector.projections.base import ANTHROPIC
from inspector.streams.assembling import MISSED, AnswerMachine, Arguments, arguments, fields, place, shown, words
from inspector.streams.blocks import BLOCKS_KEPT
from inspector.streams.model import How, Means
from inspector.text import jsontext

STOP_REASONS = frozenset({"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"})
_CUT = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""Stop reasons after which a call may be cut off, and is no fault of the stream."""

TAKES = {
    "text": frozenset({"text_delta", "citations_delta"}),
    "tool_use": frozenset({"input_json_delta"}),
    "server_tool_use": frozenset({"input_json_delta"}),
    "mcp_tool_use": frozenset({"input_json_delta"}),
    "thinking": frozenset({"thinking_delta", "signature_delta"}),
    "redacted_thinking": frozenset[str](),
    "compaction": frozenset({"compaction_delta"}),
}
"""Type of block -> types of delta that it takes. Results of server tools take none; of other types nothing is known."""
DELTAS = frozenset[str]().union(*TAKES.values())
_KINDS = {"text": "text", "thinking": "thinking", "redacted_thinking": "redacted-thinking", "tool_use": "tool-call"}


@dataclass(slots=True)
class _OpenBlock:
    kind: str
    block: int
    input: Any = None
    """Input that came with the start."""


class Anthropic(AnswerMachine):
    protocol = ANTHROPIC

    def __init__(self, *arguments_of: Any) -> None:
        super().__init__(*arguments_of)
        self._open: dict[int, _OpenBlock] = {}
        self._seen: set[int] = set()
        self._started = False
        self._closing = False
        self._doubtful: list[tuple[int, Arguments]] = []

    def consume(self, value: Mapping[str, Any], name: str) -> None:
        match words(value.get("type")) or name:
            case "message_start":
                self._start(fields(value.get("message")))
            case "content_block_start" | "content_block_delta" | "content_block_stop" as event:
                self._block_event(event, value)
            case "message_delta":
                self._message_delta(value)
            case "message_stop":
                self._stop()
            case "ping":
                self.say(Means.PING)
            case "error":
                self.failed(value.get("error"))
            case _ if value.get("error"):
                self.failed(value["error"])
            case kind:
                self.report_once("unknown-event", f"No event of Messages is named {shown(kind)}.", kind[:100])
                self.say(Means.OTHER, text=kind[:100])

    def _start(self, message: Mapping[str, Any]) -> None:
        if self.ended:
            self.report("content-after-terminal", "Another message begins after the terminal.")
        elif self._started:
            self.report("start-repeated", "message_start comes again before message_stop.")
            # The blocks that follow are counted from 0 again.
            self._report_open_blocks()
            self._seen.clear()
        self._started, self.state = True, "ended" if self.ended else "message"
        self.named_as(words(message.get("id")), words(message.get("model")))
        self.role = words(message.get("role"))[:100]
        self.say(Means.START, value={"id": self.id, "model": self.model})
        self.say(Means.ROLE, text=self.role)
        self._usage(message.get("usage"))

    def _usage(self, usage: Any) -> None:
        if isinstance(usage, dict) and usage:
            # Counts of message_delta are cumulative: they take the place of those of message_start.
            self.usage = {**dict(list(self.usage.items())[:100]), **usage}
            self.say(Means.USAGE, value=usage)

    def _block_event(self, event: str, value: Mapping[str, Any]) -> None:
        if not self._started:
            self.report("block-before-start", f"{event} comes before message_start.")
        index = place(value.get("index"))
        if index is None:
            self.report("block-not-open", f"{event} has no index.")
            return
        if event == "content_block_start":
            self._block_start(index, fields(value.get("content_block")))
        elif index not in self._open:
            self.report("block-not-open", f"{event} names block {index}, which is not open.")
        elif event == "content_block_stop":
            self._block_stop(index, self._open.pop(index))
        else:
            self._delta(index, self._open[index], fields(value.get("delta")))

    def _block_start(self, index: int, block: Mapping[str, Any]) -> None:
        kind = words(block.get("type"))[:100]
        if not self.late(f"a {kind} block") and self._closing:
            self.report("content-after-finish", f"A {kind} block comes after message_delta.")
        if self._open:
            self.report("blocks-interleaved", f"Block {index} begins while block {next(iter(self._open))} is open.")
        if index in self._seen:
            self.report("block-reopened", f"Block {index} begins a second time.")
        elif index != len(self._seen):
            self.report("block-index-gap", f"Block number {len(self._seen) + 1} has the index {index}.")
        if len(self._seen) >= BLOCKS_KEPT:
            return
        self._seen.add(index)
        self.state = "ended" if self.ended else f"in {kind}"
        self._open[index] = _OpenBlock(kind, self._opened(kind, block), block.get("input"))

    def _opened(self, kind: str, block: Mapping[str, Any]) -> int:
        if kind == "tool_use":
            name, call_id = words(block.get("name")), words(block.get("id"))
            for member, value in (("id", call_id), ("name", name)):
                if not value:
                    self.report(f"tool-{member}-missing", f"The tool_use block begins without its {member}.")
            return self.call(name, call_id)
        at = self.blocks.open(_KINDS.get(kind, "other"), self.event, words(block.get("name")) or kind, words(block.get("id")))
        if kind in ("text", "thinking"):
            started = self.blocks.get(at)
            if started is not None:
                started.name = ""
            if words(block.get(kind)):
                self.blocks.add(at, block[kind], self.event)
                self.say(Means.TEXT if kind == "text" else Means.THINKING, at, block[kind])
            if kind == "thinking" and words(block.get("signature")):
                self.sign(at, block["signature"])
        else:
            # Complete in its start: what it holds is kept as text.
            content = words(block.get("data")) if kind == "redacted_thinking" else "" if kind in TAKES else jsontext.compact(dict(block))
            self.blocks.add(at, content, self.event)
            self.say(Means.OTHER, at, content[:1000], name=kind)
        return at

    def _delta(self, index: int, block: _OpenBlock, delta: Mapping[str, Any]) -> None:
        kind = words(delta.get("type"))
        self.late("a delta")
        takes = TAKES.get(block.kind, frozenset() if block.kind.endswith("_tool_result") else None)
        if kind not in DELTAS:
            self.report_once("unknown-event", f"No delta of Messages is named {shown(kind)}.", kind[:100])
        elif takes is not None and kind not in takes:
            self.report("delta-type-mismatch", f"A {kind} comes for block {index}, which is a {shown(block.kind)} block.")
            return
        match kind:
            case "text_delta" if words(delta.get("text")):
                self.blocks.add(block.block, delta["text"], self.event)
                self.say(Means.TEXT, block.block, delta["text"])
            case "thinking_delta" if words(delta.get("thinking")):
                self.blocks.add(block.block, delta["thinking"], self.event)
                self.say(Means.THINKING, block.block, delta["thinking"])
            case "signature_delta":
                self.sign(block.block, words(delta.get("signature")))
            case "input_json_delta" if words(delta.get("partial_json")):
                self.blocks.add(block.block, delta["partial_json"], self.event)
                self.say(Means.ARGUMENTS if block.kind == "tool_use" else Means.OTHER, block.block, delta["partial_json"])
            case _:
                self.say(Means.OTHER, block.block, name=kind[:100])

    def _block_stop(self, index: int, block: _OpenBlock) -> None:
        building = self.blocks.get(block.block)
        self.state = "ended" if self.ended else "message"
        if block.kind == "tool_use":
            if building is not None and not building.size and isinstance(block.input, dict) and block.input:
                text = jsontext.compact(block.input)
                self.blocks.add(block.block, text, self.event)
                self.say(Means.ARGUMENTS, block.block, text)
            read = self.called(block.block)
            if read is not None and read.fault:
                # Whether the answer was cut off by its limit is known only from the stop reason.
                self._doubtful.append((block.block, read))
            return
        self.blocks.close(block.block, self.event)
        self.say(Means.BLOCK_END, block.block)
        if block.kind == "server_tool_use" and building is not None and building.is_whole and building.size:
            read = arguments(building.text)
            if read.fault:
                self._doubtful.append((block.block, read))
        if block.kind != "thinking" or building is None:
            return
        if not building.signature:
            self.report("signature-missing", f"Block {index} is thinking, and ends without a signature.")
        elif not building.size and not self.request.hides_thinking:
            self.report("thinking-empty", f"Block {index} is thinking, with a signature and no words.")

    def _message_delta(self, value: Mapping[str, Any]) -> None:
        self._report_open_blocks()
        reason = fields(value.get("delta")).get("stop_reason")
        if self.ended:
            self.report("content-after-terminal", "message_delta comes after the terminal.")
        if isinstance(reason, str) and reason:
            self._finish(reason[:100])
        if not isinstance(value.get("usage"), dict):
            self.report_once("usage-missing", "message_delta has no usage.")
        self._usage(value.get("usage"))

    def _finish(self, reason: str) -> None:
        self.finish, self._closing = reason, True
        self.state = "ended" if self.ended else "finished"
        self.say(Means.FINISH, text=reason)
        for block, read in self._doubtful if reason not in _CUT else ():
            building = self.blocks.get(block)
            self.faulty(building, read, success=True, event=building.last if building else None)
        self._doubtful.clear()
        if self.calls and reason == "end_turn":
            self.report("finish-mismatch-stop", f"The stop reason is end_turn, and there are {self.calls:,} tool_use blocks.")
        elif not self.calls and reason == "tool_use":
            self.report("finish-mismatch-tool", "The stop reason is tool_use, and there is no tool_use block.")
        elif reason not in STOP_REASONS:
            self.report("unknown-finish", f"The stop reason {shown(reason)} is none of Anthropic's.")

    def _report_open_blocks(self) -> None:
        for index, block in self._open.items():
            self.report("block-left-open", f"Block {index} ({shown(block.kind)}) is still open.")
        self._open.clear()

    def _stop(self) -> None:
        self._report_open_blocks()
        if self.terminal("message_stop") and not self.finish and not self.error:
            self.report("stop-reason-missing", "message_stop comes, and no message_delta gave a stop reason.")

    def close(self, how: How) -> None:
        if how in MISSED and not self.ended and not self.error:
            self.report("missing-terminal", f"{MISSED[how]} without message_stop.")
