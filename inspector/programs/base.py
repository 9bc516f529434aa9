"""What Inspector knows of one program that keeps conversations: the values that generic code asks for instead of naming a program."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from inspector.conversation.model import Chunk, Conversation, Execution, Message
from inspector.conversation.numbering import in_order
from inspector.programs.formats import Format, Record
from inspector.projections.base import Projection
from inspector.readers.base import Reader

if TYPE_CHECKING:
    from inspector.conversation.edits import Edit
    from inspector.presentation.conversation.panels import Alignment, Ending, JobLine, LedgerLane
    from inspector.presentation.conversation.placed import LedgerCell
    from inspector.rules.base import Case, Match
    from inspector.traces.model import Trace


FROM_LEDGER = "ledger:"
"""How the key of a result begins that a repair took from the ledger: the store had it."""


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
    JSON_LINES = "json-lines"
    """It is stored as lines of JSON, each read by itself: a crash or a second writer damages single lines."""
    PLACEHOLDERS = "placeholders"
    """A placeholder for a missing result can be stored as if it were real."""


@dataclass(frozen=True, slots=True)
class Liveness:
    """How a conversation shows that a turn is running: the fact `status` has the value `running`. `unknown_ms`: by how much stored times may be wrong."""

    running: str = "active"
    unknown_ms: int = 0


@dataclass(frozen=True, slots=True)
class Numbering:
    """`renumber` numbers the chunks after a repair. `by_message`: numbers distinguish messages, and rows are kept without gaps. `by_place`: the
    conversation is a path through a file, and numbers are places in it."""

    renumber: Callable[[Conversation], Conversation] = in_order
    by_message: bool = False
    by_place: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether the store holds the numbers; elsewhere the order of lines or elements gives them, and a chunk that moves down keeps its bytes."""
        return not self.by_place and self.renumber is not in_order


