"""What a repair makes of the next request: its end before and after, in a few words."""

from collections.abc import Sequence
from typing import NamedTuple

from inspector.presentation.conversation.ending import ACCEPTED, WRONG_SILENTLY, Ending
from inspector.presentation.conversation.verdict import NOT_JUDGED, NOT_KNOWN, PASSES_ALL, REJECTED, RESUMABLE, UNREADABLE

SAME_REQUEST = "the request stays the same"
RECOMMENDED, PARTIAL, SUGGESTED, OPTIONAL = "recommended", "partial", "suggested", "optional"
_DOES = {"safe": "loses and invents nothing", "invented": "adds what is stored nowhere", "lossy": "takes something stored away"}


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


def advice_word(now: Ending, after: Ending) -> str:
    """Of the strategies that repair what was found: "recommended" would promise that the next request passes after them, and that it does not `now`."""
    if after.words in (REJECTED, WRONG_SILENTLY, UNREADABLE):
        return PARTIAL
    return OPTIONAL if is_right(now) else RECOMMENDED


def is_right(end: Ending) -> bool:
    """Whether the next request passes, or comes after a call that is pending."""
    return tone(end.words) == "yes"


class Tried(NamedTuple):
    """Strategies that were tried together, and what they cost. `after`: the end of the next request after them; `read`: messages that are read now, and then.

    `stays`: the silent errors that they leave, with their places. `is_wordless`: what they invent is a link or a value, and no words. `ends`: what else they
    do for what is found, in words.
    """

    names: tuple[str, ...]
    safety: str
    after: Ending
    read: tuple[int, int] = (0, 0)
    stays: str = ""
    is_wordless: bool = False
    ends: str = ""


class Passing(NamedTuple):
    """Strategies after which the next request is fine, what they cost, and that end: one alone, or what repairs the findings and one more."""

    names: tuple[str, ...]
    safety: str
    after: Ending


class RepairOption(NamedTuple):
    """Strategies to choose together. `end`: what becomes of the next request after them, in a few words; "" where it is accepted.

    `more`: what else they do, such as how many messages are read after them where those are more; else "". `does`: what they cost, in words.
    """

    names: tuple[str, ...]
    safety: str
    end: str
    word: str
    does: str
    more: str = ""


def repair_options(tried: Tried, now: Ending, passing: Sequence[Passing], whole: Tried | None = None) -> tuple[RepairOption, ...]:
    """What passes first, then what repairs a part. `now`: the end of the next request as it is; `whole`: strategies that leave less of what is found, where
    nothing passes.

    Of those `passing` that cost the same and come to the same it has the first, which is the one that guesses least.
    """
    names, word = tried.names, advice_word(now, tried.after)
    all_named = tuple(_option(of, now) for of in (tried, whole) if of and of.names)
    if is_right(now) or (names and word == RECOMMENDED):
        return all_named
    first = {(of.safety, of.after.words): of for of in reversed(passing)}
    fine = sorted((of for of in passing if first[of.safety, of.after.words] is of), key=lambda of: of.after.words != ACCEPTED)
    return (*(RepairOption(of.names, of.safety, _end(of.after, now), RECOMMENDED, _does(of.safety)) for of in fine), *all_named)


def _option(tried: Tried, now: Ending) -> RepairOption:
    more = f"{tried.read[0]:,} → {tried.read[1]:,} messages read" if tried.read[1] > tried.read[0] else ""
    end, more = _end(tried.after, now, tried.stays), ", ".join(filter(None, (tried.ends, more)))
    return RepairOption(tried.names, tried.safety, end, advice_word(now, tried.after), _cost(tried), more)


def _end(after: Ending, now: Ending, stays: str = "") -> str:
    if after.words == ACCEPTED:
        return ""
    if after.words == WRONG_SILENTLY and stays:
        after = after._replace(why=f"{after.why}: {stays}")
    return outcome(now, after).text if now.words == after.words else Outcome(after.words, _why(after)).text


class AdviceLine(NamedTuple):
    """A sentence, and the strategies that it says to choose together; none where it says to choose nothing."""

    words: str
    names: tuple[str, ...] = ()


NOTHING_PASSES = "Nothing that repairs what is found here makes the next request right."


def advice_lines(tried: Tried, now: Ending, passing: Sequence[Passing], whole: Tried | None = None) -> tuple[AdviceLine, ...]:
    """The `repair_options` in words, a line for each; where the next request is fine as it is, or after none of them, that first."""
    if not is_right(now):
        options = repair_options(tried, now, passing, whole)
        nothing = (AdviceLine(NOTHING_PASSES),) if whole else ()
        return (*nothing, *(AdviceLine(_line(option), option.names) for option in options))
    passes = AdviceLine(f"{_as_it_is(now)}: what is found matters to other readers, and later.")
    if not tried.names:
        return (passes,)
    end = outcome(now, tried.after).text if tried.after.words != ACCEPTED else f"{'still ' * (now.words == ACCEPTED)}passes"
    return passes, AdviceLine(f"{end[0].upper()}{end[1:]}: {_joined(tried.names)}, {_but(tried.safety, _cost(tried))}.", tried.names)


def _as_it_is(now: Ending) -> str:
    if now.words == ACCEPTED:
        return "The next request passes as it is"
    return (
        f"The session can be resumed as it is {_why(now)}"
        if now.words == RESUMABLE
        else f"The next request is not rejected as it is {_why(now)}"
    )


def _line(option: RepairOption) -> str:
    if option.word == PARTIAL:
        more = f" ({option.more})" if option.more else ""
        return f"{option.does.capitalize()}: {_joined(option.names)}{more}, but {option.end}."
    subject = "The session" if option.end.startswith(RESUMABLE) else "Next request"
    return f"{f'{subject} {option.end}' if option.end else 'Passes'}: {_joined(option.names)}, {_but(option.safety, option.does)}."


def _cost(tried: Tried) -> str:
    return "adds a link or a value, no words" if tried.is_wordless and tried.safety == "invented" else _does(tried.safety)


def _does(safety: str) -> str:
    return " and ".join(_DOES[word] for word in safety.split(" and "))


def _but(safety: str, does: str) -> str:
    return does if safety == "safe" else f"but {does}"


def _joined(names: Sequence[str]) -> str:
    items = [f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))
