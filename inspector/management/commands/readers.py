"""Lists the clients whose loading code is known."""

from typing import Any

from inspector.management.answering import AnsweringCommand
from inspector.presentation.catalogue.entries import readers


class Command(AnsweringCommand):
    help = "Lists the readers: how each client loads a conversation, with its variants."

    def answer(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json({"readers": readers()})
            return
        for entry in readers():
            self.say(f"{entry['name']} ({entry['format']}, {'shipped' if entry['shipped'] else 'not shipped'}): {entry['title']}")
            self.say(f"    {entry['note']}")
            self.say(f"    Known from: {entry['evidence']}.")
            for variant in entry["variants"]:
                self.say(f"    {variant['name']}: {variant['title']}")
