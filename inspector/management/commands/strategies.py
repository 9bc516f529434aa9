"""Lists the strategies, or explains one."""

from typing import Any

from django.core.management.base import CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.reports.catalogues import strategies, strategy, stream_strategies, stream_strategy


class Command(AnsweringCommand):
    """`strategies [NAME]`."""

    help = "Lists the ways to repair in the order in which they are composed, or explains one: what it costs, and what speaks for and against it."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", nargs="?", help="the name of a strategy")

    def answer(self, options: dict[str, Any]) -> None:
        of_streams = stream_strategy(options["name"] or "")
        if of_streams is not None and options["name"] not in {found["name"] for found in strategies()}:
            self.say_json(of_streams) if options["json"] else self._print_of_streams(of_streams)
        elif options["name"]:
            found = strategy(options["name"])
            self.say_json(found) if options["json"] else self._print(found)
            if of_streams is not None and not options["json"]:
                # One word for one thing, in stores and in captures.
                self.say()
                self._print_of_streams(of_streams)
        elif options["json"]:
            self.say_json({"strategies": strategies(), "stream_strategies": stream_strategies()})
        else:
            for found in strategies():
                self.say(f"{found['name']} ({_marks(found)}): {found['summary']}")
            self.say()
            self.say("Of captured streams (`repair CAPTURE`), which are written as a new capture:")
            for found in stream_strategies():
                self.say(f"{found['name']} ({_marks(found)}): {found['summary']}")

    def _print(self, found: dict[str, Any]) -> None:
        self.say(f"{found['name']} ({_marks(found)}, write-back {found['write_kind']})")
        self.say(found["summary"])
        for label in ("cost", "user_visible_effect", "pros", "cons"):
            self.say(f"{label.replace('_', ' ').capitalize()}: {found[label]}")
        self.say(f"Repairs: {', '.join(found['repairs']) or 'nothing that a rule names'}")
        for mode in found["modes"]:
            alias = f" ({mode['alias']})" if mode["alias"] else ""
            self.say(f"--mode {mode['mode']}{alias}: {mode['summary']} [{', '.join(mode['formats'])}]")

    def _print_of_streams(self, found: dict[str, Any]) -> None:
        self.say(f"{found['name']} ({_marks(found)}, of captured streams)")
        self.say(found["summary"])
        self.say(f"Cost: {found['cost']}")
        self.say(f"Corrects: {', '.join(found['repairs']) or 'whatever the others change'}")


def _marks(found: dict[str, Any]) -> str:
    return ", ".join(found["safety"]) or "safe"
