"""The catalogues as pages: rules, strategies, and formats with all that reads, projects and judges them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from django.db.models import Count, Sum
from django.http import Http404, HttpResponse

from inspector.conversation.edits import Safety
from inspector.middleware import OperatorRequest
from inspector.models import ConversationCount, ConversationRule, RuleCount, Source, Stream, StreamFinding
from inspector.presentation import markdown
from inspector.presentation.catalogue import entries as catalogues
from inspector.presentation.catalogue.repaired_example import (
    ExampleText,
    RepairedExample,
    example_case,
    example_repaired_by,
    marked,
    repaired_example,
)
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.visible import visible
from inspector.profiles.base import EVIDENCE, Profile, ProviderRule
from inspector.profiles.catalogue import PROFILES
from inspector.programs.catalogue import FORMATS
from inspector.programs.formats import Exported, Format, InRelations, WriteMode, sample_of
from inspector.programs.registry import program_or_default, programs
from inspector.projections.base import Projection
from inspector.projections.catalogue import all_projections
from inspector.readers.base import Reader
from inspector.readers.catalogue import all_readers
from inspector.rules.base import Rule, Severity
from inspector.rules.catalogue import RULES, UnknownRule
from inspector.sources.own_program import read_only
from inspector.strategies.base import Strategy
from inspector.strategies.catalogue import STRATEGIES, UnknownStrategy
from inspector.streams import examples
from inspector.streams.captures.base import CaptureKind
from inspector.streams.captures.catalogue import KINDS
from inspector.streams.corrections import STREAM_STRATEGIES, StreamStrategy
from inspector.streams.examples import StreamExample
from inspector.streams.violations import ALL_STREAM_RULES, ShownBy, StreamRule
from inspector.views.conversation_list import RULE_KEYS, ConversationRow, is_without_demo, rows_of, with_rule
from inspector.views.pages import as_json, as_markdown, page

SHOWN = 10
Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """A page of the reference: how many entries it has, and what they are."""

    title: str
    href: str
    count: int
    summary: str


def _catalogues() -> tuple[Catalogue, ...]:
    return (
        Catalogue("Rules", "/rules/", len(RULES), "What is detected in a conversation: why it matters, an example, what repairs it."),
        Catalogue(
            "Stream rules", "/rules/#STREAM", len(ALL_STREAM_RULES), "What is detected in a captured stream, on one side or on both."
        ),
        Catalogue("Strategies", "/strategies/", len(STRATEGIES), "What a repair does to a conversation, and what it costs."),
        Catalogue(
            "Stream corrections", "/strategies/#corrections", len(STREAM_STRATEGIES), "What a corrected copy of a captured stream changes."
        ),
        Catalogue(
            "Provider rules",
            "/profiles/",
            sum(len(profile.rules) for profile in PROFILES),
            f"What {len(PROFILES)} profiles of providers reject: their words, and where they are known from.",
        ),
        Catalogue("Stored formats", "/formats/", len(FORMATS), "The stores that are read, and how a repair is written to each."),
        Catalogue("Captures", "/formats/#captures", len(KINDS), "The recordings of streams that are read."),
        Catalogue("Readers", "/readers/", len(all_readers()), "How each program, in each version, loads what it stored."),
        Catalogue(
            "Projections",
            "/projections/",
            len(all_projections()),
            "How messages become the request of a provider, and what is lost.",
        ),
    )


def reference(request: OperatorRequest) -> HttpResponse:
    return page(request, "reference.html", _catalogues(), twins=("json",))


def reference_json(request: OperatorRequest) -> HttpResponse:
    return as_json({"pages": [json_fields(entry, "title href count summary") for entry in _catalogues()]})


def matching(entries: Iterable[Entry], q: str, words_of: Callable[[Entry], str]) -> tuple[Entry, ...]:
    """The entries whose words contain all words of `q`, in either case; all of them without any."""
    wanted = q.casefold().split()
    return tuple(entry for entry in entries if all(word in words_of(entry).casefold() for word in wanted))


def _query(request: OperatorRequest) -> str:
    return visible(request.GET.get("q", "").strip())


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule with the number of conversations, or of streams, that have it now."""

    rule: Rule | StreamRule
    total: int


