"""Says what a provider's error means, and with --target where in a history it points."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from inspector.conversation.queries import span_text
from inspector.installation import option, program
from inspector.management.answering import AnsweringCommand
from inspector.management.target import Chosen, Target, add_options_of_target, is_imported, load
from inspector.models.transactions import one_snapshot
from inspector.presentation.conversation.panels import Alignment
from inspector.presentation.conversation.recorded_errors import recorded_errors
from inspector.presentation.explain.advice import (
    TRIED,
    Advice,
    advised,
    error_report,
    is_advice_only,
    observed,
    profile_of,
    remedies,
    repaired_by_words,
    with_safety,
)
from inspector.presentation.explain.answer import (
    Candidate,
    Explanation,
    OtherReader,
    advice_words,
    calls_named,
    cause_words,
    explained_in,
    other_readers,
    reader_of_error,
    recognized,
    same_refusal,
)
from inspector.presentation.explain.meanings import unrecognized_meaning
from inspector.presentation.stream.report import rules_that_say
from inspector.presentation.visible import visible
from inspector.profiles.base import EVIDENCE
from inspector.programs.base import Meaning
from inspector.programs.registry import crash_prefix_of, program_or_default
from inspector.readers.catalogue import names as readers_of
from inspector.readers.catalogue import reader, reader_of
from inspector.rules.base import Case
from inspector.sources.problems import shown
from inspector.sources.reading import ACapture
from inspector.text.shell_words import path_word

LIMIT = 4 * 1024 * 1024
PIPE = "-"
PLACES_SHOWN = 8
MOST = 50
SEARCHED = 200
"""Conversations of a target that are judged to see which of them the text may be about."""
LISTED = 10


@dataclass(frozen=True)
class ErrorSubject:
    """What the error is about. `pointed` is the history whose numbers the text counts, as `reader` reads it; `repairable` is the one that a repair changes.

    `several`: the conversations of a target that neither a crash file nor a call distinguishes; nothing else is set then.
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
        return [*crash, *(case for case in (self.case, self.repair_case) if case is not None)]


