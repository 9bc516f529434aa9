"""The answers of `check` as a SARIF 2.1.0 log, which code hosts and editors show at the lines of the files."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

import inspector
from inspector.checking import Checked
from inspector.presentation.json_text import Json
from inspector.presentation.visible import visible
from inspector.profiles.catalogue import profile
from inspector.rules.base import Severity
from inspector.rules.catalogue import RULES
from inspector.traces.model import Problem

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
UNOPENED = "cannot-open"
"""The id of the result for a session that its client cannot open at all."""
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif_log(answers: Sequence[Checked], problems: Sequence[Problem]) -> Json:
    """One run. A result is a violation, a finding, or a session that cannot be opened; its rule is described once."""
    rules: dict[str, Json] = {}
    results = [result for checked in answers for result in _results(checked, rules)]
    places = {name: place for place, name in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = places[result["ruleId"]]
    driver = {"name": "Inspector", "semanticVersion": inspector.__version__, "rules": list(rules.values())}
    notifications = [
        {"level": "warning", "message": {"text": visible(f"{problem.where}: {problem.reason}")}, "descriptor": {"id": "unread"}}
        for problem in problems
    ]
    invocation: Json = {"executionSuccessful": True} | ({"toolExecutionNotifications": notifications} if notifications else {})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "invocations": [invocation], "results": results}],
    }


def _results(checked: Checked, rules: dict[str, Json]) -> Iterator[Json]:
    provider_rules = {rule.id: rule for rule in profile(checked.profile).rules}
    if checked.failure:
        rules.setdefault(UNOPENED, _rule(UNOPENED, "CannotOpen", "The client cannot open the session.", "", "error"))
        yield _result(checked, UNOPENED, "error", checked.failure, (), "")
    for violation in checked.violations:
        if (rule := provider_rules.get(violation.id)) is not None:
            rules.setdefault(rule.id, _rule(rule.id, "", rule.summary, rule.advice, "error"))
        else:
            rules.setdefault(violation.id, _rule(violation.id, "", f"A rule of {checked.profile}.", "", "error"))
        yield _result(checked, violation.id, "error", violation.text, violation.seqs, violation.path)
    for finding in checked.findings:
        known = _RULES[finding.code]
        rules.setdefault(known.code, _rule(known.code, known.name, known.summary, known.why, _LEVEL[known.severity]))
        repair = f" Repaired by: {', '.join(finding.repaired_by)}." if finding.repaired_by else ""
        yield _result(checked, finding.code, _LEVEL[finding.severity], finding.message + repair, finding.seqs, "")


_RULES = {rule.code: rule for rule in RULES}


def _rule(id_: str, name: str, summary: str, why: str, level: str) -> Json:
    named = {"name": "".join(word.capitalize() for word in name.split("-"))} if name else {}
    return {
        "id": id_,
        **named,
        "shortDescription": {"text": summary},
        **({"fullDescription": {"text": why}} if why else {}),
        "defaultConfiguration": {"level": level},
    }


def _result(checked: Checked, rule: str, level: str, text: str, seqs: Sequence[int], path: str) -> Json:
    name = ".".join([checked.conversation, *([path] if path else [])])
    place: Json = {"logicalLocations": [{"fullyQualifiedName": visible(name), "kind": "object"}]}
    if checked.file:
        line = checked.line(seqs)
        region = {"region": {"startLine": line}} if line is not None else {}
        place["physicalLocation"] = {"artifactLocation": {"uri": uri(checked.file)}, **region}
    details: Mapping[str, object] = {"profile": checked.profile, "reader": checked.reader, "seqs": list(seqs)}
    return {"ruleId": rule, "level": level, "message": {"text": visible(text) or rule}, "locations": [place], "properties": details}


def uri(path: str) -> str:
    """A relative path as a relative reference, an absolute one with its scheme."""
    name = quote(path.encode("utf-8", "surrogateescape"))
    return f"file://{name}" if path.startswith("/") else name
