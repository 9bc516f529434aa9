"""What is said of a captured stream: its findings, the one sentence that stands first, and both as the JSON that scripts rely on."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.conversation.model import Conversation
from inspector.rules.base import Origin, Severity, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.streams.aligning import Difference, Differs
from inspector.streams.catalogue import DIALECTS, UNKNOWN
from inspector.streams.corrections import STRATEGIES
from inspector.streams.dialects.base import Tools
from inspector.streams.model import Assembled, End, Exchange, Read, Side
from inspector.streams.request_rules import asked
from inspector.streams.run import Evidence, OneSide
from inspector.streams.to_conversation import conversation
from inspector.streams.two_sides import ON_BACKEND, Judged, judged
from inspector.streams.violations import BY_NAME, ROWS, Row

Json = dict[str, Any]

TEXT_SHOWN = 20_000
"""Characters of a block that a report gives."""
BLOCKS_SHOWN = 500

STORED = {
    Differs.ENDS_EARLY: (201, "stored-ends-early", Severity.ERROR, "What is stored is only the beginning of what came."),
    Differs.GOES_ON: (202, "stored-goes-on", Severity.WARNING, "What is stored goes on after what came."),
    Differs.OTHERWISE: (203, "stored-otherwise", Severity.ERROR, "What is stored is not what came."),
    Differs.DROPPED: (204, "stored-without", Severity.ERROR, "A part of the answer came and is not stored."),
    Differs.ADDED: (205, "stored-besides", Severity.WARNING, "A part of the stored answer never came."),
    Differs.ARGUMENTS: (206, "stored-arguments-differ", Severity.ERROR, "A call is stored with other arguments than came."),
    Differs.ID: (207, "stored-id-differs", Severity.WARNING, "A call is stored under another id than came."),
    Differs.SIGNATURE: (208, "stored-signature-altered", Severity.ERROR, "A signature of thinking is stored otherwise than it came."),
    Differs.UNSIGNED: (209, "stored-unsigned", Severity.ERROR, "Thinking is stored without the signature that came with it."),
}
"""How a stored answer parts from the stream that brought it -> number, name, severity, summary."""

REPEATED = (
    211,
    "request-repeated",
    Severity.WARNING,
    "The client asks the same again.",
    "Fix what makes the answer before unusable. In the client: limit how often the same request is repeated.",
)
"""Number, name, severity, summary and what to change: shown by several captures together."""

# The answer alone cannot hold the results of its calls; whether arguments should be JSON, and whether calls have ids at all, only the machines know.
_NOT_OF_ANSWERS = frozenset({"unanswered-tail-call", "unanswered-call", "malformed-arguments", "recoverable-arguments", "repeated-call-id"})
_ANSWER_RULES = tuple(rule for rule in RULES if rule.name not in _NOT_OF_ANSWERS)
_CODE_OF = {rule.code: rule.fixed_in_code for rule in _ANSWER_RULES}
_READER = "as-sent"
_SAID = re.compile(r'(?:throws|fails with) "(.+?)"(?:[.;]|$)')
ONE_SIDED = {
    only: f"Only the {only} side was captured: what came too early, was lost or made up against the {other} side cannot be shown."
    for only, other in ((Side.BACKEND, Side.CLIENT), (Side.CLIENT, Side.BACKEND))
}
_SPELLING = str.maketrans("", "", "\"'`\\")
_RANK = {severity: number for number, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class StreamFinding:
    """`events` are the first few, counted from 0 within the side; `total` counts all. `why`: what it does to a client, where that is known."""

    code: str
    rule: str
    severity: Severity
    silent: bool
    message: str
    side: str
    events: tuple[int, ...] = ()
    total: int = 1
    origin: Origin = Origin.STREAM
    why: str = ""
    repaired_by: tuple[str, ...] = ()
    fixed_in_code: str = ""


@dataclass(frozen=True, slots=True)
class Analysis:
    """An exchange as judged. `findings` are in the order in which people should look at them; `remarks` are sentences on what is no finding."""

    exchange: Exchange
    judged: Judged
    findings: tuple[StreamFinding, ...]
    verdict: str
    remarks: tuple[str, ...]

    @property
    def main(self) -> OneSide | None:
        """The side that a client read, as far as it was captured."""
        return self.judged.alone.get(Side.CLIENT) or self.judged.alone.get(Side.BACKEND)

    @property
    def dialect(self) -> str:
        return spoken(self.main) if self.main else ""

    @property
    def events(self) -> int:
        return sum(side.events for side in self.judged.alone.values())

    @property
    def worst(self) -> Severity | None:
        return min((found.severity for found in self.findings), key=_RANK.__getitem__, default=None)

    def without_words(self) -> "Analysis":
        """Without the blocks of its messages and the bytes: for who keeps many and says only what is wrong with each."""
        light = {
            name: replace(side, answers=tuple(replace(answer, blocks=(), others=()) for answer in side.answers))
            for name, side in self.judged.alone.items()
        }
        exchange = replace(self.exchange, happenings=_nothing, request=None)
        return replace(self, judged=replace(self.judged, alone=light), exchange=exchange)

    def told(self) -> Conversation:
        """The message that the client got as a conversation."""
        return conversation(self.main.answers if self.main else (), self.exchange.native_id, self.exchange.title)


def _nothing() -> Iterator[Read | End]:
    return iter(())


def analysed(exchange: Exchange) -> Analysis:
    """Reads the capture two to four times; raises nothing on any bytes."""
    found = judged(exchange)
    given = asked(exchange.request)
    every = sorted((*_violations(found), *_of_answer(found, None if given.open else given.tools)), key=_danger)
    return Analysis(exchange, found, tuple(every), _verdict(found, every), tuple(dict.fromkeys(_remarks(exchange, found))))


def spoken(side: OneSide) -> str:
    """The dialect, or what it seems to be where no machine reads it."""
    return side.unsupported or side.dialect


def repaired_by(row: Row) -> tuple[str, ...]:
    """Strategies that correct a capture with this violation."""
    return tuple(strategy.name for strategy in STRATEGIES if row.name in strategy.rows)


def _violations(found: Judged) -> Iterator[StreamFinding]:
    for side in found.alone:
        for each in found.found(side):
            yield _finding(each, side)
    for each in found.sides.found if found.sides else ():
        yield _finding(each, Side.BACKEND if each.row.name in ON_BACKEND else Side.CLIENT)


def _finding(evidence: Evidence, side: Side) -> StreamFinding:
    row = evidence.row
    events = tuple(dict.fromkeys(violation.event for violation in evidence.first))
    return StreamFinding(
        row.code,
        row.name,
        evidence.severity,
        row.silent,
        evidence.first[0].text,
        side.value,
        events,
        evidence.total,
        Origin.STREAM,
        row.why,
        () if evidence.is_only_noted else repaired_by(row),
        "" if evidence.is_only_noted else row.fixed_in_code,
    )


def _of_answer(found: Judged, tools: Tools) -> Iterator[StreamFinding]:
    """What the rules of conversations say of the message that the events assemble to."""
    side = Side.CLIENT if Side.CLIENT in found.alone else next(iter(found.alone), None)
    if side is None or not found.alone[side].answers:
        return
    answers = found.alone[side].answers
    # Choices are alternatives: each is the only answer of a conversation of its own.
    for several in (answers, *((other,) for answer in answers for other in answer.others)):
        messages = conversation(several, "stream", tools=tools)
        if not messages.chunks:
            continue
        keys = {chunk.seq: chunk.key for chunk in messages.chunks}
        which = f"Choice {several[0].choice}: " if several[0].choice and several is not answers else ""
        for each in findings(case_of(messages, _READER), _ANSWER_RULES):
            events = tuple(dict.fromkeys(event for seq in each.seqs if (event := _event(keys.get(seq, ""))) is not None))
            text = f"{which}{each.message}"
            yield StreamFinding(
                each.code,
                each.rule,
                each.severity,
                each.silent,
                text,
                side.value,
                events,
                each.total,
                each.origin,
                fixed_in_code=_CODE_OF.get(each.code, ""),
            )


def _event(key: str) -> int | None:
    number = key.removeprefix("event-").partition(".")[0]
    return int(number) if key.startswith("event-") and number.isdecimal() else None


def _danger(found: StreamFinding) -> tuple[object, ...]:
    """Worst first; among equals what only both sides prove, then what nobody notices, then the order of the table."""
    row = BY_NAME.get(found.rule)
    return _RANK[found.severity], not (row and row.two_sided), not found.silent, found.code, found.side


def _verdict(found: Judged, every: Sequence[StreamFinding]) -> str:
    if not found.alone:
        return "Nothing was captured of this exchange."
    main = found.alone.get(Side.CLIENT) or found.alone[Side.BACKEND]
    serious = [each for each in every if each.severity is not Severity.NOTE]
    if serious:
        more = len(serious) - 1
        return f"{serious[0].message.removesuffix('.')}" + (f"; {more} more {'finding' if more == 1 else 'findings'}." if more else ".")
    if all(side.unsupported for side in found.alone.values()):
        return f"Not judged: {'its protocol' if spoken(main) == UNKNOWN else spoken(main)} is not read here."
    if not main.events:
        return f"Nothing of the {main.side.value} side was captured."
    title = DIALECTS[main.dialect].title if main.dialect in DIALECTS else spoken(main)
    whole = "it ended as it should" if main.assembled.ended else "nothing says that it ended wrongly"
    choices = len(main.assembled.others) + 1
    count = _count(main.events, "event") + (f", {_count(choices, 'choice')}" if choices > 1 else "")
    shows = "what both sides show" if len(found.alone) > 1 else f"what the {main.side.value} side alone can show"
    return f"{title}, {count}: {whole}, and nothing is wrong by {shows}."


def _remarks(exchange: Exchange, found: Judged) -> Iterator[str]:
    yield from exchange.problems
    for side in found.alone.values():
        yield from side.problems
    yield from found.sides.remarks if found.sides else ()
    if len(found.alone) == 1 and not exchange.problems:
        yield from (ONE_SIDED[only] for only in found.alone)


def stream_report(oid: str, analysis: Analysis, stored: Sequence[StreamFinding] = ()) -> Json:
    """`stored`: how a stored answer parts from this one, where they were held against each other."""
    every = sorted((*analysis.findings, *stored), key=_danger)
    return {
        "id": oid,
        "native_id": analysis.exchange.native_id,
        "title": analysis.exchange.title,
        "dialect": analysis.dialect,
        "events": analysis.events,
        "verdict": analysis.verdict,
        "sides": [_side(side) for side in analysis.judged.alone.values()],
        "findings": [finding_report(found) for found in every],
        "remarks": list(analysis.remarks),
    }


def finding_report(found: StreamFinding) -> Json:
    return {
        "code": found.code,
        "rule": found.rule,
        "severity": found.severity.value,
        "silent": found.silent,
        "origin": found.origin.value,
        "side": found.side,
        "events": list(found.events),
        "total": found.total,
        "message": found.message,
        "why": found.why,
        "repaired_by": list(found.repaired_by),
        "fixed_in_code": found.fixed_in_code,
    }


def _side(side: OneSide) -> Json:
    answer = side.assembled
    return {
        "side": side.side.value,
        "dialect": spoken(side),
        "events": side.events,
        "state": side.state,
        "end": side.how.value,
        "finish": answer.finish,
        "ended": answer.ended,
        "model": answer.model,
        "answers": len(side.answers),
        "choices": len(answer.others) + 1,
        "counts": {means.value: count for means, count in side.counts.items()},
    }


def message_report(side: OneSide) -> Json:
    """The message that the events of a side assemble to, its texts cut at TEXT_SHOWN characters."""
    return {"side": side.side.value, "dialect": spoken(side), "answers": [answer_report(answer) for answer in side.answers]}


def answer_report(answer: Assembled) -> Json:
    blocks = [
        {
            "kind": block.kind,
            "name": block.name,
            "call_id": block.call_id,
            "text": block.text[:TEXT_SHOWN],
            "size": block.size,
            "events": [block.first, block.last],
            "complete": block.complete,
            "signature": block.signature[:TEXT_SHOWN],
        }
        for block in answer.blocks[:BLOCKS_SHOWN]
    ]
    return {
        "id": answer.id,
        "model": answer.model,
        "role": answer.role,
        "finish": answer.finish,
        "ended": answer.ended,
        "error": answer.error,
        "usage": dict(answer.usage),
        "blocks": blocks,
        "left_out": max(0, len(answer.blocks) - BLOCKS_SHOWN),
        "choice": answer.choice,
        "others": [answer_report(other) for other in answer.others],
    }


def stored_findings(differences: Iterable[Difference], side: str) -> tuple[StreamFinding, ...]:
    """Where a stored or traced answer parts from the stream."""
    made = []
    for each in differences:
        number, name, severity, _ = STORED[each.how]
        made.append(StreamFinding(f"STREAM{number}", name, severity, True, each.text, side, origin=Origin.STORE))
    return tuple(made)


def rows() -> list[Json]:
    """The table of violations, then how stored answers part from their streams."""
    table = [
        {
            "code": row.code,
            "rule": row.name,
            "severity": row.severity.value,
            "silent": row.silent,
            "origin": Origin.STREAM.value,
            "dialects": sorted(row.dialects),
            "shown_by": row.shown.value,
            "summary": row.summary,
            "why": row.why,
            "repaired_by": list(repaired_by(row)),
            "fixed_in_code": row.fixed_in_code,
        }
        for row in ROWS
    ]
    stored = [
        {
            "code": f"STREAM{number}",
            "rule": name,
            "severity": severity.value,
            "silent": True,
            "origin": Origin.STORE.value,
            "dialects": sorted(DIALECTS),
            "shown_by": "store",
            "summary": summary,
            "why": "",
            "repaired_by": [],
            "fixed_in_code": "",
        }
        for number, name, severity, summary in STORED.values()
    ]
    number, name, severity, summary, in_code = REPEATED
    repeated = {
        "code": f"STREAM{number}",
        "rule": name,
        "severity": severity.value,
        "silent": True,
        "origin": Origin.STREAM.value,
        "dialects": sorted(DIALECTS),
        "shown_by": "several captures",
        "summary": summary,
        "why": "A client asks again where it could not use the answer: without a limit it does so permanently.",
        "repaired_by": [],
        "fixed_in_code": in_code,
    }
    return [*table, *stored, repeated]


def rows_that_say(text: str) -> list[Row]:
    """Rows of violations at which a client answers with this text, as their `why` quotes it."""
    plain = " ".join(text.translate(_SPELLING).lower().split())
    found = []
    for row in ROWS:
        parts = [part.translate(_SPELLING).lower().strip(" .") for said in _SAID.findall(row.why) for part in said.split("…")]
        if parts and all(part in plain for part in parts):
            found.append(row)
    return found


def strategies() -> list[Json]:
    """The ways in which a capture is corrected, in the order in which they are applied."""
    return [
        {
            "name": strategy.name,
            "safety": sorted(strategy.safety),
            "summary": strategy.summary,
            "cost": strategy.cost,
            "repairs": [row.code for row in ROWS if row.name in strategy.rows],
        }
        for strategy in STRATEGIES
    ]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
