"""Each chunk of a conversation with all that a row of the timeline shows of it, in blocks: a page reads the blocks that it shows, and no others."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice

from inspector.conversation.model import Chunk, Kind
from inspector.presentation.conversation.columns import SYSTEM, Columns, stored_message_count
from inspector.presentation.conversation.row_words import arguments, hue, letter, synthetic, words
from inspector.presentation.prompt.wire_pieces import synthetic_pieces
from inspector.presentation.visible import beginning, clipped
from inspector.programs.registry import program_or_default
from inspector.projections.base import PromptPart, WireMessage
from inspector.rules.base import Finding, Origin
from inspector.text.light import light_dataclass

BLOCK = 100
"""Chunks in a block: what a page shows at once."""
WORDS_SHOWN, ARGUMENTS_SHOWN, SENT_SHOWN = 900, 600, 400
"""Characters of a chunk in a row; its own page has the rest."""
ROLE_SHOWN, _TOOL_SHOWN, _MODEL_SHOWN = 40, 81, 120
SYNTHETIC_SHOWN = 200
RESULT_SHOWN = 300
"""Characters of a result that the row of its call has at hand, wherever the result is."""
_MESSAGES_AT_HAND = 64


@dataclass(frozen=True, slots=True)
class LedgerCell:
    """One run of a tool, or that a call has none (`status` is ""). `tone` is a badge's class; `times` are UTC; `note` says what is unusual about it."""

    status: str = ""
    tone: str = ""
    tool: str = ""
    place: str = ""
    words: str = ""
    times: str = ""
    call_id: str = ""
    uuid: str = ""
    note: str = ""
    shows_tool: bool = False
    """Its call is in another row."""
    is_intentional: bool = False
    """The program runs it without a call on purpose."""


Mark = tuple[str, str]
"""Of a finding its code and its severity."""


@dataclass(frozen=True, slots=True)
class ReadCell:
    span: int
    letter: str
    label: str
    count: int
    merged: bool
    why: str
    badges: tuple[Mark, ...]
    continued: bool
    lost: bool
    sent_as: str = ""
    """Of a synthetic message: what it is in the request."""
    is_as_stored: bool = False
    """Whether the reader has the content and the role as they are stored."""
    answers: int | None = None
    """Of a synthetic result: the seq of its call."""
    is_left_out: bool = False
    """The reader leaves it out, and nobody meant that."""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but its label."""
        return not (self.merged or self.lost or self.continued or self.badges or self.why)


@dataclass(frozen=True, slots=True)
class SentPart:
    """A piece of sent text that came from a chunk. `place`: among the pieces of its message; `left`: characters that are not shown.

    Where `is_as_stored`, the text is "": it is that of the chunk.
    """

    place: int
    text: str
    left: int
    is_as_stored: bool = False


@light_dataclass(frozen=True, slots=True)
class PlacedChunk:
    """A stored chunk and where it went. `position` is its place in the file, `partner` the seq of its call or result.

    `stored`, `read` and `sent` are indexes of messages, None where it is in none: then `read_why` and `sent_why` say why. Texts are cut where
    a row ends; `words_left` and `arguments_left` count the characters after that.
    """

    position: int
    seq: int
    kind: str
    role: str
    msg_idx: int | None
    chunk_idx: int | None
    at: int | None
    tool_name: str
    is_error: bool
    letter: str
    role_letter: str
    words: str
    words_left: int
    arguments: str
    arguments_left: int
    synthetic: str
    """Why it is not from a tool."""
    turn: str
    partner: int | None
    badges: tuple[Mark, ...]
    departs: str
    stored: int | None
    read: int | None
    read_why: str
    is_intentional: bool
    read_badges: tuple[Mark, ...]
    read_note: str
    sent: int | None
    sent_why: str
    sent_parts: tuple[SentPart, ...]
    sent_lost: str
    """Why it is lost on the way, of a call that is."""
    is_marked: bool
    """Whether a finding names it."""
    is_altered: bool = False
    """Whether the reader has other content than the store."""
    result: tuple[str, str] | None = None
    """Of a call with a result: how that is (`ok`, `error`, `synthetic`), and how it begins."""
    model_change: str = ""
    """Which model wrote before it and which writes from it on, where the store names both."""
    elsewhere: tuple[int, str] | None = None
    """In a tree, where the result of a call is that is not on the path: its node in the tree view, and in words."""
    line: int | None = None
    """In a tree, its line as the tree view counts."""
    ledger: tuple[LedgerCell, ...] = ()
    """Runs of tools for it, where the store has a ledger of them."""

    @property
    def role_shown(self) -> str:
        return "entry" if self.letter == "c" else clipped(self.role or "no role", ROLE_SHOWN)[0]

    @property
    def has_notes(self) -> bool:
        """Whether its row says more than its words: of a call and a result at least where the other one is."""
        return bool(self.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT) or self.is_error or self.synthetic or self.partner or self.elsewhere)


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message of the reader. `several`: the number of true messages that it is made of."""

    role: str
    count: int
    several: int


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of the request; `merged`: several that no client of that wire puts together. `violations`: (id of the provider's rule, sentence)."""

    label: str
    letter: str
    merged: bool
    violations: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """BLOCK chunks, with the messages that they went into by index."""

    rows: tuple[PlacedChunk, ...]
    read: Mapping[int, ReadMessage]
    sent: Mapping[int, SentMessage]


@dataclass(frozen=True, slots=True)
class Inserted:
    """A synthetic message of the reader, and the place of the chunk that it follows; None: it follows no chunk."""

    after: int | None
    cell: ReadCell


def role_of(message: WireMessage) -> str:
    """What a message of the wire is labeled with; items of the Responses shape have a type where others have a role."""
    name = message.value.get("role") or message.value.get("type") or ""
    return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True)
