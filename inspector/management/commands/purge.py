"""Takes conversations out of Inspector's own database."""

from dataclasses import fields
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.actions.problems import Refused
from inspector.actions.purge import Purged, allow_import, older_than, overwrite, purge
from inspector.actions.remove_source import Removed, begin_removal, finish_removal, what_goes
from inspector.environment import os_user
from inspector.installation import program
from inspector.management.answering import AnsweringCommand
from inspector.management.target import imported
from inspector.models import Conversation, Source
from inspector.presentation.json_text import json_fields
from inspector.presentation.visible import visible
from inspector.sources.places import place, real

SHOWN = 20


class Command(AnsweringCommand):
    """`purge CONVERSATION|--older-than DAYS|--source SOURCE --reason TEXT [--yes]`; without --yes only what would go is said."""

    help = (
        "Takes conversations with their findings, repairs and trace records out of Inspector's own database for good; no store is changed. "
        "Links then say when and why."
    )

    def declare(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("conversation", metavar="CONVERSATION", nargs="?", help="the id of an imported conversation, or the start of it")
        which.add_argument(
            "--older-than", metavar="DAYS", type=int, help="every conversation without activity for so many days, but those of the demo"
        )
        which.add_argument(
            "--source",
            metavar="SOURCE",
            help="a source, by its path or id, with everything that was derived from it; imports bring it back",
        )
        which.add_argument("--allow-import", metavar="CONVERSATION", help="let imports of its store bring a purged conversation back")
        parser.add_argument("--reason", metavar="TEXT", default="", help="why; whoever follows a link to it reads that")
        parser.add_argument("--with-repairs", action="store_true", help="also where a repair is in the store, whose undo is lost then")
        parser.add_argument("--yes", action="store_true", help="purge; without it nothing is done")

    def answer(self, options: dict[str, Any]) -> None:
        if options["allow_import"] is not None:
            tombstone = allow_import(options["allow_import"], os_user())
            self._tell(options, {"allowed": tombstone.oid}, [f"The next import of its store brings {tombstone.oid} back."])
            return
        if options["source"] is not None:
            self._remove(_source_named(options["source"]), options)
            return
        days = options["older_than"]
        if days is not None and days < 1:
            raise CommandError("--older-than takes a number of days from 1 on.")
        rows = [imported(options["conversation"])] if days is None else list(older_than(days))
        if not options["yes"]:
            lines = [f"{row.oid} of {row.source.name}" for row in rows[:SHOWN]]
            more = [f"and {len(rows) - SHOWN:,} more"] if len(rows) > SHOWN else []
            again = f"Nothing was purged. With --yes {len(rows):,} conversation{'s' if len(rows) != 1 else ''} would be, with all that is kept of them:"
            self._tell(options, {"would_purge": [row.oid for row in rows], "purged": []}, [again, *lines, *more])
            return
        reason = options["reason"] or ("" if days is None else f"no activity for more than {days} days")
        purged, refused = _purge(rows, reason, options["with_repairs"], is_one=days is None)
        remaining = overwrite() if purged else ""
        names = "conversation findings repairs payloads shared"
        answer = {"purged": [json_fields(one, names) for one in purged], "refused": refused, "remaining": remaining}
        self._tell(options, answer, _lines(purged, refused, remaining))

    def _remove(self, source: Source, options: dict[str, Any]) -> None:
        goes = what_goes(source)
        report = {field.name: getattr(goes, field.name) for field in fields(goes)}
        if not options["yes"]:
            undo = (
                f" {goes.undoable:,} of the repairs are in the store: --with-repairs says that their undo may be lost."
                if goes.undoable
                else ""
            )
            words = (
                f"Nothing was removed. With --yes the source {source.name} would be, with {_amount(goes)}. The store is not touched.{undo}"
            )
            self._tell(options, {"would_remove": report, "removed": None}, [words])
            return
        begin_removal(source, os_user(), options["reason"], options["with_repairs"])
        finish_removal(source)
        remaining = overwrite()
        lines = [f"Removed the source {source.name} with {_amount(goes)}. The store was not changed.", *([remaining] if remaining else [])]
        self._tell(options, {"removed": report, "remaining": remaining}, lines)

    def _tell(self, options: dict[str, Any], answer: dict[str, Any], lines: list[str]) -> None:
        if options["json"]:
            self.say_json(answer)
            return
        for line in lines:
            self.say(line)


def _amount(goes: Removed) -> str:
    traces = f" and {goes.trace_records:,} trace records" if goes.trace_records else ""
    streams = f", {goes.streams:,} captured streams" if goes.streams else ""
    return f"{goes.conversations:,} conversations, {goes.findings:,} findings, {goes.repairs:,} repairs{streams}{traces}"


def _source_named(name: str) -> Source:
    """Raises CommandError."""
    known = Source.objects.filter(oid=name).first() if name else None
    known = known or (Source.objects.filter(oid=Source.oid_of(visible(real(place(name))))).first() if name else None)
    if known is None:
        raise CommandError(
            "No source with this path or id is imported: look at the list of sources for its path, or give the id of its page."
        )
    return known


def _purge(rows: list[Conversation], reason: str, with_repairs: bool, is_one: bool) -> tuple[list[Purged], list[str]]:
    """What was purged, and a sentence for each conversation of several that was not. Raises Refused where it is the only one."""
    purged, refused = [], []
    for row in rows:
        try:
            purged.append(purge(row, os_user(), reason, with_repairs))
        except Refused as problem:
            if is_one:
                raise
            refused.append(f"{row.oid} stays. {problem}")
    return purged, refused


def _lines(purged: list[Purged], refused: list[str], remaining: str) -> list[str]:
    count, findings, repairs = len(purged), sum(one.findings for one in purged), sum(one.repairs for one in purged)
    lines = [
        f"Purged {count:,} conversation{'s' if count != 1 else ''}, {findings:,} findings and {repairs:,} repairs. Stores were not changed."
    ]
    if shared := sum(one.shared for one in purged):
        lines.append(f"{shared:,} pieces of content stay, since other conversations, traces or streams have the same.")
    if purged:
        lines.append(
            f"Imports leave them out. To bring one back: {program()} purge --allow-import {purged[0].conversation}, then import its store."
        )
    return [*lines, *refused, *([remaining] if remaining else [])]
