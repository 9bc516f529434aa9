"""Conversations, findings, repairs and rules as text to paste into an issue: secrets masked, no mentions, links or references of the tracker."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inspector.conversation.queries import span_text
from inspector.presentation.conversation.message_counts import counted
from inspector.presentation.masking import masked
from inspector.presentation.visible import beginning, clipped, visible
from inspector.rules.base import Finding
from inspector.rules.catalogue import rule

Json = Mapping[str, Any]

LINES_SHOWN = 60
LINE_LIMIT = 1000
ROWS_SHOWN = 50
RECORDED_SHOWN = 10
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()|~$])")
# People and issues that a tracker would notify, and addresses that it would link, anywhere in a text.
_CALLING = re.compile(r"(@|#|&|!|%|(?<![A-Za-z])GH-|://|www\.)(?=\w)", re.IGNORECASE)
_BACKTICKS = re.compile("`+")
_NOT_IN_A_LINK = re.compile(r"[<>\s]")


def conversation_md(report: Json, chunk_lines: Sequence[str], links: Mapping[str, str], notes: Sequence[str] = ()) -> str:
    """`report` as `scan` has it; `chunk_lines` are the evidence in notation; `links`: what each leads to -> its URL."""
    findings: Sequence[Json] = report["findings"]
    parts = [f"**{prose(report['verdict'])}**", _identity(report)]
    if findings:
        rows = [
            (f"{finding['code']} {finding['rule']}", _weight(finding), _seqs(finding["seqs"], finding["total"]), prose(finding["message"]))
            for finding in findings[:ROWS_SHOWN]
        ]
        parts.append(table(("finding", "severity", "seq", "what"), rows))
        if len(findings) > ROWS_SHOWN:
            parts.append(f"and {len(findings) - ROWS_SHOWN} more findings.")
    for name, judgement in report["profiles"].items():
        parts.append(_judgement(name, judgement))
    parts += [prose(note) for note in notes]
    return _joined([*parts, _recorded(report.get("recorded", ())), _repairs(findings), *_evidence(chunk_lines), *_links(links)])


def _recorded(recorded: Sequence[Json]) -> str:
    """Errors that the store and the trace recorded, in their own words, with what each means."""
    rows = []
    for error in recorded[:RECORDED_SHOWN]:
        rules = [name for name in (error["rule"], error["provider_rule"]) if name]
        belongs = f" ({', '.join(rules)}{', found at ' + error['fires'] if error['fires'] else ''})" if rules else ""
        rows.append(
            f"- {code(error['where'])}: {prose(beginning(error['text'], 300).rstrip().removesuffix('.'))}. Means: {prose(error['means'])}{belongs}."
        )
    more = [f"- and {len(recorded) - RECORDED_SHOWN} more"] if len(recorded) > RECORDED_SHOWN else []
    return "Recorded errors:\n\n" + "\n".join([*rows, *more]) if rows else ""


def _repairs(findings: Sequence[Json]) -> str:
    """What repairs each rule that fires, in code and in data."""
    rows = []
    for about in {finding["code"]: rule(finding["code"]) for finding in findings}.values():
        own = [finding for finding in findings if finding["code"] == about.code]
        names = dict.fromkeys(name for finding in own for name in finding["repaired_by"])
        by = ", ".join(code(name) for name in names) or prose(own[0]["no_repair_reason"].removesuffix("."))
        rows.append(f"- {about.code} in code: {prose(about.fixed_in_code)} In data: {by}.")
    return "What repairs it:\n\n" + "\n".join(rows) if rows else ""


def finding_md(report: Json, finding: Finding, chunk_lines: Sequence[str], links: Mapping[str, str], fate: str = "") -> str:
    """One finding of the conversation that `report` (as `scan` has it) is about; `fate` says what became of it."""
    weight = f"{finding.severity}, {_visibility(finding.silent)}, wrong in the {finding.origin}"
    parts = [
        f"**{finding.code} {code(finding.rule)}: {prose(finding.message)}**",
        f"{weight}; {f'seq {_seqs(finding.seqs, finding.total)}' if finding.seqs else 'the whole conversation'}",
        _identity(report),
        prose(fate),
    ]
    for title, rows in (("Evidence", finding.evidence), ("Other causes, and what speaks against them", finding.ruled_out)):
        if rows:
            parts.append(f"{title}:\n\n" + "\n".join(f"- {prose(what)}: {prose(shows)}" for what, shows in rows[:ROWS_SHOWN]))
    if finding.repaired_by:
        parts.append(f"Repaired by {', '.join(code(name) for name in finding.repaired_by)}.")
    return _joined([*parts, *_evidence(chunk_lines), *_links(links)])


def problem_md(report: Json, source: str, occurrences: Sequence[Sequence[str]], links: Mapping[str, str]) -> str:
    """A problem, `report` as its `.json` twin has it; `occurrences` are (id of the conversation or stream, title, state, verdict)."""
    noun = "stream" if report["streams_ever"] else "conversation"
    parts = [
        f"**{report['code']} {code(report['rule'])} in {prose(source)}**",
        f"{report['severity']}, {_visibility(report['silent'])}; {report['state']}; open in {report[f'{noun}s']:,} of {report[f'{noun}s_ever']:,} {noun}s",
        prose(report["summary"]),
        prose(f"Ignored: {report['reason']}") if report["reason"] else "",
        prose(f"Fixed in client version {report['fixed_in_version']}") if report["fixed_in_version"] else "",
        table((noun, "title", "state", "verdict"), [[code(row[0]), *map(prose, row[1:])] for row in occurrences[:ROWS_SHOWN]]),
        *_example(report["example"], report["crash"]),
        f"In the code: {prose(report['fixed_in_code'])}" if report["fixed_in_code"] else "",
    ]
    return _joined([*parts, *_links(links)])


def _example(example: Json | None, crash: Json | None) -> list[str]:
    """What one finding names, a chunk a line, and what the provider answers where the problem is why; of a crash file also what it answered then, and of its session."""
    if example is None:
        return []
    lines = [
        f"{line['seq']} {line['role']} {line['kind']}{f' ({read})' if (read := line['read']) else ''} {beginning(' '.join(line['words'].split()), 200)}"
        for line in example["chunks"]
    ]
    parts = [f"In {prose(example['title'] or 'a conversation without a title')} ({code(example['conversation'])}):", *_evidence(lines)]
    if crash and crash["answered"]:
        parts.append(f"The provider answered then: {code(crash['answered'])}")
    if answer := example["answer"]:
        by, of = ("By its rules the provider", "the same request") if crash else ("The provider", "the next request")
        parts.append(f"{by} ({code(answer['profile'])}, {answer['rule']}) answers {of}: {code(answer['text'])}")
    if crash:
        session = (
            f" The next request of its session {code(crash['session'])}: {prose(crash['session_next_request'])}."
            if crash["session"]
            else ""
        )
        parts.append(f"It is a crash file, which is evidence: it has no next request, and is never written.{session}")
    return parts


def group_md(report: Json, source: str, links: Mapping[str, str]) -> str:
    """Repairs that are reviewed together, `report` as the `.json` twin of their page has it."""
    states = ", ".join(f"{number} {state}" for state, number in report["states"].items())
    rows = [
        [code(member["conversation"]), member["state"], prose(member["plan"].get("headline", "")), prose(member["why"])]
        for member in report["conversations"]
    ]
    parts = [
        f"**Repair {len(rows):,} conversations in {prose(source)}: {report['code']} {code(report['rule'])}**",
        prose(report["headline"]),
        f"{states}; proposed by {prose(report['proposed_by'])}",
        prose(report["reason"]),
        table(("conversation", "state", "plan", "note"), rows),
    ]
    return _joined([part for part in [*parts, *_links(links)] if part])


def stream_md(report: Json, event_lines: Sequence[str], links: Mapping[str, str]) -> str:
    """A captured stream, `report` as `scan` has it; `event_lines` are the evidence, one line an event or a run of them."""
    sides = ", ".join(
        f"{side['side']} {code(side['protocol'])} ({side['events']:,} events, end: {side['end']})" for side in report["sides"]
    )
    rows = [
        (
            f"{finding['code']} {finding['rule']}",
            _weight(finding),
            f"{finding['side']} {_seqs(finding['events'], finding['total'])}",
            prose(f"{finding['message']} {finding['why']}".strip()),
        )
        for finding in report["findings"][:ROWS_SHOWN]
    ]
    parts = [f"**{prose(report['verdict'])}**", f"Stream {code(report['native_id'])} ({code(report['id'])}): {sides}"]
    if rows:
        parts.append(table(("finding", "severity", "events", "what"), rows))
    if len(report["findings"]) > ROWS_SHOWN:
        parts.append(f"and {len(report['findings']) - ROWS_SHOWN} more findings")
    in_code = {finding["code"]: finding["fixed_in_code"] for finding in report["findings"][:ROWS_SHOWN] if finding["fixed_in_code"]}
    if in_code:
        parts.append("\n".join(f"- {rule} in code: {prose(sentence)}" for rule, sentence in in_code.items()))
    if report["remarks"]:
        parts.append("\n".join(f"- {prose(remark)}" for remark in report["remarks"][:ROWS_SHOWN]))
    return _joined([*parts, *_evidence(event_lines), *_links(links)])


def repair_md(
    plan: Json, facts: Mapping[str, str], links: Mapping[str, str] | None = None, comments: Iterable[tuple[str, str, str]] = ()
) -> str:
    """`plan` as `repair` has it; `facts` are rows of what happened to it (state, who, when, outcome), `comments` who wrote, what it is, and its text."""
    before, after = (_counted(plan[name]) for name in ("findings_before", "findings_after"))
    rows = [(label, prose(value)) for label, value in facts.items() if value]
    rows += [
        ("conversation", code(plan["conversation"])),
        ("mode", code(plan["mode"])),
        ("beyond moving", ", ".join(plan["safety"]) or "nothing is lost or invented"),
        ("findings", f"{before} before, {after} after"),
        *(
            (f"{prose(name)}", f"{prose(verdicts['before'])} before, {prose(verdicts['after'])} after")
            for name, verdicts in plan["profiles"].items()
        ),
        ("plan", code(plan["plan_digest"])),
        ("base", code(plan["base_digest"])),
    ]
    parts = [table(("repair", ""), rows)]
    for title, texts in (("Cost", plan["cost"]), ("Warnings", plan["warnings"])):
        if texts:
            parts.append(f"{title}:\n\n" + "\n".join(f"- {prose(text)}" for text in texts[:ROWS_SHOWN]))
    lines = [f"- {prose(who)}{f' ({kind})' if kind else ''}: {prose(text)}" for who, kind, text in comments]
    if lines:
        parts.append("Comments:\n\n" + "\n".join(lines[:ROWS_SHOWN]))
    if plan["diff"]:
        parts.append(fenced(plan["diff"].split("\n"), "diff"))
    return _joined([*parts, *_links(links or {})])


def rule_md(rule: Json) -> str:
    """`rule` of conversations or of streams, as the catalogue has it."""
    places = {"conversation": f"wrong in the {rule['origin']}", "sides": "only both sides prove it"}
    parts = [
        f"**{rule['code']} {code(rule['rule'])}**: {prose(rule['summary'])}",
        f"{_weight(rule)}, {places.get(rule['shown_by'], 'shown by ' + rule['shown_by'])}",
        prose(rule["why"]),
        fenced(rule["example"].split("\n")) if rule["example"] else "",
    ]
    if rule["fixed_in_code"]:
        parts.append(f"In code: {prose(rule['fixed_in_code'])}")
    if rule["repaired_by"]:
        of = "the data" if rule["example"] else "a copy of the capture"
        parts.append(f"In {of}: {', '.join(code(name) for name in rule['repaired_by'])}")
    if rule["references"]:
        parts.append("\n".join(f"- {prose(reference)}" for reference in rule["references"]))
    return _joined([part for part in parts if part])


def prose(text: str) -> str:
    """Foreign words in one line of Markdown: shown as they are, with no markup, link, mention or reference in them."""
    line = " ".join(masked(visible(beginning(text, LINE_LIMIT * 4))).split())
    shown = line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + "…"
    escaped = _SPECIAL.sub(r"\\\1", shown)
    return _CALLING.sub(r"\1<!-- -->", re.sub(r"^([-+=#>]|\d+[.)])", r"\\\1", escaped))


def code(text: str) -> str:
    """A foreign name as a code span. Not for cells: a bar in it would end them."""
    shown, _ = clipped(" ".join(masked(visible(beginning(text, LINE_LIMIT))).split()), 200)
    ticks = _fence(shown, 1)
    space = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """`rows` of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def fenced(lines: Sequence[str], language: str = "text") -> str:
    """Lines of content in a block whose fence is longer than any run of backticks in it; the first lines and how many more."""
    # Masked before it is cut: the first half of a secret is one too.
    whole = masked("\n".join(visible(beginning(line, LINE_LIMIT * 4)) for line in lines[:LINES_SHOWN]))
    text = "\n".join(line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + "…" for line in whole.split("\n"))
    more = f"\n… and {len(lines) - LINES_SHOWN} more lines" if len(lines) > LINES_SHOWN else ""
    fence = _fence(text, 3)
    return f"{fence}{language}\n{text}{more}\n{fence}"