class TreePlaces:
    """Of a path through a tree, by key: places in the whole file, lines, and where results on other branches are."""

    positions: Mapping[str, int]
    lines: Mapping[str, int]
    elsewhere: Mapping[str, tuple[int, str]]


def blocks(
    all_columns: Columns, tree: TreePlaces | None = None, ledger: Callable[[Chunk], Iterable[LedgerCell]] = lambda chunk: ()
) -> Iterator[Block]:
    """All blocks in order, the last with fewer chunks. `ledger` gives the runs of tools that belong to a chunk."""
    rows = _placed(all_columns, tree or TreePlaces({}, {}, {}), ledger)
    violations = _violations(all_columns)
    # Each message once: all blocks may be one message.
    read_messages: dict[int, ReadMessage] = {}
    sent_messages: dict[int, SentMessage] = {}
    while block := tuple(islice(rows, BLOCK)):
        read = {row.read for row in block if row.read is not None}
        sent = {row.sent for row in block if row.sent is not None}
        for index in read - read_messages.keys():
            read_messages[index] = _read_message(all_columns, index)
        for index in sent - sent_messages.keys():
            sent_messages[index] = _sent_message(all_columns, index, violations)
        yield Block(block, {index: read_messages[index] for index in sorted(read)}, {index: sent_messages[index] for index in sorted(sent)})


def _placed(all_columns: Columns, tree: TreePlaces, ledger: Callable[[Chunk], Iterable[LedgerCell]]) -> Iterator[PlacedChunk]:
    badges, notes = _badges(all_columns.findings)
    marked = {seq for finding in all_columns.findings for seq in finding.seqs}
    # A message of the request at a time: all their words together are as long as the conversation.
    parts_of = lru_cache(_MESSAGES_AT_HAND)(partial(_sent_parts, all_columns))
    results, models = _results(all_columns), _Models(all_columns.conversation.format)
    for place, chunk in enumerate(all_columns.conversation.chunks):
        key, read, sent = chunk.key, all_columns.read[chunk.key], all_columns.sent[chunk.key]
        stored, shown, called = all_columns.stored.get(key), words(chunk), arguments(chunk)
        yield PlacedChunk(
            position=tree.positions.get(key, place),
            seq=chunk.seq,
            kind=chunk.kind.value,
            role=beginning(chunk.role, ROLE_SHOWN),
            msg_idx=chunk.msg_idx,
            chunk_idx=chunk.chunk_idx,
            at=chunk.at,
            tool_name=beginning(chunk.tool_name, _TOOL_SHOWN),
            is_error=chunk.is_error,
            letter=hue(chunk),
            role_letter=letter(chunk.role),
            words=beginning(shown, WORDS_SHOWN),
            words_left=max(0, len(shown) - WORDS_SHOWN),
            arguments=beginning(called, ARGUMENTS_SHOWN),
            arguments_left=max(0, len(called) - ARGUMENTS_SHOWN),
            synthetic=synthetic(chunk),
            turn="" if stored is None else all_columns.turns.get(stored, ""),
            partner=all_columns.partners.get(key),
            badges=badges.get((Origin.STORE, key), ()),
            departs=all_columns.departs.get(key, ""),
            stored=stored,
            read=read.index,
            read_why=read.why,
            is_intentional=read.intentional,
            read_badges=badges.get((Origin.READER, key), ()),
            read_note=notes.get(key, ""),
            sent=sent.index,
            sent_why="" if sent.index is not None else sent.why or read.why,
            sent_parts=() if sent.index is None else parts_of(sent.index).get(key, ()),
            sent_lost=all_columns.calls_lost.get(key, ""),
            is_marked=chunk.seq in marked,
            is_altered=key in all_columns.altered,
            result=_result(results.get(key)),
            model_change=models.at(chunk),
            elsewhere=tree.elsewhere.get(key),
            line=tree.lines.get(key),
            ledger=tuple(ledger(chunk)),
        )