FAMILIES = (
    ("MSG", "Messages"),
    ("TOOL", "Tool calls and results"),
    ("THINK", "Thinking"),
    ("STORE", "Stored records"),
    ("TREE", "Branches"),
    ("TRACE", "Traces"),
    ("STREAM", "Captured streams"),
)
"""The letters that a code begins with, and what its rule is about."""


@dataclass(frozen=True, slots=True)
class Family:
    letters: str
    title: str
    listed: str
    """What has the rule: `conversations` or `streams`."""
    rows: tuple[RuleRow, ...]


@dataclass(frozen=True, slots=True)
class RulesPage:
    q: str
    severity: str
    families: tuple[Family, ...]
    total: int

    severities = tuple((severity.value, severity.value) for severity in Severity)

    @property
    def shown(self) -> int:
        return sum(len(family.rows) for family in self.families)


def rules(request: OperatorRequest) -> HttpResponse:
    counts = dict(RuleCount.objects.counted().order_by().values_list("code").annotate(Sum("conversations")))
    rows = (*(RuleRow(rule, counts.get(rule.code, 0)) for rule in RULES), *stream_rows(ALL_STREAM_RULES))
    q, severity = _query(request), request.GET.get("severity", "")
    severity = severity if severity in set(Severity) else ""
    matches = [row for row in matching(rows, q, _rule_words) if not severity or row.rule.severity == severity]
    families = (
        Family(
            letters,
            title,
            "streams" if letters == "STREAM" else "conversations",
            tuple(row for row in matches if row.rule.code.rstrip("0123456789") == letters),
        )
        for letters, title in FAMILIES
    )
    content = RulesPage(q, severity, tuple(family for family in families if family.rows), len(rows))
    return page(request, "rules.html", content, part="entries", twins=("json",))


_InFormats = Mapping[tuple[str, str], int]
"""Code of a rule and name of a format -> in how many conversations it is found there."""


def _in_formats(with_traces: bool = False) -> _InFormats:
    """Of conversations that can be written: a crash file is evidence. `with_traces`: of stores to which traces belong."""
    traced = {"source__in": Source.traces.through.objects.values("from_source")} if with_traces else {}
    counted = RuleCount.objects.counted().filter(**traced).order_by()
    counts = Counter({row[:2]: row[2] for row in counted.values_list("code", "source__format").annotate(Sum("conversations"))})
    # Hardly a source has crash files, and only those that have any are asked for them.
    sources = ConversationCount.objects.counted().filter(is_crash=True, conversations__gt=0, **traced).values("source")
    crashes = ConversationRule.objects.filter(conversation__source__in=sources, conversation__is_crash=True, is_worst=True, is_gone=False)
    of_crashes = crashes.order_by().values_list("code", "conversation__source__format").annotate(Count("pk"))
    return counts - Counter({row[:2]: row[2] for row in of_crashes})


def _rule_words(row: RuleRow) -> str:
    rule = row.rule
    return " ".join(
        (rule.code, rule.name, rule.summary, rule.origin, "" if isinstance(rule, StreamRule) else rule.state, *rule.repaired_by)
    )


def stream_rows(rules: Iterable[StreamRule]) -> tuple[RuleRow, ...]:
    findings = StreamFinding.objects.counted().filter(stream__is_gone=False)
    counts = dict(findings.order_by().values_list("code").annotate(Count("stream", distinct=True)))
    return tuple(RuleRow(rule, counts.get(rule.code, 0)) for rule in rules)


