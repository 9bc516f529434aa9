"""What a profile says of a request body, and the promises that every profile keeps."""

from typing import Any

from inspector.profiles.base import Profile, ProviderRule, Request, Violation
from inspector.strategies.catalogue import STRATEGIES

VALUES = {
    "n": "7",
    "m": "2",
    "id": "call_9-x",
    "ids": "call_9-x, call_10-y",
    "name": "read_file",
    "role": "tool",
    "previous": "user",
    "limit": "64",
    "length": "70",
    "prefix": "fc",
    "type": "message",
    "other": "rs_1",
    "tokens": "9",
    "output": "2",
    "count": "11",
}
_ODD: tuple[Any, ...] = (None, 7, -1.5, True, "", "x", "\ud800", [], {}, [None, 3, "x", [], {}], {"type": 3}, {"type": ["x"]}, {"id": {}})


def violations(profile: Profile, messages: list[Any]) -> list[Violation]:
    return list(profile.check(Request(messages)))


def fired(profile: Profile, messages: list[Any]) -> list[tuple[str, str]]:
    return [(found.id, found.path) for found in violations(profile, messages)]


def assert_takes_any_body(profile: Profile, sound: list[dict[str, Any]]) -> None:
    """Each field of a sound body, at any depth, is replaced by each odd value in turn; then messages themselves are."""
    for odd in _ODD:
        violations(profile, [odd])
        violations(profile, [*sound, odd, *sound])
        for body in _with(sound, odd):
            for found in violations(profile, body):
                assert isinstance(found.text, str) and isinstance(found.path, str)


def _with(value: Any, odd: Any) -> list[Any]:
    """Copies of the value, each with one place replaced."""
    copies: list[Any] = []
    if isinstance(value, dict):
        for name in value:
            copies.append({**value, name: odd})
            copies.append({other: kept for other, kept in value.items() if other != name})
            copies += [{**value, name: inner} for inner in _with(value[name], odd)]
    elif isinstance(value, list):
        for index in range(len(value)):
            copies += [[*value[:index], inner, *value[index + 1 :]] for inner in _with(value[index], odd)]
    return copies


def assert_knows_its_text(rule: ProviderRule) -> None:
    """The rule's own text with places and ids filled in is recognized, and they are read out of it again."""
    matches = [match for pattern in rule.patterns() if (match := pattern.search(f"400 Bad Request: {rule.say(**VALUES)} (x)"))]
    assert matches
    for name in ("n", "m", "id", "ids"):
        if f"{{{name}}}" in rule.text:
            assert matches[0].group(name) == VALUES[name]


def assert_table_is_whole(profile: Profile) -> None:
    """Every rule says what it must, and names only strategies that there are."""
    known = {strategy.name for strategy in STRATEGIES}
    for rule in profile.rules:
        assert set(rule.repaired_by) <= known and not (rule.unjudged and rule.obsolete)
        assert rule.summary and rule.text and rule.date and set(rule.evidence) <= set("XRICU")
        assert rule.references or rule.evidence == "U"
