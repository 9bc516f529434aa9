"""Says what a provider's error means, and with --target where in a history it points."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from shlex import quote
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from inspector.conversation.queries import span_text
from inspector.management.answering import AnsweringCommand
from inspector.management.target import Chosen, Target, add_options_of_target, is_imported, load
from inspector.models.transactions import one_snapshot
from inspector.profiles.base import EVIDENCE
from inspector.programs.registry import crash_prefix_of, program_or_default
from inspector.readers.catalogue import names as readers_of
from inspector.readers.catalogue import reader, reader_of
from inspector.reports.error_advice import (
    TRIED,
    Advice,
    advised,
    error_report,
    observed,
    profile_of,
    remedies,
    repaired_by_words,
    with_safety,
)
from inspector.reports.error_meanings import Meaning, unrecognised_meaning
from inspector.reports.explain import (
    Candidate,
    Explanation,
    OtherReader,
    calls_named,
    explained_in,
    other_readers,
    recognized,
    same_refusal,
)
from inspector.reports.panels import Alignment
from inspector.reports.stream_report import rules_that_say
from inspector.reports.visible import visible
from inspector.rules.base import Case
from inspector.sources.problems import shown
from inspector.sources.reading import ACapture

LIMIT = 4 * 1024 * 1024
PIPE = "-"
PLACES_SHOWN = 8
MOST = 50
SEARCHED = 200
"""Conversations of a target that are judged to see which of them the text may be about."""
LISTED = 10


@dataclass(frozen=True)
class Asked:
    """What the error is about. `pointed` is the history whose numbers the text counts, as `reader` reads it; `repairable` is the one that a repair changes.

    `several`: the conversations of a target that neither a crash file nor a call tells apart; nothing else is set then.
    """

    pointed: Chosen | None = None
    reader: str | None = None
    repairable: Chosen | None = None
    crash: Chosen | None = None
    alignment: Alignment | None = None
    several: tuple[Chosen, ...] = ()
    repair_reader: str | None = None

    @cached_property
    def case(self) -> Case | None:
        return self.pointed.case(self.reader) if self.pointed else None

    @cached_property
    def repair_case(self) -> Case | None:
        if self.repairable is None:
            return None
        is_same = self.repairable is self.pointed and self.case is not None and self.reader == self.repair_reader
        return self.case if is_same else self.repairable.case(self.repair_reader)

    @property
    def cases(self) -> list[Case]:
        """That may have recorded the error, the crash file first."""
        crash = [self.crash.case()] if self.crash is not None and self.crash is not self.pointed else []
        return [*crash, *(each for each in (self.case, self.repair_case) if each is not None)]


@dataclass(frozen=True, slots=True)
class Match:
    """A conversation of several that breaks a recognized rule now, or has a call that the text names. `where` says which and where."""

    chosen: Chosen
    where: str


class Command(AnsweringCommand):
    """`explain ERROR_TEXT_OR_- [--target TARGET] [--reader NAME]`; status 1: not recognized."""

    help = "Says which rule of a provider answers with an error text, what it means, what repairs it, and where in the history of --target it points."

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument(
            "error",
            metavar="ERROR_TEXT_OR_-",
            nargs="+",
            help="the text as you got it, wrapped in JSON, a log line or a stack trace; - reads standard input",
        )
        parser.add_argument("--target", metavar="TARGET", help="a store, a request body or an imported conversation that it was said of")
        parser.add_argument(
            "--reader",
            metavar="NAME",
            help="count as this client counts (see `readers`); without it a crash file is counted as it is, and a session as its program reads it",
        )
        add_options_of_target(parser)

    def answer(self, options: dict[str, Any]) -> None:
        text = _text(options["error"])
        target = options["target"]
        if options["reader"]:
            reader(options["reader"])
            if not target:
                raise CommandError("--reader says how a history is read: name its store or conversation with --target.")
        candidates = recognized(text)
        with one_snapshot() if target and is_imported(target) else nullcontext():
            try:
                asked = _asked(options, text, candidates) if target else Asked()
            except ACapture as capture:
                # The rule is explained all the same: only the history of the error is not there.
                self.note(str(capture))
                asked = Asked()
        found = explained_in(candidates, asked.case, asked.pointed.projection if asked.pointed else "")
        found = tuple(sorted(found, key=lambda each: not each.fires))
        known = None if found else unrecognised_meaning(text)
        others = _other_readers(found, asked)
        advice = _advice(found, text, asked)
        matches = list(_matches(candidates, asked.several))
        said_by_clients = rules_that_say(text)
        if options["json"]:
            streams = [{"code": row.code, "rule": row.name, "summary": row.summary, "why": row.why} for row in said_by_clients]
            pointed = (_ids(asked.pointed), asked.case) if asked.pointed and asked.case else None
            repairable = (_ids(asked.repairable), asked.repair_case) if asked.repairable and asked.repair_case and found else None
            report = error_report(text, found, known, pointed, repairable, advice, others, asked.alignment)
            report |= {"conversations": [_ids(each.chosen) | {"where": each.where} for each in matches]} if asked.several else {}
            self.say_json(report | ({"streams": streams} if streams else {}))
        else:
            for row in said_by_clients:
                self.say(f"{row.code} {row.name}: what a client says of a stream. {row.summary} {row.why}")
                self.say("  `scan CAPTURE` shows where, of a captured stream (docs/how-to/record-a-stream.md says how to get one).")
            if known is not None:
                self._print_known(known)
            if found:
                self._print(found, asked, advice)
                self._print_others(others, asked)
                self._print_where(asked, matches)
                if advice is not None:
                    self._print_advice(advice, asked, options)
        if not found and known is None and not said_by_clients:
            if not options["json"]:
                self.note(
                    "No known rule answers so: `profiles` lists the texts that are known; give more of the error, or the whole log line."
                )
            sys.exit(1)

    def _print_known(self, known: Meaning) -> None:
        self.say(f"{'Transient, not your history: ' if known.is_transient else ''}{known.means}.")
        if known.advice:
            self.say(f"  {known.advice}")
        if known.rule:
            self.say(f"  `rules {known.rule}` says more, and `scan` shows where it is.")

    def _print_where(self, asked: Asked, matches: Sequence[Match]) -> None:
        if asked.alignment is not None and asked.repairable is not None:
            self._print_stored(asked.alignment, asked.repairable)
        elif asked.pointed is not None and asked.case is not None:
            self.say(
                f"Looked for in {shown(asked.pointed.stored.conversation.native_id)} ({asked.pointed.oid}) as {asked.case.reading.reader} reads it."
            )
        elif asked.several:
            self._print_several(asked.several, matches)
        else:
            self.say("Where it is in a history: --target with its store, its request body or an imported conversation.")

    def _print_several(self, several: Sequence[Chosen], matches: Sequence[Match]) -> None:
        if matches:
            self.say(f"The target has {len(several):,} conversations; these may be meant. Pick one with --conversation:")
            for match in matches[:LISTED]:
                self.say(f"  --conversation {quote(shown(match.chosen.stored.conversation.native_id))}  {match.where}")
            if len(matches) > LISTED:
                self.say(f"  and {len(matches) - LISTED:,} more; --json lists them")
            return
        ids = ", ".join(shown(each.stored.conversation.native_id, 60) for each in several[:LISTED])
        more = f" and {len(several) - LISTED:,} more" if len(several) > LISTED else ""
        seen = "none" if len(several) <= SEARCHED else f"none of the first {SEARCHED}"
        self.say(
            f"The target has {len(several):,} conversations, and {seen} of them breaks the rule now: pick the one that was rejected with "
            f"--conversation ({ids}{more})."
        )

    def _print_stored(self, alignment: Alignment, session: Chosen) -> None:
        conversation = session.stored.conversation
        self.say(f"Stored in session {shown(conversation.native_id)} ({session.oid}):")
        for piece in alignment.named:
            where = f"seq {piece.stored.seq} of the session ({shown(piece.stored.key, 120)})" if piece.stored else "nowhere that is known"
            self.say(f"  {piece.path}: {where}")
        for said in (*alignment.says, *(f"ruled out: {each}" for each in alignment.ruled_out)):
            self.say(f"  {said}")

    def _print(self, found: Sequence[Explanation], asked: Asked, advice: Advice | None) -> None:
        # A session and its crash file count their chunks each for itself.
        of = " of the crash file" if asked.crash is not None and asked.pointed is asked.crash else ""
        history = "the rejected request" if of else "the history"
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
                self.say(f"  {history} breaks it at {path}, seq {span_text(seqs)}{of}, as {name} judges")
            for place in each.places[:PLACES_SHOWN]:
                kinds = ", ".join(dict.fromkeys(f"{chunk.role} {chunk.kind}" for chunk in place.chunks))
                records = ", ".join(shown(key, 80) for key in dict.fromkeys(chunk.key for chunk in place.chunks[:3]))
                where = f"seq {span_text(place.seqs)}{of} ({kinds}; {records})" if place.chunks else "nothing"
                self.say(f"  {place.path}: {where}: {place.why}")
            if len(each.places) > PLACES_SHOWN:
                self.say(f"  and {len(each.places) - PLACES_SHOWN} more places; --json lists them")
            if asked.case is not None and not each.fires and not each.places:
                self.say("  nothing in the history of the target breaks it now")
            if said := repaired_by_words(remedies(each, asked.repair_case, advice)):
                self.say(f"  repaired by: {said}")
            self.say()

    def _print_others(self, others: Sequence[OtherReader], asked: Asked) -> None:
        if not others or asked.case is None:
            return
        self.say(f"As {asked.case.reading.reader} reads the history, it has no such place. An older or other reader has it:")
        for each in others:
            breaks = ", and its request breaks the rule there" if each.is_broken else ""
            self.say(f"  --reader {each.reader}: {each.path} is seq {span_text(each.seqs)}{breaks}")

    def _print_advice(self, advice: Advice, asked: Asked, options: dict[str, Any]) -> None:
        if asked.repairable is None:
            return
        self.say(f"What to do with {shown(asked.repairable.stored.conversation.native_id)} ({asked.repairable.oid}):")
        self.say(f"  before: {advice.observed}")
        self.say(f"  now: {advice.profile}, as {advice.reader} reads it: {advice.now}")
        if advice.why_not:
            self.say(f"  {advice.why_not}")
        if not advice.strategies:
            if not advice.why_not:
                self.say("  No repair is recommended: what is sent now breaks no known rule, and no rule names a repair of the store.")
            return
        self.say(f"  after {', '.join(with_safety(each) for each in advice.strategies)}: {advice.after}")
        given = asked.repairable.row is None and not options["target"].startswith(asked.repairable.oid)
        named = f" --conversation {quote(shown(asked.repairable.stored.conversation.native_id))}" if given else ""
        target = options["target"] if given else asked.repairable.oid
        read = f" --reader {options['reader']}" if options["reader"] else ""
        how = f"--strategy {' '.join(advice.names)}" if advice.why_not else f"--for {advice.profile}"
        self.say(f"  Preview: repair {quote(shown(target, 4096))}{named} {how}{read} --plan")


def _ids(chosen: Chosen) -> dict[str, Any]:
    return {"id": chosen.oid, "native_id": chosen.stored.conversation.native_id}


def _asked(options: dict[str, Any], text: str, candidates: Sequence[Candidate]) -> Asked:
    """By the newest crash with this very error where the target has one, else by the calls that the text names. Raises CommandError."""
    named = load(options)
    name = options["reader"]
    if name:
        reader_of(name, named.format)
    everything = _beside(options, named)
    crash = _crash_of(named, everything, text)
    if crash is None:
        chosen = _with_its_calls(named, text)
        if len(chosen) != 1:
            # Raises where there are none.
            return Asked(several=chosen) if chosen else Asked(pointed=named.one())
        is_evidence = _is_crash(chosen[0])
        return Asked(chosen[0], name, None if is_evidence else chosen[0], repair_reader=name)
    session = next((each for each in everything if each.stored.conversation.native_id == crash.stored.conversation.fact("session")), None)
    if session is None:
        return Asked(crash, None, crash=crash)
    aligned = program_or_default(named.format).aligned
    assert aligned is not None, "a program with crash files aligns them"
    alignment = aligned(session.stored.conversation, crash.stored.conversation)
    if name or not alignment.pieces:
        # Without the rejected request its numbers count in the session, as the version of that time made a request of it.
        return Asked(session, name or alignment.reader, session, crash, alignment if alignment.pieces else None, repair_reader=name)
    return Asked(crash, None, session, crash, alignment, repair_reader=name)


def _is_crash(chosen: Chosen) -> bool:
    return bool(crash_prefix_of(chosen.format.name, chosen.stored.conversation.native_id))


def _crash_of(named: Target, everything: Sequence[Chosen], text: str) -> Chosen | None:
    crashes = [each for each in everything if _is_crash(each)]
    if len(named.conversations) == 1:
        (chosen,) = named.conversations
        own = chosen.stored.conversation
        crashes = [
            each for each in crashes if own.native_id in (each.stored.conversation.native_id, each.stored.conversation.fact("session"))
        ]
    crashes.sort(key=lambda each: int(each.stored.conversation.fact("lastActivityAt") or 0), reverse=True)
    return next((each for each in crashes if same_refusal(text, each.stored.conversation.fact("error") or "")), None)


def _with_its_calls(named: Target, text: str) -> tuple[Chosen, ...]:
    """Of several conversations those with a call that the error names, where there are such."""
    ids = calls_named(text) if len(named.conversations) > 1 else frozenset()
    return (
        tuple(each for each in named.conversations if any(chunk.call_id in ids for chunk in each.stored.conversation.chunks))
        or named.conversations
    )


def _matches(candidates: Sequence[Candidate], several: Sequence[Chosen]) -> Iterator[Match]:
    """Those of several conversations that break a recognized rule now, first those that break it at the place that the text names."""
    ids = {name for each in candidates for name in each.ids}
    ranked: list[tuple[list[bool], Match]] = []
    for chosen in several[:SEARCHED] if candidates else ():
        if len(chosen.stored.conversation.chunks) > TRIED:
            continue
        # What was rejected, another version of the client may have sent: of a few conversations every reader is tried.
        others = readers_of(chosen.format.name) if len(several) <= LISTED else ()
        broken = (each for name in dict.fromkeys((chosen.reader, *others)) if (each := _broken(candidates, chosen, name)))
        called = [chunk.seq for chunk in chosen.stored.conversation.chunks if chunk.call_id in ids]
        if first := next(broken, None):
            *rank, where = first
            ranked.append((rank, Match(chosen, where)))
        elif called:
            ranked.append(([True, True], Match(chosen, f"has a call that the error names, seq {span_text(called[:LISTED])}")))
    yield from (match for _, match in sorted(ranked, key=lambda each: each[0]))


def _broken(candidates: Sequence[Candidate], chosen: Chosen, reader_name: str) -> tuple[bool, bool, str] | None:
    """The first violation of these rules, those at the place that the text names first: whether another reader sends it, whether it is elsewhere, and where."""
    found = explained_in(candidates, chosen.case(reader_name), chosen.projection)
    exact = {place.path for each in found for place in each.places if place.is_exact}
    fired = [(path not in exact, each.candidate.rule.id, path, seqs) for each in found for _, path, seqs in each.fires]
    if not fired:
        return None
    is_elsewhere, rule, path, seqs = min(fired)
    read = "" if reader_name == chosen.reader else f", as {reader_name} reads it"
    return reader_name != chosen.reader, is_elsewhere, f"breaks {rule} at {path}, seq {span_text(seqs)}{read}"


def _other_readers(found: Sequence[Explanation], asked: Asked) -> tuple[OtherReader, ...]:
    if asked.case is None or asked.pointed is None or asked.pointed is asked.crash or len(asked.case.conversation.chunks) > TRIED:
        return ()
    return other_readers(found, asked.case, readers_of(asked.pointed.format.name), asked.pointed.projection)


def _advice(found: Sequence[Explanation], text: str, asked: Asked) -> Advice | None:
    if not found or asked.repairable is None or asked.repair_case is None:
        return None
    profile_name = profile_of(found, asked.repairable.profile)
    return advised(asked.repair_case, profile_name, asked.repairable.projection, observed(found, text, asked.cases))


def _beside(options: dict[str, Any], named: Target) -> tuple[Chosen, ...]:
    """All conversations of the target; of an imported one with crash files next to it, those of its source."""
    row = named.conversations[0].row if len(named.conversations) == 1 else None
    prefix = program_or_default(named.format).crash_prefix
    if not prefix or (row is None and options["conversation"] is None):
        return named.conversations
    if row is None:
        return load({**options, "conversation": None}).conversations
    rows = row.source.conversations.filter(is_gone=False).filter(
        Q(pk=row.pk) | Q(native_id__startswith=prefix) | Q(native_id=_session(named))
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
