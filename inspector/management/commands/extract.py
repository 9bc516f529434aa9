"""Writes a conversation as Markdown, to start a new session from where no repair can be proven."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.management.answering import AnsweringCommand
from inspector.management.target import add_target_arguments, load
from inspector.presentation.conversation.extract import extract_md
from inspector.presentation.visible import size
from inspector.programs.formats import UNREAD
from inspector.readers.catalogue import reader_of
from inspector.sources import folders
from inspector.sources.problems import shown


class Command(AnsweringCommand):
    """`extract TARGET [--conversation ID] [--out FILE]`: on standard output where no file is named."""

    help = "Writes who said what in a conversation as Markdown, with calls and results in short and secrets masked: a context file to start a new session from."

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        parser.add_argument("--reader", metavar="NAME", help="read as this client does (see `readers`)")
        parser.add_argument("--out", metavar="FILE", help="the new file, for example context.md; one that is there stays")

    def answer(self, options: dict[str, Any]) -> None:
        out = options["out"]
        if out == "":
            raise CommandError("Name the new file after --out, for example context.md.")
        chosen = load(options).one()
        if options["reader"]:
            reader_of(options["reader"], chosen.conversation.format)
        if reason := chosen.conversation.fact(UNREAD):
            raise CommandError(f"The conversation was not read: it {reason}.")
        case = chosen.case(options["reader"])
        text = extract_md(case, case.reading.reader)
        data = text.encode("utf-8", "backslashreplace")
        if out is not None:
            folders.write_new(Path(out), data)
        if options["json"]:
            self.say_json(
                {"conversation": chosen.oid, "native_id": chosen.conversation.native_id, "out": out, "bytes": len(data)}
                | ({} if out else {"markdown": text})
            )
        elif out is None:
            self.say(data.decode().removesuffix("\n"))
        else:
            self.say(
                f"Wrote {size(len(data))} of {shown(chosen.conversation.native_id)} into {shown(out, 4096)}. Read it before you share it: only secrets that are recognized are masked."
            )
