"""What a repair makes of the next request: its end before and after, in a few words."""

from collections.abc import Sequence
from typing import NamedTuple

from inspector.presentation.conversation.ending import ACCEPTED, WRONG_SILENTLY, Ending
from inspector.presentation.conversation.verdict import NOT_JUDGED, NOT_KNOWN, PASSES_ALL, REJECTED, UNREADABLE

RECOMMENDED, PARTIAL, SUGGESTED = "recommended", "partial", "suggested"
_DOES = {"safe": "loses and adds nothing", "invented": "adds what is stored nowhere", "lossy": "takes words away"}


class Outcome(NamedTuple):
    """Of the next request: before and after in a few words, and where it is rejected or why it goes wrong."""

    words: str
    why: str = ""

    @property
    def text(self) -> str:
        return f"{self.words} {self.why}".rstrip()


def outcome(before: Ending, after: Ending) -> Outcome:
    why = _why(after)
    if before.words != after.words:
        return Outcome(f"{before.words} → {after.words}", why)
    return Outcome("accepted, as before" if after.words == ACCEPTED else f"still {after.words}", why)


def _why(of: Ending) -> str:
    # That it passes is no reason why it goes wrong.
    return of.why if of.words == REJECTED or not of.why else "" if of.why == PASSES_ALL else f"({of.why})"


def tone(words: str) -> str:
    """Of an outcome: "yes" where the request passes then, "still" where it goes wrong silently or nobody knows, "no" where it does not pass."""
    end = words.rpartition("→")[2]
    if UNREADABLE in end or REJECTED in end:
        return "no"
    return "still" if any(words in end for words in (WRONG_SILENTLY, NOT_KNOWN, NOT_JUDGED)) else "yes"


def advice_word(after: Ending) -> str:
    """Of the strategies that repair what was found: "recommended" would promise that the next request passes after them."""
    return PARTIAL if after.words in (REJECTED, WRONG_SILENTLY, UNREADABLE) else RECOMMENDED


class RepairOption(NamedTuple):
    """Strategies to choose together. `end`: what becomes of the next request after them, in a few words; "" where it is accepted.

    `read`: messages that are read now and after them, where those are more; else "".
    """

    names: tuple[str, ...]
    safety: str
    end: str
    word: str
    read: str = ""


def repair_options(
    names: Sequence[str], safety: str, now: Ending, after: Ending, passing: Sequence[tuple[str, str]], read: tuple[int, int]
) -> tuple[RepairOption, ...]:
    """What passes first, then what repairs a part. `safety`: of all of `names`; `now`, `after`: the end of the next request as it is and after them.

    `passing`: each after which alone it is accepted, with its safety; of those that cost the same the first, which is the one that guesses least.
    `read`: messages that are read now, and after all of `names`.
    """
    end = (
        "" if after.words == ACCEPTED else outcome(now, after).text if now.words == after.words else Outcome(after.words, _why(after)).text
    )
    more = f"{read[0]:,} → {read[1]:,} messages read" if read[1] > read[0] else ""
    all_named = (RepairOption(tuple(names), safety, end, advice_word(after), more),) if names else ()
    if names and advice_word(after) == RECOMMENDED:
        return all_named
    first = {of: name for name, of in reversed(passing)}
    return (*(RepairOption((name,), of, "", RECOMMENDED) for name, of in passing if first[of] == name), *all_named)


def advice_lines(
    names: Sequence[str], safety: str, now: Ending, after: Ending, passing: Sequence[tuple[str, str]], read: tuple[int, int]
) -> tuple[str, ...]:
    """The `repair_options` in words, a line for each."""
    if now.words == after.words == ACCEPTED:
        passes = "The next request passes as it is: a repair is for what is found, and for older readers."
        return (passes, f"Still passes: {_joined(names)}, {_but(safety)}.") if names else (passes,)
    return tuple(map(_line, repair_options(names, safety, now, after, passing, read)))


def _line(option: RepairOption) -> str:
    if option.word == PARTIAL:
        more = f" ({option.read})" if option.read else ""
        return f"{_does(option.safety).capitalize()}: {_joined(option.names)}{more}, but {option.end}."
    return f"{f'Next request {option.end}' if option.end else 'Passes'}: {_joined(option.names)}, {_but(option.safety)}."


def _does(safety: str) -> str:
    return " and ".join(_DOES[word] for word in safety.split(" and "))


def _but(safety: str) -> str:
    return _does(safety) if safety == "safe" else f"but {_does(safety)}"


def _joined(names: Sequence[str]) -> str:
    items = [f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))
