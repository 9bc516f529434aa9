"""The line at the foot of a page that says how old its data is, and that something new is there. A page asks for it every few seconds while it is looked at."""

import json
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpResponse

from inspector.actions import watching
from inspector.middleware import OperatorRequest
from inspector.models import news
from inspector.models.news import Scope
from inspector.presentation.clock import moment
from inspector.views.pages import page

AS_OF = "data-as-of"
"""The event by which the script learns that what the page shows is still right, with the moment."""


@dataclass(frozen=True, slots=True)
class Live:
    """`address` is asked for what is new since the page was made."""

    address: str
    as_of: datetime | None


def live(kind: str = "everything", oid: str = "") -> Live:
    """Without an `oid` it is about everything, as a list is that is filtered by no source."""
    scope = Scope(kind if oid else "everything", oid)
    query = urlencode({"of": str(scope), "seen": news.token(news.facts_of(scope))})
    return Live(f"/live/?{query}", watching.as_of(scope))


def news_line(request: OperatorRequest) -> HttpResponse:
    """204 where a page of these numbers is still right; else what is new, in words. What nobody may see, or is not there, has no news either."""
    try:
        scope, seen = Scope.named(request.GET.get("of", "")), news.of_token(request.GET.get("seen", ""))
    except ValueError:
        return HttpResponse(status=204)
    words = "" if news.is_same(scope, seen) else news.news(seen, news.facts_of(scope))
    if words:
        return page(request, "live.html", words)
    answer = HttpResponse(status=204)
    as_of = watching.as_of(scope)
    if as_of is not None:
        answer["HX-Trigger"] = json.dumps({AS_OF: {"at": moment(int(as_of.timestamp() * 1000)).replace(" ", "T") + "Z"}})
    return answer
