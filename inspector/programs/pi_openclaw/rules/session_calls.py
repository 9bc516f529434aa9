"""Calls of sessions and their results, occurrence by occurrence: which have none, and where in the file the missing one is."""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.pairing import Answered
from inspector.conversation.tree import Entry
from inspector.programs.pi_openclaw.readers.result_pairing import FAILED, stop_reason
from inspector.programs.pi_openclaw.rules.session_tree import Tree, tree_of
from inspector.rules.base import Case, answered, cached_per_case, keys_read, passed_over
from inspector.rules.synthetic_texts import is_synthetic
from inspector.text.jsontext import compact


@dataclass(frozen=True, slots=True)
class ResultElsewhere:
    """The result of a call that the path does not hold, and the entry it is in; `instead` says what the path has for it."""

    call: Chunk
    result: Chunk
    entry: Entry
    instead: str


def has_failed(message: Message) -> bool:
    """Whether programs leave the answer out as one that failed; only sessions say so."""
    return message.role == "assistant" and stop_reason(message) in FAILED


def read_messages(case: Case) -> tuple[Message, ...]:
    """What a request can hold before any repair, failed answers left out: with summaries and texts of extensions, without what was compacted or is passed over."""
    skipped = passed_over(case.conversation, case.reading)
    return tuple(
        message for message in case.reading.grouped if not has_failed(message) and not all(chunk.key in skipped for chunk in message.chunks)
    )


@cached_per_case
def unanswered(case: Case) -> list[tuple[int, Chunk]]:
    """Calls without a result that TOOL102 reports, each with the index of its message.

    Not those of failed answers (TOOL209), nor those whose result has lost its id (TOOL202) or is on another branch (TREE106), nor those that were
    compacted away.
    """
    elsewhere = {answer.call.key for answer in on_other_branches(case)} | {call.key for call, _ in without_id(case)}
    return [(answer.message, answer.call) for answer in _open(case) if not answer.results and answer.call.key not in elsewhere]


@cached_per_case
def _open(case: Case) -> list[Answered]:
    """Calls of what a request can hold that have no real result on the path."""
    keys = keys_read(case)
    return [
        answer
        for answer in answered(case)
        if all(is_synthetic(result) for result in answer.results)
        and not has_failed(case.messages[answer.message])
        and (not keys or answer.call.key in keys)
    ]


@cached_per_case
def without_id(case: Case) -> list[tuple[Chunk, Chunk]]:
    """A result without an id directly after an answer with one call, which has no other: the two, call first."""
    pairs = []
    for index, message in enumerate(case.messages[:-1]):
        calls = queries.calls(message) if message.role == "assistant" else []
        results = queries.results(case.messages[index + 1])
        if len(calls) == 1 and len(results) == 1 and not results[0].call_id:
            pairs.append((calls[0], results[0]))
    call_keys = {call.key for call, _ in pairs}
    free = {answer.call.key for answer in answered(case) if answer.call.key in call_keys and not answer.results}
    return [(call, result) for call, result in pairs if call.key in free]


def cut_result(case: Case, result: Chunk, call: Chunk | None) -> str:
    """Of a compaction that keeps nothing, or a context that is edited: what is wrong is in the file, not in the reader."""
    if call is None or any(call.key == chunk.key for message in case.reading.grouped for chunk in message.chunks):
        return ""
    return f"The result at seq {result.seq} is kept without its call (seq {call.seq}): a compaction or an edit of the context leaves the call out and not its result."


@cached_per_case
def on_other_branches(case: Case) -> list[ResultElsewhere]:
    """Real results of calls of the path that are on another branch below their own call, or below the entry that a repair wrote again with the call."""
    missing = _open(case)
    if not missing or case.tree is None:
        return []
    results = _below(tree_of(case), {answer.call.call_id for answer in missing if answer.call.call_id})
    elsewhere: list[ResultElsewhere] = []
    for answer in missing:
        if (identity := _identity(answer.call)) in results:
            entry, chunk = results[identity]
            instead = (
                f"has only a synthetic result on the path (seq {answer.results[0].seq})" if answer.results else "has no result on the path"
            )
            elsewhere.append(ResultElsewhere(answer.call, chunk, entry, instead))
    return elsewhere