def rules_json(request: OperatorRequest) -> HttpResponse:
    return as_json(catalogues.rules())


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A rule of a provider with its evidence in words."""

    rule: ProviderRule
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProviderTable:
    profile: Profile
    rows: tuple[ProviderRow, ...]


@dataclass(frozen=True, slots=True)
class ProfilesPage:
    q: str
    tables: tuple[ProviderTable, ...]


def profiles(request: OperatorRequest) -> HttpResponse:
    q = _query(request)
    tables = (
        ProviderTable(
            profile,
            tuple(
                ProviderRow(rule, tuple(EVIDENCE[mark] for mark in rule.evidence if mark in EVIDENCE))
                for rule in _matching_rules(profile, q)
            ),
        )
        for profile in PROFILES
    )
    content = ProfilesPage(q, tuple(table for table in tables if table.rows))
    return page(request, "profiles.html", content, part="entries", twins=("json",))


_TEXT = 20
"""Characters from which on what is typed may be the text of an error: it has values where a rule has placeholders."""


def _matching_rules(profile: Profile, q: str) -> Sequence[ProviderRule]:
    """By the words of the rule, or whose error text it is."""
    by_words = matching(profile.rules, q, lambda rule: f"{profile.name} {profile.title} {_provider_words(rule)}")
    if by_words or len(q) < _TEXT:
        return by_words
    return [rule for rule in profile.rules if any(pattern.search(q) for pattern in rule.patterns())]


def _provider_words(rule: ProviderRule) -> str:
    return " ".join((rule.id, rule.summary, rule.text, *rule.also, rule.advice, *rule.repaired_by))


def profiles_json(request: OperatorRequest) -> HttpResponse:
    return as_json(catalogues.profiles())


@dataclass(frozen=True, slots=True)
class ExampleLine:
    text: str
    is_matched: bool
    columns: tuple[ExampleText, ...] = ()
    """With those that the repaired example has otherwise; () where it has none such."""


@dataclass(frozen=True, slots=True)
class Example:
    """The example of a rule, as `reader` reads it: what the rule reports on it, run now, and what it is after a repair."""

    rule: Rule
    lines: tuple[ExampleLine, ...]
    messages: tuple[str, ...]
    reader: str
    repaired: RepairedExample | None

    @property
    def is_tree(self) -> bool:
        """Whether a line says where in a tree it is."""
        return any(" parent=" in line.text or " entry=" in line.text for line in self.lines)

    @property
    def has_facts(self) -> bool:
        """Whether it has lines that are of the conversation, and of no chunk."""
        return any(line.text.startswith("@") for line in self.lines)


@dataclass(frozen=True, slots=True)
class RulePage:
    """The page of a rule of conversations or of streams."""

    rule: Rule | StreamRule
    repairs: tuple[Strategy | StreamStrategy, ...]
    rows: tuple[ConversationRow, ...] | tuple[Stream, ...]
    total: int
    rejected_by: tuple[ProviderTable, ...] = ()
    """The rules of providers that one of its repairs repairs too."""
    example: Example | None = None
    wrong: StreamExample | None = None
    """The example of a rule of streams, judged now."""
    right: StreamExample | None = None
    """A stream like it in which nothing is found."""

    @property
    def applies_to(self) -> str:
        """The programs in whose conversations it is looked for; "" of a rule of streams."""
        if isinstance(self.rule, StreamRule):
            return ""
        titles = [program.title for program in programs() if any(self.rule.applies_to(format_.name) for format_ in program.formats)]
        return "every program" if len(titles) == len(programs()) else ", ".join(titles)

    @property
    def protocols(self) -> list[str]:
        return sorted(self.rule.protocols) if isinstance(self.rule, StreamRule) else []

    @property
    def shown_by(self) -> str:
        """What of a stream shows it; "" for a rule of conversations."""
        return _SHOWN_BY[self.rule.shown_by] if isinstance(self.rule, StreamRule) else ""

    @property
    def listed(self) -> str:
        return "streams" if isinstance(self.rule, StreamRule) else "conversations"

    @property
    def without_demo(self) -> bool:
        return is_without_demo(Source.objects.only("is_demo"), "")


_SHOWN_BY = {
    ShownBy.MACHINE: "the order and content of its events",
    ShownBy.FRAMES: "its framing",
    ShownBy.TEXT: "its text",
    ShownBy.CLOCK: "the times of its events",
    ShownBy.REQUEST: "its request",
    ShownBy.SIDES: "both sides, compared",
    ShownBy.STORE: "the store and the stream, compared",
    ShownBy.CAPTURES: "several captures",
}


def _rule(code: str) -> Rule | StreamRule:
    try:
        return catalogues.rule_named(code)
    except UnknownRule as problem:
        raise Http404(str(problem)) from None


def example_of(rule: Rule, repaired: RepairedExample | None) -> Example:
    """With those lines marked that the rule fires on, and the columns that the repair changes."""
    case = example_case(rule)
    matches = list(rule.check(case))
    seqs = {str(chunk.seq) for match in matches for chunk in match.chunks}
    places = {chunk.msg_idx for match in matches for chunk in match.chunks}
    raws = {chunk.raw.strip() for match in matches for chunk in match.chunks}
    # A finding about the whole conversation rests on what is next to its chunks.
    is_whole = any(not match.chunks for match in matches)
    changed = repaired.changed if repaired else {}
    lines, stored = [], -1
    for line in rule.example.split("\n"):
        word = line.split(" ")[0]
        stored += word == "line"
        is_own = stored in places or line[5:].strip().encode() in raws
        is_matched = is_own if word == "line" else word in seqs or (is_whole and not word.isdecimal())
        lines.append(ExampleLine(line, is_matched, marked(line, changed[word]) if word in changed else ()))
    return Example(rule, tuple(lines), tuple(match.message for match in matches), case.reading.reader, repaired)


def rule(request: OperatorRequest, code: str) -> HttpResponse:
    chosen = _rule(code)
    repairs = tuple(catalogues.strategy_named(name) for name in chosen.repaired_by)
    if isinstance(chosen, StreamRule):
        streams = (
            Stream.objects.counted()
            .filter(is_gone=False, findings__code=chosen.code)
            .select_related("source")
            .prefetch_related("findings")
            .distinct()
        )
        content = RulePage(
            chosen, repairs, tuple(streams[:SHOWN]), streams.count(), wrong=examples.wrong(chosen), right=examples.right(chosen)
        )
    else:
        total = RuleCount.objects.counted().filter(code=chosen.code).aggregate(n=Sum("conversations", default=0))["n"]
        rows = rows_of(row.conversation for row in with_rule(chosen.code).order_by(*RULE_KEYS)[:SHOWN])
        content = RulePage(chosen, repairs, rows, total, _rejected_by(chosen), example_of(chosen, repaired_example(chosen)))
    return page(request, "rule.html", content, twins=("json", "md"))


def _rejected_by(chosen: Rule) -> tuple[ProviderTable, ...]:
    tables = (
        ProviderTable(profile, tuple(ProviderRow(rule, ()) for rule in profile.rules if set(rule.repaired_by) & set(chosen.repaired_by)))
        for profile in PROFILES
    )
    return tuple(table for table in tables if table.rows)


def rule_json(request: OperatorRequest, code: str) -> HttpResponse:
    return as_json(catalogues.rule_report(_rule(code)))


def rule_md(request: OperatorRequest, code: str) -> HttpResponse:
    return as_markdown(markdown.rule_md(catalogues.rule_report(_rule(code))))


@dataclass(frozen=True, slots=True)
class OneProfile:
    """What a strategy means to a profile: rules of its table that name the strategy, and those that its own text warns of."""

    profile: Profile
    repairs: tuple[ProviderRule, ...]
    warned_of: tuple[ProviderRule, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another strategy for the same rules; `shared` are those rules."""

    strategy: Strategy
    shared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StrategyPage:
    """The page of a strategy for conversations or for streams; a corrected stream is a capture of its own, so that those have no modes."""

    strategy: Strategy | StreamStrategy
    safety: tuple[tuple[str, str], ...]
    repairs: tuple[RuleRow, ...]
    modes: list[dict[str, Any]] = field(default_factory=list)
    """What each mode writes, as the twin has it."""
    profiles: tuple[OneProfile, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    example: Example | None = None
    """Of the first of its rules whose example it repairs."""

    @property
    def compared(self) -> tuple[Alternative, ...]:
        """Those for the same rules of stores; where there are none, the first for the same rules of providers."""
        return tuple(entry for entry in self.alternatives if _OWN & {*entry.shared}) or self.alternatives[:COMPARED]

    @property
    def others(self) -> tuple[Alternative, ...]:
        return self.alternatives[len(self.compared) :]

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Profiles no rule of which names it."""
        named = {entry.profile.name for entry in self.profiles}
        return tuple(profile.name for profile in PROFILES if profile.name not in named)

    @property
    def rejections(self) -> tuple[str, ...]:
        """Ids of the rules of providers that it repairs, each once."""
        return _rejections().get(self.strategy.name, ())

    @property
    def has_fork(self) -> bool:
        """Whether one of its modes writes a new conversation."""
        return any(mode["alias"] == "fork" for mode in self.modes)


COMPARED = 12
_OWN = frozenset(rule.code for rule in RULES)
_RULE_ID = re.compile(r"(?<![\w.])(?:[a-z-]+\.)?[A-Z]{2,}[A-Z0-9]*-\d+[a-z]?\b")
"""Of all profiles that have it, or after the name of one of that one alone."""


def per_profile(chosen: Strategy) -> tuple[OneProfile, ...]:
    """Profiles of which some rule is repaired by the strategy, or may be broken by it as its own text says."""
    named = set(_RULE_ID.findall(f"{chosen.cons} {chosen.cost}"))
    per_table = (
        OneProfile(
            profile,
            tuple(rule for rule in profile.rules if chosen.name in rule.repaired_by and not rule.obsolete),
            tuple(rule for rule in profile.rules if not named.isdisjoint((rule.id, f"{profile.name}.{rule.id}"))),
        )
        for profile in PROFILES
    )
    return tuple(profile for profile in per_table if profile.repairs or profile.warned_of)


def alternatives(chosen: Strategy) -> tuple[Alternative, ...]:
    """The other strategies for the same rules: those for rules of stores first, of these the safe ones, then those that share most."""
    shared: dict[str, dict[str, None]] = {}
    named = [(rule.code, rule.repaired_by) for rule in RULES]
    named += [(rule.id, rule.repaired_by) for entry in PROFILES for rule in entry.rules if not rule.obsolete]
    for rule_id, names in named:
        for name in names if chosen.name in names else ():
            if name != chosen.name:
                shared.setdefault(name, {})[rule_id] = None
    listed = (Alternative(entry, tuple(shared[entry.name])) for entry in STRATEGIES if entry.name in shared)
    return tuple(sorted(listed, key=lambda entry: (_OWN.isdisjoint(entry.shared), bool(entry.strategy.safety), -len(entry.shared))))


SAFETY = {
    "lossy": "something that was stored leaves the history; undo and the audit log keep it",
    "invented": "something is written that is stored nowhere as such: words that nobody said, or a link or value that nothing stored says; the preview shows all of it",
}
SAFE = ("safe", "nothing is lost and nothing is invented")
IN_A_CAPTURE = {
    "lossy": "something that came is not in the new capture; the one that was captured keeps it",
    "invented": "something is written that neither side sent as such, for example a call that came as text",
}
SAFE_IN_A_CAPTURE = (
    "safe",
    "no word, call or signature is lost or invented: each of the new capture was sent as such by one of the sides; its cost says what else becomes different",
)


def _strategy(name: str) -> Strategy | StreamStrategy:
    try:
        return catalogues.strategy_named(name)
    except UnknownStrategy as problem:
        raise Http404(str(problem)) from None


def _safety(chosen: Strategy | StreamStrategy) -> tuple[tuple[str, str], ...]:
    meanings, safe = (IN_A_CAPTURE, SAFE_IN_A_CAPTURE) if isinstance(chosen, StreamStrategy) else (SAFETY, SAFE)
    return tuple((word.value, meanings[word.value]) for word in sorted(chosen.safety)) or (safe,)


def _repaired_by(chosen: Strategy | StreamStrategy) -> tuple[Rule | StreamRule, ...]:
    if isinstance(chosen, StreamStrategy):
        return tuple(rule for rule in ALL_STREAM_RULES if rule.name in chosen.rules)
    return tuple(rule for rule in RULES if chosen.name in rule.repaired_by)


FIRST_RULES = 3


@dataclass(frozen=True, slots=True)
class StrategyRow:
    strategy: Strategy | StreamStrategy
    rules: tuple[Rule | StreamRule, ...]
    """Those that it repairs."""
    now: Mapping[str, int] = field(default_factory=dict)
    """Code of one that occurs -> in how many conversations."""

    @property
    def first_rules(self) -> tuple[Rule | StreamRule, ...]:
        """All that occur, and as many others as there is room for."""
        return self.rules[: max(FIRST_RULES, len(self.now))]

    @property
    def more(self) -> int:
        """How many are not shown."""
        return len(self.rules) - len(self.first_rules)

    @property
    def marks(self) -> tuple[str, ...]:
        """Each that it may have, of which the case decides."""
        also = ("safe",) if isinstance(self.strategy, Strategy) and self.strategy.safe_where else ()
        return tuple(dict.fromkeys((*(word for word, _ in _safety(self.strategy)), *also)))


@dataclass(frozen=True, slots=True)
class StrategiesPage:
    q: str
    safety: str
    program: str
    """The name of one; "" for all."""
    strategies: tuple[StrategyRow, ...]
    corrections: tuple[StrategyRow, ...]

    choices = tuple((word, word) for word in ("safe", *sorted(Safety)))
    programs = tuple((program.name, program.title) for program in programs() if any(format_.modes for format_ in program.formats))


def strategy_list(request: OperatorRequest) -> HttpResponse:
    q, safety = _query(request), request.GET.get("safety", "")
    safety = safety if (safety, safety) in StrategiesPage.choices else ""
    program = next((of for of in programs() if of.name == request.GET.get("program")), None)
    formats = [format_.name for format_ in program.formats] if program else []

    def chosen(rows: Iterable[StrategyRow]) -> tuple[StrategyRow, ...]:
        return tuple(row for row in matching(rows, q, _strategy_words) if not safety or safety in row.marks)

    everywhere, traced = _in_formats(), _in_formats(with_traces=True)
    repairs = [
        _with_counts(entry, traced if entry.reads_trace else everywhere, formats)
        for entry in STRATEGIES
        if not program or any(map(entry.applies_to, formats))
    ]
    corrections = [] if program else [StrategyRow(entry, _repaired_by(entry)) for entry in STREAM_STRATEGIES]
    content = StrategiesPage(
        q, safety, program.name if program else "", chosen(sorted(repairs, key=lambda row: not row.now)), chosen(corrections)
    )
    return page(request, "strategies.html", content, part="entries", twins=("json",))


def _with_counts(strategy: Strategy, counted: _InFormats, formats: Sequence[str]) -> StrategyRow:
    """Rules that occur where it is offered come first, those that occur in most conversations before the others; of some formats alone those that apply to them."""
    own = [rule for rule in RULES if strategy.name in rule.repaired_by and (not formats or any(map(rule.applies_to, formats)))]
    counts = Counter({rule.code: 0 for rule in own})
    for (code, format_name), conversations in counted.items():
        if code in counts and strategy.applies_to(format_name) and (not formats or format_name in formats):
            counts[code] += conversations
    rules = sorted(own, key=lambda rule: -counts[rule.code])
    return StrategyRow(strategy, tuple(rules), {rule.code: counts[rule.code] for rule in rules if counts[rule.code]})


def _strategy_words(row: StrategyRow) -> str:
    strategy = row.strategy
    named = (f"{rule.code} {rule.name}" for rule in row.rules)
    return " ".join((strategy.name, strategy.summary, strategy.cost, *row.marks, *named, *_rejections().get(strategy.name, ())))


@cache
def _rejections() -> dict[str, tuple[str, ...]]:
    """Strategy -> ids of the rules of providers that name it, without those that are no error any more."""
    named: dict[str, dict[str, None]] = defaultdict(dict)
    for profile in PROFILES:
        for rule in profile.rules:
            for name in rule.repaired_by if not rule.obsolete else ():
                named[name][rule.id] = None
    return {name: tuple(ids) for name, ids in named.items()}


def strategy_list_json(request: OperatorRequest) -> HttpResponse:
    return as_json(catalogues.strategies())


def strategy(request: OperatorRequest, name: str) -> HttpResponse:
    chosen = _strategy(name)
    if isinstance(chosen, StreamStrategy):
        repairs = stream_rows(rule for rule in ALL_STREAM_RULES if rule.name in chosen.rules)
        content = StrategyPage(chosen, _safety(chosen), repairs)
    else:
        repairs = tuple(RuleRow(rule, 0) for rule in _repaired_by(chosen))
        repaired_examples = ((row.rule, example_repaired_by(row.rule, name)) for row in repairs if isinstance(row.rule, Rule))
        example = next((example_of(rule, repaired) for rule, repaired in repaired_examples if repaired), None)
        content = StrategyPage(
            chosen, _safety(chosen), repairs, catalogues.written(chosen), per_profile(chosen), alternatives(chosen), example
        )
    return page(request, "strategy.html", content, twins=("json",))


def strategy_json(request: OperatorRequest, name: str) -> HttpResponse:
    return as_json(catalogues.strategy_report(_strategy(name), with_modes=True))


@dataclass(frozen=True, slots=True)
class FormatRow:
    format: Format
    sources: tuple[Source, ...]
    """Those that are imported here."""

    @property
    def modes(self) -> tuple[tuple[WriteMode, str], ...]:
        """Each with its undo."""
        return tuple((mode, catalogues.undo_of(self.format, mode)) for mode in self.format.modes)

    @property
    def read_only(self) -> str:
        """Why its store is never written to, and what to do instead; "" where it is."""
        return read_only(self.format.name)

    @property
    def readers(self) -> tuple[Reader, ...]:
        return catalogues.readers_of(self.format)

    @property
    def verified(self) -> tuple[str, ...]:
        return catalogues.verified(self.format)

    @property
    def has_versions(self) -> bool:
        """Whether there is a program that writes it, of which versions were run or read: for this format, or for another one."""
        return any(reader.verified for reader in program_or_default(self.format.name).readers)

    @property
    def places(self) -> dict[str, list[str]]:
        return catalogues.places_of(self.format)

    @property
    def target(self) -> str:
        """What is imported: the usual place of its program, else a word for one."""
        is_served = isinstance(self.format, InRelations) and not isinstance(self.format, Exported)
        return next(iter(self.places), "postgresql://USER@HOST/NAME" if is_served else "PATH")


@dataclass(frozen=True, slots=True)
class ProgramFormats:
    """The formats of a program."""

    title: str
    rows: tuple[FormatRow, ...]

    @property
    def sources(self) -> int:
        return sum(len(row.sources) for row in self.rows)

    @property
    def lines(self) -> int:
        """Those of the table, where the details of each row are one."""
        return 2 * len(self.rows)


BY_PROGRAM = "program"
FORMAT_SORTS: dict[str, Callable[[ProgramFormats], Any]] = {
    BY_PROGRAM: lambda group: group.title.lower(),
    "-program": lambda group: group.title.lower(),
    "here": lambda group: group.sources,
    "-here": lambda group: group.sources,
}
"""What the address may ask for -> the key; programs that are equal by it are A to Z."""


@dataclass(frozen=True, slots=True)
class FormatsPage:
    q: str
    sort: str
    programs: tuple[ProgramFormats, ...]
    traces: tuple[Json, ...]
    captures: tuple[CaptureKind, ...]
    sources: dict[str, tuple[Source, ...]]
    """Format -> the imported sources that are in it."""

    @property
    def evidence(self) -> tuple[tuple[str, str, tuple[Any, ...], int], ...]:
        """What is read and never written to: anchor, title, rows, and lines of the table as of a program."""
        groups = (("traces", "Traces", self.traces), ("captures", "Captures of streams", self.captures))
        return tuple((anchor, title, rows, 2 * len(rows)) for anchor, title, rows in groups if rows)


def formats(request: OperatorRequest) -> HttpResponse:
    q, sources = _query(request), _sources_by_format()
    sort = request.GET.get("sort", "")
    sort = sort if sort in FORMAT_SORTS else BY_PROGRAM
    content = FormatsPage(
        q,
        sort,
        _formats_by_program(q, sort, sources),
        matching(
            sorted((row for row in catalogues.formats() if row["holds"] == "traces"), key=lambda row: row["name"] not in sources),
            q,
            lambda row: f"{row['name']} {row['title']} {row['sample']}",
        ),
        matching(sorted(KINDS, key=lambda kind: kind.name not in sources), q, lambda kind: f"{kind.name} {kind.title} {kind.sample}"),
        sources,
    )
    return page(request, "formats.html", content, part="entries", twins=("json",))


def _formats_by_program(q: str, sort: str, sources: dict[str, tuple[Source, ...]]) -> tuple[ProgramFormats, ...]:
    groups = []
    for program in programs():
        rows = (FormatRow(format_, sources.get(format_.name, ())) for format_ in program.formats)
        matches = matching(
            rows,
            q,
            lambda row, title=program.title: " ".join(  # type: ignore[misc]
                (title, row.format.name, row.format.title, sample_of(row.format), *(mode.summary for mode in row.format.modes))
            ),
        )
        if matches:
            groups.append(ProgramFormats(program.title, matches))
    by_name = sorted(groups, key=lambda group: group.title.lower())
    return tuple(sorted(by_name, key=FORMAT_SORTS[sort], reverse=sort.startswith("-")))


def _sources_by_format() -> dict[str, tuple[Source, ...]]:
    by_format: dict[str, list[Source]] = {}
    for source in Source.objects.only("oid", "format").order_by("format", "oid"):
        by_format.setdefault(source.format, []).append(source)
    return {name: tuple(sources) for name, sources in by_format.items()}


def formats_json(request: OperatorRequest) -> HttpResponse:
    every = {
        "formats": catalogues.formats(),
        "readers": catalogues.readers(),
        "projections": catalogues.projections(),
        "profiles": catalogues.profiles(),
    }
    return as_json(every)


@dataclass(frozen=True, slots=True)
class ReadersPage:
    q: str
    readers: tuple[Reader, ...]


def readers(request: OperatorRequest) -> HttpResponse:
    q = _query(request)
    matches = matching(all_readers(), q, lambda reader: f"{reader.name} {reader.format} {reader.title} {reader.note}")
    return page(request, "readers.html", ReadersPage(q, matches), part="entries", twins=("json",))


def readers_json(request: OperatorRequest) -> HttpResponse:
    return as_json(catalogues.readers())


@dataclass(frozen=True, slots=True)
class ProjectionsPage:
    q: str
    projections: tuple[Projection, ...]


def projections(request: OperatorRequest) -> HttpResponse:
    q = _query(request)
    shapes = matching(all_projections(), q, lambda shape: f"{shape.name} {shape.title} {shape.note}")
    return page(request, "projections.html", ProjectionsPage(q, shapes), part="entries", twins=("json",))


def projections_json(request: OperatorRequest) -> HttpResponse:
    return as_json(catalogues.projections())
