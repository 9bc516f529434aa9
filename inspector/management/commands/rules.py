"""Lists the rules, or explains one."""

from typing import Any

from django.core.management.base import CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.presentation.catalogue.entries import rule_named, rule_report, rules, stream_rules


class Command(AnsweringCommand):
    """`rules [CODE]`."""

    help = "Lists the rules that look for damage, or explains one: why it matters, an example, and what repairs it."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("code", metavar="CODE", nargs="?", help="the code or the name of a rule")

    def answer(self, options: dict[str, Any]) -> None:
        if options["code"]:
            row = rule_report(rule_named(options["code"]))
            self.say_json(row) if options["json"] else self._print(row)
        elif options["json"]:
            self.say_json({"rules": rules(), "stream_rules": stream_rules()})
        else:
            for row in rules():
                self.say(f"{_head(row)}: {row['summary']}")
            self.say()
            self.say("Of captured streams:")
            for row in stream_rules():
                self.say(f"{_head(row)}: {row['summary']}")

    def _print(self, row: dict[str, Any]) -> None:
        self.say(f"{_head(row)}, wrong in the {row['origin']}")
        self.say(row["summary"])
        if row["why"]:
            self.say()
            self.say(row["why"])
        if row["protocols"]:
            sides = "both sides of a proxy compared" if row["shown_by"] == "sides" else f"the {row['shown_by']}"
            self.say(f"In {', '.join(row['protocols'])}; shown by {sides}.")
        if row["example"]:
            self.say()
            self.say("It fires on:")
            for line in row["example"].split("\n"):
                self.say(f"    {line}")
        if row["fixed_in_code"]:
            self.say(f"In code: {row['fixed_in_code']}")
        if row["repaired_by"]:
            self.say(f"In {'a corrected capture' if row['protocols'] else 'the data'}: {', '.join(row['repaired_by'])}")
        for reference in row["references"]:
            self.say(f"See: {reference}")


def _head(row: dict[str, Any]) -> str:
    return f"{row['code']} {row['rule']} ({row['severity']}, {'silent' if row['silent'] else 'raises an error'})"
