"""What a provider's error text means: the rules that may have answered so, and the blocks and chunks of a history that they point at."""

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from inspector.conversation.model import Chunk, Kind
from inspector.conversation.queries import span_text
from inspector.presentation.explain.size import StoredSize, stored_size
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.visible import beginning
from inspector.profiles.base import EVIDENCE, Judgement, ProviderRule
from inspector.profiles.catalogue import PROFILES
from inspector.profiles.judging import judged_case
from inspector.projections.base import Prompt
from inspector.rules.base import Case

READ = 64 * 1024
"""Characters of a pasted text that are looked at, its start and its end: the error of a log is in one of them."""
MOST = 50
LEAST_QUOTED = 40
"""Characters that a first sentence must have to identify its rule by itself."""
# A shell runs what is between backticks as a command, and puts its empty answer there.
_LABEL = re.compile(r"\A[A-Z][a-z]+ [a-z]+: ")
"""Such as `Invalid parameter: `, which logs and people leave out."""
_IN_BACKTICKS = re.compile("`[^`]*`")
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
# OpenAI names the place in a field next to the text (`"param": "messages.[1].role"`), some of its copies without the dot.
_PARAMETER = re.compile(
    r"""(?:\bparam\b["']?\s*[:=]?\s*["']?|(?<![\w.`'"]))(?:messages|input|contents)\.?\[?(?P<n>\d{1,8})\b\]?(?:\.\w+\.?\[?(?P<m>\d{1,8})\]?)?"""
)
# The call may be one before the message that the text names, and its results one after it: reports of AN-1 differ in which they count.
_WINDOW = {"AN-1": 1, "AN-1b": 1, "AN-3": 1, "AN-4": 1, "AN-4t": 1, "BR-1": 1}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule whose text is recognized. `profiles` judge by it; `values` are what the text says for its placeholders; `at` is where in the paste."""

    profiles: tuple[str, ...]
    rule: ProviderRule
    values: dict[str, str]
    at: tuple[int, int]

    @property
    def ids(self) -> tuple[str, ...]:
        text = self.values.get("ids") or self.values.get("id") or ""
        return tuple(part for part in re.split(r"[\s,]+", text.strip(" .")) if part)


@dataclass(frozen=True, slots=True)
class Place:
    """A block or message of the request that the error points at, with its chunks. `why` says how it was determined; `is_exact`: by all numbers of the text."""

    profile: str
    path: str
    chunks: tuple[Chunk, ...]
    why: str
    is_exact: bool = False

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(chunk.seq for chunk in self.chunks))


@dataclass(frozen=True, slots=True)
class Explanation:
    """`fires`: violations of the rule that the history has now, as (profile, path, seqs). `size`: what is stored of it, where the rule is about that."""

    candidate: Candidate
    places: tuple[Place, ...] = ()
    fires: tuple[tuple[str, str, tuple[int, ...]], ...] = field(default=())
    size: StoredSize | None = None


def recognized(text: str) -> tuple[Candidate, ...]:
    """Every rule that may have answered so, the longest match first; a match inside of a longer one of another rule is left out."""
    shown = _plain(text)
    parameter = _PARAMETER.search(shown)
    named = {name: value for name, value in parameter.groupdict().items() if value} if parameter else {}
    candidates: dict[str, Candidate] = {}
    for profile in PROFILES:
        for rule in profile.rules:
            if rule.id in candidates:
                earlier = candidates[rule.id]
                candidates[rule.id] = Candidate((*earlier.profiles, profile.name), earlier.rule, earlier.values, earlier.at)
                continue
            match = next((match for pattern in (*rule.patterns(), *_shortened(rule)) if (match := pattern.search(shown))), None)
            if match:
                values = {name: value for name, value in match.groupdict().items() if value}
                candidates[rule.id] = Candidate((profile.name,), rule, values if "n" in values else named | values, match.span())
    outermost = [candidate for candidate in candidates.values() if not any(_covers(other, candidate) for other in candidates.values())]
    return tuple(sorted(outermost, key=lambda candidate: (candidate.at[0] - candidate.at[1], candidate.rule.id)))[:MOST]


def _shortened(rule: ProviderRule) -> Iterator[re.Pattern[str]]:
    """Of texts of several sentences the first, which issues and chats quote alone; each text without its full stop and what it begins with, and as a shell
    leaves it between double quotes."""
    texts = (rule.text, *rule.also)
    sentences = [text.partition(". ") for text in texts]
    firsts = [first for first, _, more in sentences if more and len(first) >= LEAST_QUOTED]
    bare = [_LABEL.sub("", text).removesuffix(".") for text in texts]
    firsts += [text for text in bare if text not in texts and len(text) >= LEAST_QUOTED]
    unquoted = [_IN_BACKTICKS.sub("", text).strip() for text in (*texts, *firsts) if "`" in text]
    for text in (*firsts, *unquoted):
        yield from replace(rule, text=text, also=()).patterns()


def _plain(text: str) -> str:
    """Without colors of a terminal, and with the escapes of JSON in which an error is wrapped once or twice undone."""
    shown = _COLOURS.sub("", text if len(text) <= 2 * READ else text[:READ] + " " + text[-READ:])
    return shown.replace("\\\\", "\\").replace("\\n", "\n").replace("\\u0060", "`").replace("\\u0027", "'").replace('\\"', '"')


def _covers(longer: Candidate, other: Candidate) -> bool:
    return longer.at[0] <= other.at[0] and other.at[1] <= longer.at[1] and longer.at != other.at


def explained_in(candidates: Sequence[Candidate], case: Case | None, own_projection: str) -> tuple[Explanation, ...]:
    """The candidates, each with where it points in the history; `own_projection` is the one deployed for its source."""
    if case is None:
        return tuple(Explanation(candidate) for candidate in candidates)
    judged_by_profile: dict[str, tuple[Prompt, Judgement]] = {}
    result = []
    for candidate in candidates:
        places: list[Place] = []
        fires: list[tuple[str, str, tuple[int, ...]]] = []
        for name in candidate.profiles:
            if name not in judged_by_profile:
                judged_by_profile[name] = judged_case(case, name, own_projection)
            prompt, judgement = judged_by_profile[name]
            places += _places(candidate, name, prompt)
            fires += [(name, violation.path, violation.seqs) for violation in judgement.violations if violation.id == candidate.rule.id]
        size = stored_size(case, candidate.values, window(candidate)) if candidate.rule.is_of_size else None
        result.append(Explanation(candidate, tuple(_distinct(places))[:MOST], tuple(fires[:MOST]), size))
    return tuple(result)


def _distinct(places: Sequence[Place]) -> Iterator[Place]:
    """Profiles of one wire shape point at the same places."""
    seen_places: set[tuple[str, tuple[int, ...]]] = set()
    for place in places:
        if (place.path, place.seqs) not in seen_places:
            seen_places.add((place.path, place.seqs))
            yield place


def _places(candidate: Candidate, profile_name: str, prompt: Prompt) -> Iterator[Place]:
    chunks_by_path: dict[str, list[Chunk]] = {}
    for index, message in enumerate(prompt.messages):
        for part in message.parts:
            for path in dict.fromkeys((f"{prompt.root}.{index}", part.path)):
                chunks_by_path.setdefault(path, []).append(part.chunk)
    number = candidate.values.get("n")
    if number is not None and number.isdecimal() and len(number) < 9:
        yield from _numbered(candidate, profile_name, prompt, chunks_by_path, int(number))
    ids = set(candidate.ids)
    for path, chunks in chunks_by_path.items():
        named = tuple(chunk for chunk in chunks if chunk.call_id in ids)
        if named and path.count(".") > 1:
            yield Place(profile_name, path, named, f"the error names the id {named[0].call_id}")
        tool = candidate.values.get("tool")
        called = tuple(chunk for chunk in chunks if tool and chunk.kind is Kind.TOOL_CALL and chunk.tool_name == tool)
        if called and path.count(".") > 1:
            yield Place(profile_name, path, called, f"the error names the tool {tool}")


def _numbered(
    candidate: Candidate, profile_name: str, prompt: Prompt, chunks_by_path: dict[str, list[Chunk]], number: int
) -> Iterator[Place]:
    top = f"{prompt.root}.{number}"
    block = candidate.values.get("m")
    exact = [path for path in chunks_by_path if path.startswith(f"{top}.") and path.endswith(f".{block}")] if block else []
    for path in exact:
        yield Place(profile_name, path, tuple(chunks_by_path[path]), f"the error names {path}", True)
    if not exact and top in chunks_by_path:
        missing = f"; this history has no block {block} in it" if block else ""
        yield Place(profile_name, top, tuple(chunks_by_path[top]), f"the error names {top}{missing}", not block)
    if top not in chunks_by_path:
        yield Place(
            profile_name,
            top,
            (),
            f"the error names {top}, and this history has only {len(prompt.messages)} message{'s' if prompt.messages[1:] else ''} as it would be sent now",
        )
    around = _WINDOW.get(candidate.rule.id, 0)
    for neighbor in range(number - around, number + around + 1):
        path = f"{prompt.root}.{neighbor}"
        if neighbor != number and path in chunks_by_path:
            yield Place(
                profile_name, path, tuple(chunks_by_path[path]), "the message next to it: reports differ in which message this error counts"
            )


def reader_of_error(candidates: Sequence[Candidate], case: Case, names: Iterable[str], own_projection: str) -> str:
    """The first of `names` whose request breaks one of the rules, where the program's own one does not: an older version of it got the error; "" else."""
    if not candidates or any(explanation.fires for explanation in explained_in(candidates, case, own_projection)):
        return ""
    for name in names:
        other = case if name == case.reading.reader else case.with_conversation(case.tree or case.conversation, name)
        if (
            other is not case
            and not other.reading.failure
            and any(explanation.fires for explanation in explained_in(candidates, other, own_projection))
        ):
            return name
    return ""


