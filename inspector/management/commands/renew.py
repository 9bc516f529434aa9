"""Judges large conversations again after an update of Inspector, and compares applied repairs with their stores."""

from typing import Any

from django.core.management.base import CommandParser

from inspector.actions.renewing import renew, stale
from inspector.actions.verification import verify_due
from inspector.environment import os_user
from inspector.management import queueing
from inspector.management.answering import AnsweringCommand
from inspector.models.background import LARGE

NOTHING = "Nothing to do: every large conversation was judged, and the words of all were masked, by this version."

MOST_VERIFIED = 1_000
"""Applied repairs, of those that nobody looked at for an hour."""


class Command(AnsweringCommand):
    help = "Judges the large conversations again that an older version judged, or before something around them was read, masks secrets in the words of searches that an older version did not know, and looks whether applied repairs are still in their stores; `serve` does it by itself."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("--queue", action="store_true", help="let `worker` processes do it, on PostgreSQL: a job for each conversation")

    def queue(self, options: dict[str, Any]) -> None:
        count = queueing.jobs_module().queue_renewals(stale())
        if options["json"]:
            self.say_json({"jobs": count})
        elif not count:
            self.say(NOTHING)
        else:
            self.say(f"{count:,} {'job waits' if count == 1 else 'jobs wait'} for a worker.")

    def answer(self, options: dict[str, Any]) -> None:
        done = []
        verify_due(os_user(), MOST_VERIFIED)
        for row in stale():
            if renew(row):
                done.append(row.oid)
                if row.chunk_count >= LARGE:
                    from inspector.background import prepare_ahead

                    prepare_ahead([row], waits=True)
                    if not options["json"]:
                        self.say(f"{row.oid} was judged again: {row.chunk_count:,} chunks.")
        if options["json"]:
            self.say_json({"conversations": done})
        elif not done:
            self.say(NOTHING)
        else:
            self.say(f"{len(done):,} {'conversation is' if len(done) == 1 else 'conversations are'} up to date.")
