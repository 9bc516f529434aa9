"""Judges large conversations again after an update of Inspector."""

from typing import Any

from django.core.management.base import BaseCommand

from inspector.actions.renewing import renew, stale


class Command(BaseCommand):
    """`renew`; one line for each conversation that was judged again."""

    help = "Judges again the large conversations that an older version judged; `serve` does it by itself in the background."

    def handle(self, *args: Any, **options: Any) -> None:
        for row in stale():
            if renew(row):
                self.stdout.write(f"{row.oid} judged again: {row.chunk_count:,} chunks")
                self.stdout.flush()