@dataclass(frozen=True, slots=True)
class OtherReader:
    """A reader by which the history has the place that the text names. `is_broken`: and that reader's request breaks the rule there."""

    reader: str
    path: str
    seqs: tuple[int, ...]
    is_broken: bool


def other_readers(explanations: Sequence[Explanation], case: Case, names: Iterable[str], own_projection: str) -> tuple[OtherReader, ...]:
    """Of `names`, where the text names a place that the history does not have as the case's reader reads it: first those that break the rule there.

    () where the history has the place, or the text names none. An older version of the client may have sent what was rejected.
    """
    numbered = [explanation.candidate for explanation in explanations if "n" in explanation.candidate.values]
    if not numbered or any(place.is_exact for explanation in explanations for place in explanation.places):
        return ()
    others = []
    for name in dict.fromkeys(names):
        other = case if name == case.reading.reader else case.with_conversation(case.tree or case.conversation, name)
        if other is case or other.reading.failure:
            continue
        there = explained_in(numbered, other, own_projection)
        broken = {path for explanation in there for _, path, _ in explanation.fires}
        exact = [place for explanation in there for place in explanation.places if place.is_exact]
        place = next((place for place in exact if place.path in broken), exact[0] if exact else None)
        if place is not None:
            others.append(OtherReader(name, place.path, place.seqs, place.path in broken))
    return tuple(sorted(others, key=lambda explanation: not explanation.is_broken))


