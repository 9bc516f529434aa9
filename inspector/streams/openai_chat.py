"""OpenAI's Chat Completions as events, and what the many that speak it do to it.

Each choice is assembled and judged in the same way; the message is that of one of them (`Answer.choice`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.projections.base import OPENAI_CHAT
from inspector.rules.base import Severity
from inspector.streams.assembling import MISSED, AnswerMachine, fields, items, place, shown, words
from inspector.streams.blocks import BLOCKS_KEPT, Blocks
from inspector.streams.model import Assembled, How, Means
from inspector.text import jsontext

DONE = "terminal-record"
"""What a kind of capture may lack: the `[DONE]` line."""
MOST_CHOICES = 128
"""The most that a request may ask for. Further ones are passed over."""
BLOCKS_OF_OTHERS = 1_000
"""Blocks that are kept of each choice but the one that is assembled."""
TOOLS = ("tool_calls", "function_call")
FINISH_REASONS = frozenset({"stop", "length", "content_filter", *TOOLS})
_CLOSED = frozenset({How.EOF, How.UNKNOWN})
"""Ends at which a client has read what there was. After a reset it gets an exception, and before a timeout it waits."""
_CUT = frozenset({"length", "content_filter", "model_length"})
"""Finish reasons after which a call may be cut off, and is no fault of the stream."""
# 2001 to 5138 in seconds; what is smaller is of 1970, what is larger counts milliseconds.
_SECONDS = (10**9, 10**11)


@dataclass(slots=True)
class _Choice:
    main: bool
    """This choice is the message."""
    blocks: Blocks
    ids: set[str]
    """Of its calls: choices are alternatives, and may use the same ones."""
    first: bool = True
    always: bool = True
    """Every delta so far has a role."""
    produced: bool = False
    role: str = ""
    finish: str = ""
    calls: dict[int, int] = field(default_factory=dict)
    """Index of the call in the stream -> its block."""
    custom: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    last: int = -1
    has_details: bool = False
    """An earlier record brought entries of reasoning_details."""


class OpenAIChat(AnswerMachine):
    protocol = OPENAI_CHAT

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._choices: dict[int, _Choice] = {}
        self._usage_records = 0
        self._usage_came = False
        self._created: Any = None

    def consume(self, value: Mapping[str, Any], name: str) -> None:
        if self._goes_on(value):
            return
        if value.get("error"):
            self.failed(value["error"])
            return
        choices = value.get("choices")
        if not isinstance(choices, list):
            self.report_once("unknown-event", f"A record has no list of choices: {shown(list(value)[:8])}")
            self.say(Means.OTHER)
            return
        if not self.id and not self.model:
            self.say(Means.START, value={"id": words(value.get("id")), "model": words(value.get("model"))})
        self.named_as(words(value.get("id")), words(value.get("model")))
        created = self._created = value.get("created")
        if isinstance(created, int | float) and created and not _SECONDS[0] <= created < _SECONDS[1]:
            self.report_once("created-unit-wrong", f"`created` is {shown(created)}: no time in seconds of these years.")
        for choice in choices:
            if isinstance(choice, dict):
                self._of_choice(choice, isinstance(value.get("usage"), dict))
        self._usage(value.get("usage"), bool(choices))

    def _goes_on(self, value: Mapping[str, Any]) -> bool:
        """Whether the record is what nearly all are: more words of the text under way and nothing else. It is recorded then, as `_choice` would."""
        choices = value.get("choices")
        if self._usage_records or self.ended or type(choices) is not list or len(choices) != 1 or type(choices[0]) is not dict:
            return False
        (entry,) = choices
        delta, index = entry.get("delta"), self.blocks.opened - 1
        block = self.blocks.get(index)
        choice = self._choices.get(0)
        if (
            block is None
            or block.kind != "text"
            or block.complete
            or choice is None
            or not choice.main
            or choice.finish
            or type(delta) is not dict
            or len(delta) != 1
            or entry.get("finish_reason") is not None
            or entry.get("index") != 0
            or value.get("id") != self.id
            or value.get("model") != self.model
            or value.get("created") != self._created
            or value.get("usage")
            or value.get("error")
        ):
            return False
        text = delta.get("content")
        if type(text) is not str or not text:
            return False
        choice.always = False
        self.blocks.add(index, text, self.event)
        self.say(Means.TEXT, index, text)
        return True

    @property
    def choices(self) -> tuple[int, ...]:
        return tuple(sorted(self._choices))

    @property
    def has_content(self) -> bool:
        return any(choice.blocks.opened for choice in self._choices.values())

    def assembled(self) -> Assembled:
        others = [
            Assembled(choice.blocks.assembled(), choice.role, choice.finish, self.ended, self.error, self.id, self.model, choice=index)
            for index, choice in sorted(self._choices.items())
            if not choice.main
        ]
        main = next((index for index, choice in self._choices.items() if choice.main), self.choice or 0)
        return replace(super().assembled(), choice=main, others=tuple(others))

    def _of_choice(self, value: Mapping[str, Any], counted: bool) -> None:
        """One choice of a record; `counted`: the record has the usage too. While it is consumed, its blocks and ids are those of the answer."""
        index = place(value.get("index", 0)) or 0
        if index not in self._choices:
            if len(self._choices) >= MOST_CHOICES:
                return
            is_main = not self._choices if self.choice is None else index == self.choice
            blocks = self.blocks if is_main else Blocks(BLOCKS_OF_OTHERS, self.blocks)
            self._choices[index] = _Choice(is_main, blocks, self.ids if is_main else set())
        choice, own = self._choices[index], (self.blocks, self.ids)
        self.blocks, self.ids, self.aside = choice.blocks, choice.ids, "" if choice.main else f"choice {index}"
        self._choice(choice, value, counted)
        self.aside = ""
        self.blocks, self.ids = own

    def _choice(self, choice: _Choice, value: Mapping[str, Any], counted: bool) -> None:
        # A whole answer in place of a delta: some servers end a stream with it, or send nothing else.
        delta = fields(value["delta"] if "delta" in value else value.get("message"))
        # OpenRouter's usage comes with the last choice once more, with its role and its finish reason: no second end.
        if (
            counted
            and choice.finish
            and value.get("finish_reason") == choice.finish
            and not any(_contents(delta))
            and not delta.get("tool_calls")
        ):
            self.say(Means.OTHER, name="finish")
            return
        self._roles(choice, delta, value.get("finish_reason"))
        self._details(choice, delta)
        for kind, means, text in _contents(delta):
            self._before(choice, "text" if means is Means.TEXT else means.value)
            self.grow(kind, means, text)
        signature = next(
            (entry["signature"] for entry in items(delta.get("reasoning_details")) if words(fields(entry).get("signature"))), ""
        )
        if signature:
            last = self.blocks.get(self.blocks.opened - 1)
            at = self.blocks.opened - 1 if last is not None and last.kind == "thinking" else self.blocks.open("thinking", self.event)
            self.sign(at, signature)
        for entry in items(delta.get("tool_calls")):
            if isinstance(entry, dict):
                self._call(choice, entry)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            self._call(choice, {"index": 0, "id": "function_call", "type": "function", "function": legacy}, legacy=True)
        finish = value.get("finish_reason")
        if finish == "":
            self.report_once("finish-empty-string", "finish_reason is an empty text instead of null.")
        elif isinstance(finish, str):
            self._finish(choice, finish[:100])

    def _roles(self, choice: _Choice, delta: Mapping[str, Any], finish: Any) -> None:
        role = words(delta.get("role"))[:100]
        if choice.first and not role and delta:
            self.report_once("role-missing-or-repeated", "The first delta has no role.")
        if role and choice.role:
            if role != choice.role:
                self.report_once("role-missing-or-repeated", f"The role changes from {shown(choice.role)} to {shown(role)}.")
            elif choice.finish and (finish or any(_contents(delta)) or delta.get("tool_calls")):
                self.report_once("role-missing-or-repeated", "The role is sent again after the finish reason, as if another answer began.")
            # OpenRouter, Perplexity and others send the role in every delta; OpenRouter's usage record has it too.
            elif not choice.finish and not choice.always:
                self.report_once("role-missing-or-repeated", "The role is sent again.", severity=Severity.NOTE)
        elif role:
            choice.role = role
            self.role = role if choice.main else self.role
            self.say(Means.ROLE, text=role)
        if delta:
            choice.first, choice.always = False, choice.always and bool(role)

    def _details(self, choice: _Choice, delta: Mapping[str, Any]) -> None:
        """Entries of reasoning_details are fragments: clients join them by their index."""
        details = items(delta.get("reasoning_details"))
        if choice.has_details and any(place(fields(entry).get("index")) is None for entry in details):
            self.report_once("reasoning-index-missing", "An entry of reasoning_details has no index.")
        choice.has_details = choice.has_details or bool(details)

    def _before(self, choice: _Choice, what: str) -> None:
        """Where content may be."""
        choice.produced = True
        if self.late(what):
            return
        if choice.finish:
            self.report("content-after-finish", f"{what[0].upper()}{what[1:]} comes after the finish reason {choice.finish}.")
        if self._usage_records:
            self.report_once("usage-not-last", "Content comes after the usage record.")
        if not choice.finish:
            self.state = "answer"

    def _call(self, choice: _Choice, entry: Mapping[str, Any], legacy: bool = False) -> None:
        is_custom = isinstance(entry.get("custom"), dict)
        function = fields(entry.get("custom") if is_custom else entry.get("function"))
        name, call_id, given_arguments = (
            words(function.get("name")),
            words(entry.get("id")),
            function.get("input" if is_custom else "arguments"),
        )
        text = given_arguments if isinstance(given_arguments, str) else "" if given_arguments is None else jsontext.compact(given_arguments)
        index = place(entry.get("index"))
        if index is None:
            self.report("tool-index-missing", "An entry of tool_calls has no index.")
            begins = not choice.calls or (call_id and call_id not in self.ids) or (name and not call_id)
            index = max(choice.calls, default=-1) + 1 if begins else choice.last
        block = self.blocks.get(choice.calls.get(index))
        is_another = block is not None and (
            bool(call_id and block.call_id and call_id != block.call_id) or bool(name and block.name and name != block.name and block.size)
        )
        if not (name or text or call_id or index not in choice.calls):
            return
        # Some send a last entry without anything new in it.
        if index in choice.calls and not is_another and not text and choice.finish:
            return
        self._before(choice, "a call")
        if is_another and block is not None:
            self.report(
                "tool-index-reused", f"The call {shown(name or call_id)} comes under index {index}, which is that of {shown(block.name)}."
            )
        if index not in choice.calls or is_another:
            if len(choice.calls) >= BLOCKS_KEPT:
                return
            self._begin(choice, index, name, "" if legacy else call_id, entry, is_another)
            if is_custom:
                choice.custom.add(index)
        elif text and index != choice.last:
            self.report_once("parallel-calls-interleaved", f"Arguments of call {index} come after those of call {choice.last}.")
        elif block is not None:
            block.name, block.call_id = (block.name or name)[:1000], (block.call_id or call_id)[:1000]
        choice.last = index
        if given_arguments is not None and not isinstance(given_arguments, str):
            self.report("tool-args-invalid-json", "The arguments of a call are sent as a value, where the protocol has text.")
        if text:
            self.blocks.add(choice.calls[index], text, self.event)
            self.say(Means.ARGUMENTS, choice.calls[index], text)

    def _begin(self, choice: _Choice, index: int, name: str, call_id: str, entry: Mapping[str, Any], is_another: bool) -> None:
        for member, value in (("id", words(entry.get("id"))), ("name", name), ("type", words(entry.get("type")))):
            if not value and not is_another:
                self.report(f"tool-{member}-missing", f"The call with index {index} begins without its {member}.")
        if not is_another and index != len(choice.calls) and place(entry.get("index")) is not None:
            self.report("tool-index-gap", f"The call number {len(choice.calls) + 1} has the index {index}.")
        self.settle()
        choice.calls[index] = self.call(name, call_id)
        choice.open.add(choice.calls[index])

    def _finish(self, choice: _Choice, word: str) -> None:
        twice = bool(choice.finish)
        if twice and not self.ended:
            self.report("duplicate-finish", f"The finish reason {shown(word)} comes after {shown(choice.finish)}.")
        self.say(Means.FINISH, text=word)
        self._calls_end(choice, word)
        if choice.calls and word == "stop" and not self.request.forced:
            count = f"{len(choice.calls):,} tool call{'s' * (len(choice.calls) != 1)}"
            text = f"The finish reason is stop, and the answer has {count}."
            if self.request.tools is None:
                text += " The request is not in the capture: if it names the tool (tool_choice), OpenAI itself answers so."
            self.report("finish-mismatch-stop", text, severity=Severity.NOTE if self.request.tools is None else None)
        elif word in TOOLS and not choice.calls:
            self.report("finish-mismatch-tool", f"The finish reason is {word}, and there is no tool call.")
        elif word not in FINISH_REASONS:
            self.report("unknown-finish", f"The finish reason {shown(word)} is none of OpenAI's.")
        if self._usage_records:
            self.report_once("usage-not-last", "The finish reason comes after the usage record.")
        choice.finish = word
        if choice.main:
            self.finish = word
        self.state = "ended" if self.ended else "finished"

    def _calls_end(self, choice: _Choice, word: str) -> None:
        custom = {choice.calls[index] for index in choice.custom if index in choice.calls}
        for at in sorted(choice.open):
            if at in custom:
                block = self.blocks.get(at)
                self.blocks.close(at, self.event)
                self.say(Means.BLOCK_END, at, value={"input": {"input": block.text if block else ""}})
            elif word in _CUT:
                self.say(Means.BLOCK_END, at)
            else:
                self.faulty(self.blocks.get(at), self.called(at), success=bool(word))
        choice.open.clear()
        self.settle()

    def _usage(self, usage: Any, has_choices: bool) -> None:
        if not isinstance(usage, dict) or not usage:
            return
        if self.ended:
            self.report("content-after-terminal", "The usage record comes after the terminal.")
        self._usage_came, self.usage = True, usage
        self.say(Means.USAGE, value=usage)
        # With content it is a running count, as vLLM and Perplexity send it.
        if not has_choices:
            self._usage_records += 1
            if self._usage_records > 1:
                self.report("usage-duplicate", "The usage record comes a second time.")
            self.state = "ended" if self.ended else "usage"

    def done_line(self) -> None:
        if not self.terminal("[DONE]"):
            return
        own = self.blocks
        for index, choice in self._choices.items():
            if choice.produced and not choice.finish and not self.error:
                self.report("missing-finish-reason", f"Choice {index} has content and got no finish reason.")
            self.blocks, self.aside = choice.blocks, "" if choice.main else f"choice {index}"
            self._calls_end(choice, "")
        self.blocks, self.aside = own, ""
        if self.request.wants_usage and not self._usage_came and not self.error:
            self.report("usage-missing", "The request asked for a usage record, and none came.")

    def close(self, how: How) -> None:
        if how not in MISSED or DONE in self.lacks or self.ended or self.error:
            return
        if how in _CLOSED and self.is_finished:
            text = f"{MISSED[how]} after the finish reason, without [DONE]: some servers never send it."
            self.report("missing-terminal", text, severity=Severity.NOTE)
        else:
            self.report("missing-terminal", f"{MISSED[how]} without [DONE].")

    @property
    def is_finished(self) -> bool:
        """Every choice that began has its finish reason."""
        return bool(self._choices) and all(choice.finish for choice in self._choices.values())


def _contents(delta: Mapping[str, Any]) -> Iterator[tuple[str, Means, str]]:
    """What a delta says in words: kind of block, meaning, text."""
    # The same words may come under two names: OpenRouter's `reasoning` and its details, others' `reasoning_content`.
    names = ("reasoning_content", "reasoning")
    thought = next((delta[name] for name in names if isinstance(delta.get(name), str) and delta[name]), "")
    thought = thought or "".join(words(fields(detail).get("text")) for detail in items(delta.get("reasoning_details")))
    if thought:
        yield "thinking", Means.THINKING, thought
    content = delta.get("content")
    if isinstance(content, str) and content:
        yield "text", Means.TEXT, content
    for part in items(content):
        yield from _mistral_content(fields(part))
    if words(delta.get("refusal")):
        yield "refusal", Means.REFUSAL, delta["refusal"]


def _mistral_content(part: Mapping[str, Any]) -> Iterator[tuple[str, Means, str]]:
    """A part of content as Mistral sends it."""
    thinking = part.get("thinking")
    thought = thinking if isinstance(thinking, str) else "".join(words(fields(item).get("text")) for item in items(thinking))
    if thought:
        yield "thinking", Means.THINKING, thought
    elif words(part.get("text")):
        yield "text", Means.TEXT, part["text"]
