"""Lists the strategies, or explains one."""

from typing import Any

from django.core.management.base import CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.presentation.catalogue.entries import strategies, strategy_named, strategy_report, stream_strategies


class Command(AnsweringCommand):
    """`strategies [NAME]`."""

    help = "Lists the strategies in the order in which they are composed, or explains one: its cost, its pros and its cons."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", nargs="?", help="the name of a strategy")

    def answer(self, options: dict[str, Any]) -> None:
        if options["name"]:
            row = strategy_report(strategy_named(options["name"]), with_modes=True)
            self.say_json(row) if options["json"] else self._print(row)
        elif options["json"]:
            self.say_json({"strategies": strategies(), "stream_strategies": stream_strategies()})
        else:
            for row in strategies():
                self.say(f"{row['name']} ({_marks(row)}): {row['summary']}")
            self.say()
            self.say("Of captured streams (`repair CAPTURE`), which are written as a new capture:")
            for row in stream_strategies():
                self.say(f"{row['name']} ({_marks(row)}): {row['summary']}")

    def _print(self, row: dict[str, Any]) -> None:
        self.say(f"{row['name']} ({_marks(row)}, write-back {row['write_kind']})")
        self.say(row["summary"])
        for label in ("cost", "user_visible_effect", "pros", "cons"):
            if row[label]:
                self.say(f"{label.replace('_', ' ').capitalize()}: {row[label]}")
        self.say(f"Repairs: {', '.join(row['repairs']) or 'nothing that a rule names'}")
        for mode in row["modes"]:
            alias = f" ({mode['alias']})" if mode["alias"] else ""
            self.say(f"--mode {mode['mode']}{alias}: {mode['summary']} [{', '.join(mode['formats'])}]")


def _marks(row: dict[str, Any]) -> str:
    return ", ".join(row["safety"]) or "safe"
