"""What a profile is: a dated table of one provider's rules, and the verdict of one pass over a prompt."""

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from inspector.projections.base import OPENAI_CHAT, Prompt, PromptValues

EVIDENCE = {
    "X": "seen when the provider's own published code was run",
    "R": "recorded: an answer of the production API was kept",
    "I": "quoted in a public issue by somebody who got it",
    "C": "in public code only",
    "U": "unknown: no report was found",
}

UNANSWERED = ("move-results", "adopt-results", "rename-repeated-ids", "recover-result-from-trace", "insert-interrupted-result")
"""Strategies that may give a call its result, the gentlest first. A client that pairs by id alone leaves the later call of an id without the result that it has."""
UNCALLED = ("move-results", "adopt-results", "deduplicate-results", "keep-first-result", "drop-orphaned-results")
"""Strategies for a result that answers no call before it, the gentlest first."""

SHORTER = "compact the conversation in its own program, or start a new session from what the command `extract` writes of it"
"""What to do about a request that is too long."""
OVER_WINDOW = "The request is {excess} ({share}) over the window of {limit}, with system prompt and tools."
COUNTED_BY_PROVIDER = "tokens are counted by the provider, tools and system prompt included"

# What a placeholder of an error text may match; whatever is not named here is any text.
_PLACEHOLDERS = {
    "n": r"\d+",
    "m": r"\d+",
    "count": r"\d+",
    "length": r"\d+",
    "limit": r"\d+",
    "tokens": r"\d+",
    "output": r"\d+",
    "ids": r"(?:[^\s,\"'`\\]+(?:\s*,\s*[^\s,\"'`\\]+)*)?",
    "id": r"[^\s\"'`\\]*",
}


@dataclass(frozen=True, slots=True)
class ProviderRule:
    """`text` is the provider's own error text with placeholders: {n} message, {m} block, {id}, {ids}, {role}, and others by name.

    `also` are other wordings of the same refusal. `evidence` is a key of EVIDENCE, several where reports differ; `date` is when it was last seen. `unjudged` says why no
    look at the request alone can decide the rule; `obsolete` why it is no error any more. Both are recognized in error texts all the same.
    """

    id: str
    summary: str
    text: str
    evidence: str
    references: tuple[str, ...]
    date: str = "2026-07"
    also: tuple[str, ...] = ()
    unjudged: str = ""
    judged_as: str = ""
    """The rule by which such a request is judged, where this one has another provider's words for the same."""
    obsolete: str = ""
    cause: tuple[str, ...] = ()
    """Sentences on what led to it, with placeholders of the texts and of `explain`: the first counts of which the text names every value."""
    advice: str = ""
    """What it means and what repairs it, for `explain`, where the summary is not enough."""
    repaired_by: tuple[str, ...] = ()
    """Names of strategies that may repair it, the gentlest first."""
    follows: tuple[str, ...] = ()
    """Rules of which a violation in the same message brings this one with it."""
    is_of_size: bool = False
    """It is about how long the request is as a whole: `{tokens}` were sent and `{output}` asked for as answer, where the model takes `{limit}`."""
    at_end: bool = False
    """It is about how a request ends: what a store holds ends there only until the user's next message is put after it."""

    is_of_all: bool = False
    """What makes it right may come anywhere in the request, after the list of its messages too."""

    @property
    def is_unheard_of(self) -> bool:
        """No refusal of it is known: it is in the table since people expect one."""
        return self.text.startswith("(no text is known")

    def say(self, **values: Any) -> str:
        """The error text with its placeholders filled in; one that is not given stays as it is printed in tables (N, M, ID)."""
        return _FilledText().vformat(self.text, (), values)

    def patterns(self) -> tuple[re.Pattern[str], ...]:
        """One for each wording; named groups are the placeholders."""
        return tuple(_pattern(text) for text in (self.text, *self.also))


class _FilledText(string.Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key), str(key).upper())


