"""Ollama's chat and generate as lines of JSON; calls come whole, with their arguments as an object."""

from collections.abc import Mapping
from typing import Any

from inspector.streams.assembling import MISSED, AnswerMachine, fields, items, named, shown, words
from inspector.streams.model import How, Means
from inspector.streams.violations import OLLAMA_CHAT, OLLAMA_GENERATE
from inspector.text import jsontext

COUNTERS = ("total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration")
_NO_COUNTERS = ("load", "unload")
"""Reasons of a last line that a model was only loaded or dropped for."""


class OllamaChat(AnswerMachine):
    protocol = OLLAMA_CHAT

    def consume(self, value: Mapping[str, Any], name: str) -> None:
        if value.get("error"):
            self.failed(value["error"])
            return
        if not isinstance(value.get("done"), bool):
            self.report_once("unknown-event", f"A line does not say whether it is the last one: {shown(list(value)[:8])}")
            self.say(Means.OTHER)
        if not self.model:
            self.model = words(value.get("model"))[:1000]
            self.say(Means.START, value={"id": "", "model": self.model})
        if words(value.get("created_at")).startswith("1970"):
            self.report_once("created-unit-wrong", f"`created_at` is {shown(value['created_at'])}.")
        self._content(value)
        if value.get("done") is True:
            self._done(value)

    def _content(self, value: Mapping[str, Any]) -> None:
        message = fields(value.get("message"))
        role = words(message.get("role"))[:100]
        if role and not self.role:
            self.role = role
            self.say(Means.ROLE, text=role)
        self._words(message.get("thinking"), "thinking", Means.THINKING)
        self._words(message.get("content"), "text", Means.TEXT)
        for entry in items(message.get("tool_calls")):
            self._call(fields(fields(entry).get("function")), words(fields(entry).get("id")))
        if "tool_calls" in value:
            # Clients look for them under `message` only.
            self.report_once("unknown-event", "A line has tool_calls next to the message, where no client looks for them.", "tool_calls")

    def _words(self, text: Any, kind: str, means: Means) -> None:
        if isinstance(text, str) and text:
            self.late(kind)
            self.state = "ended" if self.ended else "answer"
            self.grow(kind, means, text)

    def _call(self, function: Mapping[str, Any], call_id: str) -> None:
        self.late("a call")
        self.state = "ended" if self.ended else "answer"
        name, given_arguments = words(function.get("name")), function.get("arguments")
        if not name:
            self.report("tool-name-missing", "A call has no name.")
        self.settle()
        index = self.call(name, call_id)
        text = given_arguments if isinstance(given_arguments, str) else "" if given_arguments is None else jsontext.compact(given_arguments)
        self.blocks.add(index, text, self.event)
        self.say(Means.ARGUMENTS, index, text)
        self.called(index)
        if given_arguments is not None and not isinstance(given_arguments, dict):
            self.report(
                "tool-args-not-object",
                f"The arguments of the call of {shown(name)} are {named(given_arguments)}, where Ollama has an object.",
            )

    def _done(self, value: Mapping[str, Any]) -> None:
        reason = words(value.get("done_reason"))[:100]
        if not self.ended:
            self.finish = reason
            self.say(Means.FINISH, text=reason)
            counted = {name: value[name] for name in COUNTERS if name in value}
            if counted:
                self.usage = counted
                self.say(Means.USAGE, value=counted)
            if not reason:
                self.report("done-reason-missing", "The last line has no done_reason.")
            if not counted and reason not in _NO_COUNTERS:
                self.report("done-missing-fields", "The last line has no counters.")
            self.settle()
        self.terminal("done:true")

    def close(self, how: How) -> None:
        if how in MISSED and not self.ended and not self.error:
            self.report("missing-terminal", f"{MISSED[how]} without a line that has done:true.")


class OllamaGenerate(OllamaChat):
    protocol = OLLAMA_GENERATE

    def _content(self, value: Mapping[str, Any]) -> None:
        self._words(value.get("thinking"), "thinking", Means.THINKING)
        self._words(value.get("response"), "text", Means.TEXT)
