"""Which clients a stored tree would hurt, and how: for findings to say who refuses it, who loses what, and what is still sent wrong."""

from collections.abc import Mapping

from inspector.conversation import queries
from inspector.conversation.model import Chunk, Conversation, Reading
from inspector.programs.registry import programs
from inspector.readers.catalogue import clients, reader
from inspector.readers.strict import strict_problems
from inspector.rules.synthetic_texts import is_synthetic

_NAMED = 3


def hurts(tree: Conversation) -> Mapping[str, str]:
    """Reader -> one sentence, in the order of the catalogue; readers that send all of their path, and send it whole, are not in it."""
    found = {}
    for name in clients(tree.format):
        client = reader(name)
        if said := hurt(client.read(client.path(tree) if client.path else tree)):
            found[name] = said
    return found


def hurt(reading: Reading) -> str:
    """What this client refuses, loses, makes up or sends wrong; "" where it is none of them."""
    if reading.failure:
        return f"reads nothing: {reading.failure}"
    parts = _before_sending(reading)
    if lost := _lost(reading):
        parts.append(f"loses {_count(len(lost), 'real result')}: {'; '.join(_place(each) for each in lost[:_NAMED])}{_more(len(lost))}")
    if invented := [
        chunk.call_id
        for message in reading.messages
        if message.synthetic
        for chunk in message.chunks
        if not any(program.is_from_tool(chunk) for program in programs())
    ]:
        calls = ", ".join(repr(id_[:40]) for id_ in invented[:_NAMED])
        parts.append(f"makes up {_count(len(invented), 'result')}: {calls}{_more(len(invented))}")
    if refused := strict_problems(reading.messages):
        parts.append(f"sends what a strict provider refuses: {'; '.join(refused[:_NAMED])}{_more(len(refused))}")
    if taken := reading.report.get("collides"):
        parts.append(f"counts rows, and {taken}")
    return ". ".join(parts)


def _before_sending(reading: Reading) -> list[str]:
    """What the walk and the context hide: the readers' warnings without those about calls, which are told from the messages."""
    refused = set(strict_problems(reading.messages))
    return [warning for warning in reading.warnings if warning not in refused and not warning.startswith("…")][:_NAMED]


def _lost(reading: Reading) -> list[Chunk]:
    """Real results that are in the client's context and not in what it sends. What a compaction leaves out is in neither, for every client."""
    sent = {chunk.key for message in reading.messages for chunk in message.chunks}
    return [chunk for message in reading.grouped for chunk in queries.results(message) if chunk.key not in sent and not is_synthetic(chunk)]


def _place(result: Chunk) -> str:
    return f"that of {result.call_id[:40]!r} (seq {result.seq})"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("s" if number != 1 else "")


def _more(number: int) -> str:
    return f" and {number - _NAMED:,} more" if number > _NAMED else ""
