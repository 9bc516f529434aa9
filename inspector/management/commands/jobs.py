"""Says what waits in the queue, what runs, and what failed."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.management.queueing import jobs_module
from inspector.sources.problems import shown

SHOWN = 20


class Command(AnsweringCommand):
    """`jobs [NUMBER]`; status 0."""

    help = "Says how many jobs wait, run, are done and failed, with the error of each that failed; with a NUMBER what that job answered."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("number", metavar="NUMBER", nargs="?", type=int, help="a job: what its command answered, as JSON")

    def answer(self, options: dict[str, Any]) -> None:
        queue = jobs_module()
        if options["number"] is not None:
            row = queue.described(options["number"])
            if row is None:
                raise CommandError(
                    f"There is no job {options['number']}: `jobs` lists them; what ended is kept for {queue.DAYS_KEPT} days."
                )
            if options["json"]:
                self.say_json({**row, "answer": json.loads(row["answer"]) if row["answer"] else None})
            else:
                self.say(row["answer"] or row["error"] or f"Job {row['number']} is {row['state']}.")
            return
        counts, rows = queue.counts(), list(queue.listed())
        if options["json"]:
            self.say_json({"counts": counts, "jobs": [{name: value for name, value in row.items() if name != "answer"} for row in rows]})
            return
        self.say(", ".join(f"{count:,} {state}" for state, count in counts.items()) + ".")
        for row in rows[:SHOWN]:
            self.say(f"{row['number']:>7} {row['state']:<8} {shown(row['command'], 200)}" + (f": {row['error']}" if row["error"] else ""))
        if len(rows) > SHOWN:
            self.say(f"And {len(rows) - SHOWN:,} more; --json lists {queue.MOST_LISTED:,}.")
