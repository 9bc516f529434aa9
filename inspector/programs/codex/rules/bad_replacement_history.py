"""STORE814: a compaction that Codex ignores, or whose history holds an item that it does not know."""

from collections.abc import Iterator

from inspector.programs.codex.entries import REPLACEMENT, entry_of
from inspector.programs.codex.items import COMPACTED, is_sent
from inspector.programs.codex.readers import SNAPSHOT
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded, keys_read


def check(case: Case) -> Iterator[Match]:
    yield from bounded(_matches(case))


def _matches(case: Case) -> Iterator[Match]:
    read = keys_read(case)
    for chunk in case.conversation.chunks:
        entry = entry_of(chunk)
        if entry.get("type") == COMPACTED and "unread" in entry and "part" not in entry:
            text = f"Codex ignores the compaction at seq {chunk.seq}, since {entry['unread']}: it sends the whole history before it again."
            yield Match((chunk,), text)
        elif entry.get("type") == REPLACEMENT and chunk.key in read and chunk.key.endswith(".0"):
            name = str(entry.get("name"))
            if name != SNAPSHOT and not is_sent({"type": name}):
                text = f"The history of a compaction holds an item of the type {name[:40]} (seq {chunk.seq}), which Codex sends as an item of the type `other`."
                yield Match((chunk,), text, severity=Severity.WARNING)


RULE = Rule(
    code="STORE814",
    state="CX4",
    name="bad-replacement-history",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="the history that a compaction put in place is not as Codex reads it",
    unnoticed="compaction lost",
    why=(
        "A compaction replaces all that was before it. Where its record cannot be parsed, Codex skips it without an error: the next request holds everything that "
        "was compacted away, and may be too long for the model. An item of a type that it does not know is sent as one that no provider takes."
    ),
    example='@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","type":"compacted","payload":{"message":"s","replacement_history":"x"}}',
    check=check,
    references=("openai/codex codex-rs/core/src/session/rollout_reconstruction.rs", "codex-cli 0.169.0, run"),
    no_repair_reason="What the history was meant to be is not in the record: roll the thread back to before the compaction, and compact it again.",
    fixed_in_code="Read the record back before the old history is given up.",
)
