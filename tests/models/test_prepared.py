"""Queries that are composed once give what the same queries give that Django composes each time."""

from datetime import UTC, date, datetime

import pytest
from django.db.models import Aggregate, Count, QuerySet, Sum

from inspector.access.context import limited_to
from inspector.access.roles import Access, Role, RoleOn
from inspector.models import Conversation, ConversationCount, Problem, Source
from inspector.models.prepared import prepared, totals

pytestmark = pytest.mark.django_db


@pytest.fixture
def sources() -> tuple[Source, Source]:
    """With three conversations and with one."""
    rows = [
        Source.objects.create(oid=name, path=f"/{name}", format="dispatch", read_at=datetime(2026, 7, day, tzinfo=UTC))
        for day, name in ((1, "one"), (2, "two"))
    ]
    for number, source in enumerate((rows[0], rows[0], rows[0], rows[1])):
        Conversation.objects.create(oid=f"c{number}", source=source, native_id=f"n{number}", chunk_count=10 * number)
        ConversationCount.objects.create(
            source=source,
            is_gone=bool(number % 2),
            is_damaged=False,
            has_silent=number > 1,
            refused=False,
            is_crash=False,
            conversations=number,
        )
    return rows[0], rows[1]


def of(source: str, least: int) -> QuerySet[Conversation, object]:
    return Conversation.objects.filter(source__oid=source, chunk_count__gte=least).order_by("oid").values_list("oid", "source__read_at")


def test_each_call_has_its_own_values(sources: tuple[Source, Source]) -> None:
    asked = prepared(of)
    for source in ("one", "two", "three", "one' OR 1=1 --"):
        for least in (0, 10, 15, 2**31, 2**62, 2**80, -(2**63), -(2**80)):
            assert asked(source, least) == list(of(source, least)), (source, least)
    assert [oid for oid, _ in asked("one", 10)] == ["c1", "c2"]


def test_it_is_composed_once(sources: tuple[Source, Source]) -> None:
    composed: list[str] = []

    @prepared
    def asked(oid: str) -> QuerySet[Conversation, object]:
        composed.append(oid)
        return Conversation.objects.filter(oid=oid).values_list("chunk_count")

    assert [asked(f"c{number}") for number in range(4)] == [[(0,)], [(10,)], [(20,)], [(30,)]]
    assert len(composed) == 1


def test_a_shape_is_a_query_of_its_own(sources: tuple[Source, Source]) -> None:
    @prepared
    def asked(*source: str, **columns: bool) -> QuerySet[ConversationCount, object]:
        return ConversationCount.objects.counted(*source).filter(**columns).order_by("conversations").values_list("conversations")

    assert asked() == [(0,), (1,), (2,), (3,)]
    assert asked("one") == [(0,), (1,), (2,)] and asked("two") == [(3,)]
    assert asked(is_gone=True) == [(1,), (3,)] and asked("one", is_gone=False, has_silent=True) == [(2,)]


def test_days_and_moments_are_values_too(sources: tuple[Source, Source]) -> None:
    @prepared
    def since(moment: datetime) -> QuerySet[Source, object]:
        return Source.objects.filter(read_at__gt=moment).values_list("oid", "read_at")

    @prepared
    def until(day: date) -> QuerySet[Problem, object]:
        return Problem.objects.filter(ignored_until__lte=day).values_list("code")

    Problem.objects.create(oid="p", source=sources[0], code="MSG101", first_seen=0, last_seen=0, rank=0, ignored_until=date(2026, 7, 3))
    assert since(datetime(2026, 7, 1, 12, tzinfo=UTC)) == [("two", datetime(2026, 7, 2, tzinfo=UTC))]
    assert since(datetime(2026, 7, 2, tzinfo=UTC)) == [] and len(since(datetime(2026, 6, 1, tzinfo=UTC))) == 2
    assert until(date(2026, 7, 3)) == [("MSG101",)] and until(date(2026, 7, 2)) == []


@pytest.mark.parametrize("use", ["pattern", "slice", "nothing"])
def test_a_value_that_does_more_than_compare_is_refused(sources: tuple[Source, Source], use: str) -> None:
    @prepared
    def asked(text: str, most: int) -> QuerySet[Conversation, object]:
        rows = Conversation.objects.filter(title__contains=text) if use == "pattern" else Conversation.objects.filter(title=text)
        return (rows.filter(chunk_count=most) if use != "slice" else rows[: len(text) + most]).values_list("oid")

    if use == "nothing":
        assert asked("a", 1) == []
    else:
        with pytest.raises(ValueError, match="a parameter of the query"):
            asked("a", 1)


def test_who_has_a_limit_is_asked_for_with_it(sources: tuple[Source, Source]) -> None:
    asked, counted = prepared(of), totals(lambda: (Conversation.objects.counted(), {"n": Count("*"), "chunks": Sum("chunk_count")}))
    assert len(asked("one", 0)) == 3 and counted() == {"n": 4, "chunks": 60}
    with limited_to(Access("ann", (RoleOn(Role.VIEWER, frozenset([sources[1].pk])),))):
        assert asked("one", 0) == [] and len(asked("two", 0)) == 1 and counted() == {"n": 1, "chunks": 30}
    with limited_to(Access("nobody")):
        assert asked("two", 0) == [] and counted() == {"n": 0, "chunks": None}
    assert len(asked("one", 0)) == 3 and counted() == {"n": 4, "chunks": 60}


def test_totals_are_those_of_aggregate(sources: tuple[Source, Source]) -> None:
    def build(oid: str) -> tuple[QuerySet[Conversation], dict[str, Aggregate]]:
        return Conversation.objects.filter(source__oid=oid), {
            "n": Count("pk"),
            "chunks": Sum("chunk_count", default=0),
            "none": Sum("last_activity"),
        }

    counted = totals(build)
    for oid in ("one", "two", "three"):
        rows, of_them = build(oid)
        assert counted(oid) == rows.aggregate(**of_them)
    assert counted("one") == {"n": 3, "chunks": 30, "none": None}
