"""The inbox and the list of conversations, as ratios to plain SQL and a plain Django page with as many rows of the same database, in turns in one run.

python -m bench.lists [--conversations N] [--findings M]; with INSPECTOR_DATABASE_URL of a PostgreSQL, in a new database there.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

CONVERSATIONS, FINDINGS, ROUNDS = 10_000, 92_000, 20
PAGES = ("/", "/index.json", "/conversations/", "/conversations.json", "/conversations/?page=150", "/conversations/?state=damaged")
GOALS = {"/": 20.0, "/conversations/": 15.0}
"""Milliseconds on the machine of the measurements; between machines only the ratio can be compared."""
_SQL = (
    "SELECT c.oid, c.title, s.path, c.chunk_count, c.message_count, c.read_count, c.verdict, c.last_activity FROM inspector_conversation c "
    "JOIN inspector_source s ON s.id = c.source_id WHERE NOT c.is_gone ORDER BY c.place, c.id LIMIT 50"
)
_PAGE = (
    "<!DOCTYPE html><html><body><table>{% for row in rows %}<tr><td><a href='/conversations/{{ row.0 }}/'>{{ row.1 }}</a></td>"
    "<td>{{ row.2 }}</td><td>{{ row.3 }}</td><td>{{ row.4 }}</td><td>{{ row.5 }}</td><td>{{ row.6 }}</td><td>{{ row.7 }}</td></tr>"
    "{% endfor %}</table></body></html>"
)


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
                    verdict="the provider rejects the history at message 12, permanently" if is_damaged else "nothing found",
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


def measured(rounds: int = ROUNDS) -> str:
    """The printed table: the least processor time of all rounds, since other programs of the machine cannot add to it much."""
    from django.db import connection
    from django.template import engines
    from django.test import Client

    client, template = Client(headers={"host": "localhost"}), engines["django"].from_string(_PAGE)

    def rows() -> list[tuple[object, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(_SQL)
            return cursor.fetchall()

    def shown(address: str) -> Callable[[], object]:
        return lambda: client.get(address)

    work: dict[str, Callable[[], object]] = {"plain SQL": rows, "plain page": lambda: template.render({"rows": rows()})}
    work |= {address: shown(address) for address in PAGES}
    least = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, run in work.items():
            start = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - start)
    lines = [f"{'':32}{'ms':>8}{'plain page':>12}{'goal, ms':>10}"]
    for name, seconds in least.items():
        lines.append(f"{name:32}{seconds * 1000:8.1f}{seconds / least['plain page']:11.1f}x{GOALS.get(name, ''):>10}")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from bench.run import empty_database, set_up

    parser = argparse.ArgumentParser(description="Measure the inbox and the list of conversations against a plain page.")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    parser.add_argument("--findings", type=int, default=FINDINGS)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="inspector-bench-") as folder:
        set_up(Path(folder))
        with empty_database():
            fill(options.conversations, options.findings)
            sys.stdout.write(f"{measured()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
