"""Shows one conversation: its chunks, the messages that a client reads, or the request that it would send."""

import json
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.conversation import notation
from inspector.conversation.model import Conversation, Reading
from inspector.conversation.queries import span_text
from inspector.conversation.tree import LEAF
from inspector.conversation_file import conversation_file
from inspector.management import captured
from inspector.management.answering import AnsweringCommand
from inspector.management.target import Chosen, add_target_arguments, load
from inspector.models import Revision, loading
from inspector.presentation.conversation.show import messages_report, observed_report, prompt_report
from inspector.presentation.conversation.verdict import verdict
from inspector.presentation.json_text import json_text
from inspector.presentation.trace.report import trace_report
from inspector.presentation.trace.text import trace_lines
from inspector.presentation.tree.branches import branches_of, with_leaf
from inspector.presentation.tree.own_leaves import own_leaves
from inspector.presentation.tree.text import tree_lines, tree_report
from inspector.profiles.judging import judged
from inspector.programs.registry import program_or_default
from inspector.projections.catalogue import projection
from inspector.projections.observed import observed
from inspector.readers.catalogue import reader_of
from inspector.rules.base import Case, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.sources.problems import shown
from inspector.sources.reading import ACapture
from inspector.traces.model import Step, Trace
from inspector.wires.names import WIRES

SENT = "sent"
HTML = "html"
OF_STREAMS = ("events", "message", "capture")


class Command(AnsweringCommand):
    """`show TARGET [--reader NAME] [--as notation|messages|tree|sent|PROJECTION] [--step N] [--trace] [--leaf ENTRY] [--revision N]`."""

    help = (
        "Shows a conversation as stored (one line a chunk), as a client reads it, its branches, the request that would be sent, "
        "one that was sent, or its whole trace."
    )

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser)
        parser.add_argument("--reader", metavar="NAME", help="read as this client does (see `readers`)")
        parser.add_argument(
            "--as",
            dest="shape",
            metavar="SHAPE",
            default="notation",
            help="notation (one line a chunk, the default), messages (as the reader has them), tree (the branches of a session that is one: "
            "one line an entry, * on the path), sent (a past request, as the trace recorded it), html (one file with the findings, to attach to an issue), or a projection (see `projections`); of a capture "
            "events (one line each, folded, the default), message (what they assemble to) or capture (our own format)",
        )
        parser.add_argument(
            "--leaf", metavar="ENTRY", default="", help="of a tree, read the path to this entry instead of the reader's own"
        )
        parser.add_argument(
            "--step",
            metavar="N",
            help="with --as sent: the step whose request is shown, by its number in the trace or its id (default: the last)",
        )
        parser.add_argument(
            "--trace", action="store_true", help="show what was observed: turns, steps, requests and tool calls, with their rows"
        )
        parser.add_argument("--revision", metavar="N", type=int, help="an earlier content of an imported conversation")

    def answer(self, options: dict[str, Any]) -> None:
        shape = options["shape"]
        _refuse_together(options)
        shown_projection = None if shape in ("notation", "messages", "tree", HTML, SENT, *OF_STREAMS) else projection(shape)
        try:
            target = load(options)
            chosen = target.one()
        except ACapture as capture:
            captured.show(self, capture.captures, options)
            return
        if shape in OF_STREAMS:
            raise CommandError(
                f"--as {shape} shows a captured stream, and this is a conversation: choose notation, messages, tree, sent or a projection."
            )
        conversation = _revision(chosen, options["revision"])
        if options["trace"]:
            self._trace(chosen, conversation, options["json"])
            return
        if shape == SENT and chosen.format.name not in WIRES:
            self._sent(chosen, conversation, options)
            return
        if shape == SENT:
            # The body itself is what was sent.
            shown_projection = projection(chosen.projection)
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
        if shape == HTML:
            self._file(
                chosen.case(options["reader"]) if conversation is chosen.conversation and not options["leaf"] else case,
                target.path,
                chosen,
                options,
            )
            return
        if shown_projection is None:
            self.say_json(messages_report(reading)) if options["json"] else self._print(reading)
            return
        report = prompt_report(shown_projection.project(reading.messages))
        if options["json"]:
            self.say_json(report)
            return
        self.stdout.write(json_text(report["messages"]))
        for lost in report["lost"]:
            self.note(f"left out, seq {span_text(lost['seqs'])}: {lost['why']}")

    def _trace(self, chosen: Chosen, conversation: Conversation, is_json: bool) -> None:
        trace = _known_trace(chosen)
        if is_json:
            self.say_json(trace_report(trace, conversation.chunks))
            return
        for line in trace_lines(trace, conversation.chunks):
            self.say(line)

    def _sent(self, chosen: Chosen, conversation: Conversation, options: dict[str, Any]) -> None:
        if options["reader"] or options["leaf"]:
            raise CommandError("--as sent shows what the trace recorded, whatever reads the store now: leave --reader and --leaf out.")
        trace = _known_trace(chosen)
        steps = trace.steps()
        number = _step_number(steps, options["step"])
        request = observed(trace, steps[number - 1], conversation.chunks, projection(chosen.projection))
        if request is None:
            raise CommandError(
                f"Of step {number} neither the request nor the prompt is recorded, so that what was sent is unknown: --trace lists what is recorded."
            )
        if options["json"]:
            self.say_json(observed_report(request, number))
            return
        self.stdout.write(json_text([*([] if request.system is None else [request.system]), *request.prompt.values]))
        finish = request.finish_reason or "unknown"
        self.note(
            f"step {number} of {len(steps)}, {shown(request.step_id)}: model {shown(request.model or 'unknown')}, finish reason {shown(finish)}"
        )
        for note in request.notes:
            self.note(shown(note, 600))

    def _file(self, case: Case, store: str, chosen: Chosen, options: dict[str, Any]) -> None:
        revision = options["revision"] or (chosen.row.revision if chosen.row else 1)
        results = findings(case, RULES)
        _, judgement = judged(case.reading, case.conversation, chosen.profile, chosen.projection)
        text = conversation_file(case, results, verdict(case, results, judgement).text, store, revision, chosen.profile)
        self.say_json({"html": text}) if options["json"] else self.stdout.write(text)

    def _branches(self, case: Case, is_json: bool) -> None:
        branches = branches_of(case)
        if branches is None or case.tree is None:
            raise CommandError("This conversation is a list and no tree: --as messages shows what is read of it.")
        own = own_leaves(case.tree, case.tree.format)
        if is_json:
            self.say_json(tree_report(branches, own))
            return
        for line in tree_lines(branches, own):
            self.say(line)

    def _print(self, reading: Reading) -> None:
        if reading.failure:
            self.say(f"{reading.reader} reads nothing: {reading.failure}.")
        else:
            self.say(f"As {reading.reader} reads it:")
        for number, message in enumerate(reading.messages):
            where = "inserted by the reader" if message.synthetic else f"seq {span_text(message.seqs)}"
            self.say(f"MSG {number} {message.role}, {where}")
            for chunk in message.chunks:
                self.say(f"    {notation.dump_chunk(chunk)}")
        for dropped in reading.dropped:
            self.say(f"left out, seq {span_text(dropped.seqs)}: {dropped.why}")
        for warning in reading.warnings:
            self.say(f"warning: {warning}")
        if reading.report:
            self.say("report: " + json.dumps(dict(reading.report)))