@dataclass(frozen=True, slots=True)
class Suspect:
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
        parser.add_argument(
            "--target", metavar="TARGET", help="a store, a request body or an imported conversation that the error is about"
        )
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
                subject = _subject(options, text, candidates) if target else ErrorSubject()
            except ACapture as capture:
                # The rule is explained all the same: only the history of the error is not there.
                self.note(str(capture))
                subject = ErrorSubject()
        explanations = explained_in(candidates, subject.case, subject.pointed.projection if subject.pointed else "")
        explanations = tuple(sorted(explanations, key=lambda explanation: not explanation.fires))
        meaning = None if explanations else unrecognized_meaning(text)
        others = _other_readers(explanations, subject)
        advice = _advice(explanations, text, subject)
        matches = list(_matches(text, candidates, subject.several))
        client_rows = rules_that_say(text)
        if options["json"]:
            streams = [{"code": row.code, "rule": row.name, "summary": row.summary, "why": row.why} for row in client_rows]
            pointed = (_ids(subject.pointed), subject.case) if subject.pointed and subject.case else None
            chosen, repair_case = subject.repairable, subject.repair_case
            repairable = (_ids(chosen), repair_case) if chosen and repair_case and explanations else None
            report = error_report(text, explanations, meaning, pointed, repairable, advice, others, subject.alignment)
            report |= {"conversations": [_ids(match.chosen) | {"where": match.where} for match in matches]} if subject.several else {}
            self.say_json(report | ({"streams": streams} if streams else {}))
        else:
            for row in client_rows:
                self.say(f"{row.code} {row.name}: what a client reports of a stream: {row.summary}. {row.why}")
                self.say("  `scan CAPTURE` shows where, of a captured stream (docs/how-to/record-a-stream.md says how to get one).")
            if meaning is not None:
                self._print_meaning(meaning)
            if explanations:
                if advice is not None:
                    self._print_advice(explanations, advice, subject, options)
                    self.say()
                self._print(explanations, subject, advice)
                self._print_others(others, subject)
                self._print_where(subject, matches)
        if not explanations and meaning is None and not client_rows:
            if not options["json"]:
                self.note(
                    "No known rule answers so: `profiles` lists the texts that are known; give more of the error, or the whole log line."
                )
            sys.exit(1)

    def _print_meaning(self, meaning: Meaning) -> None:
        self.say(f"{'Transient, not your history: ' if meaning.is_transient else ''}{meaning.means}.")
        if meaning.advice:
            self.say(f"  {meaning.advice}")
        if meaning.rule:
            self.say(f"  `rules {meaning.rule}` says more, and `scan` shows where it is.")

    def _print_where(self, subject: ErrorSubject, matches: Sequence[Suspect]) -> None:
        if subject.alignment is not None and subject.repairable is not None:
            self._print_stored(subject.alignment, subject.repairable)
        elif subject.pointed is not None and subject.case is not None:
            self.say(
                f"Looked for in {shown(subject.pointed.conversation.native_id)} ({subject.pointed.oid}) as {subject.case.reading.reader} reads it."
            )
        elif subject.several:
            self._print_several(subject.several, matches)
        else:
            self.say("Where it is in a history: --target with its store, its request body or an imported conversation.")

    def _print_several(self, several: Sequence[Chosen], matches: Sequence[Suspect]) -> None:
        if matches:
            self.say(f"The target has {len(several):,} conversations; it may be about these. Pick one with --conversation:")
            for match in matches[:LISTED]:
                self.say(f"  {option('--conversation', shown(match.chosen.conversation.native_id))}  {match.where}")
            if len(matches) > LISTED:
                self.say(f"  and {len(matches) - LISTED:,} more; --json lists them")
            return
        ids = ", ".join(shown(chosen.conversation.native_id, 60) for chosen in several[:LISTED])
        more = f" and {len(several) - LISTED:,} more" if len(several) > LISTED else ""
        looked_at = "none" if len(several) <= SEARCHED else f"none of the first {SEARCHED}"
        self.say(
            f"The target has {len(several):,} conversations, and {looked_at} of them breaks the rule now: pick the one that was rejected with "
            f"--conversation ({ids}{more})."
        )

    def _print_stored(self, alignment: Alignment, session: Chosen) -> None:
        conversation = session.conversation
        self.say(f"Stored in session {shown(conversation.native_id)} ({session.oid}):")
        for piece in alignment.named:
            where = f"seq {piece.stored.seq} of the session ({shown(piece.stored.key, 120)})" if piece.stored else "nowhere that is known"
            self.say(f"  {piece.path}: {where}")
        for line in (*alignment.says, *(f"ruled out: {sentence}" for sentence in alignment.ruled_out)):
            self.say(f"  {line}")

    def _print(self, explanations: Sequence[Explanation], subject: ErrorSubject, advice: Advice | None) -> None:
        # A session and its crash file count their chunks each for itself.
        of = " of the crash file" if subject.crash is not None and subject.pointed is subject.crash else ""
        history = "the rejected request" if of else "the history"
        for explanation in explanations:
            rule = explanation.candidate.rule
            self.say(f"{rule.id} ({', '.join(explanation.candidate.profiles)}): {rule.summary}")
            marks = "; ".join(EVIDENCE[mark] for mark in rule.evidence if mark in EVIDENCE)
            references = f" ({', '.join(rule.references)})" if rule.references else ""
            self.say(f"  known from: {marks}, {rule.date}{references}")
            for word, words in (
                ("cause", cause_words(explanation.candidate)),
                ("stored", explanation.size.words if explanation.size else ""),
                ("means", advice_words(explanation)),
                ("cannot be judged offline", rule.unjudged),
                ("obsolete", rule.obsolete),
            ):
                if words:
                    self.say(f"  {word}: {words}")
            for name, path, seqs in explanation.fires[:PLACES_SHOWN]:
                self.say(f"  {history} breaks it at {path}, seq {span_text(seqs)}{of}, as {name} judges")
            for place in explanation.places[:PLACES_SHOWN]:
                kinds = ", ".join(dict.fromkeys(f"{chunk.role} {chunk.kind}" for chunk in place.chunks))
                records = ", ".join(shown(key, 80) for key in dict.fromkeys(chunk.key for chunk in place.chunks[:3]))
                where = f"seq {span_text(place.seqs)}{of} ({kinds}; {records})" if place.chunks else "nothing"
                self.say(f"  {place.path}: {where}: {place.why}")
            if len(explanation.places) > PLACES_SHOWN:
                self.say(f"  and {len(explanation.places) - PLACES_SHOWN} more places; --json lists them")
            if subject.case is not None and not explanation.fires and not explanation.places and not rule.unjudged:
                self.say("  nothing in the history of the target breaks it now")
            if is_advice_only(explanation):
                self.say("  no repair of the store helps")
            if words := repaired_by_words(remedies(explanation, subject.repair_case, advice)):
                self.say(f"  repaired by: {words}")
            self.say()

    def _print_others(self, others: Sequence[OtherReader], subject: ErrorSubject) -> None:
        if not others or subject.case is None:
            return
        self.say(f"As {subject.case.reading.reader} reads the history, it has no such place. An older or other reader has it:")
        for other in others:
            breaks = ", and its request breaks the rule there" if other.is_broken else ""
            self.say(f"  --reader {other.reader}: {other.path} is seq {span_text(other.seqs)}{breaks}")

    def _print_advice(self, explanations: Sequence[Explanation], advice: Advice, subject: ErrorSubject, options: dict[str, Any]) -> None:
        if subject.repairable is None:
            return
        self.say(f"What to do with {shown(subject.repairable.conversation.native_id)} ({subject.repairable.oid}):")
        self.say(f"  before: {advice.observed}")
        self.say(f"  now: {advice.profile}, as {advice.reader} reads it: {advice.now}")
        if advice.why_not:
            self.say(f"  {advice.why_not}")
        if not advice.strategies:
            if not advice.why_not:
                self.say("  No repair is recommended: what is sent now breaks no known rule, and no rule names a repair of the store.")
            return
        self.say(f"  after {', '.join(with_safety(strategy) for strategy in advice.strategies)}: {advice.after}")
        is_path = subject.repairable.row is None and not options["target"].startswith(subject.repairable.oid)
        named = f" {option('--conversation', subject.repairable.conversation.native_id)}" if is_path else ""
        target = options["target"] if is_path else subject.repairable.oid
        read = f" --reader {subject.repair_reader}" if subject.repair_reader else ""
        how = f"--strategy {' '.join(advice.names)}" if advice.why_not else f"--for {advice.profile}"
        self.say(f"  Preview: {program()} repair {path_word(target)}{named} {how}{read} --plan")


