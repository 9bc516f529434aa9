"""The catalogues as data: what Inspector reads, judges and repairs, with all that a person needs to choose."""

from inspector.presentation.json_text import Json, json_fields
from inspector.profiles.catalogue import PROFILES
from inspector.programs.catalogue import FORMATS, READ_ONLY
from inspector.programs.formats import Format, Scripted, WriteMode, WrittenByProgram, sample_of
from inspector.programs.registry import program_or_default
from inspector.projections.catalogue import all_projections
from inspector.readers.base import Reader
from inspector.readers.catalogue import all_readers
from inspector.rules import catalogue as rule_catalogue
from inspector.rules.base import Rule
from inspector.strategies import catalogue as strategy_catalogue
from inspector.strategies.base import Strategy
from inspector.streams.captures.catalogue import KINDS
from inspector.streams.corrections import STREAM_STRATEGIES, StreamStrategy
from inspector.streams.violations import ALL_STREAM_RULES, STREAM_RULES, StreamRule
from inspector.traces import dispatch as dispatch_traces


def formats() -> list[Json]:
    """`holds` is `conversations`, `traces` or `streams`; the first mode is the one that a repair takes unless another is named."""
    stores = [
        {
            **json_fields(row, "name title"),
            "sample": sample_of(row),
            "holds": "conversations",
            "verified": list(verified(row)),
            "places": list(places_of(row)),
            **json_fields(row, "reader=default_reader projection=default_projection profile=default_profile"),
            "modes": [json_fields(mode, "name alias summary") | {"undo": undo_of(row, mode)} for mode in row.modes],
        }
        for row in FORMATS
    ]
    none: Json = {"verified": [], "places": [], "reader": "", "projection": "", "profile": "", "modes": []}
    traces = [
        {"name": name, "title": title, "sample": dispatch_traces.SAMPLES[name], "holds": "traces", **none}
        for name, title in dispatch_traces.TITLES.items()
    ]
    return stores + traces + [{**json_fields(kind, "name title sample"), "holds": "streams", **none} for kind in KINDS]


def readers_of(format_: Format) -> tuple[Reader, ...]:
    """Those of its own program, the default first; not those of other programs that may read its files too."""
    program = program_or_default(format_.name)
    own = [reader for reader in program.readers if reader.name in program.readers_of.get(format_.name, ())]
    default = next((reader for reader in own if reader.name == format_.default_reader), None)
    others = (reader for reader in own if default and reader is not default and reader.format == default.format)
    return (default, *others) if default else ()


def verified(format_: Format) -> tuple[str, ...]:
    """The versions of its program that its readers were verified with."""
    return tuple(dict.fromkeys(version for reader in readers_of(format_) for version in reader.verified))


def places_of(format_: Format) -> dict[str, list[str]]:
    """Where its program keeps what is in it, each with the variables that move it."""
    places: dict[str, list[str]] = {}
    for home in program_or_default(format_.name).homes:
        if home.format == format_.name:
            places.setdefault(home.path, []).extend([home.moved_by] if home.moved_by else [])
    return places


def undo_of(format_: Format, mode: WriteMode) -> str:
    """What takes back a repair that was written in this mode, in a few words."""
    if isinstance(format_, WrittenByProgram):
        return f"{format_.own_program.name} deletes it"
    if format_.name in READ_ONLY:
        return "run FILE.undo.sql" if isinstance(format_, Scripted) else "delete the new file"
    return "removes the new one" if mode.alias == "fork" else "restores every byte"


def readers() -> list[Json]:
    """A variant is written after a plus: `dispatch-legacy+r1`."""
    return [
        {
            **json_fields(row, "name format title shipped note evidence"),
            "verified": list(row.verified),
            "variants": [{"name": f"{row.name}+{word}", "title": title} for word, title in row.variants],
        }
        for row in all_readers()
    ]


def projections() -> list[Json]:
    return [json_fields(row, "name title note") for row in all_projections()]


