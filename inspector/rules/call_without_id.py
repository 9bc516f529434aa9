"""TOOL213: a call or a result of Anthropic's shape without its id, which no reader takes for one."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.rules.base import Case, Match, Origin, Rule, Severity, cached_per_case
from inspector.wires.ids import with_block_id

_SHOWN_NAME = 60


@dataclass(slots=True)
class Turn:
    """An answer with calls, and what follows it up to the next one: `calls` are those that no result names, `without_id` the calls and results that have none."""

    calls: list[Chunk] = field(default_factory=list)
    calls_without_id: list[Chunk] = field(default_factory=list)
    results_without_id: list[Chunk] = field(default_factory=list)

    @property
    def is_certain(self) -> bool:
        """Whether each result has one call that it can be of: there are as many, and they come in one order."""
        return len(self.results_without_id) in (0, len(self.calls))


@cached_per_case
def turns_without_ids(case: Case) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    named_ids: list[set[str]] = []
    for message in case.messages:
        if message.role == "assistant":
            turns.append(_of_answer(message))
            named_ids.append(set())
        elif turns:
            named_ids[-1].update(result.call_id for result in queries.results(message))
            turns[-1].results_without_id += [chunk for chunk in message.chunks if _lacks_id(chunk) is Kind.TOOL_RESULT]
    for turn, named in zip(turns, named_ids, strict=True):
        turn.calls = [call for call in turn.calls if not call.call_id or call.call_id not in named]
    return tuple(turn for turn in turns if turn.calls_without_id or turn.results_without_id)


def _of_answer(message: Message) -> Turn:
    without_id = [chunk for chunk in message.chunks if _lacks_id(chunk) is Kind.TOOL_CALL]
    keys = {chunk.key for chunk in without_id}
    return Turn([chunk for chunk in message.chunks if chunk.kind is Kind.TOOL_CALL or chunk.key in keys], without_id)


def _lacks_id(chunk: Chunk) -> Kind | None:
    """What the block would be if it had an id; None of every other chunk."""
    identified = with_block_id(chunk, "id") if chunk.kind is Kind.CONTROL and chunk.role else None
    return identified.kind if identified else None


def check(case: Case) -> Iterator[Match]:
    for turn in turns_without_ids(case):
        chunks = [*turn.calls_without_id, *turn.results_without_id]
        where = f"seq {queries.span_text([chunk.seq for chunk in chunks])}"
        text = (
            f"{_counted(turn)} at {where} {'has' if len(chunks) == 1 else 'have'} no id: the provider refuses the request, on every turn."
        )
        if turn.is_certain:
            yield Match(chunks, text)
        else:
            yield Match(
                chunks, text, repaired_by=(), no_repair_reason="Which result is of which call is not certain: there are not as many."
            )


def _counted(turn: Turn) -> str:
    names = ", ".join(dict.fromkeys(str(chunk.payload["block"]["name"])[:_SHOWN_NAME] for chunk in turn.calls_without_id))
    calls, results = len(turn.calls_without_id), len(turn.results_without_id)
    parts = [f"{'The call' if calls == 1 else f'{calls} calls'} of {names}"] if calls else []
    if results:
        parts.append(f"{'the result' if results == 1 else f'{results} results'}")
    words = " and ".join(parts)
    return words[0].upper() + words[1:]


RULE = Rule(
    code="TOOL213",
    state="I2",
    name="call-without-id",
    severity=Severity.ERROR,
    silent=False,
    origin=Origin.STORE,
    summary="a call or a result of Anthropic's shape has no id",
    why=(
        "Whoever wrote or edited the session left `id` or `tool_use_id` out. Anthropic's API wants both (AN-7), so that every request with such a block is refused, "
        "and a client that pairs by ids takes the call for one without a result."
    ),
    example=(
        "@format claude-code\n1 user 1.0 text go\n"
        '2 assistant 2.0 control payload={"type":"control","wire":"anthropic","block":{"type":"tool_use","name":"ls","input":{}}}\n'
        '3 user 3.0 control payload={"type":"control","wire":"anthropic","block":{"type":"tool_result","content":"f"}}'
    ),
    check=check,
    references=("AN-7 of the rules on Anthropic", "two session files of a public repository, in which a call and its result have no id"),
    repaired_by=("rename-invalid-ids",),
    fixed_in_code="Keep the id that the provider gave the call, in the call and in its result.",
)
