"""What a page was made of, as a few numbers, and in which words it differs from what there is now. No page counts rows for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Aggregate, BigIntegerField, F, Max, QuerySet, Subquery, Sum, Value

from inspector.models.conversation import Conversation, ConversationCount, ConversationRule, RuleCount
from inspector.models.prepared import prepared, totals
from inspector.models.problem import Problem
from inspector.models.source import Source

Facts = dict[str, int]
NAMES = ("changes", "conversations", "chunks", "findings", "streams", "records")
_COUNTED = {
    "conversations": ("conversation", "conversations"),
    "chunks": ("chunk", "chunks"),
    "findings": ("finding", "findings"),
    "streams": ("stream", "streams"),
    "records": ("trace record", "trace records"),
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What a page is about: `kind` is everything, source, conversation or problem, and `oid` which one."""

    kind: str = "everything"
    oid: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.oid}" if self.oid else self.kind

    @classmethod
    def named(cls, text: str) -> "Scope":
        """Raises ValueError."""
        kind, _, oid = text.partition(":")
        if kind not in _FACTS or bool(oid) != (kind != "everything") or "\0" in oid:
            raise ValueError(text)
        return cls(kind, oid)


def changes(source_pk: int) -> None:
    """To be called with every write of an import that a page would show. Only inside `one_writer`."""
    Source.objects.filter(pk=source_pk).update(changes=F("changes") + 1)


def is_same(scope: Scope, seen: Mapping[str, int]) -> bool:
    """Whether a page that was made of `seen` is still right, by one query where it is about sources."""
    if scope.kind in ("everything", "source"):
        return (Source.objects.counted(scope.oid).aggregate(changes=Sum("changes"))["changes"] or 0) == seen["changes"]
    return facts_of(scope) == dict(seen)


def facts_of(scope: Scope) -> Facts:
    """From counts that are kept with every write; of what is not there any more all are 0."""
    facts = _FACTS[scope.kind](scope)
    return {name: facts.get(name) or 0 for name in NAMES}


def news(before: Mapping[str, int], after: Mapping[str, int]) -> str:
    """`3 new chunks, 1 new finding`; "" where nothing changed."""
    words = []
    for name, (one, several) in _COUNTED.items():
        number = after.get(name, 0) - before.get(name, 0)
        if number:
            noun = one if abs(number) == 1 else several
            words.append(f"{number:,} new {noun}" if number > 0 else f"{-number:,} {noun} fewer")
    if not words and after.get("changes") != before.get("changes"):
        words.append("changed content")
    return ", ".join(words)


def token(facts: Mapping[str, int]) -> str:
    return ".".join(str(facts.get(name, 0)) for name in NAMES)


def of_token(text: str) -> Facts:
    """Raises ValueError."""
    numbers = [int(part) for part in text.split(".") if part.isascii() and part.isdecimal() and len(part) < 19]
    if len(numbers) != len(NAMES):
        raise ValueError(text)
    return dict(zip(NAMES, numbers, strict=True))


def _facts_of_sources(scope: Scope) -> dict[str, Any]:
    return _counted(*filter(None, [scope.oid]))


@totals
def _counted(*source: str) -> "tuple[QuerySet[Source], dict[str, Aggregate]]":
    """Of one source, or of all. The counts do not depend on the rows of the query: the largest of them is the one."""
    present = ConversationCount.objects.counted(*source).filter(is_gone=False)
    return Source.objects.counted(*source), {
        "changes": Sum("changes"),
        "streams": Sum("stream_count"),
        "records": Sum("trace_record_count"),
        "conversations": Max(_sum(present, "conversations")),
        "chunks": Max(_sum(present, "chunks")),
        "findings": Max(_sum(RuleCount.objects.counted(*source), "findings")),
    }


def _sum(rows: "QuerySet[Any]", name: str) -> Subquery:
    return Subquery(rows.order_by().values(one=Value(1)).annotate(all=Sum(name)).values("all"), output_field=BigIntegerField())


def _facts_of_conversation(scope: Scope) -> dict[str, Any]:
    """`changes` is not that of the source: what another conversation brought is no news here."""
    for revision, chunks, is_gone, findings in _of_conversation(scope.oid):
        return {"changes": 2 * revision + is_gone, "chunks": chunks, "findings": findings}
    return {}


@prepared
def _of_conversation(oid: str) -> "QuerySet[Conversation, Any]":
    findings = _sum(ConversationRule.objects.filter(conversation__oid=oid), "findings")
    return Conversation.objects.filter(oid=oid).order_by().values_list("revision", "chunk_count", "is_gone", findings)


def _facts_of_problem(scope: Scope) -> dict[str, Any]:
    row = Problem.objects.filter(oid=scope.oid).values("conversations", "findings", "total").first()
    return {} if row is None else {"conversations": row["conversations"], "findings": row["findings"], "changes": row["total"]}


_FACTS = {
    "everything": _facts_of_sources,
    "source": _facts_of_sources,
    "conversation": _facts_of_conversation,
    "problem": _facts_of_problem,
}
