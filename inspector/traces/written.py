"""Which stored chunks each observed step wrote: by the ids of its calls, by its own id, and for an answer of words alone by its place after what the step was given."""

from collections.abc import Mapping, Sequence

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.traces.model import Span, Step, Trace, Turn
from inspector.traces.witness import turn_witnesses

Texts = tuple[str, ...]


def written(trace: Trace, chunks: Sequence[Chunk]) -> dict[str, tuple[Chunk, ...]]:
    """Chunks by step id; a step of which no row is known, or of which it is not certain which it is, is left out."""
    rows = StoredRows(chunks)
    messages = queries.true_messages(chunks)
    places = {chunk.key: place for place, message in enumerate(messages) for chunk in message.chunks}
    begun = _beginnings(trace, messages)
    between = {witness.turn_id: frozenset(text.texts for text in witness.between) for witness in turn_witnesses(trace)}
    by_step: dict[str, tuple[Chunk, ...]] = {}
    for turn in trace.turns:
        # The message after which the next step writes; None where it is not known.
        after = begun.get(turn.turn_id)
        for number, step in enumerate(turn.steps):
            own = _with_words(rows.of_step(turn, number, step), messages, places)
            if not own and after is not None:
                own = _answer(messages, after, between.get(turn.turn_id, frozenset()))
            if own:
                by_step[step.step_id] = own
            after = max((places[chunk.key] for chunk in own if chunk.key in places), default=None)
    return by_step


class StoredRows:
    """Stored chunks by the ids that a trace knows them by."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._by_call: dict[str, list[Chunk]] = {}
        self._by_step: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            if chunk.call_id:
                self._by_call.setdefault(chunk.call_id, []).append(chunk)
            if chunk.step_id:
                self._by_step.setdefault(chunk.step_id, []).append(chunk)

    def of_step(self, turn: Turn, number: int, step: Step) -> tuple[Chunk, ...]:
        """Chunks of the step's calls, else those with its step id: in the store, steps of a turn count from 0."""
        called = [chunk for span in step.tool_calls for chunk in self.of_call(turn, span)]
        return tuple(sorted(called, key=lambda chunk: chunk.seq) or self._by_step.get(f"{turn.turn_id}#{number}", []))

    def of_call(self, turn: Turn, span: Span) -> list[Chunk]:
        call_id = span.attributes.get("toolCallId")
        chunks = self._by_call.get(call_id, []) if isinstance(call_id, str) else []
        return [chunk for chunk in chunks if chunk.step_id is None or chunk.step_id.startswith(f"{turn.turn_id}#")]


def _beginnings(trace: Trace, messages: Sequence[Message]) -> Mapping[str, int]:
    """Turn id -> place of the user's message that began it. Not where the same words were said more or less often than the trace shows."""
    places_of: dict[Texts, list[int]] = {}
    for place, message in enumerate(messages):
        if message.role == "user":
            places_of.setdefault(_texts(message), []).append(place)
    turns_of: dict[Texts, list[str]] = {}
    for witness in turn_witnesses(trace):
        if witness.question is not None and any(witness.question.texts):
            turns_of.setdefault(witness.question.texts, []).append(witness.turn_id)
    pairs = {
        turn_id: place
        for texts, turn_ids in turns_of.items()
        if len(turn_ids) == len(places_of.get(texts, ()))
        for turn_id, place in zip(turn_ids, places_of[texts], strict=True)
    }
    order = [pairs[turn.turn_id] for turn in trace.turns if turn.turn_id in pairs]
    return pairs if order == sorted(order) else {}


def _with_words(own: Sequence[Chunk], messages: Sequence[Message], places: Mapping[str, int]) -> tuple[Chunk, ...]:
    """With the words and thinking of the messages that the calls are in: only calls and results name their step."""
    called = {places[chunk.key] for chunk in own if chunk.kind is Kind.TOOL_CALL and chunk.key in places}
    words = [chunk for place in called for chunk in messages[place].chunks if not (chunk.call_id or chunk.step_id)]
    return tuple(sorted({chunk.key: chunk for chunk in (*own, *words)}.values(), key=lambda chunk: chunk.seq))


def _answer(messages: Sequence[Message], after: int, between: frozenset[Texts]) -> tuple[Chunk, ...]:
    """The answer of words that directly follows; () where a row of another step does, or the next question of the user."""
    place = after + 1
    while place < len(messages) and messages[place].role == "user" and _texts(messages[place]) in between:
        place += 1
    if place >= len(messages) or messages[place].role != "assistant":
        return ()
    chunks = messages[place].chunks
    return () if any(chunk.call_id or chunk.step_id for chunk in chunks) else tuple(chunks)


def _texts(message: Message) -> Texts:
    return tuple(chunk.text for chunk in message.chunks if chunk.kind is Kind.TEXT)
