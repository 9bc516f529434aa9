"""Lists the providers whose rules are known."""

from typing import Any

from inspector.management.answering import AnsweringCommand
from inspector.presentation.catalogue.entries import profiles

EVIDENCE = {"I": "seen in public issues", "C": "read in public code"}


class Command(AnsweringCommand):
    help = "Lists the profiles: what each provider is known to refuse, with its words, the evidence and its date."

    def answer(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json({"profiles": profiles()})
            return
        for entry in profiles():
            self.say(f"{entry['name']}: {entry['title']}. {entry['unknowable']}")
            for rule in entry["rules"]:
                evidence = EVIDENCE.get(rule["evidence"], rule["evidence"])
                self.say(f"    {rule['id']}: {rule['summary']} ({evidence}, {rule['date']}: {', '.join(rule['references'])})")
                self.say(f"        {rule['text']}")
