"""What a fix of the loader would change: every conversation as one reader and as others have it."""

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpResponse

from inspector.formats.catalogue import FORMATS
from inspector.middleware import OperatorRequest
from inspector.models import Conversation, Source
from inspector.models.comparing import difference, differences
from inspector.profiles.catalogue import PROFILES, UnknownProfile
from inspector.profiles.catalogue import profile as profile_named
from inspector.readers.catalogue import READERS, UnknownReader, names, reader
from inspector.reports.whatif import Difference, Summary, summarise
from inspector.reports.whatif_report import difference_report, summary_report
from inspector.views.conversation_list import newest_first
from inspector.views.pages import as_json, page

PER_PAGE = 25
MOST = 1000
SHOWS = ("worse", "sendable", "merged", "all")


@dataclass(frozen=True, slots=True)
class Choice:
    """`a` runs now, `b` might ship; `profile` is "" for each conversation's own; `show` picks the rows."""

    a: str
    b: str
    profile: str
    show: str


@dataclass(frozen=True, slots=True)
class WhatIfRow:
    conversation: Conversation
    difference: Difference


@dataclass(frozen=True, slots=True)
class WhatIfPage:
    """`summaries` has one line a reader; `rows` are the conversations that A and B read differently, worse ones first."""

    choice: Choice
    readers: tuple[str, ...]
    profiles: tuple[str, ...]
    summaries: tuple[Summary, ...]
    chosen: Summary
    rows: tuple[WhatIfRow, ...]
    here: Page[str]
    counted: int
    total: int


def _choice(request: OperatorRequest) -> Choice:
    """The deployed reader and the exact one unless the address names others. Raises Http404."""
    get = request.GET
    asked = get.getlist("reader")[:2]
    deployed = Source.objects.filter(is_trace=False).exclude(reader="").order_by("is_demo").values_list("reader", flat=True).first()
    a = asked[0] if asked else deployed or READERS[0].name
    b = asked[1] if len(asked) > 1 else "exact"
    show = get.get("show", "all")
    try:
        for name in (a, b):
            reader(name)
        if get.get("profile"):
            profile_named(get["profile"])
    except (UnknownReader, UnknownProfile) as problem:
        raise Http404(str(problem)) from None
    return Choice(a, b, get.get("profile", ""), show if show in SHOWS else "all")


def _is_shown(found: Difference, show: str) -> bool:
    match show:
        case "worse":
            return bool(found.worse)
        case "sendable":
            return found.becomes_sendable
        case "merged":
            return bool(found.still_merged)
    return found.differs or bool(found.still_merged)


def _page(request: OperatorRequest) -> WhatIfPage:
    choice = _choice(request)
    offered = names("dispatch")
    others = list(dict.fromkeys([*(each.name for each in READERS if each.name in offered), choice.b]))
    # Only one program's loader has versions to compare; what is read otherwise has no part in it.
    formats = [each.name for each in FORMATS if each.default_reader in offered]
    held = newest_first(Conversation.objects.filter(is_gone=False, source__format__in=formats))
    found = differences(held[:MOST], [choice.a, *others], choice.profile)
    place = others.index(choice.b)
    summaries = tuple(summarise(choice.a, name, [(oid, each[at]) for oid, each in found]) for at, name in enumerate(others))
    shown = [(oid, each[place]) for oid, each in found if _is_shown(each[place], choice.show)]
    here = Paginator([oid for oid, _ in sorted(shown, key=lambda row: not row[1].worse)], PER_PAGE).get_page(request.GET.get("page"))
    by_oid = {each.oid: each for each in Conversation.objects.filter(oid__in=list(here.object_list)).select_related("source")}
    return WhatIfPage(
        choice=choice,
        readers=tuple(dict.fromkeys([*names("dispatch"), choice.a, choice.b])),
        profiles=tuple(each.name for each in PROFILES),
        summaries=summaries,
        chosen=summaries[place],
        rows=tuple(
            WhatIfRow(by_oid[oid], difference(by_oid[oid], choice.a, choice.b, choice.profile)) for oid in here.object_list if oid in by_oid
        ),
        here=here,
        counted=len(found),
        total=held.count(),
    )


def whatif(request: OperatorRequest) -> HttpResponse:
    return page(request, "whatif.html", _page(request), twins=("json",))


def whatif_json(request: OperatorRequest) -> HttpResponse:
    return as_json(_report(_page(request)))


def _report(content: WhatIfPage) -> dict[str, Any]:
    return {
        **summary_report(content.chosen),
        "counted": content.counted,
        "total": content.total,
        "page": content.here.number,
        "pages": content.here.paginator.num_pages,
        "readers": [summary_report(each) for each in content.summaries],
        "differences": [difference_report(row.conversation.oid, row.conversation.native_id, row.difference) for row in content.rows],
    }
