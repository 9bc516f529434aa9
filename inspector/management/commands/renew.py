"""Judges large conversations again after an update of Inspector."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from inspector.actions.renewing import renew, stale
from inspector.management import queueing


class Command(BaseCommand):
    """`renew [--queue]`; one line for each conversation that was judged again."""

    help = "Judges again the large conversations that an older version judged; `serve` does it by itself in the background."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--queue", action="store_true", help="let `worker` processes do it, on PostgreSQL: a job for each conversation")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["queue"]:
            self.stdout.write(f"{queueing.jobs_module().queue_renewals(stale()):,} jobs wait for a worker.")
            return
        for row in stale():
            if renew(row):
                self.stdout.write(f"{row.oid} judged again: {row.chunk_count:,} chunks")
                self.stdout.flush()
