"""The prompt of a conversation beside its chunks: under any reader, in any wire shape, after any strategies, before anything is written."""

import json
from dataclasses import dataclass

from django.http import Http404, HttpResponse

from inspector.conversation import jsontext
from inspector.middleware import OperatorRequest
from inspector.models import Conversation
from inspector.planning.recommend import composed
from inspector.profiles.base import Judgement, Violation
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged
from inspector.projections.base import Prompt
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import names
from inspector.reports import show
from inspector.reports.side_by_side import SideBySide, elsewhere, place_of, side_by_side
from inspector.reports.standings import Standing, standings_of
from inspector.reports.tried import LARGEST, Tried, readers_tried, strategies_tried
from inspector.reports.visible import visible
from inspector.rules.base import Case
from inspector.strategies.catalogue import STRATEGIES
from inspector.views.analysis import WHOLE, Analysis
from inspector.views.choice import Choice, looked_up
from inspector.views.chunks import TEXT_SHOWN
from inspector.views.pages import as_json, page

WINDOW = 200


@dataclass(frozen=True, slots=True)
class Look:
    """What is shown: the case after the chosen strategies, its prompt, and the verdict on that."""

    case: Case
    prompt: Prompt
    judgement: Judgement
    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PromptPage:
    row: Conversation
    choice: Choice
    analysis: Analysis
    look: Look
    table: SideBySide
    loose: tuple[Violation, ...]
    standings: tuple[Standing, ...]
    readers: tuple[Tried, ...]
    strategies: tuple[Tried, ...]
    unchanged: tuple[str, ...]
    """Chosen strategies that would change nothing here."""
    differs: str
    earlier: int | None
    later: int | None
    last: int
    projections: list[str]
    profiles: list[str]
    reader_names: list[str]
    text: str
    is_cut: bool
    largest: int = LARGEST


def _look(request: OperatorRequest, choice: Choice, found: Analysis) -> Look:
    """Raises Http404 on a strategy that is none."""
    wanted = tuple(dict.fromkeys(request.GET.getlist("strategy")))
    known = {each.name for each in STRATEGIES}
    for name in wanted:
        if name not in known:
            raise Http404(f"There is no strategy {name[:80]!r}; the rules page lists them.")
    if not wanted or found.observed:
        return Look(found.case, found.prompt, found.judgement, ())
    used, case = composed(found.case, wanted)
    prompt, judgement = judged(case.reading, case.conversation, choice.profile, choice.projection)
    return Look(case, prompt, judgement, tuple(each.name for each in used))


def _standings(row: Conversation, found: Analysis, look: Look) -> tuple[Standing, ...]:
    if not look.strategies or look.case.reading.failure or len(look.case.conversation.chunks) > WHOLE:
        return found.standings
    return standings_of(look.case, row.source.projection)


def _differs(found: Analysis, look: Look, table: SideBySide) -> str:
    """What the strategies change, in one sentence; "" where none is tried."""
    if not look.strategies:
        return ""
    changed = ", ".join(f"{count} {word}" for word, count in table.changes.items()) or "no chunk changed"
    messages = f"{len(look.prompt.messages)} messages instead of {len(found.prompt.messages)}"
    failed = look.case.reading.failure
    verdict = failed or f"{look.judgement.profile}: {look.judgement.verdict}, before: {_verdict(found)}"
    return f"With {', then '.join(look.strategies)}, tried in memory and written nowhere: {changed}; {messages}. {verdict}."


def _verdict(found: Analysis) -> str:
    return f"{found.case.reading.reader} could not open it" if found.case.reading.failure else found.judgement.verdict


def _page(request: OperatorRequest, row: Conversation, choice: Choice, found: Analysis) -> PromptPage:
    look = _look(request, choice, found)
    dropped = () if found.observed else look.case.reading.dropped
    base = found.case.conversation
    start = choice.start or 0
    if choice.at is not None:
        start = max(0, place_of(base, look.case.conversation, look.prompt, dropped, choice.at) - 3)
    table = side_by_side(base, look.case.conversation, look.prompt, dropped, look.judgement, start, WINDOW)
    count, is_small = len(base.chunks), len(base.chunks) <= LARGEST and not found.observed
    text = json.dumps(look.prompt.values, indent=2, ensure_ascii=False) if count <= WHOLE else jsontext.compact(look.prompt.values)
    wanted = request.GET.getlist("strategy")
    return PromptPage(
        row=row,
        choice=choice,
        analysis=found,
        look=look,
        table=table,
        loose=elsewhere(look.judgement, look.prompt),
        standings=_standings(row, found, look),
        readers=tuple(readers_tried(look.case, names(row.source.format), choice.projection, choice.profile)) if is_small else (),
        strategies=tuple(strategies_tried(found.case, wanted, choice.projection, choice.profile)) if is_small else (),
        unchanged=tuple(dict.fromkeys(name for name in wanted if name not in look.strategies)) if not found.observed else (),
        differs=_differs(found, look, table),
        earlier=max(0, start - WINDOW) if start else None,
        later=start + WINDOW if start + WINDOW < table.total else None,
        last=start + len(table.rows),
        projections=[shape.name for shape in all_projections()],
        profiles=[each.name for each in PROFILES],
        reader_names=list(dict.fromkeys([*names(row.source.format), choice.reader])),
        text=visible(text[:TEXT_SHOWN]),
        is_cut=len(text) > TEXT_SHOWN,
    )


def prompt(request: OperatorRequest, oid: str) -> HttpResponse:
    row, choice, found = looked_up(request, oid)
    return page(request, "prompt.html", _page(request, row, choice, found), twins=("json",))


def prompt_json(request: OperatorRequest, oid: str) -> HttpResponse:
    _, choice, found = looked_up(request, oid)
    return as_json(show.prompt_report(_look(request, choice, found).prompt))
