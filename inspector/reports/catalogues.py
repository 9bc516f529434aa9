"""The catalogues as data: what Inspector reads, judges and repairs, with all that a person needs to choose."""

from typing import Any

from inspector.profiles.catalogue import PROFILES
from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Format, WriteMode
from inspector.projections.catalogue import all_projections
from inspector.readers.catalogue import all_readers
from inspector.reports import stream_report
from inspector.rules import catalogue as detectors
from inspector.rules.base import Rule
from inspector.strategies import catalogue as repairs
from inspector.strategies.base import Strategy
from inspector.streams.captures.catalogue import KINDS
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
    return [_rule(found) for found in detectors.RULES]


def rule(code: str) -> Json:
    """By code or name. Raises UnknownRule."""
    return _rule(detectors.rule(code))


def stream_rules() -> list[Json]:
    """The table of what can be wrong with a captured stream."""
    return stream_report.rows()


def stream_rule(code: str) -> Json | None:
    """By code or name; None where the table has no such row."""
    return next((row for row in stream_rules() if code.upper() == row["code"] or code.lower() == row["rule"]), None)


def strategies() -> list[Json]:
    """In the order in which a repair composes them."""
    return [_strategy(found) for found in repairs.STRATEGIES]


def strategy(name: str) -> Json:
    """With what each mode writes. Raises UnknownStrategy."""
    found = repairs.strategy(name)
    return {**_strategy(found), "modes": written(found)}


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


def stream_strategies() -> list[Json]:
    """The ways to correct a capture, in the order in which they are applied."""
    return stream_report.strategies()


def stream_strategy(name: str) -> Json | None:
    """None where there is no such way."""
    return next((found for found in stream_strategies() if found["name"] == name), None)


def _rule(found: Rule) -> Json:
    return {
        "code": found.code,
        "rule": found.name,
        "state": found.state,
        "severity": found.severity.value,
        "silent": found.silent,
        "origin": found.origin.value,
        "summary": found.summary,
        "why": found.why,
        "example": found.example,
        "repaired_by": list(found.repaired_by),
        "no_repair_reason": found.no_repair_reason,
        "fixed_in_code": found.fixed_in_code,
        "references": list(found.references),
    }


def _strategy(found: Strategy) -> Json:
    return {
        "name": found.name,
        "safety": sorted(found.safety),
        "summary": found.summary,
        "cost": found.cost,
        "user_visible_effect": found.user_visible_effect,
        "pros": found.pros,
        "cons": found.cons,
        "write_kind": found.write_kind,
        "repairs": [rule.code for rule in detectors.RULES if found.name in rule.repaired_by],
    }
