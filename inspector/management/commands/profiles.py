"""Lists the providers whose rules are known."""

from typing import Any

from inspector.management.answering import AnsweringCommand
from inspector.reports.catalogues import profiles

EVIDENCE = {"I": "seen in public issues", "C": "read in public code"}


class Command(AnsweringCommand):
    help = "Lists the profiles: what each provider is known to refuse, with its words, the evidence and its date."

    def answer(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json({"profiles": profiles()})
            return
        for found in profiles():
            self.say(f"{found['name']}: {found['title']}. {found['unknowable']}")
            for rule in found["rules"]:
                seen = EVIDENCE.get(rule["evidence"], rule["evidence"])
                self.say(f"    {rule['id']}: {rule['summary']} ({seen}, {rule['date']}: {', '.join(rule['references'])})")
                self.say(f"        {rule['text']}")
