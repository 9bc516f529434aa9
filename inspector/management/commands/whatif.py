"""Says what another reader would make of stored conversations: what a fix of the loader repairs, and what it leaves."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from django.core.management.base import CommandError, CommandParser

from inspector.conversation.queries import span_text
from inspector.management.answering import AnsweringCommand
from inspector.management.target import add_target_arguments, load
from inspector.models import Conversation, loading
from inspector.models.comparing import comparable, difference, running
from inspector.models.transactions import one_snapshot
from inspector.presentation.whatif.differences import Difference, Summary, Tally, client, compare_cases, compared_formats, summarize
from inspector.presentation.whatif.report import difference_report, summary_report
from inspector.presentation.whatif.words import WORDS, going_back, loss_words, part_of, state_words
from inspector.profiles.catalogue import profile
from inspector.sources.problems import shown

MANY = 100
SHOWN = 20

Compared = tuple[str, str, Difference]
"""Our id, the native id, and the difference."""


class Command(AnsweringCommand):
    """`whatif [TARGET] --reader A --reader B [--profile NAME]`; status 1 where something gets worse."""

    help = "Reads stored conversations as two clients do, and says what the second makes better, worse, or leaves merged; exit status 1: something gets worse."

    queues = True

    def declare(self, parser: CommandParser) -> None:
        add_target_arguments(parser, optional=True)
        parser.add_argument(
            "--reader",
            metavar="NAME",
            action="append",
            required=True,
            help="twice: the reader that runs now, and the one to compare with it; of Dispatch +wrapped or +omitted adds the proposed fix of the converter",
        )
        parser.add_argument("--profile", metavar="NAME", help="judge by this provider's rules instead of each conversation's own")

    def answer(self, options: dict[str, Any]) -> None:
        names = options["reader"]
        if len(names) != 2:
            raise CommandError("whatif compares two readers: name each with --reader, first the one that runs now (`readers` lists them).")
        if not compared_formats(*names):
            raise CommandError(
                f"{names[0]} and {names[1]} are readers of different programs: name two of one program (`readers` lists them)."
            )
        if options["profile"]:
            profile(options["profile"])
        # Of a path our database is not asked, and need not be there.
        with nullcontext() if options["target"] else one_snapshot():
            compared = list(self._compared(options))
        summary = summarize(names[0], names[1], [(oid, change) for oid, _, change in compared])
        if options["json"]:
            self.say_json({**summary_report(summary), "differences": [difference_report(*row) for row in compared if row[2].differs]})
        else:
            self._print(summary, compared)
        if summary.worse.count:
            sys.exit(1)

    def _compared(self, options: dict[str, Any]) -> Iterator[Compared]:
        a, b = options["reader"]
        if options["target"] is None:
            if options["conversation"] or options["traces"] or options["format"]:
                raise CommandError("--conversation, --traces and --format say how to read a TARGET: name one, or leave them out.")
            rows = comparable(compared_formats(a, b), a).select_related("source").order_by("source__path", "native_id")
            present = Conversation.objects.counted().filter(is_gone=False)
            if others := present.exclude(source__format__in=compared_formats(a, b)).count():
                self.note(f"{_many(others)} of other programs: not compared, since {a} and {b} do not read them.")
            readers = running(compared_formats(a, b))
            if readers and a not in readers:
                self.note(f"No source is read by {a}: it is supposed to run. What runs now: {_readers(readers)}.")
            elif not_compared := {name: count for name, count in readers.items() if name != a}:
                count = _many(sum(not_compared.values()))
                self.note(f"Other readers run for {count} of this program, not compared here: {_readers(not_compared)}.")
            ids: dict[int, list[str]] = {}
            for number, row in enumerate(rows.iterator(chunk_size=500), start=1):
                if row.source_id not in ids:
                    ids[row.source_id] = loading.ids_of(row.source)
                yield row.oid, row.native_id, difference(row, a, b, options["profile"] or "", ids[row.source_id])
                self._progress(number)
            return
        for number, chosen in enumerate(load(options).conversations, start=1):
            result = compare_cases(chosen.case(client(a).reader.name), a, b, chosen.projection, options["profile"] or chosen.profile)
            yield chosen.oid, chosen.conversation.native_id, result
            self._progress(number)

    def _progress(self, number: int) -> None:
        if number % MANY == 0:
            self.note(f"{number:,} conversations compared")

    def _print(self, summary: Summary, compared: list[Compared]) -> None:
        if not compared:
            self.say("There are no conversations to compare: name a store as TARGET, or import one first.")
            return
        self.say(f"{summary.reader_b} instead of {summary.reader_a}, on {_many(summary.conversations)}:")
        losses = loss_words(Counter(part_of(change) for _, _, change in compared), summary)
        for sentence in filter(None, (going_back(summary, losses), losses)):
            self.say(f"  {sentence}")
        self.say(f"  next requests: {state_words(summary)}")
        tallies = {**summary.kinds, **summary.next_requests, "merged": summary.merged, "refused": summary.refused}
        for name, tally in tallies.items():
            words = WORDS[name]
            than_now = f" ({words.than_now})" if name in summary.next_requests else ""
            self.say(f"  {tally.count:>7,} {words.several}{than_now}{_examples(tally)}")
        changed = [row for row in compared if row[2].differs]
        # What a fix would break is what a person has to see before it ships.
        for oid, native_id, change in sorted(changed, key=lambda row: not row[2].worse)[:SHOWN]:
            self._print_one(oid, native_id, change)
        if len(changed) > SHOWN:
            self.say(f"And {len(changed) - SHOWN:,} more that are read differently; --json lists them all.")

    def _print_one(self, oid: str, native_id: str, difference: Difference) -> None:
        counts = f"{difference.messages_stored:,} messages stored, {difference.messages_a:,} read before, {difference.messages_b:,} after"
        self.say()
        self.say(f"{shown(native_id)} ({oid}): {counts}")
        if difference.first:
            self.say(
                f"  they diverge at message {difference.first.number}: {difference.first.a or 'none'} | {difference.first.b or 'none'}"
            )
        for label, sentences in (("better", difference.better), ("worse", difference.worse)):
            for sentence in sentences:
                self.say(f"  {label}: {sentence}")
        if difference.retry:
            self.say(f"  {difference.retry}, before the next request")
        if difference.still_merged:
            self.say(f"  still merged: seq {span_text(difference.still_merged)}")
        for label, findings in (("gone", difference.go), ("new", difference.come), ("stays", difference.stay)):
            for finding in findings[:SHOWN]:
                self.say(f"  finding {label}: {finding.code} {finding.rule}{f', seq {span_text(finding.seqs)}' if finding.seqs else ''}")


def _many(count: int) -> str:
    return f"{count:,} conversation{'' if count == 1 else 's'}"


def _readers(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in counts.items())


def _examples(tally: Tally) -> str:
    return f" ({', '.join(tally.examples)}{', ...' if tally.count > len(tally.examples) else ''})" if tally.examples else ""
