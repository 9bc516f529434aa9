"""The events that a notifier may want, and the facts of one message: masked, short, and the same for every way of delivery."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inspector.presentation.masking import masked
from inspector.presentation.visible import LONGEST_CUT, clipped, visible

TITLE, SUMMARY, NAME = 80, 160, 60
"""Characters of what is quoted."""
LISTED = 10
"""Of a message about several; how many more there are is said."""
KEPT = 20
"""Of those in the JSON of a webhook."""

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True, slots=True)
class Event:
    """`one` is the beginning of the sentence about one, `many` that about several. `of_problems`: it is about problems, else about repairs."""

    name: str
    label: str
    one: str
    many: str
    of_problems: bool = False


EVENTS: Mapping[str, Event] = {
    event.name: event
    for event in (
        Event("new-problem", "a new problem", "New problem", "new problems", of_problems=True),
        Event("regression", "a problem that occurs again", "Occurs again", "problems occur again", of_problems=True),
        Event("proposal", "a repair is proposed", "Proposed", "repairs proposed"),
        Event("approval", "a repair is approved", "Approved", "repairs approved"),
        Event("rejection", "a repair is rejected", "Rejected", "repairs rejected"),
        Event("changes", "changes to a repair are requested", "Changes requested", "repairs to be changed"),
        Event("apply", "a repair is applied", "Applied", "repairs applied"),
        Event("undo", "a repair is undone", "Undone", "repairs undone"),
        Event("failure", "a repair fails, or is stale when it is applied", "Not applied", "repairs not applied"),
    )
}
TEST = Event("test", "a test", "Test", "tests")
"""Sent by the button, to whoever the notifier sends to, whatever it wants."""
OF_VERBS = {
    "propose": "proposal",
    "approve": "approval",
    "reject": "rejection",
    "request changes": "changes",
    "apply": "apply",
    "undo": "undo",
    "fail": "failure",
    "stale": "failure",
}
"""Verb of a line of the audit log about a repair -> event."""


def event_named(name: str) -> Event:
    return TEST if name == TEST.name else EVENTS[name]


def quoted(text: str, limit: int) -> str:
    """Foreign text on one line, masked before it is cut: the first half of a secret is one too."""
    return clipped(masked(visible(" ".join(text[: limit + LONGEST_CUT].split()))), limit)[0]


@dataclass(frozen=True, slots=True)
class Notice:
    """A message as it is kept until it is delivered. `items` are the first KEPT of `total`; `link` is "" where nobody else could open it."""

    key: str
    event: str
    at: str
    source: Mapping[str, str]
    items: tuple[Mapping[str, Any], ...]
    total: int
    link: str

    @property
    def about(self) -> Event:
        return event_named(self.event)

    @property
    def sentence(self) -> str:
        """What and where, on one line, in text without markup."""
        if self.about is TEST:
            return "A test message of Inspector."
        where = f" in {self.source['name']}" if self.source.get("name") else ""
        if self.total != 1:
            return f"{self.total:,} {self.about.many}{where}."
        return f"{self.about.one}{where}: {self.lines[0]}"

    @property
    def lines(self) -> list[str]:
        """One for each that is listed, and how many more there are."""
        shown = [_line(item) for item in self.items[:LISTED]]
        more = self.total - len(shown)
        return [*shown, *([f"and {more:,} more"] if more else [])]

    @property
    def body(self) -> dict[str, Any]:
        """What a webhook gets as JSON; docs/how-to/notifications.md describes each field."""
        return {
            "id": self.key,
            "event": self.event,
            "at": self.at,
            "sentence": self.sentence,
            "source": dict(self.source) or None,
            "total": self.total,
            "items": [dict(item) for item in self.items],
            "link": self.link or None,
        }


def _line(item: Mapping[str, Any]) -> str:
    return _problem_line(item) if "problem" in item else _repair_line(item)


def _problem_line(item: Mapping[str, Any]) -> str:
    number, noun = item["occurrences"], "stream" if "stream" in item else "conversation"
    weight = f"{item['severity']}, silent" if item["silent"] else item["severity"]
    title = f", such as \u201c{item['title']}\u201d" if item["title"] else ""
    return f"{item['code']} {item['rule']} ({weight}) in {number:,} {noun}{'' if number == 1 else 's'}{title}"


def _repair_line(item: Mapping[str, Any]) -> str:
    title = f"\u201c{item['title']}\u201d" if item["title"] else f"conversation {item['conversation']}"
    summary = f": {item['summary']}" if item["summary"] else ""
    outcome = f" ({item['outcome']})" if item["outcome"] else ""
    return f"{title}{summary}, by {item['who']}{outcome}"


def problem_item(
    problem: str, code: str, rule: str, severity: str, silent: bool, example: str, title: str, *, is_stream: bool = False
) -> dict[str, Any]:
    """`example` is the id of a conversation, or of a captured stream, in which it occurs; in how many is counted when it is sent: an import finds more."""
    return {
        "problem": problem,
        "code": code,
        "rule": quoted(rule, NAME),
        "severity": severity,
        "silent": silent,
        "stream" if is_stream else "conversation": example,
        "title": quoted(title, TITLE),
        "occurrences": 1,
    }


def repair_item(repair: str, conversation: str, title: str, summary: str, who: str, outcome: str) -> dict[str, Any]:
    return {
        "repair": repair,
        "conversation": conversation,
        "title": quoted(title, TITLE),
        "summary": quoted(summary, SUMMARY),
        "who": quoted(who, NAME),
        "outcome": quoted(outcome, SUMMARY),
    }


def is_wanted(item: Mapping[str, Any], least: str) -> bool:
    """Whether a problem is as severe as a notifier wants; what is done to repairs always is."""
    return "severity" not in item or SEVERITIES.index(item["severity"]) <= SEVERITIES.index(least)


def together(items: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Each problem or repair once, the most severe first, in their order otherwise."""
    once = {item.get("problem") or item.get("repair"): item for item in items}
    return tuple(sorted(once.values(), key=lambda item: SEVERITIES.index(item["severity"]) if "severity" in item else 0))