def advice_words(explanation: Explanation) -> str:
    """The advice of its rule, with how many tokens to cut where the text names both numbers; "" where it has none. What is stored of a history that is far
    too small for the error is not to be cut."""
    advice, excess = explanation.candidate.rule.advice, _excess(explanation.candidate)
    if explanation.size and explanation.size.is_far_below:
        return explanation.size.advice
    return f"cut at least {excess:,} token{'s' if excess > 1 else ''}: {advice}" if excess else advice


def window(candidate: Candidate) -> int:
    """The tokens that the model takes, where the text says how many more were sent; 0 else."""
    return int(candidate.values["limit"]) if _excess(candidate) else 0


def _excess(candidate: Candidate) -> int:
    tokens, limit, output = (candidate.values.get(name, "") for name in ("tokens", "limit", "output"))
    return max(0, int(tokens) + int(output or 0) - int(limit)) if tokens and limit and len(tokens + limit + output) < 40 else 0


def cause_words(candidate: Candidate) -> str:
    """The first cause of its rule of which the text names every value; "" where the rule has none."""
    values = _values_of_cause(candidate)
    named = (cause for cause in candidate.rule.cause if all(name in values for _, name, _, _ in string.Formatter().parse(cause) if name))
    return next((cause.format_map(values) for cause in named), "")


