"""One side of a capture as the items that it contains, in order: what a corrected stream is made of."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from inspector.projections.base import OPENAI_CHAT
from inspector.streams.assembling import shown, words
from inspector.streams.consumer import salvaged_content
from inspector.streams.encoding import Item
from inspector.streams.model import Assembled, Exchange, Means, Side
from inspector.streams.request_rules import RequestFacts
from inspector.streams.run import run

MOST_ITEMS = 500_000
"""Items that are kept for a correction; longer streams are only judged."""

PREVIEWED = 200
"""Changes that are listed; all are counted."""
_KEPT_MEANS = frozenset(
    {Means.TEXT, Means.THINKING, Means.REFUSAL, Means.SIGNATURE, Means.CALL, Means.FINISH, Means.TERMINAL, Means.USAGE, Means.ERROR}
)
CONTENT = frozenset({"text", "thinking", "refusal", "signature", "call"})


class CannotCorrect(ValueError):
    """The stream cannot be written again without loss; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class StreamDraft:
    side: Side
    protocol: str
    items: tuple[Item, ...]
    answer: Assembled
    error: str

    @property
    def content(self) -> list[Item]:
        return [item for item in self.items if item.kind in CONTENT]

    @property
    def ended(self) -> bool:
        """By its terminal record; in Chat Completions, where some servers never send that, by its finish reason."""
        return any(item.kind == "terminal" for item in self.items) or (self.protocol == OPENAI_CHAT and bool(self.finish))

    @property
    def finish(self) -> str:
        """The last reason that was given, in the protocol's own word."""
        return next((item.text for item in reversed(self.items) if item.kind == "finish" and item.text), "")


def drafted(exchange: Exchange, side: Side) -> StreamDraft:
    """Raises CannotCorrect for what would be lost: several answers, blocks of a server's own tools, more than is kept."""
    ran = run(exchange, side)
    items: list[Item] = []
    of_block: dict[int, int] = {}
    inputs: dict[int, object] = {}
    for observed in ran:
        event, at = observed.frame.index, observed.frame.at
        if any(violation.name == "record-not-json" for violation in observed.violations) and (content := salvaged_content(observed.frame)):
            items.append(Item("text", content, event=event, at=at))
        for delta in observed.deltas:
            if delta.means is Means.CALL and delta.block is not None:
                of_block[delta.block] = len(items)
            if delta.means is Means.BLOCK_END and delta.block is not None and delta.value is not None:
                inputs[delta.block] = delta.value.get("input")
            if delta.means in _KEPT_MEANS:
                items.append(Item(delta.means.value, delta.text, delta.name, delta.call_id, event, at))
        if len(items) > MOST_ITEMS:
            raise CannotCorrect(f"The {side.value} side has more than {MOST_ITEMS:,} items: a stream of that length is only judged.")
    if ran.unsupported:
        raise CannotCorrect(f"The {side.value} side speaks a protocol that is not written here ({ran.unsupported}).")
    if len(ran.answers) > 1:
        raise CannotCorrect(f"The {side.value} side holds several answers: cut the capture into one for each.")
    answer = ran.answers[0] if ran.answers else Assembled(())
    for sentence in _unwritable(answer):
        raise CannotCorrect(sentence)
    for block, place in of_block.items():
        if block < len(answer.blocks):
            built = answer.blocks[block]
            # As the machines give the input of a custom tool, which is text.
            if inputs.get(block) == {"input": built.text}:
                raise CannotCorrect("The answer holds a call of a custom tool, which is not written again: replay it as it is.")
            items[place] = replace(items[place], text=built.text, name=built.name, call_id=built.call_id)
    return StreamDraft(side, ran.protocol, tuple(items), answer, words(answer.error))


def _unwritable(answer: Assembled) -> Iterator[str]:
    for block in answer.blocks:
        if block.kind not in ("text", "thinking", "refusal", "tool-call"):
            yield f"The answer holds a block that is not written again here ({block.name or block.kind}): correct it by hand, or replay it as it is."
        elif block.size > len(block.text):
            yield f"A block of the answer has {block.size:,} characters, of which {len(block.text):,} are kept: a stream of that length is only judged."


@dataclass(frozen=True, slots=True)
class StreamChange:
    """One event as it was and as it becomes. `event` is that of the stream that is corrected, or (`restored`) of the backend; None for what is in no event."""

    strategy: str
    event: int | None
    before: str
    after: str
    restored: bool = False


@dataclass(slots=True)
class Work:
    names: frozenset[str]
    request: RequestFacts
    ours: StreamDraft
    backend: StreamDraft | None
    invented: bool
    content: list[Item]
    finish: str = ""
    usage: dict[str, int] = field(default_factory=dict)
    restored: bool = False
    total: int = 0
    changes: list[StreamChange] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def change(self, strategy: str, item: Item | None, before: str, after: str, restored: bool = False) -> None:
        self.total += 1
        if len(self.changes) < PREVIEWED:
            self.changes.append(StreamChange(strategy, item.event if item else None, before, after, restored))


def shown_item(item: Item) -> str:
    return f"a call of {shown(item.name) or 'a tool'} with {shown(item.text)}" if item.kind == "call" else f"{item.kind} {shown(item.text)}"


def synthetic_call_id(name: str, text: str, number: int) -> str:
    return "call_" + hashlib.sha256(f"{number} {name} {text}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
