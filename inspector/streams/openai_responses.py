"""OpenAI's Responses as events: numbered, item by item, each delta repeated whole when it is done, and all of it again at the end."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspector.projections.base import OPENAI_RESPONSES
from inspector.streams.assembling import MISSED, AnswerMachine, fields, items, place, shown, words
from inspector.streams.blocks import BLOCKS_KEPT
from inspector.streams.model import How, Means
from inspector.text import jsontext

ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
REASONS = frozenset({"max_output_tokens", "content_filter"})
DELTA_EVENTS = {
    "response.output_text": ("text", Means.TEXT, "content_index", "text"),
    "response.refusal": ("refusal", Means.REFUSAL, "content_index", "refusal"),
    "response.reasoning_text": ("thinking", Means.THINKING, "content_index", "text"),
    "response.reasoning_summary_text": ("thinking", Means.THINKING, "summary_index", "text"),
    "response.function_call_arguments": ("tool-call", Means.ARGUMENTS, "", "arguments"),
    "response.custom_tool_call_input": ("tool-call", Means.ARGUMENTS, "", "input"),
    "response.mcp_call_arguments": ("other", Means.OTHER, "", "arguments"),
    "response.code_interpreter_call_code": ("other", Means.OTHER, "", "code"),
}
"""Event without `.delta` or `.done` -> kind of block, meaning, the member that numbers it within its item, the member of the done event that repeats it."""
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_CONTENT_OF = {"message": "content", "reasoning": "summary"}
BlockKey = tuple[str, int]


@dataclass(slots=True)
class _Item:
    kind: str
    blocks: dict[BlockKey, int] = field(default_factory=dict)
    wrong: set[BlockKey] = field(default_factory=set)
    done: bool = False


class OpenAIResponses(AnswerMachine):
    protocol = OPENAI_RESPONSES

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._items: dict[int, _Item] = {}
        self._done: dict[int, tuple[str, str]] = {}
        self._started = False
        self._number: int | None = None

    def consume(self, value: Mapping[str, Any], name: str) -> None:
        kind = words(value.get("type")) or name
        self._numbered(value.get("sequence_number"))
        base, _, what = kind.rpartition(".")
        if kind == "error" or (not kind and value.get("error")):
            self.failed(value.get("error") or value)
        elif kind == "response.created":
            self._start(fields(value.get("response")))
        elif kind in ENDS:
            self._end(ENDS[kind], fields(value.get("response")))
        elif kind == "response.output_item.added":
            self._added(value)
        elif kind == "response.output_item.done":
            self._item_done(value)
        elif base in DELTA_EVENTS and what in ("delta", "done"):
            self._content_event(base, what, value)
        elif kind.startswith("response."):
            self.say(Means.PING if kind in ("response.in_progress", "response.queued") else Means.OTHER, text=kind[:100])
        else:
            self.report_once("unknown-event", f"No event of Responses is named {shown(kind)}.", kind[:100])
            self.say(Means.OTHER, text=kind[:100])

    def _numbered(self, number: Any) -> None:
        if not isinstance(number, int) or isinstance(number, bool):
            return
        if self._number is not None and number > self._number + 1:
            self.report("sequence-gap", f"Number {shown(number)} comes after {self._number}.")
        elif self._number is not None and number <= self._number:
            self.report("sequence-repeat", f"Number {shown(number)} comes after {self._number}.")
        self._number = number

    def _start(self, response: Mapping[str, Any]) -> None:
        if self.ended:
            self.report("content-after-terminal", "Another response begins after the terminal.")
        elif self._started:
            self.report("start-repeated", "response.created comes again before the response has ended.")
        self._started, self.state, self.role = True, "ended" if self.ended else "response", "assistant"
        self.id, self.model = words(response.get("id"))[:1000], words(response.get("model"))[:1000]
        self.say(Means.START, value={"id": self.id, "model": self.model})

    def _added(self, value: Mapping[str, Any]) -> None:
        item, index = fields(value.get("item")), place(value.get("output_index"))
        kind = words(item.get("type"))[:100]
        self.late(f"an item ({kind})")
        if index is None or index in self._items:
            self.report("item-not-open", f"An item is added under the index {shown(index)}, which it cannot have.")
            return
        if index != len(self._items):
            self.report("item-index-gap", f"Item number {len(self._items) + 1} has the index {index}.")
        if len(self._items) >= BLOCKS_KEPT:
            return
        self._items[index] = _Item(kind)
        self.state = "ended" if self.ended else f"in {kind}"
        self._open(self._items[index], item)

    def _open(self, entry: _Item, item: Mapping[str, Any]) -> None:
        """The block of an item that is one block."""
        if entry.kind in CALLS:
            name, call_id = words(item.get("name")), words(item.get("call_id"))
            for row, is_so in (("tool-id-missing", not call_id), ("tool-name-missing", not name)):
                if is_so:
                    self.report(row, f"The {entry.kind} item has no {'call_id' if row == 'tool-id-missing' else 'name'}.")
            entry.blocks["tool-call", 0] = self.call(name, call_id)
        elif entry.kind not in _CONTENT_OF:
            entry.blocks["other", 0] = self.blocks.open("other", self.event, entry.kind, words(item.get("id")))

    def _content_event(self, base: str, what: str, value: Mapping[str, Any]) -> None:
        kind, means, numbered, repeated = DELTA_EVENTS[base]
        index = place(value.get("output_index"))
        entry = self._items.get(index) if index is not None else None
        self.late(f"{means.value} ({what})")
        if entry is None or entry.done:
            self.report("item-not-open", f"{base}.{what} names item {shown(value.get('output_index'))}, which is not open.")
            return
        part = (kind if not numbered else base, place(value.get(numbered)) or 0 if numbered else 0)
        text = words(value.get("delta" if what == "delta" else repeated))
        if what == "delta":
            self._grow(entry, part, kind, means, text)
        else:
            self._compare(entry, part, kind, means, text, f"{base}.done")

    def _grow(self, entry: _Item, part: BlockKey, kind: str, means: Means, text: str) -> None:
        if not text:
            return
        at = entry.blocks.get(part)
        if at is None:
            if self.blocks.opened >= BLOCKS_KEPT:
                return
            at = entry.blocks[part] = self.call("", "") if kind == "tool-call" else self.blocks.open(kind, self.event)
        self.blocks.add(at, text, self.event)
        self.say(means, at, text)

    def _compare(self, entry: _Item, part: BlockKey, kind: str, means: Means, text: str, where: str) -> None:
        """Holds a text that is given whole against its deltas. Of arguments that came without any delta, the whole is taken for one."""
        at = entry.blocks.get(part)
        block = self.blocks.get(at)
        if not text and (block is None or not block.size):
            return
        if kind in ("tool-call", "other") and (block is None or not block.size):
            self._grow(entry, part, kind, means, text)
            return
        if at is not None and block is None:
            return
        if part not in entry.wrong and (block is None or (block.is_whole and block.text != text)):
            entry.wrong.add(part)
            sent = f"{block.size:,} characters" if block is not None else "no deltas"
            self.report("done-differs-from-deltas", f"{where} gives {len(text):,} characters, and the deltas {sent} of other content.")

    def _item_done(self, value: Mapping[str, Any]) -> None:
        item, index = fields(value.get("item")), place(value.get("output_index"))
        entry = self._items.get(index) if index is not None else None
        self.late("an item")
        if entry is None or index is None or entry.done:
            self.report("item-not-open", f"output_item.done names item {shown(index)}, which is not open.")
            return
        entry.done = True
        if entry.kind in CALLS:
            self._call_done(entry, item)
        else:
            for part, kind, means, text in _texts(item):
                if part in entry.blocks or text:
                    self._whole(entry, part, kind, means, text)
        signature = words(item.get("encrypted_content"))
        if signature and entry.kind == "reasoning":
            first = next(iter(entry.blocks.values()), None)
            self.sign(self.blocks.open("thinking", self.event) if first is None else first, signature)
        for at in entry.blocks.values():
            self.blocks.close(at, self.event)
            if entry.kind not in CALLS:
                self.say(Means.BLOCK_END, at)
        if entry.kind not in _CONTENT_OF and entry.kind not in CALLS:
            block = self.blocks.get(entry.blocks.get(("other", 0)))
            if block is not None and not block.size:
                self.blocks.add(entry.blocks["other", 0], jsontext.compact(dict(item)), self.event)
        self._done[index] = _print(item)
        self.state = "ended" if self.ended else "response"

    def _whole(self, entry: _Item, part: BlockKey, kind: str, means: Means, text: str) -> None:
        # An item without any delta is one that the server did not stream.
        if part in entry.blocks:
            self._compare(entry, part, kind, means, text, "output_item.done")
        else:
            self._grow(entry, part, kind, means, text)

    def _call_done(self, entry: _Item, item: Mapping[str, Any]) -> None:
        arguments, part = item.get(CALLS[entry.kind]), ("tool-call", 0)
        if isinstance(arguments, str):
            self._compare(entry, part, "tool-call", Means.ARGUMENTS, arguments, "output_item.done")
        at = entry.blocks[part]
        block = self.blocks.get(at)
        if entry.kind == "custom_tool_call":
            text = block.text if block else ""
            self.say(Means.BLOCK_END, at, name=words(item.get("name")), value={"input": {"input": text}})
            return
        read = self.called(at)
        if item.get("status") != "incomplete":
            self.faulty(block, read, success=False)

    def _end(self, status: str, response: Mapping[str, Any]) -> None:
        first = self.terminal(f"response.{status}", twice="response-ends-twice")
        if not first:
            return
        reason = words(fields(response.get("incomplete_details")).get("reason"))[:100]
        self.finish = reason or status
        self.say(Means.FINISH, text=self.finish)
        if reason and reason not in REASONS:
            self.report("unknown-finish", f"The response is incomplete for a reason that is none of OpenAI's: {shown(reason)}")
        usage = response.get("usage")
        if isinstance(usage, dict) and usage:
            self.usage = usage
            self.say(Means.USAGE, value=usage)
        if status == "failed":
            self.failed(response.get("error") or "the response failed")
            self.state = "ended"
            return
        open_items = [index for index, item in self._items.items() if not item.done]
        if open_items and status == "completed":
            self.report("item-left-open", f"Item {open_items[0]} ({shown(self._items[open_items[0]].kind)}) is not done.")
        output = response.get("output")
        if isinstance(output, list) and not open_items:
            self._final(output)

    def _final(self, output: list[Any]) -> None:
        done = [self._done[index] for index in sorted(self._done)]
        if len(output) != len(done):
            self.report("final-differs-from-items", f"The final response has {len(output):,} items, and {len(done):,} were done.")
            return
        for number, (item, (ident, content)) in enumerate(zip(output, done, strict=True)):
            final = _print(fields(item))
            if final != (ident, content):
                what = "another id" if final[1] == content else "other content"
                self.report("final-differs-from-items", f"Item {number} has {what} in the final response than when it was done.")
                return

    def close(self, how: How) -> None:
        if how in MISSED and not self.ended and not self.error:
            self.report("response-without-end", f"{MISSED[how]} without response.completed, incomplete or failed.")


def _texts(item: Mapping[str, Any]) -> Iterator[tuple[BlockKey, str, Means, str]]:
    """The texts of an item that is done, each with the part that its deltas had."""
    reasoning = item.get("type") == "reasoning"
    for number, entry in enumerate(items(item.get("content"))):
        part = fields(entry)
        base = "response.reasoning_text" if reasoning else "response.refusal" if part.get("type") == "refusal" else "response.output_text"
        kind, means, _, member = DELTA_EVENTS[base]
        yield (base, number), kind, means, words(part.get(member))
    for number, entry in enumerate(items(item.get("summary")) if reasoning else ()):
        yield ("response.reasoning_summary_text", number), "thinking", Means.THINKING, words(fields(entry).get("text"))


def _print(item: Mapping[str, Any]) -> tuple[str, str]:
    """Id and a hash of what an item says. Encrypted reasoning is encrypted again each time, and says the same."""
    content = [item.get("type"), item.get("call_id"), item.get("name"), item.get("arguments"), item.get("input")]
    content += [text for _, _, _, text in _texts(item)]
    return words(item.get("id"))[:1000], hashlib.sha256(jsontext.compact(content).encode("utf-8", "surrogatepass")).hexdigest()
