"""The server, simulated: turns of either era, aborts, interruptions, compactions and upgrades, each write as the program makes it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from inspector.conversation import queries
from inspector.conversation.model import Conversation
from inspector.programs.dispatch.format import DISPATCH, fact_key
from inspector.readers.catalogue import reader
from inspector.rules.base import Case, case_of
from inspector.text.jsontext import compact
from inspector.traces.model import TraceRecord
from inspector.traces.tree import build
from tests.programs.dispatch.appended_stores import A, Block, Said, Store, er, sy, tc, th, tr, tx

HOUR = 3_600_000
Spoken = list[tuple[str, list[Block]]]


@dataclass
class Server:
    """One program over one store; `happened` are the codes of what it did to the conversation by its own rules."""

    random: Random
    era: str
    native_id: str = "c1"
    store: Store = field(default_factory=Store)
    happened: set[str] = field(default_factory=set)
    trace: list[TraceRecord] = field(default_factory=list)
    bodies: dict[str, bytes] = field(default_factory=dict)
    now: int = 1_782_600_000_000
    turns: int = 0
    words: int = 0

    def word(self, what: str) -> str:
        self.words += 1
        return f"{what} {self.words}"

    def append(self, *messages: Said) -> None:
        self.store.append(*messages, to=self.native_id, now=self.now)

    def turn(self, steps: int = 1, ending: str = "answer", steering: bool = False) -> None:
        """A user message, `steps` rounds of tools, and how it ended. In the batch era all of it is one append."""
        self.now += HOUR
        self.turns += 1
        if "TOOL101" in self.happened:
            # What was the open tail is in the middle from now on.
            self.happened = self.happened - {"TOOL101"} | {"TOOL102"}
        name = f"turn-{self.now}-{self.turns}"
        memory = self._loaded()
        user = Said("user", (tx(self.word("please")),))
        pending = [[user]]
        memory.append(user)
        self._span(name, "turn", name)
        for number in range(steps):
            self._step(name, number, memory)
            messages = self._tools(f"{name}#{number}")
            pending.append(messages)
            memory += messages
            if steering and number == 0:
                # In the prompt of the next step, and in no row.
                memory.append(Said("user", (tx(self.word("steered")),)))
        self._step(name, steps, memory)
        final = getattr(self, f"_{ending.replace('-', '_')}")(f"{name}#{steps}")
        pending.append(final)
        self._close(name, name, "turn")
        for messages in [[said for group in pending for said in group]] if self.era == "batch" else [group for group in pending if group]:
            self.append(*messages)
        if ending != "interrupted":
            self._metrics(name, steps + 1)

    def _tools(self, step: str) -> list[Said]:
        calls = [tc(self.word("call").replace(" ", "_"), "ls", {"path": self.word("/")}, step) for _ in range(self.random.randint(1, 2))]
        words = [
            *([th(self.word("thought"))] if self.random.random() < 0.5 else []),
            *([tx(self.word("see"))] if self.random.random() < 0.7 else []),
        ]
        results = [Said("tool", (tr(call["toolCallId"], self.word("file"), step=step),)) for call in calls]
        return [A(*words, *calls), *results]

    def _answer(self, step: str) -> list[Said]:
        return [A(tx(self.word("done")))]

    def _nothing(self, step: str) -> list[Said]:
        return []

    def _aborted(self, step: str) -> list[Said]:
        """Newer versions: the calls go, the text stays, no result is stored."""
        return [A(tx(self.word("stopped")))]

    def _aborted_with_placeholder(self, step: str) -> list[Said]:
        self.happened.add("TOOL203")
        return [A(tx(self.word("stopped"))), Said("tool", (tr(self.word("gone").replace(" ", "_"), "Aborted", error=True, step=step),))]

    def _interrupted(self, step: str) -> list[Said]:
        self.happened.add("TOOL101")
        return [A(tx(self.word("calling")), tc(self.word("open").replace(" ", "_"), "ls", {"n": 1}, step))]

    def _failed(self, step: str) -> list[Said]:
        self.happened.add("MSG201")
        return [A(er(self.word("HTTP 500: no"), "500"))]

    def _failed_late(self, step: str) -> list[Said]:
        self.happened.add("MSG202")
        return [A(tx(self.word("half")), er(self.word("HTTP 500: no")))]

    def _thought_only(self, step: str) -> list[Said]:
        self.happened.add("THINK101")
        return [A(th(self.word("only thought")))]

    def _metrics(self, turn: str, steps: int) -> None:
        usage = {"inputTokens": 10, "outputTokens": 1}
        key = fact_key(self.native_id, "metrics-seq")
        ordinal = int(self.store.values.get(key, "0")) + 1
        row = {"turnId": turn, "usage": usage, "steps": [{"stepId": f"{turn}#{number}", "usage": usage} for number in range(steps)]}
        self.store.values[f"conv:{self.native_id}:metrics:{ordinal:010d}"] = compact(row)
        self.store.values[key] = str(ordinal)

    def compact(self, keep: Callable[[list[Said]], int], reader_name: str) -> None:
        """Forks the rows into an archive, then writes back a summary and what `reader_name` reads, from message `keep` on."""
        self.now += HOUR
        read = [
            Said(each.role, tuple(dict(chunk.payload) for chunk in each.chunks))
            for each in reader(reader_name).read(self.conversation()).messages
        ]
        kept = read[keep(read) :]
        archive = f"archive-{self.now}"
        rows = [key for key in sorted(self.store.values) if key.startswith(f"conv:{self.native_id}:chunk:")]
        for number, key in enumerate(rows, start=1):
            self.store.values[f"conv:{archive}:chunk:{number:010d}"] = self.store.values.pop(key)
        meta = json.loads(self.store.values[f"conv:{self.native_id}:meta"])
        self.store.values[f"conv:{archive}:seq"] = str(len(rows))
        self.store.values[f"conv:{archive}:meta"] = compact({**meta, "title": f"Archive: {meta['title']}", "status": "closed"})
        self.store.values["conv-index"] = compact([*json.loads(self.store.values["conv-index"]), archive])
        self.store.values[f"conv:{self.native_id}:seq"] = "0"
        self.append(Said("system", (sy(self.word("summary")),)), *kept)
        meta = json.loads(self.store.values[f"conv:{self.native_id}:meta"])
        workspace = meta.pop("workspaceId")
        self.store.values[f"conv:{self.native_id}:meta"] = compact({**meta, "compactedFrom": archive, "workspaceId": workspace})

    def strand(self) -> None:
        """The upgrade from whole messages to chunk rows: what was said is out of sight, and the counter goes on from its number of messages."""
        for number, (role, blocks) in enumerate(spoken(self.conversation())):
            self.store.values[f"conv:{self.native_id}:msg:{number:010d}"] = compact({"role": role, "chunks": blocks})
        for key in [key for key in self.store.values if key.startswith(f"conv:{self.native_id}:chunk:")]:
            del self.store.values[key]
        count = len([key for key in self.store.values if f"conv:{self.native_id}:msg:" in key])
        self.store.values[f"conv:{self.native_id}:seq"] = str(count)

    def conversation(self, native_id: str = "") -> Conversation:
        return self.store.conversation(native_id or self.native_id)

    def case(self, reader_name: str = "exact") -> Case:
        found = self.conversation()
        archive = found.fact("compactedFrom")
        ids = {stored.conversation.native_id for stored in DISPATCH.read(self.store.records())}
        held = self.conversation(archive) if archive in ids else None
        trace = build(self.native_id, self.trace, self.bodies.get) if self.trace else None
        return case_of(found, reader_name, trace, self.now + 24 * HOUR, held, DISPATCH.bleeding(self.native_id, ids))

    def _loaded(self) -> list[Said]:
        if f"conv:{self.native_id}:meta" not in self.store.values:
            return []
        return [Said(role, tuple(blocks)) for role, blocks in spoken(self.conversation())]

    def _step(self, turn: str, number: int, memory: Sequence[Said]) -> None:
        step = f"{turn}-s{number}"
        prompt = json.dumps({"messages": [{"role": said.role, "chunks": list(said.blocks)} for said in memory if said.blocks], "tools": []})
        body = f"{step}-prompt"
        self.bodies[body] = prompt.encode()
        self._span(turn, "step", step, parent=turn)
        self._span(turn, "prompt", f"{step}-p", parent=step, body=body)
        self._close(turn, f"{step}-p", "prompt")
        self._close(turn, step, "step")

    def _span(self, turn: str, name: str, span: str, parent: str = "", body: str | None = None) -> None:
        self._record("span-open", turn, name, span, parent, {"toolCount": 0} if name == "prompt" else {}, body)

    def _close(self, turn: str, span: str, name: str) -> None:
        self._record("span-close", turn, name, span, "", {"finishReason": "stop"} if name != "prompt" else {}, None)

    def _record(self, kind: str, turn: str, name: str, span: str, parent: str, attributes: dict[str, Any], body: str | None) -> None:
        order = len(self.trace)
        self.trace.append(
            TraceRecord(
                f"{order:016x}", kind, self.now + order, order, "session-orchestrator", name, span_id=span, parent_span_id=parent,
                conversation_id=self.native_id, turn_id=turn, attributes=attributes, body=body, status="ok" if kind == "span-close" else "",
            )
        )  # fmt: skip


ENDINGS = ("aborted", "nothing", "aborted-with-placeholder", "interrupted", "failed", "failed-late", "thought-only")


def quiet(random: Random, era: str, turns: int = 0) -> Server:
    """A server on which nothing went wrong."""
    server = Server(random, era)
    for _ in range(turns or random.randint(2, 4)):
        server.turn(random.randint(1, 3))
    return server


def eventful(random: Random) -> Server:
    """A server on which turns ended in every way, eras changed, and clean compactions ran while nothing was wrong yet."""
    server = quiet(random, random.choice(("batch", "incremental")))
    for _ in range(random.randint(1, 5)):
        match random.randrange(5):
            case 0 if not server.happened and server.era == "batch":
                server.compact(before_a_user_message, random.choice(("dispatch-legacy+r1", "dispatch-legacy+r2", "dispatch-legacy")))
            case 1:
                server.era = "incremental"
            case 2:
                server.turn(random.randint(0, 2))
            case _:
                server.turn(random.randint(0, 2), random.choice(ENDINGS))
    return server


def before_a_user_message(read: list[Said]) -> int:
    places = [place for place, said in enumerate(read) if said.role == "user"]
    return places[len(places) // 2] if places else 0


def spoken(conversation: Conversation) -> Spoken:
    """What was said, whatever the numbers after it."""
    return [(message.role, [dict(chunk.payload) for chunk in message.chunks]) for message in queries.true_messages(conversation.chunks)]