def _results(all_columns: Columns) -> dict[str, Chunk]:
    """Key of a call -> its result."""
    results: dict[int, Chunk] = {}
    for chunk in all_columns.conversation.chunks:
        if chunk.kind is Kind.TOOL_RESULT and chunk.key in all_columns.partners:
            results.setdefault(chunk.seq, chunk)
    calls = (chunk for chunk in all_columns.conversation.chunks if chunk.kind is Kind.TOOL_CALL and chunk.key in all_columns.partners)
    pairs = ((call.key, results.get(all_columns.partners[call.key])) for call in calls)
    return {key: result for key, result in pairs if result is not None}


def _result(chunk: Chunk | None) -> tuple[str, str] | None:
    if chunk is None:
        return None
    return "synthetic" if synthetic(chunk) else "error" if chunk.is_error else "ok", beginning(words(chunk), RESULT_SHOWN)


class _Models:
    """Which model wrote last, over the chunks in their order."""

    def __init__(self, format_name: str) -> None:
        self._name_of = program_or_default(format_name).providers.name_of
        self._last = ""

    def at(self, chunk: Chunk) -> str:
        """`a → b` where the model changes."""
        name = self._name_of(chunk)[:_MODEL_SHOWN]
        if not name or name == self._last:
            return ""
        before, self._last = self._last, name
        return f"{before} → {name}" if before else ""


def _badges(findings: Sequence[Finding]) -> tuple[dict[tuple[Origin, str], tuple[Mark, ...]], dict[str, str]]:
    """Marks by stage and chunk, and by chunk the sentence of the first that the reader causes. Damage of the stream shows next to the stored row."""
    marks: dict[tuple[Origin, str], tuple[Mark, ...]] = {}
    notes: dict[str, str] = {}
    # Of one rule that is found twice at a chunk, the last sentence counts.
    messages = {(finding.key, finding.code): finding.message for finding in findings}
    for finding in findings:
        stage = Origin.READER if finding.origin is Origin.READER else Origin.STORE
        marks[stage, finding.key] = (*marks.get((stage, finding.key), ()), (finding.code, str(finding.severity)))
        if stage is Origin.READER:
            notes.setdefault(finding.key, messages[finding.key, finding.code])
    return marks, notes


def _sent_parts(all_columns: Columns, index: int) -> dict[str, tuple[SentPart, ...]]:
    """The text of each chunk that is in this message of the request."""
    if index == SYSTEM:
        return {part.chunk.key: (_sent_part(all_columns, 0, part),) for part in all_columns.prompt.system_parts}
    parts: dict[str, tuple[SentPart, ...]] = {}
    for place, part in enumerate(all_columns.prompt.messages[index].parts):
        if all_columns.sent[part.chunk.key].index == index:
            parts[part.chunk.key] = (*parts.get(part.chunk.key, ()), _sent_part(all_columns, place, part))
    return parts


def _sent_part(all_columns: Columns, place: int, part: PromptPart) -> SentPart:
    text, chunk = part.text, part.chunk
    if has_words_of(text, chunk) and chunk.key not in all_columns.altered:
        return SentPart(place, "", 0, True)
    return SentPart(place, beginning(text, SENT_SHOWN), max(0, len(text) - SENT_SHOWN))


def _read_message(all_columns: Columns, index: int) -> ReadMessage:
    message = all_columns.read_messages[index]
    return ReadMessage(message.role, len(message.chunks), stored_message_count(all_columns, message.chunks))


