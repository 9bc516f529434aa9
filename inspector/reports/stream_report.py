"""The report on a captured stream: its findings, the one sentence that comes first, and both as the JSON that scripts rely on."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.conversation.model import Conversation
from inspector.rules.base import Origin, Severity, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.streams.aligning import Difference, Differs
from inspector.streams.call_syntax.base import Tools
from inspector.streams.catalogue import PROTOCOLS, UNKNOWN
from inspector.streams.corrections import STREAM_STRATEGIES
from inspector.streams.model import Assembled, End, Exchange, Read, Side
from inspector.streams.request_rules import request_facts
from inspector.streams.run import Evidence, OneSide
from inspector.streams.to_conversation import conversation
from inspector.streams.two_sides import ON_BACKEND, Judged, judged
from inspector.streams.violations import BY_NAME, STREAM_RULES, StreamRule

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
"""How a stored answer differs from the stream that brought it -> number, name, severity, summary."""

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
_QUOTED_ERROR = re.compile(r'(?:throws|fails with) "(.+?)"(?:[.;]|$)')
ONE_SIDED = {
    only: f"Only the {only} side was captured: what came too early, was lost or added compared with the {other} side cannot be shown."
    for only, other in ((Side.BACKEND, Side.CLIENT), (Side.CLIENT, Side.BACKEND))
}
_WITHOUT_QUOTES = str.maketrans("", "", "\"'`\\")
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
    def protocol(self) -> str:
        return protocol_of(self.main) if self.main else ""

    @property
    def events(self) -> int:
        return sum(side.events for side in self.judged.alone.values())

    @property
    def worst(self) -> Severity | None:
        return min((finding.severity for finding in self.findings), key=_RANK.__getitem__, default=None)

    def without_words(self) -> "Analysis":
        """Without the blocks of its messages and the bytes: for who keeps many and says only what is wrong with each."""
        light = {
            name: replace(side, answers=tuple(replace(answer, blocks=(), others=()) for answer in side.answers))
            for name, side in self.judged.alone.items()
        }
        exchange = replace(self.exchange, happenings=_nothing, request=None)
        return replace(self, judged=replace(self.judged, alone=light), exchange=exchange)

    def as_conversation(self) -> Conversation:
        """The message that the client got as a conversation."""
        return conversation(self.main.answers if self.main else (), self.exchange.native_id, self.exchange.title)


def _nothing() -> Iterator[Read | End]:
    return iter(())


def analysed(exchange: Exchange) -> Analysis:
    """Reads the capture two to four times; raises nothing on any bytes."""
    judged_exchange = judged(exchange)
    request = request_facts(exchange.request)
    findings_of = sorted(
        (*_violations(judged_exchange), *_of_answer(judged_exchange, None if request.open else request.tools)), key=_danger
    )
    return Analysis(
        exchange,
        judged_exchange,
        tuple(findings_of),
        _verdict(judged_exchange, findings_of),
        tuple(dict.fromkeys(_remarks(exchange, judged_exchange))),
    )


def protocol_of(side: OneSide) -> str:
    """The protocol, or what it seems to be where no machine reads it."""
    return side.unsupported or side.protocol


def repaired_by(row: StreamRule) -> tuple[str, ...]:
    """Strategies that correct a capture with this violation."""
    return tuple(strategy.name for strategy in STREAM_STRATEGIES if row.name in strategy.rules)


def _violations(judged_exchange: Judged) -> Iterator[StreamFinding]:
    for side in judged_exchange.alone:
        for evidence in judged_exchange.evidence(side):
            yield _finding(evidence, side)
    for evidence in judged_exchange.sides.evidence if judged_exchange.sides else ():
        yield _finding(evidence, Side.BACKEND if evidence.rule.name in ON_BACKEND else Side.CLIENT)


def _finding(evidence: Evidence, side: Side) -> StreamFinding:
    row = evidence.rule
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


def _of_answer(judged_exchange: Judged, tools: Tools) -> Iterator[StreamFinding]:
    """What the rules of conversations say of the message that the events assemble to."""
    side = Side.CLIENT if Side.CLIENT in judged_exchange.alone else next(iter(judged_exchange.alone), None)
    if side is None or not judged_exchange.alone[side].answers:
        return
    answers = judged_exchange.alone[side].answers
    # Choices are alternatives: each is the only answer of a conversation of its own.
    for several in (answers, *((other,) for answer in answers for other in answer.others)):
        messages = conversation(several, "stream", tools=tools)
        if not messages.chunks:
            continue
        keys = {chunk.seq: chunk.key for chunk in messages.chunks}
        which = f"Choice {several[0].choice}: " if several[0].choice and several is not answers else ""
        for finding in findings(case_of(messages, _READER), _ANSWER_RULES):
            events = tuple(dict.fromkeys(event for seq in finding.seqs if (event := _event(keys.get(seq, ""))) is not None))
            text = f"{which}{finding.message}"
            yield StreamFinding(
                finding.code,
                finding.rule,
                finding.severity,
                finding.silent,
                text,
                side.value,
                events,
                finding.total,
                finding.origin,
                fixed_in_code=_CODE_OF.get(finding.code, ""),
            )


def _event(key: str) -> int | None:
    number = key.removeprefix("event-").partition(".")[0]
    return int(number) if key.startswith("event-") and number.isdecimal() else None


def _danger(finding: StreamFinding) -> tuple[object, ...]:
    """Worst first; among equals what only both sides prove, then what nobody notices, then the order of the table."""
    row = BY_NAME.get(finding.rule)
    return _RANK[finding.severity], not (row and row.two_sided), not finding.silent, finding.code, finding.side


def _verdict(judged_exchange: Judged, findings_of: Sequence[StreamFinding]) -> str:
    if not judged_exchange.alone:
        return "Nothing was captured of this exchange."
    main = judged_exchange.alone.get(Side.CLIENT) or judged_exchange.alone[Side.BACKEND]
    serious = [finding for finding in findings_of if finding.severity is not Severity.NOTE]
    if serious:
        more = len(serious) - 1
        return f"{serious[0].message.removesuffix('.')}" + (f"; {more} more {'finding' if more == 1 else 'findings'}." if more else ".")
    if all(side.unsupported for side in judged_exchange.alone.values()):
        return f"Not judged: {'its protocol' if protocol_of(main) == UNKNOWN else protocol_of(main)} is not read here."
    if not main.events:
        return f"Nothing of the {main.side.value} side was captured."
    title = PROTOCOLS[main.protocol].title if main.protocol in PROTOCOLS else protocol_of(main)
    whole = "it ended as it should" if main.assembled.ended else "nothing says that it ended wrongly"
    choices = len(main.assembled.others) + 1
    count = _count(main.events, "event") + (f", {_count(choices, 'choice')}" if choices > 1 else "")
    shows = "what both sides show" if len(judged_exchange.alone) > 1 else f"what the {main.side.value} side alone can show"
    return f"{title}, {count}: {whole}, and nothing is wrong by {shows}."


def _remarks(exchange: Exchange, judged_exchange: Judged) -> Iterator[str]:
    yield from exchange.problems
    for side in judged_exchange.alone.values():
        yield from side.problems
    yield from judged_exchange.sides.remarks if judged_exchange.sides else ()
    if len(judged_exchange.alone) == 1 and not exchange.problems:
        yield from (ONE_SIDED[only] for only in judged_exchange.alone)


def stream_report(oid: str, analysis: Analysis, stored: Sequence[StreamFinding] = ()) -> Json:
    """`stored`: how a stored answer differs from this one, where they were compared."""
    all_findings = sorted((*analysis.findings, *stored), key=_danger)
    return {
        "id": oid,
        "native_id": analysis.exchange.native_id,
        "title": analysis.exchange.title,
        "protocol": analysis.protocol,
        "events": analysis.events,
        "verdict": analysis.verdict,
        "sides": [_side(side) for side in analysis.judged.alone.values()],
        "findings": [finding_report(finding) for finding in all_findings],
        "remarks": list(analysis.remarks),
    }


def finding_report(finding: StreamFinding) -> Json:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "silent": finding.silent,
        "origin": finding.origin.value,
        "side": finding.side,
        "events": list(finding.events),
        "total": finding.total,
        "message": finding.message,
        "why": finding.why,
        "repaired_by": list(finding.repaired_by),
        "fixed_in_code": finding.fixed_in_code,
    }


def _side(side: OneSide) -> Json:
    answer = side.assembled
    return {
        "side": side.side.value,
        "protocol": protocol_of(side),
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
    return {"side": side.side.value, "protocol": protocol_of(side), "answers": [answer_report(answer) for answer in side.answers]}


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
    """How a stored or traced answer differs from the stream."""
    findings_of_store = []
    for difference in differences:
        number, name, severity, _ = STORED[difference.how]
        findings_of_store.append(StreamFinding(f"STREAM{number}", name, severity, True, difference.text, side, origin=Origin.STORE))
    return tuple(findings_of_store)


def rows() -> list[Json]:
    """The table of violations, then how stored answers differ from their streams."""
    table = [
        {
            "code": row.code,
            "rule": row.name,
            "severity": row.severity.value,
            "silent": row.silent,
            "origin": Origin.STREAM.value,
            "protocols": sorted(row.protocols),
            "shown_by": row.shown_by.value,
            "summary": row.summary,
            "why": row.why,
            "repaired_by": list(repaired_by(row)),
            "fixed_in_code": row.fixed_in_code,
        }
        for row in STREAM_RULES
    ]
    stored = [
        {
            "code": f"STREAM{number}",
            "rule": name,
            "severity": severity.value,
            "silent": True,
            "origin": Origin.STORE.value,
            "protocols": sorted(PROTOCOLS),
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
        "protocols": sorted(PROTOCOLS),
        "shown_by": "several captures",
        "summary": summary,
        "why": "A client asks again where it could not use the answer: without a limit it does so permanently.",
        "repaired_by": [],
        "fixed_in_code": in_code,
    }
    return [*table, *stored, repeated]


def rows_that_say(text: str) -> list[StreamRule]:
    """Rows of violations at which a client answers with this text, as their `why` quotes it."""
    plain = " ".join(text.translate(_WITHOUT_QUOTES).lower().split())
    matching = []
    for row in STREAM_RULES:
        fragments = [
            fragment.translate(_WITHOUT_QUOTES).lower().strip(" .")
            for quote in _QUOTED_ERROR.findall(row.why)
            for fragment in quote.split("…")
        ]
        if fragments and all(fragment in plain for fragment in fragments):
            matching.append(row)
    return matching


def strategies() -> list[Json]:
    """The ways in which a capture is corrected, in the order in which they are applied."""
    return [
        {
            "name": strategy.name,
            "safety": sorted(strategy.safety),
            "summary": strategy.summary,
            "cost": strategy.cost,
            "repairs": [row.code for row in STREAM_RULES if row.name in strategy.rules],
        }
        for strategy in STREAM_STRATEGIES
    ]


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