def _values_of_cause(candidate: Candidate) -> dict[str, str]:
    values, ids, excess, limit = dict(candidate.values), candidate.ids, _excess(candidate), window(candidate)
    if ids:
        values["calls"] = f"call{'s' if ids[1:] else ''} {', '.join(ids[:4])}" + (f" and {len(ids) - 4} more" if ids[4:] else "")
    if 0 < len(number := values.get("n", "")) < 9 and int(number):
        values["before"] = str(int(number) - 1)
    if excess and limit:
        share = excess / limit
        values |= {
            "excess": f"{excess:,} token{'s' if excess > 1 else ''}",
            "limit": f"{limit:,}",
            "share": f"{share:.0%}" if share >= 0.01 else "less than 1%",
        }
    return values


def calls_named(text: str) -> frozenset[str]:
    """The ids of calls that the error names, which identify its conversation."""
    return frozenset(name for candidate in recognized(text) for name in candidate.ids)


def same_refusal(one: str, other: str) -> bool:
    """Whether two texts are the same refusal at the same place."""
    return bool(_refusals(one) & _refusals(other))


def _refusals(text: str) -> set[tuple[object, ...]]:
    """What may be meant, with ids as such: where a text is cut, a full stop or more may follow the last of them."""
    return {
        (candidate.rule.id, candidate.ids, *sorted(item for item in candidate.values.items() if item[0] != "ids"))
        for candidate in recognized(text)
    }


def explanation_report(text: str, explanations: Sequence[Explanation], repaired_by: Mapping[str, Sequence[str]] | None = None) -> Json:
    """What `explain --json` contains. `recognized` is empty where no rule knows the text. `repaired_by`: strategies by rule id, where a history is known."""
    return {"text": beginning(text, 2000), "recognised": [_report(explanation, repaired_by) for explanation in explanations]}


def _report(explanation: Explanation, repaired_by: Mapping[str, Sequence[str]] | None) -> Json:
    rule = explanation.candidate.rule
    return {
        **json_fields(explanation.candidate, "id=rule.id profiles means=rule.summary text=rule.text"),
        "cause": cause_words(explanation.candidate),
        "advice": advice_words(explanation),
        "evidence": [EVIDENCE[mark] for mark in rule.evidence if mark in EVIDENCE],
        **json_fields(
            explanation.candidate, "date=rule.date unknown=rule.unjudged obsolete=rule.obsolete references=rule.references values"
        ),
        "places": [
            {
                **json_fields(place, "profile path seqs"),
                "records": list(dict.fromkeys(chunk.key for chunk in place.chunks))[:MOST],
                "why": place.why,
            }
            for place in explanation.places
        ],
        "fires": [{"profile": name, "path": path, "seqs": list(seqs)} for name, path, seqs in explanation.fires],
        "repaired_by": list(rule.repaired_by if repaired_by is None else repaired_by[rule.id]),
    }


def sentence(explanation: Explanation) -> str:
    """One line for people: what it is and where."""
    where = next((place for place in explanation.places if place.chunks), None)
    at = f" at {where.path}, seq {span_text(where.seqs)}" if where else ""
    return f"{explanation.candidate.rule.id}: {explanation.candidate.rule.summary}{at}"
