"""Lists the clients whose loading code is known."""

from typing import Any

from inspector.management.answering import AnsweringCommand
from inspector.reports.catalogues import readers


class Command(AnsweringCommand):
    help = "Lists the readers: how each client loads a conversation, with its variants."

    def answer(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json({"readers": readers()})
            return
        for found in readers():
            self.say(f"{found['name']} ({found['format']}, {'shipped' if found['shipped'] else 'not shipped'}): {found['title']}")
            self.say(f"    {found['note']}")
            self.say(f"    Known from: {found['evidence']}.")
            for variant in found["variants"]:
                self.say(f"    {variant['name']}: {variant['title']}")
