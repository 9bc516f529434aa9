"""Conversations with an archive or a trace, each broken in one way."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from inspector.conversation.edits import Plan
from inspector.conversation.model import Conversation
from inspector.conversation.queries import true_messages
from inspector.planning import preview as previews
from inspector.planning.preview import Preview
from inspector.programs.dispatch.format import DISPATCH
from inspector.programs.dispatch.rules import abort_placeholder, baked_merge, legacy_messages, lost_steering, pair_cut_by_compaction
from inspector.programs.formats import Stored
from inspector.rules import unanswered_call
from inspector.rules.base import Rule, case_of
from inspector.strategies.catalogue import strategy
from inspector.text.jsontext import compact
from inspector.traces.log_record import record_of
from inspector.traces.model import Trace
from inspector.traces.tree import build
from tests.programs.dispatch.appended_stores import A, Said, Store, T, U, appended, sy, tc, th, tr, tx
from tests.programs.dispatch.previews import OPTIONS, read, spelled

TURN = "turn-1782600000000-abc"
STEP = f"{TURN}#0"
MODES = ("same-rows", "new-conversation")


@dataclass(frozen=True)
class Incident:
    """A store whose conversation `c1` is broken, what else is known of it, what repairs it, and the rule that says so."""

    store: Store
    repaired_by: str
    rule: Rule
    archive: str | None = None
    trace: Trace | None = None
    modes: tuple[str, ...] = MODES

    def stored(self) -> Stored:
        return self.store.stored()

    def preview(self, mode: str, *names: str, stored: Stored | None = None) -> Preview:
        of = stored or self.stored()
        chosen = [strategy(name) for name in names or (self.repaired_by,)]
        known = self.store.conversation(self.archive) if self.archive else None
        case = case_of(of.conversation, "dispatch-legacy", self.trace, archive=known)
        edits = previews.compose(case, chosen)
        native_id = of.conversation.native_id
        plan = Plan("source", native_id, mode, names, previews.safety_of(chosen), previews.digest(of), edits, OPTIONS)
        return previews.preview(case, of, DISPATCH, plan, chosen, "dispatch-openai", "openai-chat")

    def repaired(self, mode: str = "same-rows", *names: str) -> Conversation:
        return self.preview(mode, *names).after.case.conversation


def compacted(store: Store, keep: int, *later: tuple[Said, ...]) -> Store:
    """As the program compacts: the rows move to an archive, and a summary and the last `keep` messages, as load() has them, are appended."""
    kept = [Said(message.role, tuple(dict(chunk.payload) for chunk in message.chunks)) for message in read(store.conversation()).messages]
    made = Store({key.replace("conv:c1:", "conv:archive:"): value for key, value in store.values.items()})
    made.append(Said("system", (sy("summary"),)), *kept[-keep:])
    for messages in later:
        made.append(*messages)
    made.values["conv:c1:meta"] = compact({**json.loads(made.values["conv:c1:meta"]), "compactedFrom": "archive"})
    return made


def trace_of(*steps: dict[str, Any]) -> Trace:
    """One step each: `prompt` and `request` are lists of messages, `tools` the closes of tool spans."""
    records: list[dict[str, Any]] = []

    def opened(span: str, name: str, parent: str, **more: Any) -> None:
        head = {"kind": "span-open", "spanId": span, "name": name, "parentSpanId": parent, "timestamp": len(records), "extensionId": "x"}
        records.append({**head, "conversationId": "c1", "turnId": TURN, **more})

    for number, step in enumerate(steps):
        opened(f"s{number}", "step", "")
        if "prompt" in step:
            body = json.dumps({"messages": step["prompt"], "tools": []})
            opened(f"p{number}", "prompt", f"s{number}", body=body, attributes={"messageCount": len(step["prompt"])})
        if "request" in step:
            opened(f"r{number}", "provider.request", f"s{number}", body=json.dumps({"model": "m", "messages": step["request"]}))
        for call_id, error in step.get("tools", {}).items():
            opened(f"t{call_id}", "tool-call", f"s{number}", attributes={"name": "ls", "toolCallId": call_id})
            records.append({**records[-1], "kind": "span-close", "durationMs": 1, "status": "ok", "attributes": {"isError": error}})
    read = [record_of(fields, str(order), order, fields.get("body"), pytest.fail) for order, fields in enumerate(records)]
    return build("c1", read, lambda name: name.encode("utf-8", "surrogatepass"))


def believed(*messages: Said) -> list[dict[str, Any]]:
    return [{"role": message.role, "chunks": list(message.blocks)} for message in messages]


HISTORY = (U("hello"), A(th("greets"), "hi there"), U("read files"), A(th("asks"), "which?"))
ASKED = A("let me see", tc("a", step=STEP), tc("b", step=STEP))
FOUND_A, FOUND_B = T(tr("a", "found a", step=STEP)), T(tr("b", "found b", step=STEP))
STEERED = U("only the tests")


def baked() -> Incident:
    store = compacted(appended(*([message] for message in HISTORY)), 3, (U("go on"),), (A("ok"),))
    return Incident(store, "realign-with-archive", baked_merge.RULE, archive="archive")


def cut(keep: int = 2, input: Any = None) -> Incident:
    asked = A("let me see", tc("a", input=input, step=STEP), tc("b", step=STEP))
    store = compacted(appended([U("go"), asked, FOUND_A, FOUND_B, A("both are there")]), keep)
    return Incident(store, "restore-call-from-archive", pair_cut_by_compaction.RULE, archive="archive")


def lost_result(trace: Trace | None = None) -> Incident:
    known = trace or trace_of({"prompt": believed(U("go"))}, {"prompt": believed(U("go"), ASKED, FOUND_A, FOUND_B)})
    store = appended([U("go")], [ASKED, FOUND_A], [U("and?")], [A("there")])
    return Incident(store, "recover-result-from-trace", unanswered_call.RULE, trace=known)


def steered() -> Incident:
    store = appended([U("go")], [ASKED, FOUND_A, FOUND_B], [A("only tests then")], [U("thanks")])
    trace = trace_of({"prompt": believed(U("go"))}, {"prompt": believed(U("go"), ASKED, FOUND_A, FOUND_B, STEERED)})
    return Incident(store, "insert-lost-steering", lost_steering.RULE, trace=trace)


def legacy(*more: str) -> Incident:
    old = [{"role": "user", "chunks": [tx("hello")]}, {"role": "assistant", "chunks": [th("greets"), tx("hi there")]}]
    values = {f"conv:c1:msg:{number:010d}": text for number, text in enumerate([*map(compact, old), *more])}
    store = Store({**values, "conv:c1:seq": str(len(values))}).append(U("are you there?")).append(A("who?"))
    return Incident(store, "convert-legacy-messages", legacy_messages.RULE, modes=("new-conversation",))


def aborted() -> Incident:
    results = (T(tr("a", "Aborted", error=True)), T(tr("b", "Aborted", error=True)))
    return Incident(appended([U("go")], [A("let me see"), *results], [U("and?")]), "drop-abort-placeholders", abort_placeholder.RULE)


def of(conversation: Conversation) -> str:
    return spelled(true_messages(conversation.chunks))
