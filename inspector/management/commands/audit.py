"""Shows the audit log, checks it, and hands it over."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.actions import audit
from inspector.environment import os_user
from inspector.management.answering import AnsweringCommand
from inspector.models import AuditEntry
from inspector.presentation.json_text import json_fields
from inspector.sources import files
from inspector.sources.problems import shown

SHOWN = 20
_FIELDS = "number=pk at who verb source=source_path conversation repair detail previous seal=digest"


class Command(AnsweringCommand):
    """`audit [--verify] [--export FILE] [--accept REASON]`; status 1 where the log is not intact."""

    help = "Says whether the audit log is intact, and shows its newest lines."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--verify", action="store_true", help="also compare every value that is kept of a repair, and name all that is wrong"
        )
        parser.add_argument(
            "--export", metavar="FILE", help="write all lines to this new file, as JSON, one on each line; the last one is the head"
        )
        parser.add_argument(
            "--accept",
            metavar="REASON",
            help="go on with the log as it is: a line seals it together with what is wrong with it and this reason",
        )

    def answer(self, options: dict[str, Any]) -> None:
        if options["accept"] is not None:
            if not options["accept"].strip():
                raise CommandError("Say after --accept why the log is accepted as it is, such as the backup that was restored.")
            audit.accept(os_user(), options["accept"].strip())
        audit.catch_up()
        state = audit.state(values=options["verify"])
        if options["export"] is not None:
            _export(Path(options["export"]), state)
        if options["json"]:
            problems = [json_fields(problem, "line repair sentence") for problem in state.problems]
            newest = [json_fields(entry, _FIELDS) for entry in AuditEntry.objects.order_by("-id")[:SHOWN]]
            self.say_json(
                {"intact": not state.total, **json_fields(state, "lines total_problems=total"), "problems": problems, "newest": newest}
            )
        else:
            self._say(state, options)
        if state.total:
            sys.exit(1)

    def _say(self, state: audit.AuditState, options: dict[str, Any]) -> None:
        for problem in state.problems:
            self.say(problem.sentence)
        if state.total > len(state.problems):
            self.say(f"And {state.total - len(state.problems):,} more.")
        if state.total:
            self.say(audit.WHAT_NEXT)
        else:
            self.say(f"The audit log is intact: {state.lines:,} lines, each sealed with the key, and the last one as the head names it.")
        if state.sealed is not None:
            self.say(audit.sealed_sentence(state.sealed))
        if options["export"] is not None:
            self.say(f"Wrote {state.lines:,} lines to {shown(options['export'], 4096)}.")
        if not options["verify"] and options["export"] is None and options["accept"] is None:
            for entry in reversed(AuditEntry.objects.order_by("-id")[:SHOWN]):
                where = " ".join(part for part in (entry.repair, entry.conversation, entry.source_path) if part)
                self.say(f"{entry.pk:>7} {entry.at:%Y-%m-%d %H:%M:%S} {shown(entry.who, 60)} {entry.verb} {shown(where, 300)}")


def _export(out: Path, state: audit.AuditState) -> None:
    with files.new_file(out) as descriptor, open(descriptor, "w", encoding="ascii", closefd=False) as file:
        for entry in AuditEntry.objects.order_by("id").iterator(chunk_size=2000):
            file.write(json.dumps(json_fields(entry, _FIELDS)) + "\n")
        head = state.head
        file.write(json.dumps({"head": None if head is None else {"lines": head.lines, "last": head.line, "seal": head.seal}}) + "\n")
