"""What judges are asked of gbrain: each row of its table as it is stored, as each of its versions would replay it, and repaired.

A question is called `ROW repair / version`; of `gbrain-naive` the rows themselves are sent, and the judge's own runner maps them one for one.
"""

from functools import cache
from typing import Any

from inspector.conversation.edits import Plan
from inspector.planning import preview as previews
from inspector.planning.recommend import composed
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import profile
from inspector.programs.formats import Stored, after
from inspector.programs.gbrain.format import GBRAIN
from inspector.programs.gbrain.tables import MESSAGES, value, whole
from inspector.programs.relation_rows import row_of
from inspector.projections.base import Prompt
from inspector.projections.catalogue import projection
from inspector.readers.catalogue import reader
from inspector.rules.base import case_of
from tests.programs.gbrain.conformance_rows import ROWS, stored

NAIVE = "gbrain-naive"
VERSIONS = (NAIVE, "gbrain-pr1934", "gbrain-head")
LEDGER = "insert-ledger-results"
WORDS = ("insert-replay-result", "insert-recovered-result", "insert-plain-result")
"""In whose words a result is put in for a run whose end nobody knows."""
A_DATE = "15 with a date that is none of JSON"


@cache
def repaired(number: str, *names: str) -> Stored | None:
    """The row as it is stored after these strategies; None where they do not all have something to do."""
    base = next(stored(row) for row in ROWS if row.number == number)
    case = case_of(base.conversation, NAIVE)
    strategies, _ = composed(case, names)
    if [each.name for each in strategies] != list(names):
        return None
    edits = previews.compose(case, strategies)
    plan = Plan("s", base.conversation.native_id, "fill-rows", names, previews.safety_of(strategies), previews.digest(base), edits, {})
    (found,) = GBRAIN.read(after(base.records, GBRAIN.write(plan, base)))
    return found


def _repairs(number: str) -> dict[str, Stored]:
    """From the ledger, and in each of the words where that leaves a call open."""
    first = (LEDGER,) if repaired(number, LEDGER) else ()
    whole_ways = [(*first, words) for words in WORDS if repaired(number, *first, words)] or [first]
    return {f"{number} {' '.join(names)}": found for names in whole_ways if names and (found := repaired(number, *names))}


@cache
def histories() -> dict[str, Stored]:
    """Rows as stored by number, and repaired."""
    found: dict[str, Stored] = {}
    for row in ROWS:
        found[row.number] = stored(row)
        if row.repairable:
            found |= _repairs(row.number)
    return found


def asked() -> dict[str, tuple[str, str]]:
    """Question -> (history, version)."""
    return {f"{name} / {version}": (name, version) for name in histories() for version in VERSIONS}


def prompt(question: str, profile_name: str) -> Prompt:
    """The request that the version would make, in the profile's wire shape."""
    name, version = asked()[question]
    reading = reader(version).read(histories()[name].conversation)
    return projection(profile(profile_name).wire).project(reading.messages)


def verdict(question: str, profile_name: str) -> Judgement:
    return profile(profile_name).judge(prompt(question, profile_name))


def stored_rows(name: str) -> list[dict[str, Any]]:
    """{role, content_blocks} of each message, by index."""
    rows = [row_of(record.value) for record in histories()[name].records if record.key.startswith(f"{MESSAGES}:")]
    ordered = sorted(rows, key=lambda row: whole(row["message_idx"]) or 0)
    return [{"role": row["role"], "content_blocks": value(row["content_blocks"])} for row in ordered]


def requests(profile_name: str) -> dict[str, dict[str, Any]]:
    """Question -> what is sent. Only the AI SDK's runner knows gbrain's rows."""
    made: dict[str, dict[str, Any]] = {}
    is_sdk = profile_name.startswith("ai-sdk")
    for question, (name, version) in asked().items():
        if is_sdk and version == NAIVE:
            made[question] = {"rows": stored_rows(name)}
        else:
            found = prompt(question, profile_name)
            made[question] = {"messages": found.values, "system": found.system}
    if is_sdk:
        made[A_DATE] = {"rows": stored_rows(f"15 {LEDGER}"), "dates": ["at"]}
    return made
