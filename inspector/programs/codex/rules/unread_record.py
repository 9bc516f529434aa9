"""STORE812: a record that Codex cannot parse, and leaves out."""

from collections.abc import Iterator

from inspector.programs.codex.entries import entry_of, records
from inspector.programs.codex.items import COMPACTED, ITEM
from inspector.rules.base import Case, Match, Origin, Rule, Severity, bounded

_REPAIRED_BY = "replace-surrogates"


def check(case: Case) -> Iterator[Match]:
    """Records that share a line are STORE813, compactions STORE814."""
    unread = [chunk for chunk in records(case.conversation.chunks) if "unread" in entry_of(chunk)]
    matches = []
    for number, chunk in enumerate(unread):
        entry = entry_of(chunk)
        # The first record of the file is what STORE811 is about.
        if "part" in entry or entry.get("type") == COMPACTED or (number == 0 and chunk.seq == 1):
            continue
        what = entry.get("name") or entry.get("type") or "record"
        is_item = entry.get("type") == ITEM
        text = f"Codex leaves the {what} at seq {chunk.seq} out, since {entry['unread']}"
        then = ": no request holds it." if is_item else ", and shows nothing of it."
        repaired_by = (_REPAIRED_BY,) if "surrogate" in str(entry["unread"]) and is_item else ()
        severity, reason = None if is_item else Severity.NOTE, "" if repaired_by else "What the member should say is not in the record."
        matches.append(Match((chunk,), text + then, severity=severity, repaired_by=repaired_by, no_repair_reason=reason))
    yield from bounded(iter(matches))


RULE = Rule(
    code="STORE812",
    state="CX2",
    name="unread-record",
    severity=Severity.ERROR,
    silent=True,
    origin=Origin.STORE,
    summary="a record is not of the shape that Codex parses, and is left out without a word",
    unnoticed="content lost",
    why=(
        "Codex reads each record into a fixed shape. One that another program or a provider wrote otherwise (arguments as an object, content as a string, a member "
        "that is missing, half a character) is skipped: the model does not get it, and its output or its call is then alone."
    ),
    example=(
        '@format codex\nline {"timestamp":"2026-08-01T10:00:00.000Z","type":"event_msg","payload":{"type":"task_started"}}\n'
        'line {"timestamp":"2026-08-01T10:00:01.000Z","type":"response_item","payload":{"type":"function_call","name":"ls","arguments":{},"call_id":"c"}}'
    ),
    check=check,
    references=("openai/codex codex-rs/protocol/src/models.rs", "codex-cli 0.169.0, run with 28 such items"),
    repaired_by=(_REPAIRED_BY,),
    fixed_in_code="Check an item before it is written, and keep one that cannot be parsed as what it is.",
)
