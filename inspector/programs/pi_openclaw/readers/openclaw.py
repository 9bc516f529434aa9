"""OpenClaw's session readers and the repair that they run before every request: versions as rows of a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from inspector.conversation.model import Conversation, Dropped, Reading
from inspector.conversation.tree import spoken
from inspector.programs.pi_openclaw.readers.context import Rules, context_of
from inspector.programs.pi_openclaw.readers.openclaw_policy import policy_of
from inspector.programs.pi_openclaw.readers.openclaw_rows import unread_because, untimed
from inspector.programs.pi_openclaw.readers.openclaw_sent import policy_report, sent, warnings_of_end
from inspector.programs.pi_openclaw.readers.pairing_2026_1 import pairing_2026_1
from inspector.programs.pi_openclaw.readers.pairing_2026_7 import pairing_2026_7
from inspector.programs.pi_openclaw.readers.pairing_2026_9 import pairing_2026_9
from inspector.programs.pi_openclaw.readers.pairing_pr3565 import pairing_pr3565
from inspector.programs.pi_openclaw.readers.paths import REBASED, WALK, manager_path, pi_path, scanned_path
from inspector.programs.pi_openclaw.readers.result_pairing import Pairing
from inspector.programs.pi_openclaw.readers.rows import OPENCLAW, PathRow, is_below, rows, target_of, word
from inspector.programs.pi_openclaw.readers.unsendable import Unsendable
from inspector.programs.pi_openclaw.readers.walk import closes, few, header_problem, warnings_of
from inspector.readers.base import Reader
from inspector.readers.strict import strict_problems

SENT = "sent"


@dataclass(frozen=True, slots=True)
class OpenClawVersion:
    """`resets`: knows reset rows, and reads a row only where its schema knows it. `guarded`: the walk ends at a cycle.
    `recovers`: puts a header before a file that has none. `timed`: throws at a time that is none."""

    name: str
    since: str
    path: Callable[[Conversation], Conversation]
    pairing: Pairing
    resets: bool
    guarded: bool
    recovers: bool
    timed: bool
    note: str


VERSIONS = (
    OpenClawVersion(
        *("openclaw-pr3565", "as PR 3565 proposed, on 2026.1.30", pi_path, pairing_pr3565, False, False, False, False),
        "Proposed and never merged: forgets everything from the first call on that has no result anywhere in the history, the user's newest "
        "message too; a late result hides such a gap, and is then dropped, so that the request is refused all the same.",
    ),
    OpenClawVersion(
        *("openclaw-2026.1", "2026.1.30, with the session manager of pi 0.50.7", pi_path, pairing_2026_1, False, False, False, False),
        "Moves a result within its span, adds synthetic ones for those that are missing (of failed turns too), drops what is outside its span; loses the "
        "second result of an id that is used again, and lets a duplicate at the very end through.",
    ),
    OpenClawVersion(
        *("openclaw-2026.7", "2026.7.1, with its own session manager", manager_path, pairing_2026_7, False, True, True, True),
        "Pulls a late result to its call, prefers a real result to a synthetic one, leaves failed turns as they are; loses or misplaces results of "
        "an id that is used again.",
    ),
    OpenClawVersion(
        *("openclaw-2026.9", "2026.9.6 as in production", scanned_path, pairing_2026_9, True, True, True, True),
        "Pairs by occurrence; rebases entries whose parent is missing; drops failed turns with their results, and results that come before "
        "their call or whose owner is not certain.",
    ),
)


def read_as(version: OpenClawVersion, path: Conversation, as_sent: bool = False) -> Reading:
    """`as_sent`: with every pass that comes before a request, by the policy for the model that answers next."""
    path_rows, name = rows(path), f"{version.name}+{SENT}" if as_sent else version.name
    if failure := _failure(version, path, path_rows):
        return Reading(name, (), (), (Dropped(path.chunks, failure),) if path.chunks else (), failure=failure)
    read_rows, unread = _known(path_rows, is_below(path, 3)) if version.resets else (path_rows, [])
    context = context_of(read_rows, Rules(resets=version.resets, mirrors=True, hooks=is_below(path, 3)))
    if version.timed and (what := next(filter(None, map(untimed, context.messages)), "")):
        failure = f"Error: the {what} must be a valid timestamp: every request fails"
        return Reading(name, tuple(context.messages), (), (Dropped(path.chunks, failure),), failure=failure)
    more: Sequence[str] = ()
    if as_sent:
        provider, model, api = map(word, target_of(read_rows))
        policy = policy_of(provider, api, model)
        paired = sent(context.sent, policy)
        paired.report = MappingProxyType({**policy_report(policy, provider, api, model), **paired.report})
        more = warnings_of_end(paired.messages, policy)
    else:
        paired = version.pairing(context.sent)
    warnings = (*_of_walk(path, path_rows), *context.warnings, *few(strict_problems(paired.messages)), *more)
    dropped = (*unread, *context.dropped, *paired.dropped)
    return Reading(name, tuple(context.messages), tuple(paired.messages), dropped, paired.report, warnings=warnings)


def untimed_of(reading: Reading) -> list[Unsendable]:
    """The entries at whose time OpenClaw throws; none for another reader."""
    name = reading.reader.removesuffix(f"+{SENT}")
    if not any(version.timed and version.name == name for version in VERSIONS):
        return []
    return [
        Unsendable(message.chunks[0], f"the {what} is no time", "OpenClaw throws an Error")
        for message in reading.grouped
        if (what := untimed(message))
    ]


def _known(path_rows: Sequence[PathRow], is_old: bool) -> tuple[Sequence[PathRow], list[Dropped]]:
    """The rows, of which those that the manager does not read are of no type, and what is left out by that. They stay links: a compaction may keep from one of them on."""
    whys = [unread_because(row, is_old) for row in path_rows]
    if not any(whys):
        return path_rows, []
    read_rows = [PathRow(row.chunks, row.about, row.id, row.parent, "") if why else row for row, why in zip(path_rows, whys, strict=True)]
    dropped = [
        Dropped(row.chunks, f"{why}: OpenClaw reads no such row", skipped=True)
        for row, why in zip(path_rows, whys, strict=True)
        if why and row.type in _SAYING
    ]
    return read_rows, dropped


_SAYING = ("message", "custom_message", "branch_summary", "compaction")


def _failure(version: OpenClawVersion, path: Conversation, path_rows: Sequence[PathRow]) -> str:
    if header_problem(path, reads_marks=True) and not version.recovers:
        return "the first record is no session header: the file is overwritten by an empty session when it is opened"
    if not version.guarded and (id_ := closes(path_rows)):
        return f"the parents form a cycle at the entry {spoken(id_[:40])}: the session manager walks it in an endless loop until its memory is full"
    return ""


def _of_walk(path: Conversation, path_rows: Sequence[PathRow]) -> list[str]:
    warnings: list[str] = []
    if path.fact(WALK) == "cycle" and not path_rows:
        warnings.append(
            "the parents form a cycle: the active path is empty, though the context builder of the same release still returns messages"
        )
    warnings += warnings_of(path_rows, path.fact("id"))
    rebased = set((path.fact(REBASED) or "").split("\n")) - {""}
    for before, row in pairwise(path_rows):
        if row.id in rebased and row.parent != before.id:
            warnings.append(
                f"the parent of {spoken(row.id[:40])} is missing or from before a reset: the active path goes on from the leaf of that moment"
            )
    return list(few(warnings))


_MEASURED = ("2026.1.30", "2026.7.1", "2026.9.6")


def _reader(version: OpenClawVersion) -> Reader:
    return Reader(
        version.name,
        OPENCLAW,
        f"OpenClaw {version.since}: its session reader, then {'truncation' if version.pairing is pairing_pr3565 else 'repairToolUseResultPairing'}",
        version.note,
        f"the published packages {', '.join(_MEASURED)}, run over 25 shapes of calls and results",
        lambda path: read_as(version, path),
        proposed=version.pairing is pairing_pr3565,
        is_withdrawn=version.pairing is pairing_pr3565,
        release=() if version.pairing is pairing_pr3565 else (VERSIONS.index(version),),
        variants=((SENT, "with every pass that comes before a request, by the policy for the model"),) if version is VERSIONS[-1] else (),
        verified=tuple(measured for measured in _MEASURED if measured in version.since),
        path=version.path,
    )


def _variant(version: OpenClawVersion) -> Reader:
    return Reader(
        f"{version.name}+{SENT}",
        OPENCLAW,
        f"OpenClaw {version.since}: what it sends, after all passes over the history",
        "By api, provider and model of the last answer: blank content, thinking, calls that cannot be replayed, pairing, ids, order of turns. "
        "Not what plugins of providers do, nor images, nor the cut to a number of turns.",
        f"the published package {_MEASURED[-1]}, its functions run one by one over the rows of their tables",
        lambda path: read_as(version, path, as_sent=True),
        is_sent=True,
        release=(VERSIONS.index(version),),
        verified=_MEASURED[-1:],
        path=version.path,
    )


READERS = tuple(_reader(version) for version in VERSIONS)
AS_SENT = _variant(VERSIONS[-1])
"""A variant, not another client: what `openclaw-2026.9` reads, as it leaves the program."""