def _sent_message(all_columns: Columns, index: int, violations: Mapping[int, tuple[tuple[str, str], ...]]) -> SentMessage:
    if index == SYSTEM:
        return SentMessage("system, outside the list", "s", False, violations.get(index, ()))
    wire = all_columns.prompt.messages[index]
    role = role_of(wire)
    merged = _is_wrongly_joined(all_columns, [part.chunk for part in wire.parts], letter(role))
    return SentMessage(f"{all_columns.prompt.root}.{index} · {role}", letter(role), merged, violations.get(index, ()))


def _violations(all_columns: Columns) -> dict[int, tuple[tuple[str, str], ...]]:
    violations: dict[int, tuple[tuple[str, str], ...]] = {}
    for violation in all_columns.judgement.violations:
        root, _, tail = violation.path.partition(".")
        number = tail.partition(".")[0] if root == all_columns.prompt.root else "-1" if root == "system" else ""
        if number == str(SYSTEM) or (number.isdecimal() and len(number) < 9):
            violations[int(number)] = (*violations.get(int(number), ()), (violation.id, violation.text))
    return violations


def _is_wrongly_joined(all_columns: Columns, chunks: Sequence[Chunk], role_letter: str) -> bool:
    """Several messages in one; not where a projection puts results and the user's words together, as every client of that wire does."""
    several = stored_message_count(all_columns, chunks)
    if several < 2:
        return False
    read = {all_columns.read[chunk.key].index for chunk in chunks}
    return len(read) < several or role_letter != "u" or any(letter(chunk.role) == "a" for chunk in chunks)


def inserted(all_columns: Columns) -> tuple[Inserted, ...]:
    """The synthetic messages of the reader: SYNTHETIC_SHOWN, and one more cell that counts the others."""
    synthetic_messages = [(index, message) for index, message in enumerate(all_columns.read_messages) if message.synthetic]
    if not synthetic_messages:
        return ()
    sent = {id(wire.source): (index, wire) for index, wire in enumerate(all_columns.prompt.messages) if wire.source is not None}
    among_real_chunks = _blocks_among_real_chunks(all_columns)
    places = {chunk.key: at for at, chunk in enumerate(all_columns.conversation.chunks)}
    after = _places_before(all_columns, places)
    calls: dict[str, int] = {}
    for chunk in all_columns.conversation.chunks:
        if chunk.kind is Kind.TOOL_CALL:
            calls.setdefault(chunk.call_id, chunk.seq)
    result = []
    for index, message in synthetic_messages[:SYNTHETIC_SHOWN]:
        why = f"synthetic: {message.chunks[0].text}"
        message_of_request = sent.get(id(message)) or among_real_chunks.get(message.chunks[0].call_id)
        sent_as = f"{all_columns.prompt.root}.{message_of_request[0]} · {role_of(message_of_request[1])}" if message_of_request else ""
        label, answers = f"MSG {index} · {message.role}", calls.get(message.chunks[0].call_id)
        cell = ReadCell(1, letter(message.role), label, 1, False, why, (), False, False, sent_as, answers=answers)
        result.append(Inserted(after[index], cell))
    if len(synthetic_messages) > SYNTHETIC_SHOWN:
        more = f"and {len(synthetic_messages) - SYNTHETIC_SHOWN:,} more synthetic messages inserted by the reader"
        result.append(Inserted(None, ReadCell(1, "t", more, 1, False, "", (), False, False)))
    return tuple(result)


def _places_before(all_columns: Columns, places: Mapping[str, int]) -> dict[int, int | None]:
    """Index of each synthetic message -> the place of the last chunk of the messages before it."""
    result: dict[int, int | None] = {}
    last: int | None = None
    for index, message in enumerate(all_columns.read_messages):
        if message.synthetic:
            result[index] = last
        elif message.chunks:
            last = places.get(message.chunks[-1].key)
    return result


def _blocks_among_real_chunks(all_columns: Columns) -> dict[str, tuple[int, WireMessage]]:
    """Id of a call -> the message of the request that has its synthetic result as one block of several, and its place."""
    messages: dict[str, tuple[int, WireMessage]] = {}
    for index, wire in enumerate(all_columns.prompt.messages):
        for piece in synthetic_pieces(wire) if wire.parts else ():
            for id_ in piece.call_ids:
                messages.setdefault(id_, (index, wire))
    return messages


def has_words_of(text: str, chunk: Chunk) -> bool:
    """Whether the text of a piece of a prompt says what the chunk does. A projection may write arguments as Python does."""
    if chunk.kind is Kind.TOOL_CALL:
        return text in (f"{chunk.tool_name} {arguments(chunk)}", f"{chunk.tool_name} {chunk.payload.get('input')}")
    return text == chunk.text