# There are as many texts as the catalogue has, and a pattern takes longer to make than to search with.
@cache
def _pattern(text: str) -> re.Pattern[str]:
    """White space, quotes and what closes a sentence after a last id are matched loosely: an error text passes through logs, JSON and terminals before it is pasted."""
    used_names: set[str] = set()
    built = []
    loose = text.removesuffix(".").endswith(("{ids}", "{id}"))
    for literal, name, _, _ in string.Formatter().parse(text.removesuffix(".") if loose else text):
        words = re.split(r"(\s+|[`'\"])", literal)
        built.append("".join(r"\s+" if word.isspace() else r"\\*[`'\"]?" if word in "`'\"" and word else re.escape(word) for word in words))
        if name:
            inner = _PLACEHOLDERS.get(name, r".{0,200}?") + (r"(?<![.,;)\]}>])" if loose and name in ("id", "ids") else "")
            built.append(f"(?P<{name}>{inner})" if name not in used_names else inner)
            used_names.add(name)
    return re.compile("".join(built), re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Violation:
    """`path` counts as the provider's message does; `open_ended`: only the end is missing, so the prompt is valid as a prefix.

    `cause` is the rule of another violation in the same message that brings this one with it, where that was looked for.
    """

    id: str
    path: str
    seqs: tuple[int, ...]
    text: str
    open_ended: bool = False
    cause: str = ""


def violations_of(rules: Sequence[ProviderRule]) -> Callable[..., Violation]:
    """Makes violations of these rules, by id, in the provider's words: (id, path, open_ended=False, and values of placeholders by name)."""
    by_id = {rule.id: rule for rule in rules}

    def violation(rule: str, path: str, open_ended: bool = False, **values: Any) -> Violation:
        return Violation(rule, path, (), by_id[rule].say(**values), open_ended)

    return violation


@dataclass(frozen=True, slots=True)
class Request:
    """What a profile judges: the list as it is sent, and what is known of the rest. None = not known, and rules that need it are silent."""

    messages: Sequence[dict[str, Any]]
    system: Any = None
    model: str | None = None
    thinking: bool | None = None
    """Whether extended thinking is switched on."""
    continued: bool = False
    """Whether it goes on from what the provider stored, so that its list is not all that the model is given."""


NOT_MODELED = "is not modeled"
"""In the note of a judgement by a profile of another endpoint."""


@dataclass(frozen=True, slots=True)
class Judgement:
    profile: str
    violations: tuple[Violation, ...]
    notes: tuple[str, ...] = ()
    unread: str = ""
    """What of the conversation is over a limit of ours, in words after "it", so that nobody knows the next request; "" where all was read."""
    as_words: tuple[int, ...] = ()
    """As of the prompt that was judged."""
    unclear: str = ""
    """One of the notes: on what it depends whether a request that passes does, where that does not show."""

    @property
    def sendable(self) -> bool:
        return not self.violations

    @property
    def not_modeled(self) -> str:
        """The note that no profile knows the endpoint; "" where one does."""
        return next((note for note in self.notes if NOT_MODELED in note), "")

    @property
    def prefix_valid(self) -> bool:
        return all(violation.open_ended for violation in self.violations)

    @property
    def first_bad(self) -> int | None:
        seqs = [seq for violation in self.violations for seq in violation.seqs]
        return min(seqs) if seqs else None

    @property
    def verdict(self) -> str:
        if self.unread:
            return f"not known: it {self.unread}"
        if self.sendable:
            return "passes all known rules"
        first = self.violations[0]
        return f"rejected at {first.path} ({first.id})"


@dataclass(frozen=True, slots=True)
class Profile:
    """`check` yields violations without seqs, in one pass over `Request.messages`; bodies are hostile, and it never raises.

    `models` are starts of names of models that it is right for; () = it does not say.
    """

    name: str
    title: str
    unknowable: str
    rules: tuple[ProviderRule, ...]
    check: Callable[[Request], Iterator[Violation]]
    wire: str = OPENAI_CHAT
    date: str = "2026-07"
    models: tuple[str, ...] = ()
    projection: str = ""
    """The projection that makes its prompt, where the plain one of the wire shape leaves out what this provider wants."""
    part_of: str = ""
    """The profile whose violations by the rules here are all that this one has: its verdict follows from that of the other."""
    unclear: Callable[[Request], str] | None = None
    """What a request leaves open on which a rule of it depends, in a sentence; "" where it leaves nothing open."""

    def judge(self, prompt: Prompt, model: str | None = None, thinking: bool | None = None, continued: bool = False) -> Judgement:
        """One pass over the prompt; seqs are filled in from its source map, of the message where a block has none of its own."""
        request = Request(PromptValues(prompt.messages), prompt.system, model, thinking, continued)
        violated = list(self.check(request))
        # The source map is as long as the request, and hardly a message is at fault.
        sources = prompt.sources({index for violation in violated if (index := _index_in(violation.path)) is not None})
        violations = tuple(
            Violation(violation.id, violation.path, tuple(_seqs(sources, violation.path)), violation.text, violation.open_ended)
            for violation in violated
        )
        return Judgement(self.name, violations, self._notes(model))

    def among(self, violations: Sequence[Violation]) -> tuple[Violation, ...]:
        """Those by a rule of this profile."""
        ids = {rule.id for rule in self.rules}
        return tuple(violation for violation in violations if violation.id in ids)

    def note_on_end(self, prompt: Prompt, model: str | None) -> str:
        """What the verdict on a request that ends as it is depends on, and the request does not say."""
        return self.unclear(Request(PromptValues(prompt.messages), prompt.system, model)) if self.unclear else ""

    def names(self, model: str) -> bool:
        """Whether it is one of the models of its endpoint."""
        return any(part.startswith(self.models) for part in (model, *model.split("/")))

    def _notes(self, model: str | None) -> tuple[str, ...]:
        if model is None or not self.models or self.names(model):
            return ()
        return (f"the endpoint of {model} {NOT_MODELED}, judged as {self.name}",)


def _index_in(path: str) -> int | None:
    """Of the message that a path leads into; None where it leads into none of the list."""
    number = path.split(".", 2)[1:2]
    return int(number[0]) if number and number[0].isascii() and number[0].isdecimal() and len(number[0]) < 10 else None


def _seqs(sources: Mapping[str, list[int]], path: str) -> list[int]:
    """Of the path, or of the nearest thing that holds it: a rule may point at a field inside a block."""
    while path not in sources and "." in path:
        path = path.rpartition(".")[0]
    return sources.get(path, [])
