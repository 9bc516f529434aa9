"""The catalogues as data: what Inspector reads, judges and repairs, with all that a person needs to choose."""

from typing import Any

from inspector.profiles.catalogue import PROFILES
from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Format, WriteMode
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import all_readers
from inspector.rules import catalogue as detectors
from inspector.rules.base import Rule
from inspector.strategies import catalogue as repairs
from inspector.strategies.base import Strategy
from inspector.streams.captures.catalogue import KINDS
from inspector.streams.corrections import STREAM_STRATEGIES, StreamStrategy
from inspector.streams.violations import ALL_STREAM_RULES, STREAM_RULES, StreamRule
from inspector.traces import dispatch as dispatch_traces

Json = dict[str, Any]

_TRACES = (
    (dispatch_traces.NAME, "Dispatch trace database (traces.db, both of its schemas)"),
    (dispatch_traces.JOURNAL, "Dispatch journal (NDJSON, one record a line; the generation before it, FILE.1, is read along)"),
)


def formats() -> list[Json]:
    """`holds` is `conversations`, `traces` or `streams`; the first mode is the one that a repair takes unless told otherwise."""
    stores = [
        {
            "name": found.name,
            "title": found.title,
            "holds": "conversations",
            "reader": found.default_reader,
            "projection": found.default_projection,
            "profile": found.default_profile,
            "modes": [{"name": mode.name, "alias": mode.alias, "summary": mode.summary} for mode in found.modes],
        }
        for found in FORMATS
    ]
    none = {"reader": "", "projection": "", "profile": "", "modes": []}
    traces = [{"name": name, "title": title, "holds": "traces", **none} for name, title in _TRACES]
    return stores + traces + [{"name": kind.name, "title": kind.title, "holds": "streams", **none} for kind in KINDS]


def readers() -> list[Json]:
    """A variant is written after a plus: `dispatch-legacy+r1`."""
    return [
        {
            "name": found.name,
            "format": found.format,
            "title": found.title,
            "shipped": found.shipped,
            "note": found.note,
            "evidence": found.evidence,
            "variants": [{"name": f"{found.name}+{word}", "title": title} for word, title in found.variants],
        }
        for found in all_readers()
    ]


def projections() -> list[Json]:
    return [{"name": found.name, "title": found.title, "note": found.note} for found in all_projections()]


def profiles() -> list[Json]:
    """`evidence`: I = the text was seen in public issues, C = it stands in public code; `date` is when it was last seen to hold."""
    return [
        {
            "name": found.name,
            "title": found.title,
            "unknowable": found.unknowable,
            "rules": [
                {
                    "id": rule.id,
                    "summary": rule.summary,
                    "text": rule.text,
                    "evidence": rule.evidence,
                    "date": rule.date,
                    "references": list(rule.references),
                }
                for rule in found.rules
            ],
        }
        for found in PROFILES
    ]


def rules() -> list[Json]:
    return [rule_report(found) for found in detectors.RULES]


def stream_rules() -> list[Json]:
    """What can be wrong with a captured stream."""
    return [rule_report(found) for found in ALL_STREAM_RULES]


def rule_named(code: str) -> Rule | StreamRule:
    """By code or name, of conversations or of streams. Raises UnknownRule."""
    of_streams = (found for found in ALL_STREAM_RULES if code.upper() == found.code or code.lower() == found.name)
    return next(of_streams, None) or detectors.rule(code)


def strategies() -> list[Json]:
    """In the order in which a repair composes them."""
    return [strategy_report(found) for found in repairs.STRATEGIES]


def stream_strategies() -> list[Json]:
    """The corrections of a captured stream, in the order in which they are applied."""
    return [strategy_report(found) for found in STREAM_STRATEGIES]


def strategy_named(name: str) -> Strategy | StreamStrategy:
    """Of conversations or of streams. Raises UnknownStrategy."""
    return next((found for found in STREAM_STRATEGIES if found.name == name), None) or repairs.strategy(name)


def written(found: Strategy) -> list[Json]:
    """What a repair writes in each mode, in the words of the mode itself; formats that share a mode in one row."""
    formats_of: dict[WriteMode, list[Format]] = {}
    for format_ in FORMATS:
        for mode in format_.modes:
            formats_of.setdefault(mode, []).append(format_)
    return [
        {
            "mode": mode.name,
            "alias": mode.alias,
            "summary": mode.summary if mode.alias == "fork" or found.write_kind != "id" else NO_OTHER_ID,
            "formats": [format_.name for format_ in formats],
        }
        for mode, formats in formats_of.items()
    ]


NO_OTHER_ID = "never: the id is part of every key of a conversation, so that only a new conversation can have another"


def rule_report(found: Rule | StreamRule) -> Json:
    """A rule of conversations or of streams. `shown_by`: what shows the damage, for streams: the machine of a protocol, the frames, both sides and so on."""
    if isinstance(found, StreamRule):
        own: Json = {"state": "", "example": "", "protocols": sorted(found.protocols), "shown_by": found.shown_by.value}
    else:
        own = {"state": found.state, "example": found.example, "protocols": [], "shown_by": "conversation"}
    return own | {
        "code": found.code,
        "rule": found.name,
        "severity": found.severity.value,
        "silent": found.silent,
        "origin": found.origin.value,
        "summary": found.summary,
        "why": found.why,
        "repaired_by": list(found.repaired_by),
        "no_repair_reason": found.no_repair_reason,
        "fixed_in_code": found.fixed_in_code,
        "references": list(found.references),
    }


def strategy_report(found: Strategy | StreamStrategy, *, with_modes: bool = False) -> Json:
    """A strategy for conversations, or one for streams: a corrected stream is a capture of its own, so that there are no modes."""
    if isinstance(found, StreamStrategy):
        own: Json = {"user_visible_effect": "", "pros": "", "cons": "", "write_kind": "capture"}
        codes = [rule.code for rule in STREAM_RULES if rule.name in found.rules]
    else:
        own = {"user_visible_effect": found.user_visible_effect, "pros": found.pros, "cons": found.cons, "write_kind": found.write_kind}
        codes = [rule.code for rule in detectors.RULES if found.name in rule.repaired_by]
    if with_modes:
        own["modes"] = [] if isinstance(found, StreamStrategy) else written(found)
    return {"name": found.name, "safety": sorted(found.safety), "summary": found.summary, "cost": found.cost, "repairs": codes} | own