def fenced_whole(text: str) -> str:
    """All of a text in a block, with the secrets masked that are recognized."""
    whole = masked("\n".join(map(visible, text.split("\n"))))
    fence = _fence(whole, 3)
    return f"{fence}text\n{whole}\n{fence}"


def cut(text: str, lines: int, length: int) -> str:
    """The first `lines` lines of a text, at most `length` characters of them, masked; and how much more there is."""
    # Masked before it is cut: the first half of a secret is one too.
    head = "\n".join(text.split("\n")[:lines])
    first = beginning(masked(beginning(head, length * 4)), length)
    left = len(text) - min(len(head), length)
    return f"{first}\n… and {left:,} more characters" if left > 0 else first


def _fence(text: str, least: int) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    return "`" * max(least, longest + 1)


def _identity(report: Json) -> str:
    profiles = ", ".join(code(name) for name in report["profiles"])
    judged = f", judged by {profiles}" if profiles else ""
    return (
        f"Conversation {code(report['native_id'])} ({code(report['id'])}), {code(report['format'])} read as {code(report['reader'])}{judged}: "
        f"{report['chunks']} chunks, {counted(report)}"
    )


def _judgement(name: str, judgement: Json) -> str:
    if judgement["sendable"]:
        return f"{code(name)}: passes all known rules."
    violations = judgement["violations"]
    rows = [
        f"- {code(violation['path'])} {code(violation['id'])} seq {_seqs(violation['seqs'], len(violation['seqs']))}: {prose(violation['text'])}"
        for violation in violations[:5]
    ]
    more = [f"- and {len(violations) - 5} more"] if len(violations) > 5 else []
    return "\n".join([f"{code(name)} rejects:", "", *rows, *more])


