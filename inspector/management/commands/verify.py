"""Says whether a store still holds what a repair wrote."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from inspector.actions.undo_repair import verify_repair
from inspector.management.answering import AnsweringCommand
from inspector.management.applying import repair_named


class Command(AnsweringCommand):
    """`verify REPAIR`; status 1 when it no longer holds."""

    help = "Says whether the store still holds exactly what a repair wrote; nothing is changed."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("repair", metavar="REPAIR", help="the id of the repair, or the start of it")

    def answer(self, options: dict[str, Any]) -> None:
        repair = repair_named(options["repair"])
        holds, sentence = verify_repair(repair)
        if options["json"]:
            self.say_json({"repair": repair.oid, "state": repair.state, "holds": holds, "sentence": sentence})
        else:
            self.say(sentence)
        if not holds:
            sys.exit(1)
