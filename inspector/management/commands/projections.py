"""Lists the wire shapes that a conversation can be shown in."""

from typing import Any

from inspector.management.answering import AnsweringCommand
from inspector.presentation.catalogue.entries import projections


class Command(AnsweringCommand):
    help = "Lists the projections: the request that would be sent, for `show --as NAME`."

    def answer(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json({"projections": projections()})
            return
        for entry in projections():
            self.say(f"{entry['name']}: {entry['title']}")
            self.say(f"    {entry['note']}")
