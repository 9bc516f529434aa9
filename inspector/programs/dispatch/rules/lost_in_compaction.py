"""STORE302: what the user said is gone from the rows although compaction kept what was before it."""

from collections import Counter
from collections.abc import Iterator

from inspector.conversation.alignment import likeness
from inspector.conversation.compacted import kept_for_certain
from inspector.conversation.model import Chunk, Kind
from inspector.programs.dispatch.keys import parse_int
from inspector.rules.base import Case, Match, Origin, Rule, Severity
from inspector.traces.witness import TurnWitness, turn_of, turn_witnesses


def check(case: Case) -> Iterator[Match]:
    if not case.conversation.fact("compactedFrom") or not case.conversation.chunks or case.running or _half_written(case):
        return
    archived, anchor = _lost_from_archive(case)
    archived_texts = {chunk.text for chunk in archived}
    prompted = [pair for pair in _lost_from_prompts(case) if pair[1] not in archived_texts]
    if archived or prompted:
        # What compaction summed up is gone rightly; only what was after a kept row must still be there.
        lost = [(f"archive seq {chunk.seq}", chunk.text[:200]) for chunk in archived] + [(where, text[:200]) for where, text in prompted]
        yield Match(
            (anchor or case.conversation.chunks[-1],),
            f"{'A user message is' if len(lost) == 1 else f'{len(lost)} user messages are'} missing after what compaction kept: "
            f"{_holder(bool(archived), bool(prompted))} and the rows do not.",
            evidence=tuple(lost[:8]),
            ruled_out=(
                ("compaction summed it up", "what was before it was kept, and compaction keeps the end"),
                ("the row was deleted afterwards", "not ruled out: a deleted row leaves the same picture"),
            ),
        )


def _half_written(case: Case) -> bool:
    """Compaction deletes the rows, writes the new ones, and the counter last: in between nothing is lost yet."""
    counter = parse_int(case.conversation.fact("counter") or "")
    return counter is not None and counter < max(chunk.seq for chunk in case.conversation.chunks)


def _holder(archive: bool, prompt: bool) -> str:
    if archive and prompt:
        return "archive and recorded prompts hold them"
    return "the archive holds it" if archive else "a recorded prompt holds it"


def _lost_from_archive(case: Case) -> tuple[list[Chunk], Chunk | None]:
    """User texts of the archive after the first row that was certainly kept, and the kept row before the first of them."""
    if case.archive is None:
        return [], None
    archive, live = case.archive.chunks, case.conversation.chunks
    places = kept_for_certain(case.conversation, case.archive)
    if not places:
        return [], None
    have = Counter(likeness(chunk) for chunk in live)
    lost: list[int] = []
    # Of equal texts the earlier ones count as kept: compaction read them first.
    need: Counter[str] = Counter()
    for at in range(min(places.values()), len(archive)):
        if _is_user_text(archive[at]):
            value = likeness(archive[at])
            need[value] += 1
            if need[value] > have[value]:
                lost.append(at)
    if not lost:
        return [], None
    before = [chunk for chunk in live if places.get(chunk.key, len(archive)) < lost[0]]
    return [archive[at] for at in lost], before[-1] if before else None


def _lost_from_prompts(case: Case) -> Iterator[tuple[str, str]]:
    """What began a turn that the trace saw after a turn whose rows are there: (step, text)."""
    if case.trace is None:
        return
    live = {turn_of(chunk.step_id)[0] for chunk in case.conversation.chunks if chunk.step_id}
    archive = case.archive.chunks if case.archive else ()
    archived = {turn_of(chunk.step_id)[0] for chunk in archive if chunk.step_id}
    texts = {chunk.text for chunk in (*case.conversation.chunks, *archive) if chunk.kind is Kind.TEXT}
    written = parse_int(case.conversation.fact("lastActivityAt") or "")
    after = False
    for witness in turn_witnesses(case.trace):
        if after and _was_stored(witness, written) and witness.question:
            lost = [text for text in witness.question.texts if text.strip() and text not in texts]
            yield from ((f"prompt of {witness.turn_id[:60]}", text) for text in lost[:1])
        after = after or witness.turn_id in live or witness.turn_id in archived


def _was_stored(witness: TurnWitness, written: int | None) -> bool:
    """Whether the store was written after the turn began; without that the store may simply be older than the trace."""
    return written is not None and witness.start <= written


def _is_user_text(chunk: Chunk) -> bool:
    return chunk.role == "user" and chunk.kind is Kind.TEXT and bool(chunk.text.strip())


RULE = Rule(
    code="STORE302",
    state="P3",
    name="lost-in-compaction",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="what the user said while compaction ran is gone from the rows",
    unnoticed="content lost",
    why=(
        "Compaction reads the history, asks for a summary, and then replaces every row by what it read before. It does not wait for turns: "
        "what a turn stored meanwhile is deleted, and nothing errors."
    ),
    example=(
        "@compactedFrom archive\n1 system 0.0 text summary\n2 user 1.0 text go\n3 assistant 2.0 text done\n"
        "archive 1 user 0.0 text go\narchive 2 assistant 0.0 text done\narchive 3 user 0.0 text and now?"
    ),
    check=check,
    references=("derived from replaceHistory() and forkHistory() of Dispatch store.ts 71c635f",),
    no_repair_reason="What was lost is in the archive or in a prompt, and where it belongs in the compacted history is for a person to say.",
    fixed_in_code="Let compaction refuse to run during a turn, or append what came in since it read the history.",
)