def _weight(finding: Json) -> str:
    return f"{finding['severity']}, {_visibility(finding['silent'])}"


def _visibility(silent: bool) -> str:
    return "silent" if silent else "usually raises an error"


def _seqs(seqs: Sequence[int], total: int) -> str:
    shown = span_text(list(seqs), 6)
    return f"{shown} ({total} in all)" if total > len(seqs) or " more" in shown else shown or "none"


def _counted(findings: Sequence[Json]) -> str:
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding["code"]] = counts.get(finding["code"], 0) + 1
    return ", ".join(name if count == 1 else f"{name} x {count}" for name, count in sorted(counts.items())) or "none"


def _evidence(chunk_lines: Sequence[str]) -> list[str]:
    return [fenced(chunk_lines)] if chunk_lines else []


def origin(store: str, format_name: str, revision: int | None, version: str, command: str) -> str:
    """The last lines of a copy: what it is of, and the command that prints the same again; `revision` is None of what is of several conversations."""
    of_revision = "" if revision is None else f", revision {revision}"
    about = f"From {code(store)} ({code(format_name)}){of_revision}, by Inspector {version}."
    return f"\n{about} The same again:\n\n{fenced([command], 'sh')}\n"


def _links(links: Mapping[str, str]) -> list[str]:
    """Our own addresses: angle brackets keep them links, whatever is in them. One without a host is for any Inspector that has the store."""
    rows = []
    for label, url in links.items():
        address = _NOT_IN_A_LINK.sub("", url)
        if address.startswith("/"):
            rows.append(f"- {prose(label)}: {code(address)} in an Inspector that has imported the store")
        elif address:
            rows.append(f"- {prose(label)}: <{address}>")
    return ["\n".join(rows)] if rows else []


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
