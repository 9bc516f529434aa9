"""Rows of the lists as imports leave them, without the stores: the pages of many conversations and findings read nothing else."""

from random import Random

DAMAGED = (
    "The store is damaged in 3 places, and dispatch-legacy reads 9 messages as 3.",
    "the next request is rejected by anthropic-2026-07 at messages.12.content.0 (AN-1)",
    ["rejected", "rejected at messages.12.content.0", "AN-1 of anthropic-2026-07"],
)
HEALTHY = ("Nothing is damaged.", "the next request passes all known rules", ["passes", "passes", ""])
"""Damage, the rest of the verdict, and the next request."""


def fill(conversations: int, findings: int) -> None:
    """Rows as imports leave them: three sources, six of ten conversations damaged, findings of thirty rules."""
    from django.utils import timezone

    from inspector.models import Conversation, Finding, Source, counting
    from inspector.models.transactions import one_writer
    from inspector.rules.catalogue import RULES

    random = Random(7)
    with one_writer():
        sources = [
            Source.objects.create(oid=f"{number:012d}", path=f"/stores/{number}/dispatch.db", format="dispatch", read_at=timezone.now())
            for number in range(3)
        ]
        rows = []
        for number in range(conversations):
            is_damaged = random.random() < 0.6
            damage, end, what = DAMAGED if is_damaged else HEALTHY
            rows.append(
                Conversation(
                    oid=f"{number:012d}",
                    source=random.choice(sources),
                    native_id=f"{number:08x}-08c2-412c-b296-48703c8aaf58",
                    title=f"How do I do thing number {number} in the project?",
                    last_activity=1_782_000_000_000 + random.randrange(10**9) if random.random() < 0.98 else None,
                    revision=1,
                    is_gone=random.random() < 0.01,
                    chunk_count=random.randrange(5_000),
                    verdict=f"{damage[:-1]}; {end}.",
                    damage=damage,
                    next_request=what,
                    worst="error" if is_damaged else "",
                    has_silent=is_damaged and random.random() < 0.5,
                    refused=is_damaged and random.random() < 0.5,
                )
            )
        Conversation.objects.bulk_create(rows, batch_size=500)
        damaged, rules = [row for row in rows if row.worst], random.sample(list(RULES), 30)
        of_findings = []
        for number in range(findings):
            rule = rules[min(29, int(random.expovariate(0.15)))]
            of_findings.append(
                Finding(
                    oid=f"{number:012d}",
                    conversation=random.choice(damaged),
                    revision=1,
                    code=rule.code,
                    rule=rule.name,
                    severity=rule.severity.value,
                    silent=rule.silent,
                    origin=rule.origin.value,
                    message="What was found, in as many words as most findings have. " * 2,
                    seqs=list(range(20)),
                    total=20,
                    key=str(number),
                )
            )
        Finding.objects.bulk_create(of_findings, batch_size=500)
        counting.renew(row.pk for row in rows)