def profiles() -> list[Json]:
    """`evidence`: I = the text was seen in public issues, C = it is in public code; `date` is when it was last confirmed."""
    return [
        {
            **json_fields(row, "name title unknowable"),
            "rules": [json_fields(rule, "id summary text evidence date references") for rule in row.rules],
        }
        for row in PROFILES
    ]


def rules() -> list[Json]:
    return [rule_report(rule) for rule in rule_catalogue.RULES]


def stream_rules() -> list[Json]:
    """What can be wrong with a captured stream."""
    return [rule_report(rule) for rule in ALL_STREAM_RULES]


def rule_named(code: str) -> Rule | StreamRule:
    """By code or name, of conversations or of streams. Raises UnknownRule."""
    of_streams = (rule for rule in ALL_STREAM_RULES if code.upper() == rule.code or code.lower() == rule.name)
    return next(of_streams, None) or rule_catalogue.rule(code)


def strategies() -> list[Json]:
    """In the order in which a repair composes them."""
    return [strategy_report(strategy) for strategy in strategy_catalogue.STRATEGIES]


def stream_strategies() -> list[Json]:
    """The corrections of a captured stream, in the order in which they are applied."""
    return [strategy_report(strategy) for strategy in STREAM_STRATEGIES]


def strategy_named(name: str) -> Strategy | StreamStrategy:
    """Of conversations or of streams. Raises UnknownStrategy."""
    return next((strategy for strategy in STREAM_STRATEGIES if strategy.name == name), None) or strategy_catalogue.strategy(name)


def written(strategy: Strategy) -> list[Json]:
    """What a repair writes in each mode of the formats that the strategy is for, in the words of the mode itself; formats that share a mode in one row."""
    formats_of: dict[WriteMode, list[Format]] = {}
    for format_ in FORMATS:
        for mode in format_.modes if strategy.applies_to(format_.name) else ():
            formats_of.setdefault(mode, []).append(format_)
    return [
        {
            "mode": mode.name,
            "alias": mode.alias,
            "summary": mode.summary if mode.alias == "fork" or strategy.write_kind != "id" else NO_OTHER_ID,
            "formats": [format_.name for format_ in formats],
            "default": all(format_.modes[0] == mode for format_ in formats),
        }
        for mode, formats in formats_of.items()
    ]


NO_OTHER_ID = "never: the id is part of every key of a conversation, so that only a new conversation can have another"


def rule_report(rule: Rule | StreamRule) -> Json:
    """A rule of conversations or of streams. `shown_by`: what shows the damage, for streams: the machine of a protocol, the frames, both sides and so on."""
    if isinstance(rule, StreamRule):
        own: Json = {"state": "", "example": "", "protocols": sorted(rule.protocols), "shown_by": rule.shown_by.value}
    else:
        own = {"state": rule.state, "example": rule.example, "protocols": [], "shown_by": "conversation"}
    fields = "code rule=name severity silent origin summary why repaired_by no_repair_reason fixed_in_code references"
    return own | json_fields(rule, fields)


def strategy_report(strategy: Strategy | StreamStrategy, *, with_modes: bool = False) -> Json:
    """A strategy for conversations, or one for streams: a corrected stream is a capture of its own, so that there are no modes."""
    if isinstance(strategy, StreamStrategy):
        own: Json = {"user_visible_effect": "", "pros": "", "cons": "", "instead": "", "write_kind": "capture"}
        codes = [rule.code for rule in STREAM_RULES if rule.name in strategy.rules]
    else:
        own = json_fields(strategy, "user_visible_effect pros cons instead write_kind")
        codes = [rule.code for rule in rule_catalogue.RULES if strategy.name in rule.repaired_by]
    if with_modes:
        own["modes"] = [] if isinstance(strategy, StreamStrategy) else written(strategy)
    return json_fields(strategy, "name safety summary cost") | {"repairs": codes} | own
