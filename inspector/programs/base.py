"""What Inspector knows of one program that keeps conversations: the values that generic code asks for instead of naming a program."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from inspector.conversation.model import Chunk, Message
from inspector.programs.formats import Format
from inspector.projections.base import Projection
from inspector.readers.base import Reader

if TYPE_CHECKING:
    from inspector.rules.base import Case, Hit


class Trait(StrEnum):
    """What conversations of a format can hold: a generic rule that names one looks only at formats that have it."""

    NEIGHBORS = "neighbors"
    """Messages of one role in a row are stored and sent as they are; nothing else keeps them apart."""
    EMPTY_MESSAGES = "empty-messages"
    """A message without content reaches the converter or the provider."""
    EMPTY_TEXT_ACCEPTED = "empty-text-accepted"
    """The provider accepts a text without content."""
    REPEATED_RUNS = "repeated-runs"
    """A run of messages can be stored twice, since nothing counts them."""
    BLOCK_ORDER = "block-order"
    """Answers are lists of blocks that Anthropic's models get in that order."""
    SIGNED_THINKING = "signed-thinking"
    """Thinking goes back to a provider that verifies its signature."""
    SIGNATURES = "signatures"
    """Thinking is stored with its signature."""
    PLACEHOLDERS = "placeholders"
    """A placeholder for a missing result can be stored as if it were real."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """How a conversation shows that a turn is running: the fact `status` has the value `running`. `unknown_ms`: by how much stored times may be wrong."""

    running: str = "active"
    unknown_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program, or one family of request bodies.

    `package` is the import name of its folder: every module of its `rules` that has a RULE and every module of its `strategies` that has a STRATEGY is
    registered. `readers_of`: names of the readers that are offered for a format, the default one included. `read_only`: formats that are never
    written, with a sentence that says what to do instead; `new_file_as`: formats whose repairs are written as a new file of another format.
    """

    name: str
    title: str
    package: str
    formats: tuple[Format, ...]
    readers: tuple[Reader, ...]
    readers_of: Mapping[str, tuple[str, ...]]
    variant: Callable[[str], Reader | None] = lambda name: None
    """A reader whose name is put together of words, `dispatch-legacy+r1`; None where the program has no such reader."""
    projections: tuple[Projection, ...] = ()
    traits: Mapping[str, frozenset[Trait]] = field(default_factory=dict)
    """By format."""
    liveness: Liveness = Liveness()
    goes_on: Mapping[str, Callable[[Message, Message], bool]] = field(default_factory=dict)
    """By format, of those whose provider takes neighbors of the assistant as one turn: whether the second message continues the calls of the first."""
    single_items: frozenset[str] = frozenset()
    """Formats in which each item of an answer is a message of its own."""
    consequences: Mapping[str, str] = field(default_factory=dict)
    """What its clients make of a damage, as a clause that ends a finding's sentence, by the name of the rule."""
    effects: Callable[[str], tuple[tuple[str, str], ...]] = lambda shape: ()
    """What each of its clients makes of a shape of damage ("missing", "orphan", …), as rows of evidence."""
    unanswered: "Callable[[Case], list[tuple[int, Chunk]]] | None" = None
    """Calls without a result that TOOL101 and TOOL102 report, each with the index of its message, where rules of its own report the others."""
    settles_calls: bool = False
    """Rules of its own say which of several calls with one id has no result."""
    has_failed: Callable[[Message], bool] = lambda message: False
    """Whether its clients leave the answer out as one that failed."""
    sendable: "Callable[[Case], Sequence[Message]]" = lambda case: case.messages
    """Messages that a request can hold before any repair."""
    explained_results: "Callable[[Case], Iterable[Chunk]]" = lambda case: ()
    """Results of which rules of its own say why they have no call."""
    explains_read_results: bool = False
    """What explains a stored result explains it where it is read, too: no reader of its own moves calls."""
    nameless_results: "Callable[[Case], list[tuple[Chunk, Chunk]]]" = lambda case: []
    """Results that lost their id, each after the call that is probably its own."""
    cut_result: "Callable[[Case, Chunk, Chunk | None], str]" = lambda case, result, call: ""
    """Why a result is read without its call, where the store and not the reader makes it so."""
    buries_calls: bool = True
    """Its readers may put a call into another message, so that a result is read without it."""
    answered_by: "Callable[[Case, Message], str]" = lambda case, message: "anthropic"
    """The provider of an answer, of formats with signed thinking."""
    sent_to: "Callable[[Case], str]" = lambda case: "anthropic"
    """The provider of the next request, of formats with Anthropic's blocks; "" where nothing says so."""
    converted_thinking: "Callable[[Case], Iterator[tuple[list[Chunk], str]]] | None" = None
    """Thinking of other providers that its client converts, each group with a sentence; None where it converts none."""
    placeholders: "Callable[[Case], Iterator[Hit]]" = lambda case: iter(())
    """Texts that its clients put in for something else, beside results."""
    never_sent: Callable[[Chunk], bool] = lambda chunk: False
    """Whether a chunk of a path is for display only, whichever reader reads it."""
    read_only: Mapping[str, str] = field(default_factory=dict)
    new_file_as: Mapping[str, Format] = field(default_factory=dict)
