"""Copies Inspector's own database, audit key and uploads into a folder."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from inspector.installation import program
from inspector.management.answering import AnsweringCommand
from inspector.management.backing_up import back_up
from inspector.presentation.json_text import json_fields


class Command(AnsweringCommand):
    """`backup FOLDER`, also while Inspector serves."""

    help = "Copies Inspector's own database, the key and head of its audit log, and uploads into a new folder; also while Inspector serves."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="FOLDER", help="made for it; only you can read it")

    def answer(self, options: dict[str, Any]) -> None:
        backup = back_up(Path(options["folder"]).absolute())
        if options["json"]:
            self.say_json({"folder": str(backup.folder), **json_fields(backup, "taken_at version files size")})
            return
        self.say(
            f"{backup.files} files, {backup.size / 1e6:,.1f} MB, are in {backup.folder}: copy it to another machine. It holds the key of the audit log."
        )
        self.say(f"Back it comes with: {program()} restore {options['folder']}")
