"""What the address of a conversation chooses, and the conversation analysed so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.http import Http404

from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Revision, loading
from inspector.profiles.catalogue import UnknownProfile
from inspector.projections.catalogue import UnknownProjection
from inspector.readers.catalogue import UnknownReader
from inspector.views.analysis import Analysis, analysis
from inspector.views.judges import chosen_judges

KINDS = ("text", "thinking", "tool-call", "tool-result", "error", "system", "image", "unreadable")
LEDGER = "ledger"
STAGES = ("stored", LEDGER, "read", "sent")
ROLES = ("user", "assistant", "tool", "system")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the query string chooses; every part has a default, so that a bare address is a whole page."""

    reader: str
    projection: str
    profile: str
    revision: int
    step: str
    kind: str
    role: str
    find: str
    only_findings: bool
    finding: str
    at: int | None
    start: int | None
    """Place among the matching chunks; scrolling goes on by it, since seqs of hostile rows may repeat."""
    stage: str
    """The one column that a phone shows."""
    leaf: str = ""
    """The entry of a tree that the path leads to, as addresses name it; "" = what the reader takes."""
    all_profiles: bool = False
    """Of a large conversation, whether every profile is asked."""
    tree_start: int = 0
    unfolded: int | None = None


def _number(word: str) -> int | None:
    return int(word) if word.isdecimal() and len(word) < 16 else None


def choice_of(request: OperatorRequest, row: Conversation) -> Choice:
    get = request.GET
    projection, profile = chosen_judges(get.get("as", ""), get.get("profile", ""), row.judges)
    rev = get.get("rev", "")
    return Choice(
        reader=get.get("reader") or row.source.reader,
        projection=projection,
        profile=profile,
        revision=int(rev) if rev.isdecimal() and len(rev) < 9 else row.revision,
        step=get.get("step", ""),
        kind=get.get("kind", "") if get.get("kind") in KINDS else "",
        role=get.get("role", "") if get.get("role") in ROLES else "",
        find=get.get("q", "").strip(),
        only_findings=get.get("only") == "findings",
        finding=get.get("finding", ""),
        at=_number(get.get("at", "")),
        start=_number(get.get("from", "")),
        stage=get.get("stage", "") if get.get("stage") in STAGES else STAGES[0],
        leaf=get.get("leaf", ""),
        all_profiles=get.get("profiles") == "all",
        tree_start=_number(get.get("tree", "")) or 0,
        unfolded=_number(get.get("unfold", "")),
    )


def looked_up(request: OperatorRequest, oid: str) -> tuple[Conversation, Choice, Analysis]:
    return looked_up_for(request, oid, lambda row, choice: analysed(row, choice, choice.step))


def conversation_or_404(oid: str) -> Conversation:
    """With its source."""
    row = loading.with_source(oid)
    if row is None:
        raise Http404
    return row


T = TypeVar("T")


def looked_up_for(request: OperatorRequest, oid: str, work: Callable[[Conversation, Choice], T]) -> tuple[Conversation, Choice, T]:
    """The conversation, what the address chooses, and what `work` makes of them. Raises Http404 with a sentence."""
    row = conversation_or_404(oid)
    choice = choice_of(request, row)
    try:
        return row, choice, work(row, choice)
    except Revision.DoesNotExist:
        raise Http404("There is no such revision of this conversation.") from None
    except (UnknownReader, UnknownProjection, UnknownProfile) as problem:
        raise Http404(str(problem)) from None


def analysed(row: Conversation, choice: Choice, step: str = "") -> Analysis:
    return analysis(row, choice.reader, choice.projection, choice.profile, choice.revision, step, choice.leaf)