def _refuse_together(options: dict[str, Any]) -> None:
    """Raises CommandError for options that mean nothing together."""
    if options["step"] is not None and (options["shape"] != SENT or options["trace"]):
        raise CommandError("--step picks one of the requests that were sent: write --as sent, and leave --trace out.")
    if options["trace"] and (options["shape"] != "notation" or options["reader"] or options["leaf"]):
        raise CommandError("--trace shows what was observed, whatever reads the store now: leave --as out, and --reader and --leaf.")


def _known_trace(chosen: Chosen) -> Trace:
    """Raises CommandError where nothing was observed of the conversation."""
    trace = chosen.trace or program_or_default(chosen.format.name).own_trace(chosen.stored.conversation)
    if trace is None or not (trace.turns or trace.lane or trace.logs):
        raise CommandError(
            "No trace of this conversation is known, so that what was sent is unknown: name its trace database or journal with --traces, or import it with the store."
        )
    return trace


def _step_number(steps: Sequence[Step], name: str | None) -> int:
    """The number of a step, from 1. Raises CommandError."""
    if name is None and steps:
        return len(steps)
    numbers = {step.step_id: number for number, step in enumerate(steps, start=1)}
    numbers |= {str(number): number for number in range(1, len(steps) + 1)}
    if name is None or name not in numbers:
        named = f" {shown(name)!r}" if name is not None else ""
        raise CommandError(f"The trace has no step{named}: it has {len(steps):,}, and --trace lists them.")
    return numbers[name]


def _at_leaf(conversation: Conversation, leaf: str, reader_name: str) -> Case:
    """Raises CommandError, UnknownReader."""
    tree = with_leaf(conversation, leaf)
    if leaf and tree.fact(LEAF) is None:
        raise CommandError(f"There is no entry {shown(leaf)!r} in this conversation: --as tree names them.")
    return case_of(tree, reader_name)


def _revision(chosen: Chosen, number: int | None) -> Conversation:
    if number is not None and number < 1:
        raise CommandError("Revisions are counted from 1: name one of them.")
    if number is None:
        return chosen.conversation
    if chosen.row is None:
        raise CommandError("A file has only the content that it has now: import it, and name the conversation's id for --revision.")
    try:
        return loading.stored(chosen.row, number).conversation
    except Revision.DoesNotExist:
        last = chosen.row.revision
        raise CommandError(f"Conversation {chosen.row.oid} has revisions 1 to {last}, and no {number}: choose one of them.") from None
