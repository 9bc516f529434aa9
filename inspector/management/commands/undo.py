"""Takes an applied repair back."""

from typing import Any

from django.core.management.base import CommandParser

from inspector.actions.settling import settle_one
from inspector.actions.undo_repair import undo_repair
from inspector.environment import os_user
from inspector.management.answering import AnsweringCommand
from inspector.management.applying import repair_named
from inspector.models import Repair


class Command(AnsweringCommand):
    """`undo REPAIR`; refused where the store went on since."""

    help = "Takes an applied repair back: every record gets its bytes from before, unless the store was written to since."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("repair", metavar="REPAIR", help="the id of the repair, or the start of it")

    def answer(self, options: dict[str, Any]) -> None:
        repair = repair_named(options["repair"])
        was_open = bool(repair.intent)
        settle_one(repair)
        if not (was_open and repair.state == Repair.State.UNDONE):
            undo_repair(repair, os_user(), interactive=True)
        if options["json"]:
            self.say_json({"repair": repair.oid, "state": repair.state, "outcome": repair.outcome})
        else:
            self.say(f"Repair {repair.oid}: {repair.outcome}")
