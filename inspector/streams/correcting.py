"""A captured stream as it should have been: corrected by named strategies, each with what it costs, and written as a capture of its own.

A capture is evidence and stays as it is; what is corrected here is for replays and regression tests. Of two sides the client's is corrected, by the backend's.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from inspector.rules.base import Severity
from inspector.streams.catalogue import common_finish
from inspector.streams.corrections import FINISH, INCOMPLETE, RE_ENCODE, REPAIRED, STREAM_STRATEGIES, StreamStrategy, needed
from inspector.streams.drafting import PREVIEWED, CannotCorrect, StreamChange, Work, drafted
from inspector.streams.encoding import EncodableAnswer, encoded
from inspector.streams.model import End, Exchange, How, Read, Side
from inspector.streams.rebuilding import REBUILD
from inspector.streams.request_rules import request_facts
from inspector.streams.two_sides import judged
from inspector.streams.violations import R

__all__ = ["CannotCorrect", "Correction", "correct"]


_BEYOND = frozenset({"in-band-error", "choice-lost"})
"""Errors that no correction takes away: what the server itself reports, and what is lost of other choices than the first."""


@dataclass(frozen=True, slots=True)
class Correction:
    """`exchange` is the corrected side alone, the capture itself where nothing was to do. `refused`: what was not done, and why, in sentences."""

    exchange: Exchange
    used: tuple[StreamStrategy, ...] = ()
    changes: tuple[StreamChange, ...] = ()
    total: int = 0
    refused: tuple[str, ...] = ()


def correct(exchange: Exchange, invented: bool = False, strategies: Collection[str] | None = None) -> Correction:
    """The stream without its errors, but for one that the server itself reports. With `invented`, fields that a call's text does not give are guessed.

    `strategies` are names: no other is applied, and errors that need others stay. Raises CannotCorrect where the stream cannot be written again, where a name is
    none, and where a picked strategy cannot do its work without others, which are named.
    """
    picked = _picked(strategies)
    if not exchange.sides:
        raise CannotCorrect("The capture holds nothing of either side: there is no stream to correct.")
    judgment = judged(exchange)
    side = Side.CLIENT if Side.CLIENT in exchange.sides else Side.BACKEND
    evidence = [
        shown for shown in (*judgment.evidence(side), *(judgment.sides.evidence if judgment.sides else ())) if not shown.is_only_noted
    ]
    names = frozenset(shown.rule.name for shown in evidence)
    wrong = {shown.rule.name for shown in evidence if shown.severity is Severity.ERROR and shown.rule.name not in _BEYOND}
    choices = any(answer.others for own in judgment.alone.values() for answer in own.answers)
    more = ("The stream has several choices: only the first is written again.",) if choices else ()
    if not wrong | (names & REPAIRED):
        return Correction(exchange, refused=more if names & _BEYOND else ())
    ours = drafted(exchange, side)
    backend = drafted(exchange, Side.BACKEND) if side is Side.CLIENT and Side.BACKEND in exchange.sides else None
    work = Work(names, request_facts(exchange.request), ours, backend, invented, ours.content)
    used: list[StreamStrategy] = []
    for strategy in STREAM_STRATEGIES:
        if strategy.name in picked and (strategy.always or strategy.rules & names or (strategy.name == REBUILD and work.restored)):
            before = work.total
            strategy.apply(work)
            if work.total > before or strategy.name == RE_ENCODE:
                used.append(strategy)
    idle = tuple(f"{name} has nothing to do here." for name in strategies or () if name not in {strategy.name for strategy in used})
    if strategies is not None and RE_ENCODE not in strategies and not work.total:
        return Correction(exchange, refused=(*work.refused, *idle))
    if missing := [strategy.name for strategy in STREAM_STRATEGIES if strategy.name not in picked and strategy.name in needed(work)]:
        others = f"{', '.join(missing[:-1])} and {missing[-1]}" if len(missing) > 1 else missing[0]
        raise CannotCorrect(
            f"A corrected stream is re-encoded as a whole, so that {', '.join(strategy.name for strategy in used if strategy.name != RE_ENCODE)} cannot be done here without {others}: choose them as well."
        )
    error = (backend or ours).error
    decides = FINISH in picked or any(strategy.name == INCOMPLETE for strategy in used)
    own = common_finish(ours.protocol, ours.finish, False) if ours.protocol in R else ours.finish
    is_ended = not error if INCOMPLETE in picked else ours.ended
    answer = EncodableAnswer(
        work.content,
        work.finish if decides else own,
        is_ended,
        error,
        ours.answer.id,
        ours.answer.model,
        work.usage,
    )
    records = tuple(encoded(ours.protocol, answer))
    return Correction(
        _exchange(exchange, side, ours.protocol, records),
        tuple(used),
        tuple(work.changes),
        work.total,
        (*more, *tuple(dict.fromkeys(work.refused))[:PREVIEWED], *idle),
    )


def _picked(strategies: Collection[str] | None) -> frozenset[str]:
    names = [strategy.name for strategy in STREAM_STRATEGIES]
    for name in strategies or ():
        if name not in names:
            raise CannotCorrect(f"There is no strategy {name!r} for streams; there are {', '.join(names)}.")
    return frozenset(names) if strategies is None else frozenset({*strategies, RE_ENCODE})


def _exchange(exchange: Exchange, side: Side, protocol: str, records: Sequence[bytes]) -> Exchange:
    def happenings() -> Iterator[Read | End]:
        for record in records:
            yield Read(side, record)
        yield End(side, How.EOF)

    return Exchange(
        f"{exchange.native_id}-corrected",
        happenings,
        (side,),
        exchange.request,
        f"{exchange.title} (corrected)" if exchange.title else "",
        {side: protocol},
        lacks=frozenset({"times", "read-boundaries"}),
    )
