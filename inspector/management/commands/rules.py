"""Lists the rules, or explains one."""

from typing import Any

from django.core.management.base import CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.reports.catalogues import rule, rules, stream_rule, stream_rules


class Command(AnsweringCommand):
    """`rules [CODE]`."""

    help = "Lists the rules that look for damage, or explains one: why it matters, an example, and what repairs it."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("code", metavar="CODE", nargs="?", help="the code or the name of a rule")

    def answer(self, options: dict[str, Any]) -> None:
        of_streams = stream_rule(options["code"] or "")
        if of_streams is not None:
            self.say_json(of_streams) if options["json"] else self._print_of_streams(of_streams)
        elif options["code"]:
            found = rule(options["code"])
            self.say_json(found) if options["json"] else self._print(found)
        elif options["json"]:
            self.say_json({"rules": rules(), "stream_rules": stream_rules()})
        else:
            for found in rules():
                self.say(f"{_head(found)}: {found['summary']}")
            self.say()
            self.say("Of captured streams:")
            for found in stream_rules():
                self.say(f"{_head(found)}: {found['summary']}")

    def _print(self, found: dict[str, Any]) -> None:
        self.say(f"{_head(found)}, origin: {found['origin']}")
        self.say(found["summary"])
        self.say()
        self.say(found["why"])
        self.say()
        self.say("It fires on:")
        for line in found["example"].split("\n"):
            self.say(f"    {line}")
        if found["fixed_in_code"]:
            self.say(f"In code: {found['fixed_in_code']}")
        if found["repaired_by"]:
            self.say(f"In the data: {', '.join(found['repaired_by'])}")
        for reference in found["references"]:
            self.say(f"See: {reference}")

    def _print_of_streams(self, found: dict[str, Any]) -> None:
        self.say(f"{_head(found)}, origin: {found['origin']}")
        self.say(found["summary"])
        if found["why"]:
            self.say(found["why"])
        sides = "both sides of a proxy held against each other" if found["shown_by"] == "sides" else f"the {found['shown_by']}"
        self.say(f"In {', '.join(found['dialects'])}; shown by {sides}.")
        if found["fixed_in_code"]:
            self.say(f"In code: {found['fixed_in_code']}")
        if found["repaired_by"]:
            self.say(f"In a corrected capture: {', '.join(found['repaired_by'])}")


def _head(found: dict[str, Any]) -> str:
    return f"{found['code']} {found['rule']} ({found['severity']}, {'silent' if found['silent'] else 'loud'})"
