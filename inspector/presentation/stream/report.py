"""The report on a captured stream: its findings, the one sentence that comes first, and both as the JSON that scripts rely on."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.presentation.visible import beginning
from inspector.rules.base import Origin, Severity, case_of, findings
from inspector.rules.catalogue import RULES
from inspector.streams.aligning import AnswerDifference, DifferenceKind
from inspector.streams.assembling import arguments, shown
from inspector.streams.call_syntax.base import Tools
from inspector.streams.catalogue import LENGTH, PROTOCOLS, UNKNOWN, common_finish
from inspector.streams.model import Assembled, End, Exchange, Read, Side
from inspector.streams.request_rules import request_facts
from inspector.streams.run import Evidence, OneSide
from inspector.streams.to_conversation import conversation
from inspector.streams.two_sides import Judged, judged
from inspector.streams.violations import BY_NAME, STORED_RULES, STREAM_RULES, StreamRule

Json = dict[str, Any]

TEXT_SHOWN = 20_000
"""Characters of a block that a report gives."""
BLOCKS_SHOWN = 500

STORED = dict(zip(DifferenceKind, STORED_RULES, strict=True))

# The answer alone cannot hold the results of its calls; whether arguments should be JSON, and whether calls have ids at all, only the machines know.
_NOT_OF_ANSWERS = frozenset({"unanswered-tail-call", "unanswered-call", "malformed-arguments", "recoverable-arguments", "repeated-call-id"})
_ANSWER_RULES = tuple(rule for rule in RULES if rule.name not in _NOT_OF_ANSWERS)
_CODE_OF = {rule.code: rule.fixed_in_code for rule in _ANSWER_RULES}
LEAKED_CALLS = frozenset({"tool-text-in-content", "tool-text-in-reasoning"})
"""What the rule on stored turns reports as tool-call-in-thinking: one problem is one finding."""
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
class StreamAnalysis:
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

    def without_words(self) -> "StreamAnalysis":
        """Without the blocks of its messages and the bytes: for who keeps many and says only what is wrong with each."""
        light = {
            name: replace(side, answers=tuple(replace(answer, blocks=(), others=()) for answer in side.answers))
            for name, side in self.judged.alone.items()
        }
        exchange = replace(self.exchange, happenings=_nothing, request=None)
        return replace(self, judged=replace(self.judged, alone=light), exchange=exchange)


def _nothing() -> Iterator[Read | End]:
    return iter(())


def analysed(exchange: Exchange) -> StreamAnalysis:
    """Reads the capture two to four times; raises nothing on any bytes."""
    judged_exchange = judged(exchange)
    request = request_facts(exchange.request)
    tools = None if request.open else request.tools
    violations = [_finding(side, evidence) for side, evidence in judged_exchange.by_side()]
    is_leaked = any(finding.rule in LEAKED_CALLS for finding in violations)
    of_answer = (finding for finding in _of_answer(judged_exchange, tools) if not (is_leaked and finding.rule == "tool-call-in-thinking"))
    every = tuple(sorted((*violations, *of_answer), key=_danger))
    return StreamAnalysis(
        exchange, judged_exchange, every, _verdict(judged_exchange, every), tuple(dict.fromkeys(_remarks(exchange, judged_exchange)))
    )


def protocol_of(side: OneSide) -> str:
    """The protocol, or what it seems to be where no machine reads it."""
    return side.unsupported or side.protocol


def _finding(side: Side, evidence: Evidence) -> StreamFinding:
    events = tuple(dict.fromkeys(violation.event for violation in evidence.first))
    return _finding_of(evidence.rule, evidence.severity, evidence.first[0].text, side.value, events, evidence.total, evidence.is_only_noted)


def _finding_of(
    rule: StreamRule, severity: Severity, message: str, side: str, events: tuple[int, ...] = (), total: int = 1, is_only_noted: bool = False
) -> StreamFinding:
    repaired_by, in_code = ((), "") if is_only_noted else (rule.repaired_by, rule.fixed_in_code)
    return StreamFinding(
        rule.code, rule.name, severity, rule.silent, message, side, events, total, rule.origin, rule.why, repaired_by, in_code
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
            head = (finding.code, finding.rule, finding.severity, finding.silent, f"{which}{finding.message}")
            yield StreamFinding(*head, side.value, events, finding.total, finding.origin, fixed_in_code=_CODE_OF.get(finding.code, ""))


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
        first = serious[0].message
        sentence = first.partition(". ")[0] if serious[0].rule in LEAKED_CALLS else first.removesuffix(".")
        return sentence + (f"; {more} more {'finding' if more == 1 else 'findings'}." if more else ".")
    if all(side.unsupported for side in judged_exchange.alone.values()):
        return f"Not judged: {'its protocol' if protocol_of(main) == UNKNOWN else protocol_of(main)} is not read here."
    if not main.events:
        return f"Nothing of the {main.side.value} side was captured."
    title = PROTOCOLS[main.protocol].title if main.protocol in PROTOCOLS else protocol_of(main)
    whole = "it ended as it should" if main.assembled.ended else "nothing says that it ended wrongly"
    choices = len(main.assembled.others) + 1
    count = _count(main.events, "event") + (f", {_count(choices, 'choice')}" if choices > 1 else "")
    shows = "what both sides show" if len(judged_exchange.alone) > 1 else f"what the {main.side.value} side alone can show"
    if common_finish(main.protocol, main.assembled.finish) == LENGTH:
        return f"{title}, {count}: it stopped at the limit of its tokens ({main.assembled.finish}){_cut_at(main.assembled)}.{'' if findings_of else ' Nothing else is wrong.'}"
    return f"{title}, {count}: {whole}, and nothing is wrong by {shows}."


def _cut_at(answer: Assembled) -> str:
    last = answer.blocks[-1] if answer.blocks else None
    if last is None or last.kind != "tool-call" or not arguments(last.text).cut:
        return ", so that the answer is cut off"
    return f", inside the arguments of its call of {shown(last.name or 'no name')}: do not run it, and ask again with a higher limit"


def _remarks(exchange: Exchange, judged_exchange: Judged) -> Iterator[str]:
    yield from exchange.problems
    for side in judged_exchange.alone.values():
        yield from side.problems
    yield from judged_exchange.sides.remarks if judged_exchange.sides else ()
    if len(judged_exchange.alone) == 1 and not exchange.problems:
        yield from (ONE_SIDED[only] for only in judged_exchange.alone)


def stream_report(oid: str, analysis: StreamAnalysis, stored: Sequence[StreamFinding] = ()) -> Json:
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
            "text": beginning(block.text, TEXT_SHOWN),
            "size": block.size,
            "events": [block.first, block.last],
            "complete": block.complete,
            "signature": beginning(block.signature, TEXT_SHOWN),
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


def stored_findings(differences: Iterable[AnswerDifference], side: str) -> tuple[StreamFinding, ...]:
    """How a stored or traced answer differs from the stream."""
    rules = [(STORED[difference.how], difference.text) for difference in differences]
    return tuple(_finding_of(rule, rule.severity, text, side) for rule, text in rules)


def rules_that_say(text: str) -> list[StreamRule]:
    """Rules at whose violation a client answers with this text, as their `why` quotes it."""
    plain = _unquoted(text)
    fragments_of = {
        rule: [_unquoted(part).strip(" .") for quote in _QUOTED_ERROR.findall(rule.why) for part in quote.split("…")]
        for rule in STREAM_RULES
    }
    return [rule for rule, fragments in fragments_of.items() if fragments and all(fragment in plain for fragment in fragments)]


def _unquoted(text: str) -> str:
    return " ".join(text.translate(_WITHOUT_QUOTES).lower().split())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
