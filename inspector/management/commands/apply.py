"""Writes an approved repair to its store."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from inspector.actions.apply_repair import apply_repair
from inspector.actions.settling import settle_one
from inspector.actions.undo_repair import UNDOABLE, still_holds
from inspector.environment import os_user
from inspector.installation import program
from inspector.management.answering import AnsweringCommand
from inspector.management.applying import repair_named


class Command(AnsweringCommand):
    """`apply REPAIR`; a write that was interrupted is finished, and one that was applied is never done twice: status 1 where the store no longer holds it."""

    help = "Writes an approved repair to its store, or finishes one that was interrupted while it was written."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("repair", metavar="REPAIR", help="the id of the repair, or the start of it")

    def answer(self, options: dict[str, Any]) -> None:
        repair = repair_named(options["repair"])
        was_applied = repair.state in UNDOABLE and not repair.intent
        settle_one(repair)
        if repair.state not in UNDOABLE or repair.intent:
            apply_repair(repair, os_user(), interactive=True)
        holds, sentence = still_holds(repair) if was_applied else (True, "")
        what = f"was applied before, and nothing was written now. {sentence}" if was_applied else f"is {repair.state}. {repair.outcome}"
        if options["json"]:
            self.say_json({"repair": repair.oid, "state": repair.state, "outcome": sentence or repair.outcome, "holds": holds})
        else:
            self.say(f"Repair {repair.oid} {what}" + (f" Take it back with: {program()} undo {repair.oid}" if holds else ""))
        if not holds:
            sys.exit(1)