_Identity = tuple[str, str, str, int | str]


def _identity(call: Chunk) -> _Identity:
    """What a call is known by in all entries that hold it: its id, which providers use again, its tool and input, and when its message was made, which
    stays where a repair writes the entry again behind the others."""
    return call.call_id, call.tool_name, compact(call.payload.get("input")), call.key if call.at is None else call.at


def _below(tree: Tree, call_ids: set[str]) -> dict[_Identity, tuple[Entry, Chunk]]:
    """The first real result off the path of each call: of the nearest call of its id above the result.

    Where the way up is lost, the only call of that id is the one. A result that a repair wrote again is on the path. Every entry is passed once, however
    many branches use an id again.
    """
    off_path = (chunk for entry in tree.all if entry.index not in tree.on_path for chunk in entry.chunks)
    if not any(chunk.kind is Kind.TOOL_RESULT and chunk.call_id in call_ids for chunk in off_path):
        return {}
    callers: dict[str, set[_Identity]] = {}
    children: dict[int, list[Entry]] = {}
    stack: list[tuple[Entry, bool]] = []
    on_path = {_result(chunk) for entry in tree.path for chunk in entry.chunks if chunk.kind is Kind.TOOL_RESULT}
    for entry in tree.all:
        parent = tree.parent(entry)
        if parent is None:
            stack.append((entry, True))
        else:
            children.setdefault(parent.index, []).append(entry)
        for id_, identity in _called(entry, call_ids).items():
            callers.setdefault(id_, set()).add(identity)
    only = {id_: list(identities) for id_, identities in callers.items() if len(identities) == 1}
    above: dict[str, list[_Identity]] = {}
    first_results: dict[_Identity, tuple[Entry, Chunk]] = {}
    while stack:
        entry, enters = stack.pop()
        for id_, identity in _called(entry, call_ids).items():
            if enters:
                above.setdefault(id_, []).append(identity)
            else:
                above[id_].pop()
        if not enters:
            continue
        for chunk in entry.chunks:
            if chunk.kind is not Kind.TOOL_RESULT or chunk.call_id not in call_ids or entry.index in tree.on_path:
                continue
            if not is_synthetic(chunk) and _result(chunk) not in on_path:
                for owner in (above.get(chunk.call_id) or only.get(chunk.call_id, []))[-1:]:
                    earlier = first_results.get(owner)
                    if earlier is None or entry.index < earlier[0].index:
                        first_results[owner] = entry, chunk
        stack.append((entry, False))
        stack += [(child, True) for child in children.get(entry.index, ())]
    return first_results


def _result(chunk: Chunk) -> tuple[str, int | str]:
    """What a result is known by, also where a repair gave its call another id."""
    return chunk.text, chunk.call_id if chunk.at is None else chunk.at


def _called(entry: Entry, call_ids: set[str]) -> dict[str, _Identity]:
    """Of two calls of one id in one entry the first: which of them a result on a branch answers would be a guess."""
    calls = [chunk for chunk in entry.chunks if chunk.kind is Kind.TOOL_CALL and chunk.call_id in call_ids]
    return {chunk.call_id: _identity(chunk) for chunk in reversed(calls)}


@cached_per_case
def failed_turns(case: Case) -> list[tuple[Message, Sequence[Chunk]]]:
    """Answers that failed with calls in them, each with the results of these calls; of what a request can hold."""
    keys = keys_read(case)
    by_message: dict[int, list[Chunk]] = {}
    for answer in answered(case):
        if has_failed(case.messages[answer.message]) and (not keys or answer.call.key in keys):
            by_message.setdefault(answer.message, []).extend(answer.results)
    return [(case.messages[index], results) for index, results in by_message.items()]