@dataclass(frozen=True, slots=True)
class SyntheticResult:
    """What a placeholder for a missing result says. `details` is kept next to the content, where a program knows its own by it; `nameless` names a tool
    without a name, `wire` the form of `details`."""

    text: str
    details: Mapping[str, Any] = field(default_factory=dict)
    nameless: str = ""
    wire: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticResults:
    """What its clients put in where content is missing."""

    words: Mapping[str, SyntheticResult] = field(default_factory=dict)
    """Format -> what its own client puts in for a missing result; Inspector's own words elsewhere."""
    chunk: Callable[[Chunk], Chunk] | None = None
    """The same as a chunk, where it is no plain message."""
    author: Callable[[Chunk], str] = lambda result: ""
    """The program that wrote a result as a placeholder; "" where it may be real."""
    is_from_tool: Callable[[Chunk], bool] = lambda result: False
    """Whether a result that a reader put in is one that a tool gave, or is to give, and no placeholder."""
    texts: "Callable[[Case], Iterator[Match]]" = lambda case: iter(())
    """Texts that its clients put in for something else, apart from results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """How its readers and rules see calls and their results."""

    settled: "Callable[[Case], Iterable[str]]" = lambda case: ()
    """Keys of calls without a result of which the store keeps the outcome elsewhere."""
    keeping: "Callable[[Case], Iterable[str]]" = lambda case: ()
    """Keys of chunks next to which the store keeps such an outcome: with them it would be lost, also where they say nothing."""
    unanswered: "Callable[[Case], list[tuple[int, Chunk]]] | None" = None
    """Calls without a result that TOOL101 and TOOL102 report, each with the index of its message, where rules of its own report the others."""
    repeated: "Callable[[Case], Container[str]]" = lambda case: ()
    """Keys of calls that a rule of its own reports as stored again."""
    settles_ids: bool = False
    """Rules of its own say which of several calls with one id has no result."""
    has_failed: Callable[[Message], bool] = lambda message: False
    """Whether its clients leave the answer out as one that failed."""
    sendable: "Callable[[Case], Sequence[Message]]" = lambda case: case.messages
    """Messages that a request can hold before any repair."""
    explained_results: "Callable[[Case], Iterable[Chunk]]" = lambda case: ()
    """Results of which rules of its own say why they have no call."""
    explains_read_results: bool = False
    """What explains a stored result explains it where it is read, too: no reader of its own moves calls."""
    pending_is_damage: bool = True
    """Whether a call at the end is damage; else it is noted: a tool may run, or the turn was interrupted, as sessions end all the time."""
    nameless_results: "Callable[[Case], list[tuple[Chunk, Chunk]]]" = lambda case: []
    """Results that lost their id, each after the call that is probably its own."""
    cut_result: "Callable[[Case, Chunk, Chunk | None], str]" = lambda case, result, call: ""
    """Why a result is read without its call, where the store and not the reader makes it so."""
    paired_by_id: bool = False
    """Its provider pairs calls and results by their ids alone: a result may come anywhere after its call."""
    answers_open: bool = False
    """Its client puts a result in, right after each call that has none, before every request: no provider refuses one."""
    buries: bool = True
    """Its readers may put a call into another message, so that a result is read without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Providers:
    """Which providers answered, and what its client does with their thinking."""

    model_of: Callable[[Chunk], object] = lambda chunk: None
    """What distinguishes answers of different models, where a store keeps it with each answer."""
    name_of: Callable[[Chunk], str] = lambda chunk: ""
    """Which provider and model wrote a chunk, or write from it on, in words; "" where the store does not say it there."""
    answer_id: Callable[[Chunk], str] = lambda chunk: ""
    """The id that the provider gave the answer of which the chunk is a block; "" where the store keeps none."""
    are_named: bool = False
    """Its conversations say of every answer which provider gave it."""
    usual_profile: str = "anthropic-2026-07"
    """The profile of its formats, in whose place that of a named provider comes."""
    profiles: Mapping[str, str] = field(default_factory=dict)
    """Provider -> profile, of a program that converts its requests for few of them as is known here; every other stays with the usual one."""
    answered_by: "Callable[[Case, Message], str]" = lambda case, message: "anthropic"
    """The provider of an answer, of formats with signed thinking."""
    sent_to: "Callable[[Case], str]" = lambda case: "anthropic"
    """The provider of the next request, of formats with Anthropic's blocks; "" where nothing says so."""
    converted_thinking: "Callable[[Case], Iterator[tuple[list[Chunk], str]]] | None" = None
    """Thinking of other providers that its client converts, each group with a sentence; None where it converts none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """How its conversations are repaired, and what is left to the operator."""

    place_results: "Callable[[Case, Sequence[tuple[str, Chunk]], Mapping[str, Chunk]], Iterator[Edit]] | None" = None
    """Where results go that a repair inserts, where they do not go into messages of their own or of their batch."""
    ledger_result: Callable[[Chunk, Execution], Chunk | None] = lambda call, run: None
    """The result of a call by the run of it that the ledger holds; None where that has not ended."""
    of_lines: frozenset[str] = frozenset()
    """Strategies for lines that cannot be read or hold several records, of those that the rules on such lines name."""
    rules_first: bool = False
    """A repair for a provider starts with what the rules name, since its readers and not the rows decide what is sent."""
    refuse_unfit: Callable[[Conversation, Conversation], None] = lambda base, final: None
    """Raises WriteRefused where the store cannot keep a conversation, as far as that shows before the write."""
    follow_up: Callable[[Conversation], tuple[str, ...]] = lambda conversation: ()
    """What is left to the operator after a repair, as sentences."""
    view_after_write: str = "Who has it open must load it again."
    """What users who have a repaired conversation open see; "" where `after_repair` says it."""
    next_turn: Mapping[str, Collection[str]] = field(default_factory=dict)
    """What the program does to a repaired conversation on its next turn, as warnings of a plan: each with the codes of the rules that a plan has to be for, or
    to end findings of; with none it is for every plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """What only it can show of a conversation."""

    aligned: "Callable[[Conversation, Conversation], Alignment] | None" = None
    """How a session and the crash file of one of its requests align."""
    ending: "Callable[[Conversation, int | None], Ending] | None" = None
    """How a session came to its present end, by what the store itself says; with the time at which that was read (epoch ms)."""
    job_lines: "Callable[[Conversation, int | None], tuple[JobLine, ...]]" = lambda conversation, taken_at: ()
    """What is known of the job that a conversation belongs to."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Facts of a session that are shown next to its tree, each with what it is called."""
    ledger_lane: "Callable[[Case], LedgerLane | None]" = lambda case: None
    ledger_cells: "Callable[[LedgerLane, Chunk], Iterable[LedgerCell]]" = lambda lane, chunk: ()
    """The runs of the ledger that are shown next to a chunk."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an error says whose text matches `pattern`. `rule` is a rule of ours, `provider_rule` one of the provider's by our name for it; "" where there
    is none.

    `advice` is a sentence on what to do; "" where the rule says it. `is_transient`: the same request may be accepted later.
    """

    pattern: str
    means: str
    rule: str = ""
    provider_rule: str = ""
    advice: str = ""
    is_transient: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """What it and its clients make of damage."""

    meanings: tuple[Meaning, ...] = ()
    """Errors that the program itself answers with, as its users see them; the first that matches counts."""

    ruled_out: "Callable[[Case], tuple[tuple[str, str], ...]]" = lambda case: ()
    """Other causes of a model that stops calling tools, and what speaks against each."""
    rules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Provider rule -> rules that say where its cause is in this store, of an error that the program or its SDK raises."""
    facts: tuple[tuple[str, str], ...] = ()
    """Facts that hold an error that the program recorded, each with where it is recorded."""
    restart: Callable[[str], str] = lambda native_id: ""
    """What to do where the provider rejected the last turn and takes what the program sends after a restart."""
    consequences: Mapping[str, str] = field(default_factory=dict)
    """What its clients make of a damage, as a clause that ends a finding's sentence, by the name of the rule."""
    of_older_versions: bool = False
    """Which version got an error is in no store: where the newest one's request breaks no rule, the newest reader whose request does is the one meant."""
    effects: Callable[[str], tuple[tuple[str, str], ...]] = lambda shape: ()
    """What each of its clients makes of a shape of damage ("missing", "orphan", …), as rows of evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLines:
    """Lines of the notation of cases that it reads."""

    legacy: Callable[[Iterable[str]], Iterable[Message]] = lambda lines: ()
    """Rows of the notation of cases that the program keeps next to the conversation."""
    session_of: Callable[[Iterable[str], Iterable[str], Conversation], Conversation] | None = None
    """A session out of lines of the notation of cases, with the facts of the conversation."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a program keeps its sessions on a machine: `below` the folder `base`, or the folder that the environment variable `moved_by` names instead.

    Both may begin with ~, `below` may have `*` for one folder or file, and "" means the base itself. `format` is the format of what is there.
    """

    format: str
    base: str
    below: str = ""
    moved_by: str = ""

    @property
    def path(self) -> str:
        return f"{self.base}/{self.below}" if self.below else self.base


def no_trace(tree: "Conversation") -> "Trace | None":
    """Of a program whose store records no requests."""
    return None


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
    wires: Mapping[str, str] = field(default_factory=dict)
    """Format -> wire shape, of formats that are request bodies."""
    traits: Mapping[str, frozenset[Trait]] = field(default_factory=dict)
    """By format."""
    liveness: Liveness = Liveness()
    numbering: Numbering = Numbering()
    continues_turn: Mapping[str, Callable[[Message, Message], bool]] = field(default_factory=dict)
    """By format, of those whose provider takes neighbors of the assistant as one turn: whether the second message continues the calls of the first."""
    single_items: frozenset[str] = frozenset()
    """Formats in which each item of an answer is a message of its own."""
    same_answer: Callable[[Message, Message], bool] = lambda message, following: True
    """Of these formats, whether two neighbors of the assistant are items of one answer."""
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Format -> what a place in a session is called, and what is added to the number of the model; a line counted from 1 elsewhere."""
    start_of: Callable[[Conversation, Record, Chunk], int | None] = lambda conversation, record, chunk: None
    """The byte of its file at which a chunk, or the message of it, starts, of one whose own bytes are in several places; None where nobody knows."""
    neighbor_files: frozenset[str] = frozenset()
    """Formats whose sessions have a lock and an index in their folder."""
    homes: tuple[Home, ...] = ()
    """Its documented default places, which `doctor` looks at; () for a program that has none of its own."""
    about: str = ""
    """What it is, in a few words; "" of a program, of which its title says it."""
    export_command: str = ""
    """The shell command that writes its database, which is ADDRESS in it, as a file that is read too; "" for a program without one."""
    converters: tuple[str, tuple[str, ...]] = ("", ())
    """Its own projection, and the proposed variants of that."""
    reader_fixes: tuple[str, ...] = ()
    """Proposed variants of its readers that a comparison combines with the others."""
    own_trace: "Callable[[Conversation], Trace | None]" = no_trace
    """The requests that the store itself recorded next to its messages; None where it holds none. Rules look at imported traces only."""
    traces: str = ""
    """Where its traces are that Inspector reads, in full sentences; "" of a program that has none."""
    client_version: str = ""
    """The fact that says which version of the program wrote a conversation last; "" where none does."""
    crash_prefix: str = ""
    """How the native id of a conversation begins that is a crash file: evidence of a request, next to the sessions."""
    apart: Callable[[Conversation], frozenset[str]] = lambda tree: frozenset()
    """Lines of a file, by their keys, that are no part of the tree in it: settings, and records of the program itself."""
    is_resumed: Callable[[Conversation], bool] = lambda conversation: True
    """Whether somebody may resume such a conversation: not a crash file, nor what an agent did that another one started."""
    sends_open_end: bool = False
    """Whether its client sends a call at the end of a session without a result, which the provider refuses; of others nobody knows, or they repair it."""
    never_sent: Callable[[Chunk], bool] = lambda chunk: False
    """Whether a chunk of a path is for display only, whichever reader reads it."""
    read_only: Mapping[str, str] = field(default_factory=dict)
    new_file_as: Mapping[str, Format] = field(default_factory=dict)
    synthetic: SyntheticResults = SyntheticResults()
    calls: Calls = Calls()
    providers: Providers = Providers()
    repairs: Repairs = Repairs()
    panels: Panels = Panels()
    errors: Errors = Errors()
    notation: CaseLines = CaseLines()
