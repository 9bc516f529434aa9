"""Shows one conversation: its chunks, the messages that a client reads, or the request that it would send."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.conversation import notation
from inspector.conversation.model import Conversation, Reading
from inspector.conversation.queries import span_text
from inspector.conversation.tree import LEAF
from inspector.detectors.base import Case, case_of
from inspector.management import captured
from inspector.management.answering import AnsweringCommand
from inspector.management.target import Chosen, add_target_arguments, load
from inspector.models import Revision, loading
from inspector.projections.catalogue import projection
from inspector.readers.catalogue import reader_of
from inspector.reports.branches import branches_of, with_leaf
from inspector.reports.json_text import json_text
from inspector.reports.own_leaves import own_leaves
from inspector.reports.show import messages_report, prompt_report
from inspector.reports.tree_text import tree_lines, tree_report
from inspector.sources.problems import shown
from inspector.sources.reading import ACapture

OF_STREAMS = ("events", "message", "capture")


class Command(AnsweringCommand):
    """`show TARGET [--reader NAME] [--as notation|messages|tree|PROJECTION] [--leaf ENTRY] [--revision N]`."""

    help = "Shows a conversation as stored (one line a chunk), as a client reads it, its branches, or the request that would be sent."

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        parser.add_argument("--reader", metavar="NAME", help="read as this client does (see `readers`)")
        parser.add_argument(
            "--as",
            dest="shape",
            metavar="SHAPE",
            default="notation",
            help="notation (one line a chunk, the default), messages (as the reader has them), tree (the branches of a session that is one: "
            "one line an entry, * on the path), or a projection (see `projections`); of a capture events (one line each, folded, the default), "
            "message (what they assemble to) or capture (our own format)",
        )
        parser.add_argument(
            "--leaf", metavar="ENTRY", default="", help="of a tree, read the path to this entry instead of the reader's own"
        )
        parser.add_argument("--revision", metavar="N", type=int, help="an earlier content of an imported conversation")

    def answer(self, options: dict[str, Any]) -> None:
        shape = options["shape"]
        wanted = None if shape in ("notation", "messages", "tree", *OF_STREAMS) else projection(shape)
        try:
            chosen = load(options).one()
        except ACapture as found:
            captured.show(self, found.captures, options)
            return
        if shape in OF_STREAMS:
            raise CommandError(
                f"--as {shape} shows a captured stream, and this is a conversation: choose notation, messages, tree or a projection."
            )
        conversation = _revision(chosen, options["revision"])
        if options["reader"]:
            # Where its stored rows are shown too, which no reader changes.
            reader_of(options["reader"], conversation.format)
        if shape == "notation":
            leaf = options["leaf"]
            text = notation.dump(_at_leaf(conversation, leaf, options["reader"] or chosen.reader).conversation if leaf else conversation)
            self.say_json({"notation": text}) if options["json"] else self.say(text.removesuffix("\n"))
            return
        case = _at_leaf(conversation, options["leaf"], options["reader"] or chosen.reader)
        if shape == "tree":
            self._branches(case, options["json"])
            return
        reading = case.reading
        if wanted is None:
            self.say_json(messages_report(reading)) if options["json"] else self._print(reading)
            return
        report = prompt_report(wanted.project(reading.messages))
        if options["json"]:
            self.say_json(report)
            return
        self.stdout.write(json_text(report["messages"]))
        for lost in report["lost"]:
            self.note(f"left out, seq {span_text(lost['seqs'])}: {lost['why']}")

    def _branches(self, case: Case, is_json: bool) -> None:
        found = branches_of(case)
        if found is None or case.tree is None:
            raise CommandError("This conversation is a list and no tree: --as messages shows what is read of it.")
        own = own_leaves(case.tree, case.tree.format)
        if is_json:
            self.say_json(tree_report(found, own))
            return
        for line in tree_lines(found, own):
            self.say(line)

    def _print(self, reading: Reading) -> None:
        if reading.failure:
            self.say(f"{reading.reader} reads nothing: {reading.failure}.")
        else:
            self.say(f"As {reading.reader} reads it:")
        for number, message in enumerate(reading.messages):
            where = "made up by the reader" if message.synthetic else f"seq {span_text(message.seqs)}"
            self.say(f"MSG {number} {message.role}, {where}")
            for chunk in message.chunks:
                self.say(f"    {notation.dump_chunk(chunk)}")
        for dropped in reading.dropped:
            self.say(f"left out, seq {span_text(dropped.seqs)}: {dropped.why}")
        for warning in reading.warnings:
            self.say(f"warning: {warning}")
        if reading.report:
            self.say("report: " + json.dumps(dict(reading.report)))


def _at_leaf(conversation: Conversation, leaf: str, reader_name: str) -> Case:
    """Raises CommandError, UnknownReader."""
    found = with_leaf(conversation, leaf)
    if leaf and found.fact(LEAF) is None:
        raise CommandError(f"There is no entry {shown(leaf)!r} in this conversation: --as tree names them.")
    return case_of(found, reader_name)


def _revision(chosen: Chosen, number: int | None) -> Conversation:
    if number is not None and number < 1:
        raise CommandError("Revisions are counted from 1: name one of them.")
    if number is None:
        return chosen.stored.conversation
    if chosen.row is None:
        raise CommandError("A file has only the content that it has now: import it, and name the conversation's id for --revision.")
    try:
        return loading.stored(chosen.row, number).conversation
    except Revision.DoesNotExist:
        last = chosen.row.revision
        raise CommandError(f"Conversation {chosen.row.oid} has revisions 1 to {last}, and no {number}: choose one of them.") from None
