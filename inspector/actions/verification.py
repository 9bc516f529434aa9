"""Looks again at repairs that were applied: whether the store lost what they wrote, and whether what they repaired is found again."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from inspector.access.context import unlimited
from inspector.actions.comparison import UNDOABLE, ValueState, compare, target_of
from inspector.actions.planning import listed
from inspector.actions.problems import Refused
from inspector.actions.recording import audit_repair
from inspector.models import ConversationRule, Repair, Source, counting, loading
from inspector.models.prepared import prepared
from inspector.models.transactions import one_writer
from inspector.planning.recommend import LARGE
from inspector.rules.catalogue import RULES
from inspector.sources.problems import SourceProblem

EVERY = timedelta(hours=1)
AFTER_IMPORT = 50
"""Repairs of one source that are looked at after its import; the others are when they are due."""
_log = logging.getLogger(__name__)


@unlimited
def verify_source(source: Source, operator: str) -> None:
    """After an import: the applied repairs of the source, those that were not looked at for the longest time first."""
    _verify(_applied().filter(conversation__source=source)[:AFTER_IMPORT], operator)


@unlimited
def verify_due(operator: str, most: int) -> int:
    """Those that nobody looked at for an hour, `most` of them; returns how many. Never raises for what our own database does."""
    with suppress(DatabaseError):
        return _verify(due()[:most], operator)
    return 0


@unlimited
def verify_next(operator: str) -> None:
    """One that is due and is compared in no time, before a page: those of large conversations wait for an import or a background process."""
    with suppress(DatabaseError):
        if of_it := _next_due(timezone.now() - EVERY, LARGE):
            _verify(due().filter(pk=of_it[0][0]), operator)


@prepared
def _next_due(before: datetime, large: int) -> QuerySet[Repair, Any]:
    return _due(before).filter(conversation__chunk_count__lt=large).values_list("pk")[:1]


def due() -> QuerySet[Repair]:
    return _due(timezone.now() - EVERY)


def _due(before: datetime) -> QuerySet[Repair]:
    return _applied().filter(Q(checked_at=None) | Q(checked_at__lt=before))


def _applied() -> QuerySet[Repair]:
    rows = Repair.objects.filter(state__in=UNDOABLE, intent="", claimed_at=None).select_related("conversation__source")
    return rows.order_by(F("checked_at").asc(nulls_first=True), "pk")


def _verify(repairs: Iterable[Repair], operator: str) -> int:
    count = 0
    for repair in repairs:
        count += 1
        try:
            sentence = regression_of(repair)
        except (Refused, SourceProblem):
            # A store that cannot be read now says nothing of the repair; the next look is as late as that of the others.
            sentence = repair.regression
        except DatabaseError:
            raise
        except Exception:
            # A fault of ours in one comparison would close every page that lists repairs.
            _log.exception("repair %s could not be compared with its store", repair.oid)
            sentence = repair.regression
        _record(repair, sentence, operator)
    return count


def regression_of(repair: Repair) -> str:
    """What of the damage is back, in one sentence; "" where nothing is. What a program adds after the repair is no regression by itself.

    Raises Refused where the store cannot be read.
    """
    comparison = compare(repair)
    if comparison.changes and comparison.is_overwritten:
        return "Another program wrote back what was there before this repair."
    lost = comparison.keys(ValueState.BEFORE, ValueState.REVERTED)
    if lost:
        where = listed([(key, "is as before the repair") for key in lost])
        return f"{len(lost):,} of {len(comparison.changes):,} values are as before the repair again: {where}."
    return _damaged_again(repair)


def _damaged_again(repair: Repair) -> str:
    """By the last import, which reads with the reader of the source."""
    source = repair.conversation.source
    after = {code: after for code, (before, after, *_) in repair.counts.items() if after < before}
    row = loading.present_conversation(source, target_of(repair)) if after and repair.reader == source.reader else None
    if row is None:
        return ""
    # The same damage may show by another of the rules that its strategies repair.
    of_strategies = [rule.code for rule in RULES if not set(rule.repaired_by).isdisjoint(repair.strategies)]
    after |= {code: repair.counts.get(code, (0, 0))[1] for code in of_strategies}
    rules = ConversationRule.objects.filter(conversation=row, code__in=after).order_by("code")
    again = [(code, count) for code, count in rules.values_list("code").annotate(Sum("findings")) if count > after[code]]
    return " ".join(f"{code} is found again: {count:,} now, {after[code]:,} after the repair." for code, count in again)


def _record(repair: Repair, sentence: str, operator: str) -> None:
    """A regression counts from when it was first seen, and is over when a later look does not see it."""
    now = timezone.now()
    is_news = bool(sentence) != bool(repair.regression)
    news = {"regression": sentence, "regressed_at": now if sentence else None} if is_news else {}
    with one_writer():
        rows = Repair.objects.filter(pk=repair.pk, state=repair.state, intent="")
        if rows.update(checked_at=now, **news) and news:
            audit_repair(repair, operator, "regress" if sentence else "hold again", **({"outcome": sentence} if sentence else {}))
            # The problem that it repaired counts again, or counts as repaired again.
            counting.renew([repair.conversation_id])
    repair.refresh_from_db()