def _ids(chosen: Chosen) -> dict[str, Any]:
    return {"id": chosen.oid, "native_id": chosen.conversation.native_id}


def _subject(options: dict[str, Any], text: str, candidates: Sequence[Candidate]) -> ErrorSubject:
    """By the newest crash with this very error where the target has one, else by the calls that the text names. Raises CommandError."""
    named = load(options)
    name = options["reader"]
    if name:
        reader_of(name, named.format)
    everything = _with_crash_files(options, named)
    crash = _crash_of(named, everything, text)
    if crash is None:
        chosen = _with_its_calls(named, text)
        if len(chosen) != 1:
            # Raises where there are none.
            return ErrorSubject(several=chosen) if chosen else ErrorSubject(pointed=named.one())
        is_evidence = _is_crash(chosen[0])
        if not name and program_or_default(chosen[0].format.name).errors.of_older_versions and len(chosen[0].conversation.chunks) <= TRIED:
            name = reader_of_error(candidates, chosen[0].case(), readers_of(chosen[0].format.name), chosen[0].projection) or None
        return ErrorSubject(chosen[0], name, None if is_evidence else chosen[0], repair_reader=name)
    session_id = crash.conversation.fact("session")
    session = next((candidate for candidate in everything if candidate.conversation.native_id == session_id), None)
    if session is None:
        return ErrorSubject(crash, None, crash=crash)
    aligned = program_or_default(named.format).panels.aligned
    assert aligned is not None, "a program with crash files aligns them"
    alignment = aligned(session.conversation, crash.conversation)
    if name or not alignment.pieces:
        # Without the rejected request its numbers count in the session, as the version of that time made a request of it.
        return ErrorSubject(session, name or alignment.reader, session, crash, alignment if alignment.pieces else None, repair_reader=name)
    return ErrorSubject(crash, None, session, crash, alignment, repair_reader=name)


def _is_crash(chosen: Chosen) -> bool:
    return bool(crash_prefix_of(chosen.format.name, chosen.conversation.native_id))


def _crash_of(named: Target, everything: Sequence[Chosen], text: str) -> Chosen | None:
    crashes = [crash for crash in everything if _is_crash(crash)]
    if len(named.conversations) == 1:
        (chosen,) = named.conversations
        own_id = chosen.conversation.native_id
        crashes = [crash for crash in crashes if own_id in (crash.conversation.native_id, crash.conversation.fact("session"))]
    crashes.sort(key=lambda crash: int(crash.conversation.fact("lastActivityAt") or 0), reverse=True)
    return next((crash for crash in crashes if same_refusal(text, crash.conversation.fact("error") or "")), None)


