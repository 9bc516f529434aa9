"""Says what a provider's error means, and with --target where in a history it points."""

import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from inspector.conversation.queries import span_text
from inspector.detectors.base import ROLLOUTS, Case
from inspector.formats.rollouts_crash import PREFIX
from inspector.management.answering import AnsweringCommand
from inspector.management.target import Chosen, Target, add_options_of_target, is_imported, load
from inspector.models.transactions import one_snapshot
from inspector.profiles.base import EVIDENCE
from inspector.repairs.catalogue import STRATEGIES
from inspector.reports.crash_alignment import Alignment, aligned
from inspector.reports.explain import Explanation, calls_named, explained, explanation_report, same_refusal
from inspector.reports.stream_report import rows_that_say
from inspector.reports.visible import visible
from inspector.sources.problems import shown

LIMIT = 4 * 1024 * 1024
PIPE = "-"
PLACES_SHOWN = 8
TRIED = 20_000
"""Chunks of a history up to which the strategies are tried on it."""
MOST = 50


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
        target = options["target"]
        with one_snapshot() if target and is_imported(target) else nullcontext():
            chosen, crash, session = _targets(options, text) if target else (None, None, None)
        pointed = crash or chosen
        case = pointed.case() if pointed else None
        found = explained(text, case, pointed.projection if pointed else "")
        if crash is not None and found:
            self.note(
                f"{shown(crash.stored.conversation.native_id)} is the request that was refused so; what the error counts is counted there."
            )
        said_by_clients = rows_that_say(text)
        if options["json"]:
            streams = [{"code": row.code, "rule": row.name, "summary": row.summary, "why": row.why} for row in said_by_clients]
            self.say_json(explanation_report(text, found) | ({"streams": streams} if streams else {}))
        else:
            for row in said_by_clients:
                self.say(f"{row.code} {row.name}: what a client says of a stream. {row.summary} {row.why}")
                self.say("  `scan CAPTURE` shows where, of a captured stream (docs/captures.md says how to get one).")
            mends = session or chosen
            self._print(found, case is not None, mends.case() if mends and found else None)
            if crash is not None and session is not None:
                self._print_stored(aligned(session.stored.conversation, crash.stored.conversation), session)
            elif chosen is not None:
                self.say(f"Looked for in {shown(chosen.stored.conversation.native_id)} ({chosen.oid}).")
            elif found:
                self.say("Where it is in a history: --target with its store, its request body or an imported conversation.")
        if not found and not said_by_clients:
            if not options["json"]:
                self.note(
                    "No known rule answers so: `profiles` lists the texts that are known; give more of the error, or the whole log line."
                )
            sys.exit(1)

    def _print_stored(self, alignment: Alignment, session: Chosen) -> None:
        conversation = session.stored.conversation
        self.say(f"Stored in session {shown(conversation.native_id)} ({session.oid}):")
        for piece in alignment.named:
            where = f"seq {piece.stored.seq} ({shown(piece.stored.key, 120)})" if piece.stored else "nowhere that is known"
            self.say(f"  {piece.path}: {where}")
        for said in (*alignment.says, *(f"ruled out: {each}" for each in alignment.ruled_out)):
            self.say(f"  {said}")

    def _print(self, found: tuple[Explanation, ...], has_target: bool, mends: Case | None) -> None:
        """`mends`: of the conversation that can be repaired."""
        # What the history breaks now comes before what may have been meant.
        for each in sorted(found, key=lambda each: not each.fires):
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
                self.say(f"  mended by: {_mended_by(rule.mended_by, mends)}")
            self.say()


def _targets(options: dict[str, Any], text: str) -> tuple[Chosen | None, Chosen | None, Chosen | None]:
    """What is asked about, the newest crash with this very error where the target holds one, and the session of that. Raises CommandError."""
    named = load(options)
    everything = _beside(options, named)
    crashes = [each for each in everything if each.stored.conversation.native_id.startswith(PREFIX)]
    if len(named.conversations) == 1:
        (chosen,) = named.conversations
        own = chosen.stored.conversation
        crashes = [
            each for each in crashes if own.native_id in (each.stored.conversation.native_id, each.stored.conversation.fact("session"))
        ]
    crashes.sort(key=lambda each: int(each.stored.conversation.fact("lastActivityAt") or 0), reverse=True)
    crash = next((each for each in crashes if same_refusal(text, each.stored.conversation.fact("error") or "")), None)
    if crash is None:
        return _with_its_calls(named, text).one(), None, None
    name = crash.stored.conversation.fact("session")
    return None, crash, next((each for each in everything if each.stored.conversation.native_id == name), None)


def _with_its_calls(named: Target, text: str) -> Target:
    """Of several conversations those that hold a call which the error names, where there are such."""
    ids = calls_named(text) if len(named.conversations) > 1 else frozenset()
    held = tuple(each for each in named.conversations if any(chunk.call_id in ids for chunk in each.stored.conversation.chunks))
    return replace(named, conversations=held) if held else named


def _mended_by(names: tuple[str, ...], case: Case | None) -> str:
    """Those that would change something first, where there is a history to try them on."""
    if case is None or len(case.conversation.chunks) > TRIED:
        return ", ".join(names)
    edits = {each.name: sum(1 for _ in each.propose(case)) for each in STRATEGIES if each.name in names}
    useful = [f"{name} ({edits[name]:,} edit{'s' if edits[name] > 1 else ''})" for name in names if edits.get(name)]
    idle = [name for name in names if not edits.get(name)]
    said = ", ".join(useful) or "nothing of what usually does"
    return f"{said}; would change nothing here: {', '.join(idle)}" if idle else said


def _beside(options: dict[str, Any], named: Target) -> tuple[Chosen, ...]:
    """All conversations of the target; of an imported one of rollouts, those of its source."""
    row = named.conversations[0].row if len(named.conversations) == 1 else None
    if row is None:
        return load({**options, "conversation": None}).conversations
    if row.source.format != ROLLOUTS:
        return named.conversations
    rows = row.source.conversations.filter(is_gone=False).filter(
        Q(pk=row.pk) | Q(native_id__startswith=PREFIX) | Q(native_id=_session(named))
    )
    return tuple(load({**options, "target": each.oid, "conversation": None}).one() for each in rows[:MOST])


def _session(named: Target) -> str:
    return visible(named.conversations[0].stored.conversation.fact("session") or "")


def _text(words: list[str]) -> str:
    """Raises CommandError where there is none."""
    text = " ".join(words)
    if words == [PIPE]:
        text = sys.stdin.buffer.read(LIMIT).decode("utf-8", "replace")
    if not text.strip():
        raise CommandError("There is no text to explain: paste the provider's error as the argument, or pipe it in with -.")
    return text
