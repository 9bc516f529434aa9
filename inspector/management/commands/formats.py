"""Lists what Inspector reads and in which ways it writes it back."""

from typing import Any

from inspector.management.answering import AnsweringCommand
from inspector.presentation.catalogue.entries import formats


class Command(AnsweringCommand):
    help = "Lists the stored shapes and kinds of captures that can be read, and the modes in which a repair can be written to each."

    def answer(self, options: dict[str, Any]) -> None:
        if options["json"]:
            self.say_json({"formats": formats()})
            return
        for entry in formats():
            self.say(f"{entry['name']}: {entry['title']}")
            if entry["sample"]:
                self.say(f"    {entry['sample']}")
            if entry["holds"] == "conversations":
                self.say(
                    f"    read as {entry['reader']}, sent as {entry['projection']}, judged by {entry['profile']} unless you name others"
                )
                if entry["verified"]:
                    self.say(f"    verified with {', '.join(entry['verified'])}")
                if entry["places"]:
                    self.say(f"    usually in {', '.join(entry['places'])}")
            elif entry["holds"] == "streams":
                self.say("    a capture of streams: evidence, which is never written to; a corrected one is a new capture")
            for mode in entry["modes"]:
                alias = f" ({mode['alias']})" if mode["alias"] else ""
                self.say(f"    --mode {mode['name']}{alias}: {mode['summary']}; undo: {mode['undo']}")