def _with_its_calls(named: Target, text: str) -> tuple[Chosen, ...]:
    """Of several conversations those with a call that the error names, where there are such."""
    ids = calls_named(text) if len(named.conversations) > 1 else frozenset()
    matching = (chosen for chosen in named.conversations if any(chunk.call_id in ids for chunk in chosen.conversation.chunks))
    return tuple(matching) or named.conversations


def _matches(text: str, candidates: Sequence[Candidate], several: Sequence[Chosen]) -> Iterator[Suspect]:
    """Those of several conversations that recorded this very error, then those that break a recognized rule now, first at the place that the text names."""
    ids = {name for candidate in candidates for name in candidate.ids}
    ranked: list[tuple[list[bool], Suspect]] = []
    for chosen in several[:SEARCHED] if candidates else ():
        if len(chosen.conversation.chunks) > TRIED:
            continue
        # What was rejected, another version of the client may have sent: of a few conversations every reader is tried.
        others = readers_of(chosen.format.name) if len(several) <= LISTED else ()
        broken = (violation for name in dict.fromkeys((chosen.reader, *others)) if (violation := _broken(candidates, chosen, name)))
        called = [chunk.seq for chunk in chosen.conversation.chunks if chunk.call_id in ids]
        recorded = next((error.where for error in recorded_errors(chosen.case()) if same_refusal(text, error.text)), "")
        if recorded:
            ranked.append(([False, False], Suspect(chosen, f"recorded this error at {recorded}")))
        elif first := next(broken, None):
            *rank, where = first
            ranked.append((rank, Suspect(chosen, where)))
        elif called:
            where = f"has a call that the error names, seq {span_text(called[:LISTED])}"
            ranked.append(([True, True], Suspect(chosen, where)))
    yield from (match for _, match in sorted(ranked, key=lambda pair: pair[0]))


def _broken(candidates: Sequence[Candidate], chosen: Chosen, reader_name: str) -> tuple[bool, bool, str] | None:
    """The first violation of these rules, those at the place that the text names first: whether another reader sends it, whether it is elsewhere, and where."""
    explanations = explained_in(candidates, chosen.case(reader_name), chosen.projection)
    exact = {place.path for explanation in explanations for place in explanation.places if place.is_exact}
    fired = [
        (path not in exact, explanation.candidate.rule.id, path, seqs)
        for explanation in explanations
        for _, path, seqs in explanation.fires
    ]
    if not fired:
        return None
    is_elsewhere, rule, path, seqs = min(fired)
    read = "" if reader_name == chosen.reader else f", as {reader_name} reads it"
    return reader_name != chosen.reader, is_elsewhere, f"breaks {rule} at {path}, seq {span_text(seqs)}{read}"


def _other_readers(explanations: Sequence[Explanation], subject: ErrorSubject) -> tuple[OtherReader, ...]:
    if subject.case is None or subject.pointed is None or subject.pointed is subject.crash or len(subject.case.conversation.chunks) > TRIED:
        return ()
    return other_readers(explanations, subject.case, readers_of(subject.pointed.format.name), subject.pointed.projection)


def _advice(explanations: Sequence[Explanation], text: str, subject: ErrorSubject) -> Advice | None:
    if not explanations or is_advice_only(explanations[0]) or subject.repairable is None or subject.repair_case is None:
        return None
    profile_name = profile_of(explanations, subject.repairable.profile)
    return advised(subject.repair_case, profile_name, subject.repairable.projection, observed(explanations, text, subject.cases))


def _with_crash_files(options: dict[str, Any], named: Target) -> tuple[Chosen, ...]:
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
    return tuple(load({**options, "target": sibling.oid, "conversation": None}).one() for sibling in rows[:MOST])


def _session(named: Target) -> str:
    return visible(named.conversations[0].conversation.fact("session") or "")


def _text(words: list[str]) -> str:
    """Raises CommandError where there is none."""
    text = " ".join(words)
    if words == [PIPE]:
        text = sys.stdin.buffer.read(LIMIT).decode("utf-8", "replace")
    if not text.strip():
        raise CommandError("There is no text to explain: paste the provider's error as the argument, or pipe it in with -.")
    return text
