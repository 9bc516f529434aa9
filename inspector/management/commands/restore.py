"""Puts a backup into an empty database."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from inspector import __version__
from inspector.installation import program
from inspector.management.answering import AnsweringCommand
from inspector.management.backing_up import restore
from inspector.presentation.json_text import json_fields


class Command(AnsweringCommand):
    """`restore FOLDER`; into an empty database only."""

    help = "Puts what the command backup copied into the database that INSPECTOR_DATABASE_URL names, which has to be empty. Stop serve and workers before."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", help="a folder that the command backup made")

    def answer(self, options: dict[str, Any]) -> None:
        restored = restore(Path(options["folder"]).absolute())
        if options["json"]:
            self.say_json({"folder": str(restored.folder), **json_fields(restored, "taken_at version files size")})
            return
        self.say(f"The backup of {restored.taken_at}, made by Inspector {restored.version}, is restored.")
        older = "" if restored.version == __version__ else f" This is Inspector {__version__}: migrate brings the database up to it."
        self.say(f"Next: {program()} migrate, then {program()} audit --verify.{older}")
