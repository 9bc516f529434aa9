"""Says what a provider's error means, and with --target where in a history it points."""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.conversation.queries import span_text
from inspector.management.answering import AnsweringCommand
from inspector.management.target import add_options_of_target, load
from inspector.profiles.base import EVIDENCE
from inspector.reports.explain import Explanation, explained, explanation_report
from inspector.sources.problems import shown

LIMIT = 4 * 1024 * 1024
PIPE = "-"
PLACES_SHOWN = 8


class Command(AnsweringCommand):
    """`explain ERROR_TEXT_OR_- [--target TARGET]`; status 1: not recognised."""

    help = "Says which rule of a provider answers with an error text, what it means, what mends it, and where in the history of --target it points."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument(
            "error",
            metavar="ERROR_TEXT_OR_-",
            nargs="+",
            help="the text as you got it, wrapped in JSON, a log line or a stack trace; - reads standard input",
        )
        parser.add_argument("--target", metavar="TARGET", help="a store, a request body or an imported conversation that it was said of")
        add_options_of_target(parser)

    def answer(self, options: dict[str, Any]) -> None:
        text = _text(options["error"])
        chosen = load(options).one() if options["target"] else None
        case = chosen.case() if chosen else None
        found = explained(text, case, chosen.projection if chosen else "")
        if options["json"]:
            self.say_json(explanation_report(text, found))
        else:
            self._print(found, case is not None)
        if not found:
            if not options["json"]:
                self.note(
                    "No known rule answers so: `profiles` lists the texts that are known; give more of the error, or the whole log line."
                )
            sys.exit(1)

    def _print(self, found: tuple[Explanation, ...], has_target: bool) -> None:
        for each in found:
            rule = each.candidate.rule
            self.say(f"{rule.id} ({', '.join(each.candidate.profiles)}): {rule.summary}")
            marks = "; ".join(EVIDENCE[mark] for mark in rule.evidence if mark in EVIDENCE)
            references = f" ({', '.join(rule.references)})" if rule.references else ""
            self.say(f"  known from: {marks}, {rule.date}{references}")
            for word, said in (("means", rule.advice), ("cannot be judged offline", rule.unjudged), ("obsolete", rule.obsolete)):
                if said:
                    self.say(f"  {word}: {said}")
            for name, path, seqs in each.fires[:PLACES_SHOWN]:
                self.say(f"  the history breaks it now at {path}, seq {span_text(seqs)}, as {name} judges")
            for place in each.places[:PLACES_SHOWN]:
                held = ", ".join(dict.fromkeys(f"{chunk.role} {chunk.kind}" for chunk in place.chunks))
                records = ", ".join(shown(key, 80) for key in dict.fromkeys(chunk.key for chunk in place.chunks[:3]))
                where = f"seq {span_text(place.seqs)} ({held}; {records})" if place.chunks else "nothing"
                self.say(f"  {place.path}: {where}: {place.why}")
            if len(each.places) > PLACES_SHOWN:
                self.say(f"  and {len(each.places) - PLACES_SHOWN} more places; --json lists them")
            if has_target and not each.fires and not each.places:
                self.say("  nothing in the history of the target breaks it now")
            if rule.mended_by:
                self.say(f"  mended by: {', '.join(rule.mended_by)}")
            self.say()


def _text(words: list[str]) -> str:
    """Raises CommandError where there is none."""
    text = " ".join(words)
    if words == [PIPE]:
        text = sys.stdin.buffer.read(LIMIT).decode("utf-8", "replace")
    if not text.strip():
        raise CommandError("There is no text to explain: paste the provider's error as the argument, or pipe it in with -.")
    return text
