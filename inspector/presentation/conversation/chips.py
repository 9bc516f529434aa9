"""A conversation in three chips: what is stored, what is read, what is sent, each with the first place where it is not as it should be."""

from dataclasses import dataclass

from inspector.presentation.conversation.overview import Overview
from inspector.presentation.conversation.verdict import NOT_KNOWN, PASSES_ALL, SILENT
from inspector.profiles.catalogue import summary_of
from inspector.rules.base import Severity

LESS = ("lost", "hidden")
"""How the words of rules end of which less is read than was written, though all that is left is."""


@dataclass(frozen=True, slots=True)
class Chip:
    """`state`: `ok`, a severity, or "" for neither. `seq` is its first bad point, None where it has none or that is no chunk."""

    name: str
    words: str
    state: str
    seq: int | None = None


def chips(about: Overview) -> tuple[Chip, Chip, Chip]:
    return _stored(about), _read(about), _sent(about)


def _stored(about: Overview) -> Chip:
    is_damaged = about.damaged_from is not None
    # Those above a cut are stored too.
    where = " on the path" if about.tree and about.tree.lost else ""
    words = f"{about.counts['messages_stored']:,}{where}{', damaged' if is_damaged else ''}"
    return Chip("Stored", words, about.stored_severity if is_damaged else "ok", about.damaged_from)


def _read(about: Overview) -> Chip:
    if about.failure:
        return Chip("Read", "nothing", Severity.ERROR)
    if about.observed:
        words = _messages(about.observed.prompt_messages) if about.observed.is_prompt_known else "not known"
        return Chip("Read then", words, "")
    stored, read = about.counts["messages_stored"], about.counts["messages_read"]
    words = f"{stored:,} → {read:,}" if stored != read else f"all {read:,}" if not about.reads_otherwise else f"{read:,}, otherwise"
    # A summary of what was compacted, a result for a call without one.
    added = read - (stored - about.left_out - about.left_out_on_purpose)
    changes = ((about.left_out_on_purpose, "left out"), (added, "added"))
    if stored != read and (changed := [f"{count:,} {what}" for count, what in changes if count > 0]):
        words += f": {', '.join(changed)}"
    is_worse = about.reads_otherwise or about.left_out > 0
    if not is_worse and about.next_request.state == SILENT and about.next_request.words.endswith(LESS):
        lost = about.tree.lost if about.tree else 0
        count = f": {lost:,} {'entry' if lost == 1 else 'entries'}" if lost else ""
        return Chip("Read", f"{words.removeprefix('all ')}, {about.next_request.words}{count}", Severity.WARNING, _silent_from(about))
    state = about.read_severity if is_worse else "ok" if stored == read else ""
    return Chip("Read", words, state, about.read_otherwise_from if is_worse else None)


def _sent(about: Overview) -> Chip:
    if about.failure:
        return Chip("Sent", "nothing", Severity.ERROR)
    name = "Sent then" if about.observed else "Sent"
    if about.verdict.next_request.words == NOT_KNOWN and not about.observed:
        return Chip(name, f"{NOT_KNOWN}: {about.verdict.next_request.more}", Severity.WARNING)
    if about.judged.pending:
        return Chip(name, about.judged.pending, "")
    if first := about.judged.first:
        summary = summary_of(about.judged.profile, first.id)
        words = f"rejected at {first.path}: {summary}" if summary else about.judged.verdict
        return Chip(name, words, Severity.ERROR, about.judged.first_bad)
    following = about.next_request
    # The verdict is of the next request, not of a past one.
    if following.state == SILENT and not about.observed:
        how = ", " if following.more == PASSES_ALL else ": "
        return Chip(name, f"{following.words}{how}{following.reason}", Severity.WARNING, _silent_from(about))
    return Chip(name, about.judged.verdict, "ok")


def _silent_from(about: Overview) -> int | None:
    places = (about.silent_from, about.read_otherwise_from, about.damaged_from)
    return next((place for place in places if place is not None), None)


def _messages(count: int) -> str:
    return f"{count:,} message{'' if count == 1 else 's'}"
