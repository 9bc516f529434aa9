"""What the page of a prompt says above and below its rows. It is small, and of a large conversation it is kept."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspector.conversation.model import Dropped
from inspector.conversation.queries import span_text
from inspector.conversation.tree import LEAF
from inspector.presentation.conversation.ending import WRONG_SILENTLY, ending_without_findings
from inspector.presentation.conversation.profile_verdicts import ProfileLine, ProfileVerdict, profile_line
from inspector.presentation.prompt.above_cut import AboveCut, above_cut
from inspector.presentation.prompt.provider_request import request_list
from inspector.presentation.prompt.side_by_side import Pairing, Rows, brief, elsewhere
from inspector.presentation.tree.view import TreeView
from inspector.presentation.visible import beginning, visible
from inspector.profiles.base import Judgement, Violation
from inspector.projections.base import Prompt
from inspector.rules.base import Case
from inspector.text import jsontext

NEAR, LEAD = 6, 4
"""Rows that the first screen shows next to the first violation or more, and how many are shown before it where it is further down."""
INDENTED = 5_000
"""Chunks up to which the request is laid out."""
WHOLE_TEXT, TEXT_SHOWN = 200_000, 8_000
"""Characters of a request up to which the page has it whole, and those that it shows of a longer one."""
_GONE, _WHY, _LOOSE, _LACKS = 500, 600, 20, 3


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request, what it was made of, and the verdict on it, of which each violation names the one that it follows from. `strategies`: those after which it is sent."""

    case: Case
    prompt: Prompt
    judgement: Judgement
    strategies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`seqs` in words, and why they are not sent."""

    seqs: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSummary:
    """`messages` are counted; `first` is the violation that rejects it."""

    profile: str
    verdict: str
    sendable: bool
    messages: int
    first: Violation | None
    following: tuple[str, ...]
    """Rules of violations that follow from the first one."""
    notes: tuple[str, ...]
    failure: str
    """Why the reader cannot open the conversation; "" where it can."""
    strategies: tuple[str, ...]
    unchanged: tuple[str, ...]
    """Chosen strategies that would change nothing here."""
    differs: str
    """What the strategies change, in one sentence; "" where none is tried."""
    silence: str
    """Why the request goes wrong silently, though it passes; "" of a past one."""
    recommended: tuple[str, ...]
    """Names of the strategies that repair the findings; () of a past request."""
    why_not: str
    """Why no sequence of strategies satisfies the profile; "" of a past request."""
    lacks: tuple[LeftOut, ...]
    """What the request silently lacks after the strategies that are tried."""
    loose: tuple[Violation, ...]
    """Of the request as a whole."""
    dropped: tuple[LeftOut, ...]
    dropped_chunks: int
    lost: tuple[LeftOut, ...]
    lost_chunks: int
    above_cut: AboveCut | None
    """What damage cuts off the path; None where nothing does, or of a large session of which nothing is kept."""
    first_seq: int | None
    chosen_leaf: str
    """The entry of the tree that the address chooses, as it is shown; "" where it chooses none that is there."""
    is_unknown_leaf: bool
    """Whether the address chooses an entry that is not there: of the live path it chooses nothing else."""
    is_tree: bool
    is_observed: bool
    profiles: tuple[ProfileLine, ...]
    """What every profile says of it, in the order of the catalogue; () of a past request, and of a long history."""
    total: int
    """Rows of the table."""
    opens_at: int
    """The row with which the page begins where its address says nothing."""
    text: str
    is_cut: bool

    @property
    def outcome(self) -> str:
        return f"{WRONG_SILENTLY}: {self.silence}" if self.silence else self.verdict


def request_summary(
    stored: SentRequest,
    sent: SentRequest,
    rows: Pairing,
    *,
    silence: str,
    recommended: Sequence[str],
    why_not: str,
    view: TreeView | None,
    leaf: str,
    chosen: Sequence[str],
    is_observed: bool,
    profiles: Iterable[ProfileVerdict],
) -> RequestSummary:
    """`stored`: without the strategies. `silence` is of what is sent. `view` is the tree of the session; `leaf` and the `chosen` strategies are those of the address."""
    case, prompt, judgement = sent.case, sent.prompt, sent.judgement
    chunks, tree = case.conversation.chunks, case.tree
    dropped = () if is_observed else case.reading.dropped
    chosen_leaf = visible((tree.fact(LEAF) if tree else None) or "")
    is_live = bool(chunks) and visible(chunks[-1].key.rpartition(".")[0]) == leaf
    body = request_list(prompt)
    text = json.dumps(body, indent=2, ensure_ascii=False) if len(stored.case.conversation.chunks) <= INDENTED else jsontext.compact(body)
    is_cut = len(text) > WHOLE_TEXT
    put_back = {chunk.key.rpartition(".")[0] or chunk.key for chunk in chunks} if sent.strategies else frozenset[str]()
    return RequestSummary(
        profile=judgement.profile,
        verdict=judgement.verdict,
        sendable=judgement.sendable,
        messages=len(prompt.messages),
        first=next(iter(brief(judgement.violations)), None),
        following=_following(judgement),
        notes=judgement.notes,
        failure=case.reading.failure,
        strategies=sent.strategies,
        unchanged=() if is_observed else tuple(dict.fromkeys(name for name in chosen if name not in sent.strategies)),
        differs=_differs(stored, sent, rows, silence),
        silence=silence,
        recommended=tuple(recommended),
        why_not=why_not,
        lacks=_left_out([group for group in case.reading.dropped if not group.intentional], _LACKS) if silence and sent.strategies else (),
        loose=brief(elsewhere(judgement, prompt), _LOOSE),
        dropped=_left_out(case.reading.dropped, _GONE),
        dropped_chunks=sum(len(group.chunks) for group in case.reading.dropped),
        lost=_left_out(prompt.lost, _GONE),
        lost_chunks=sum(len(group.chunks) for group in prompt.lost),
        above_cut=above_cut(tree, view, put_back) if tree and view and not is_observed else None,
        first_seq=chunks[0].seq if chunks else None,
        chosen_leaf=chosen_leaf,
        is_unknown_leaf=bool(leaf and tree and not chosen_leaf) and not is_live,
        is_tree=tree is not None,
        is_observed=is_observed,
        profiles=tuple(map(profile_line, profiles)),
        total=rows.total,
        opens_at=_opens_at(sent, rows, dropped if silence else ()),
        text=visible(beginning(text, TEXT_SHOWN if is_cut else WHOLE_TEXT)),
        is_cut=is_cut,
    )


def _left_out(groups: Iterable[Dropped], most: int) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(span_text(list(group.seqs)), beginning(group.why, _WHY)) for group, _ in zip(groups, range(most), strict=False))


def _following(judgement: Judgement) -> tuple[str, ...]:
    if not judgement.violations:
        return ()
    first, *others = judgement.violations
    message = first.path.split(".")[:2]
    return tuple(dict.fromkeys(one.id for one in others if one.cause == first.id and one.path.split(".")[:2] == message))


def _differs(stored: SentRequest, sent: SentRequest, rows: Pairing, silence: str) -> str:
    if not sent.strategies:
        return ""
    changed = ", ".join(f"{count} {word}" for word, count in rows.changes.items()) or "no chunk changed"
    messages = f"{len(sent.prompt.messages)} messages instead of {len(stored.prompt.messages)}"
    after = f"{WRONG_SILENTLY}: {silence}" if silence else sent.judgement.verdict
    verdict = sent.case.reading.failure or f"{sent.judgement.profile}: {after}, before: {_outcome(stored)}"
    return f"With {', then '.join(sent.strategies)}, tried in memory and written nowhere: {changed}; {messages}. {verdict}."


def _outcome(sent: SentRequest) -> str:
    if sent.case.reading.failure:
        return f"{sent.case.reading.reader} could not open it"
    silence = ending_without_findings(sent.case, sent.judgement).silence
    return f"{WRONG_SILENTLY}: {silence}" if silence else sent.judgement.verdict


def _opens_at(sent: SentRequest, rows: Rows, dropped: Iterable[Dropped]) -> int:
    """Where the request is rejected, else at the first chunk that it lacks. Where a strategy leaves it rejected, what that changes comes first."""
    if sent.judgement.violations:
        seq = None if sent.strategies else next(iter(sent.judgement.violations[0].seqs), None)
    else:
        seq = next((chunk.seq for group in dropped if not group.intentional for chunk in group.chunks), None)
    place = rows.place(seq) if seq is not None else 0
    return place - LEAD if place > NEAR else 0
