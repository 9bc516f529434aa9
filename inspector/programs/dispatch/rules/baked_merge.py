"""MSG301: compaction stored messages as they were read merged, so that wrong roles and boundaries are in the rows themselves."""

from collections.abc import Iterator, Mapping, Sequence

from inspector.conversation.alignment import kept_places
from inspector.conversation.model import Chunk, Kind, Message
from inspector.conversation.queries import span_text, true_messages
from inspector.rules.base import Case, Match, Origin, Rule, Severity

# What no writer stores under a role by itself: append() gets messages from the user, from the model or from a tool.
IMPOSSIBLE = {
    "user": frozenset({Kind.THINKING, Kind.REDACTED_THINKING, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.ERROR}),
    "assistant": frozenset({Kind.TOOL_RESULT}),
    "tool": frozenset({Kind.TEXT, Kind.THINKING, Kind.REDACTED_THINKING, Kind.TOOL_CALL, Kind.IMAGE}),
    "system": frozenset({Kind.THINKING, Kind.REDACTED_THINKING, Kind.TOOL_CALL, Kind.TOOL_RESULT}),
}


def check(case: Case) -> Iterator[Match]:
    if not case.conversation.fact("compactedFrom"):
        return
    places = kept_places(case.conversation, case.archive) if case.archive else {}
    archived = true_messages(case.archive.chunks) if case.archive else ()
    part_of = {chunk.key: number for number, part in enumerate(archived) for chunk in part.chunks}
    for message in case.messages:
        wrong = [chunk for chunk in message.chunks if chunk.kind in IMPOSSIBLE.get(message.role, ())]
        parts = _archived_parts(case, message, places, archived, part_of)
        if wrong or len(parts) > 1 or any(part.role != message.role for part in parts):
            yield Match(message.chunks, _text(message, wrong, parts), evidence=_evidence(parts), ruled_out=_unknown(case, parts))


def _archived_parts(
    case: Case, message: Message, places: Mapping[str, int], archived: Sequence[Message], part_of: Mapping[str, int]
) -> list[Message]:
    """The messages of the archive whose rows are in this one, in the archive's order."""
    if case.archive is None:
        return []
    keys = [case.archive.chunks[places[chunk.key]].key for chunk in message.chunks if chunk.key in places]
    return [archived[number] for number in sorted({part_of[key] for key in keys if key in part_of})]


def _text(message: Message, wrong: list[Chunk], parts: list[Message]) -> str:
    where = f"The {message.role} message at seq {span_text(message.seqs)}"
    if not parts:
        kinds = " and ".join(sorted({chunk.kind.value for chunk in wrong}))
        return f"{where} holds {kinds}, which nothing stores in a {message.role} message: compaction wrote back what was read merged."
    if len(parts) == 1:
        return f"{where} is the {parts[0].role} message of seq {span_text(parts[0].seqs)} in the archive: compaction stored it under another role."
    return f"{where} holds {len(parts)} messages of the archive (seq {span_text([seq for part in parts for seq in part.seqs])}): compaction stored them as one."


def _evidence(parts: list[Message]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (f"archive seq {span_text(part.seqs)}", f"{part.role}: {', '.join(chunk.kind for chunk in part.chunks)}"[:120])
        for part in parts[:8]
    )


def _unknown(case: Case, parts: list[Message]) -> tuple[tuple[str, str], ...]:
    if case.archive is None:
        return (("where the messages began", "the archive is not in this store, so their boundaries and roles are not known for certain"),)
    return () if parts else (("where the messages began", "these rows are not in the archive as they are here"),)


RULE = Rule(
    code="MSG301",
    state="P1",
    name="baked-merge",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="compaction stored a merged message, with its wrong role",
    unnoticed="roles wrong",
    why=(
        "Compaction writes back what load() returned. What was merged only when read is from then on merged in the rows: the wrong role is stored, "
        "the boundary is gone, and no reader can repair it. The archive still has the rows as they were."
    ),
    example=(
        "@compactedFrom archive\n1 system 0.0 text summary\n2 user 1.0 text go\n3 user 1.1 thinking hmm\n4 user 1.2 text done\n"
        "archive 1 user 0.0 text go\narchive 2 assistant 0.0 thinking hmm\narchive 3 assistant 0.1 text done"
    ),
    check=check,
    references=("derived from replaceHistory() of Dispatch store.ts 71c635f",),
    repaired_by=("realign-with-archive",),
    fixed_in_code="Repair the grouping (MSG101) before the next compaction, or let compaction copy rows instead of messages.",
)
