"""What the rules and the provider's profile say of a conversation, as plain values: nothing here reads or writes a database, so that any process can do it."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

from inspector.conversation.model import Conversation
from inspector.presentation.conversation.resuming import is_accepted
from inspector.presentation.conversation.verdict import SILENT, verdict
from inspector.presentation.conversation.whole import LARGE, Whole, is_tried, whole
from inspector.presentation.visible import visible
from inspector.profiles.answering import own_judges
from inspector.profiles.judging import judged
from inspector.programs.formats import Stored
from inspector.rules.base import Case, Finding, Severity, case_of, findings, stored_messages
from inspector.rules.catalogue import RULES
from inspector.text.at_hand import apart
from inspector.traces.model import Trace

VERSION = 60
"""Characters of the version of a client that are kept."""


@dataclass(frozen=True, slots=True)
class Judges:
    """By whom a source has its conversations judged. `profile` is the usual one: a conversation may name another provider."""

    reader: str
    projection: str
    profile: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known around the content of a conversation; see Case."""

    taken_at: int | None = None
    trace: Trace | None = None
    archive: Conversation | None = None
    bleeding: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    """The findings, most dangerous first, and what lists show of a conversation. `projection` and `profile` are those that judged it."""

    findings: tuple[Finding, ...]
    projection: str
    profile: str
    message_count: int
    read_count: int
    verdict: str
    damage: str
    """What lists say of it; `next_request` is state, words, more."""
    next_request: tuple[str, ...]
    worst: str
    has_silent: bool
    refused: bool
    client_version: str = ""
    """Of the program that wrote the conversation; "" where it does not say."""
    whole: Whole | None = None
    """Of a large conversation what its page shows by windows."""


def case_in(content: Conversation, reader: str, surroundings: Surroundings) -> Case:
    """Raises UnknownReader."""
    return case_of(content, reader, surroundings.trace, surroundings.taken_at, surroundings.archive, surroundings.bleeding)


def examined(stored: Stored, judges: Judges, surroundings: Surroundings, is_long: bool = False) -> Examined:
    """`is_long`: the blocks are made as they are read, once. Raises UnknownReader, UnknownProjection, UnknownProfile."""
    content = stored.conversation
    case = case_in(content, judges.reader, surroundings)
    # What rules worked out is for the trial of repairs; where there is none, its memory is for what follows.
    is_trial_next = is_tried(stored)
    with nullcontext() if is_trial_next else apart():
        results = findings(case, RULES)
    if not is_trial_next:
        case.cached.clear()
    projection, profile = own_judges(content, judges.projection, judges.profile)
    prompt, judgement = judged(case.reading, content, profile, projection)
    headline = verdict(case, results, judgement)
    # With a trace, the page compares with past requests as well: that is made when somebody opens it.
    is_kept = len(content.chunks) >= LARGE and case.trace is None
    kept = whole(case, results, prompt, judgement, headline, projection, stored) if is_kept else None
    return Examined(
        findings=tuple(results),
        projection=projection,
        profile=profile,
        message_count=len(stored_messages(case.conversation)),
        read_count=len(case.reading.messages),
        verdict=visible(headline.text),
        damage=visible(headline.listed or headline.damage),
        next_request=tuple(visible(words) for words in headline.next_request),
        worst=results[0].severity.value if results else "",
        has_silent=headline.next_request.state == SILENT
        or any(finding.silent and finding.severity is not Severity.NOTE for finding in results),
        refused=not is_accepted(case, judgement) or bool(case.reading.failure),
        client_version=visible(content.fact(case.program.client_version) or "")[:VERSION] if case.program.client_version else "",
        whole=kept if kept is None or is_long else replace(kept, blocks=tuple(kept.blocks)),
    )
