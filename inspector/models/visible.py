"""The manager of every model that belongs to a source: while a request has a limit, it gives the rows of the sources that may be seen, and no others."""

import json
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from django.db import connection, models
from django.db.models import Exists, Q, QuerySet
from django.db.models.expressions import RawSQL

from inspector.access.context import current

Row = TypeVar("Row", bound=models.Model)

_FEW = 500
DEMO = "demo"
"""What lists ask for in place of the oid of a source: all those of the demo, next to others too."""


def one_parameter(numbers: Collection[int]) -> RawSQL:
    """A query for these numbers: as parameters of their own they would take longer than what asks for them, and SQLite takes 32,766."""
    if connection.vendor == "postgresql":
        return RawSQL("SELECT unnest(%s::bigint[])", (list(numbers),))
    return RawSQL("SELECT value FROM json_each(%s)", (json.dumps(list(numbers)),))


_DEMO_NEXT_TO_OTHERS = RawSQL(
    "SELECT id FROM inspector_source WHERE is_demo AND EXISTS (SELECT 1 FROM inspector_source WHERE NOT is_demo)", ()
)
"""Of all sources, in plain SQL: a page says it ten times, and to compose it each time would take as long as most of its queries."""


class Visible(models.Manager[Row]):
    """`path` leads to the source; with `by`, to that field of it. Without a limit nothing is added to any query.

    `own` is the column with the name of the person to whom a row belongs that has no source.
    """

    def __init__(self, path: str = "", by: str = "", own: str = "") -> None:
        super().__init__()
        self.path, self.by, self.own = path, by, own

    def get_queryset(self) -> QuerySet[Row]:
        rows = super().get_queryset()
        access = current()
        if access is None or access.sources is None:
            return rows
        # Django makes managers of related rows of this class too, and those do not know the path.
        known: Any = self.model._default_manager
        rows = rows.filter(known.condition(access.sources, access.name))
        return rows if access.only is None else rows.filter(known.condition_of_one(access.only))

    def counted(self, source: str = "") -> QuerySet[Row]:
        """What lists show and counts count: of the source that is asked for by its oid, or of `DEMO`; else of all, those of the demo only where there are no others."""
        sources: Any = self.model._meta.apps.get_model("inspector", "Source").objects
        rows, path = self.get_queryset(), self.path
        if source == DEMO:
            return rows.filter(**{f"{path}__in": sources.filter(is_demo=True).values("pk")})
        if source:
            # Exactly one: an index that begins with the source is then in the order of the list.
            return rows.filter(**{path: sources.filter(oid=source).values("pk")[:1]})
        # No join: with one, databases begin with the sources, and sort what an index has in order.
        access = current()
        if access is None or access.sources is None:
            return rows.exclude(**{f"{path}__in": _DEMO_NEXT_TO_OTHERS})
        others = Exists(sources.filter(is_demo=False))
        return rows.exclude(**{f"{path}__in": sources.filter(others, is_demo=True).values("pk")})

    def condition_of_one(self, only: Mapping[str, Any]) -> Q:
        """What belongs to the things that a link shows. A model of which that is not known shows nothing."""
        name = self.model.__name__.lower()
        if name in ("source", "tracerecord"):
            return Q()
        if name in only:
            return Q(pk__in=only[name])
        for kind, rows in only.items():
            before, between, _ = self.path.partition(f"{kind}__")
            if between:
                return Q(**{f"{before}{kind}__in": rows})
        return Q(pk__in=())

    def condition(self, sources: frozenset[int], name: str) -> Q:
        numbers: Any = sorted(sources) if len(sources) <= _FEW else one_parameter(sources)
        if self.by:
            source: Any = self.model._meta.apps.get_model("inspector", "Source")
            numbers = source._base_manager.filter(pk__in=numbers).values(self.by)
        seen = Q(**{f"{self.path}__in": numbers})
        return seen | Q(**{f"{self.path}__isnull": True, self.own: name}) if self.own else seen
