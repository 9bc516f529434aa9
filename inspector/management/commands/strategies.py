"""Lists the strategies, or explains one."""

from typing import Any

from django.core.management.base import CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.reports.catalogues import strategies, strategy


class Command(AnsweringCommand):
    """`strategies [NAME]`."""

    help = "Lists the ways to repair in the order in which they are composed, or explains one: what it costs, and what speaks for and against it."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", nargs="?", help="the name of a strategy")

    def answer(self, options: dict[str, Any]) -> None:
        if options["name"]:
            found = strategy(options["name"])
            self.say_json(found) if options["json"] else self._print(found)
        elif options["json"]:
            self.say_json({"strategies": strategies()})
        else:
            for found in strategies():
                self.say(f"{found['name']} ({_marks(found)}): {found['summary']}")

    def _print(self, found: dict[str, Any]) -> None:
        self.say(f"{found['name']} ({_marks(found)}, write-back {found['write_kind']})")
        self.say(found["summary"])
        for label in ("cost", "noticed_by_user", "argued_for", "argued_against"):
            self.say(f"{label.replace('_', ' ').capitalize()}: {found[label]}")
        self.say(f"Repairs: {', '.join(found['repairs']) or 'nothing that a rule names'}")


def _marks(found: dict[str, Any]) -> str:
    return ", ".join(found["safety"]) or "safe"
