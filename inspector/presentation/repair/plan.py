"""A plan as `repair --json` has it: what is approved, what it changes, and the findings and verdicts before and after."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from inspector.conversation.edits import Insert, Remove, Replace, Set, apply
from inspector.conversation.model import Chunk
from inspector.conversation.queries import span_text
from inspector.planning.differing import differing, new_bytes
from inspector.planning.preview import DiffRow, FindingKind, Preview, PreviewSide
from inspector.planning.suggested import suggested
from inspector.presentation.conversation.ending import ACCEPTED, WRONG_SILENTLY, Ending, ending, ending_of
from inspector.presentation.conversation.scan import finding_report
from inspector.presentation.conversation.verdict import UNNOTICED, NextRequest, silent_errors
from inspector.presentation.json_text import Json, json_fields
from inspector.presentation.repair.ends import unless_taken_away
from inspector.presentation.repair.observed_rejection import profiles_report
from inspector.presentation.visible import size, visible
from inspector.programs.catalogue import format_named
from inspector.programs.formats import Change
from inspector.rules.base import Severity, at_least, findings
from inspector.rules.catalogue import RULES
from inspector.strategies.catalogue import strategy

ACTS = {"inserted": "inserted", "restored": "back on the path", "appended": "written again", "removed": "removed", "changed": "changed"}
"""What becomes of a row, by its `op`, where it is more than other numbers."""
_ROWS = {
    **ACTS,
    "reindexed": "renumbered (content identical)",
    "same": "unchanged",
    "unread": "unreadable before and after",
}


def summary(preview: Preview) -> str:
    """What the plan does to the conversation and to the records of its store, counted from the rows and bytes that it shows, so that it cannot contradict them."""
    return f"{chunks_summary(preview.rows)}{facts_summary(preview)}; {records_summary(preview.changes)}"


def own_members(preview: Preview) -> str:
    """What the lines of a new conversation have of their own and no change is listed for, or what a mode of one format writes; "" where that is nothing."""
    names = preview.renamed_members
    if not names:
        return _of_own_mode(preview)
    shown = ", ".join(visible(name) for name in names[:_NAMES])
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"Lines of the new conversation have their own {shown}{more}, and their own seq: only what else differs is listed as a change."


def _of_own_mode(preview: Preview) -> str:
    modes = format_named(preview.before.case.conversation.format).modes
    words = next((mode.summary for mode in modes if mode.name == preview.plan.mode and not mode.alias), "")
    return words and f"It {words}."


_NAMES = 8
_LOSSES = ("lost", "hidden")
"""How the words of what passes unnoticed end where something stored is missing; what else does, a new conversation may end."""
_COUNTED = 4
"""Rules whose counts are in one line."""


def headline(preview: Preview, is_written: bool = True) -> str:
    """What the plan does and what that is good for: `14 chunks renumbered, no content changes, 2.6 KB new · MSG101 1 → 0 · PROFILE: rejected → accepted · 1 warning remains`.

    Of what is only handed back no bytes are written.
    """
    ops = Counter(row.op for row in preview.rows)
    parts = [f"{_first(ops[op], 'chunk', 'chunks')} {act}" for op, act in ACTS.items() if ops[op]]
    if ops["reindexed"]:
        parts.append(f"{_first(ops['reindexed'], 'chunk', 'chunks')} renumbered")
    if not any(ops[op] for op in ACTS):
        parts.append("no content changes")
    if is_written:
        parts.append(f"{size(preview.bytes_new)} new")
    changed = [f"{code} {before:,} → {after:,}" for code, (before, after, *_) in counts(preview).items() if before != after]
    more = [f"{len(changed) - _COUNTED} more rules"] if len(changed) > _COUNTED else []
    before, after = ending_of_side(preview.before).words, ending_after(preview).words
    verdict = f"{preview.after.judgement.profile}: {before} → {after}" if before != after else f"{preview.after.judgement.profile}: {after}"
    return " · ".join([", ".join(parts), *changed[:_COUNTED], *more, verdict, remaining_words(remaining(preview))])


def ending_of_side(side: PreviewSide) -> Ending:
    """What becomes of its next request."""
    if side.known is None:
        return ending(side.case, side.findings, side.judgement)
    return ending_of(NextRequest(*side.known.next_request), side.judgement)


def ending_after(preview: Preview) -> Ending:
    """What becomes of the next request after the plan. That a new conversation is written without the line of which something is lost brings none of that back,
    nor does a strategy that takes away what the request lacks.
    """
    after = ending_of_side(preview.after)
    lost = not_repaired(preview) if after.words == ACCEPTED else ()
    if lost:
        return Ending(WRONG_SILENTLY, UNNOTICED[lost[0]])
    if preview.before.known is not None:
        return after
    before, side = preview.before.case, preview.after
    strategies = [strategy(name) for name in preview.plan.strategies]
    return unless_taken_away(after, before, strategies, side.case, side.prompt, side.judgement.profile, side.own_projection)


def lost_words(preview: Preview, codes: Iterable[str]) -> str:
    """What a new conversation is written without, and stays lost: `STORE501 at seq 7`; "" where that is nothing. `codes` as `not_repaired` gives them."""
    return ", ".join(f"{code}{_at(preview.before, code)}" for code in codes)


def lacking_words(preview: Preview) -> str:
    """Where the rules are found that say what the request silently lacks after the plan: `STORE501 at seq 7`."""
    after = ending_of_side(preview.after)
    codes = (kind.code for kind in preview.after.counts if after.silence and UNNOTICED.get(kind.code) == after.silence)
    return ", ".join(f"{code}{_at(preview.after, code)}" for code in sorted(set(codes)))


def _at(side: PreviewSide, code: str) -> str:
    # Of a large conversation the findings are not worked out for a preview.
    reported = side.findings if side.known is None else ()
    seqs = sorted({seq for finding in reported if finding.code == code for seq in finding.seqs})
    return f" at seq {span_text(seqs, _COUNTED)}" if seqs else ""


def not_repaired(preview: Preview) -> tuple[str, ...]:
    """Codes of the rules on lost content whose findings only the store that is left has: the plan itself repairs none of them."""
    case = preview.before.case
    if case.conversation.native_id == preview.after.case.conversation.native_id:
        return ()
    gone = {code for code in left_less(counts(preview)) if UNNOTICED.get(code, "").endswith(_LOSSES)}
    if not gone:
        return ()
    planned = case.with_conversation(apply(case.conversation, preview.plan.edits))
    left = silent_errors(planned, findings(planned, [rule for rule in RULES if rule.code in gone]))
    return tuple(dict.fromkeys(finding.code for finding in left))


def parts_of(line: str) -> tuple[str, str]:
    """Of a headline what the plan does, and what the request and the findings are like after it; between them are the counts of rules."""
    did, *others = line.split(" · ")
    return did, " · ".join(part for part in others if ":" in part or "remain" in part)


def remaining(preview: Preview) -> dict[str, int]:
    """Severity -> findings after the plan; notes ask for nothing, and are left out."""
    after = Counter[str]()
    for kind, count in preview.after.counts.items():
        after[str(kind.severity)] += count
    return {str(severity): after[severity] for severity in Severity if severity is not Severity.NOTE}


def remaining_words(counted: Mapping[str, int]) -> str:
    """`1 error and 2 warnings remain`, or `no error or warning remains`."""
    words = [_first(number, severity, f"{severity}s") for severity, number in counted.items() if number]
    return f"{' and '.join(words)} remain{'s' if sum(counted.values()) == 1 else ''}" if words else "no error or warning remains"


def counts(preview: Preview) -> dict[str, list[Any]]:
    """Rule code -> [findings before, findings after]; where as many are milder, also the worst severity before and after."""
    sides = preview.before.counts, preview.after.counts
    before, after = (_by_code(kinds) for kinds in sides)
    worst_before, worst_after = (_worst(kinds) for kinds in sides)
    return {
        code: [before[code], after[code], *_milder(worst_before.get(code), worst_after.get(code), before[code] == after[code])]
        for code in sorted(before | after)
    }


def left_less(counts: Mapping[str, Sequence[Any]]) -> list[str]:
    """Codes of the rules of which a repair with these counts leaves less, or as many that are milder."""
    return [code for code, (before, after, *milder) in counts.items() if after < before or milder]


def _by_code(kinds: Mapping[FindingKind, int]) -> Counter[str]:
    by_code = Counter[str]()
    for kind, count in kinds.items():
        by_code[kind.code] += count
    return by_code


def _worst(kinds: Iterable[FindingKind]) -> dict[str, Severity]:
    worst: dict[str, Severity] = {}
    for kind in kinds:
        worst[kind.code] = min(worst.get(kind.code, kind.severity), kind.severity, key=tuple(Severity).index)
    return worst


def _milder(before: Severity | None, after: Severity | None, is_as_many: bool) -> list[str]:
    return [str(before), str(after)] if before and after and is_as_many and not at_least(after, before) else []


def chunks_summary(rows: Sequence[DiffRow]) -> str:
    """`1 chunk inserted, 4 renumbered (content identical), 9 unchanged`."""
    ops = Counter(row.op for row in rows)
    counted = [(ops[op], words) for op, words in _ROWS.items() if ops[op]]
    parts = [
        f"{_first(number, 'chunk', 'chunks') if place == 0 else f'{number:,}'} {words}" for place, (number, words) in enumerate(counted)
    ]
    return ", ".join(parts) or "no chunks"


def facts_summary(preview: Preview) -> str:
    """`, 1 value of the conversation set (counter)`, or nothing."""
    names = [edit.field for edit in preview.plan.edits if isinstance(edit, Set)]
    return f", {_first(len(names), 'value', 'values')} of the conversation set ({visible(', '.join(names[:5]))})" if names else ""


def records_summary(changes: Sequence[Change]) -> str:
    """`2 records inserted, 5 replaced, 1 removed, 1.2 KB new`."""
    return ", ".join(filter(None, (records_changed(changes), f"{size(sum(map(new_bytes, changes)))} new")))


def records_changed(changes: Sequence[Change]) -> str:
    """`2 records inserted, 5 replaced, 1 removed`; a part of a record that conversations share counts by itself."""
    parts = []
    for singular, plural, is_shared in (("record", "records", False), ("part of a shared record", "parts of shared records", True)):
        acts = Counter(_act(change) for change in changes if bool(change.element) is is_shared)
        counted = [(acts[act], act) for act in ("inserted", "extended", "changed in part", "replaced", "removed") if acts[act]]
        parts += [
            f"{_first(number, singular, plural) if place == 0 else f'{number:,}'} {act}" for place, (number, act) in enumerate(counted)
        ]
    return ", ".join(parts)


def _first(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _act(change: Change) -> str:
    if change.before is None or change.after is None:
        return "inserted" if change.before is None else "removed"
    if change.after.data.startswith(change.before.data):
        return "extended"
    old, _ = differing(change.before.data, change.after.data)
    return "replaced" if old == slice(0, len(change.before.data)) else "changed in part"


def plan_report(oid: str, preview: Preview) -> Json:
    return {
        "conversation": oid,
        **json_fields(preview, "base_digest=plan.base_digest plan_digest=digest mode=plan.mode safety=plan.safety cost warnings"),
        "edits": list(_edits(preview)),
        "findings_before": [finding_report(finding) for finding in suggested(preview.before.case, preview.before.findings)],
        "findings_after": [finding_report(finding) for finding in suggested(preview.after.case, preview.after.findings)],
        "profiles": profiles_report(preview),
        "diff": preview.text_diff,
        "request": request_report(preview),
    }


def request_report(preview: Preview) -> Json:
    """What the plan is computed again from; `source` and `traces` are those of the first computation, and `options` all else that its digest covers."""
    return {
        "source": preview.plan.source,
        **json_fields(preview.before, "format=case.conversation.format"),
        **json_fields(preview.plan, "native_id=conversation strategies mode"),
        **json_fields(preview.before, "reader=case.reading.reader projection=prompt.projection profile=judgement.profile"),
        "options": dict(preview.plan.options),
        "traces": preview.before.case.trace is not None,
    }


def _edits(preview: Preview) -> Iterator[Json]:
    """`seq` is the row's number before, of an inserted row the number that it gets."""
    inserted = iter([row.after for row in preview.rows if row.op == "inserted" and row.after is not None])
    for edit in preview.plan.edits:
        match edit:
            case Insert(_, chunk):
                written = next(inserted, chunk)
                yield {"op": "insert", "seq": written.seq, "before": None, "after": _chunk(written)}
            case Remove(chunk):
                yield {"op": "remove", "seq": chunk.seq, "before": _chunk(chunk), "after": None}
            case Replace(old, new):
                yield {"op": "replace", "seq": old.seq, "before": _chunk(old), "after": _chunk(new)}
            case Set(_, name, before, after):
                yield {"op": "set", "seq": None, "before": {name: before}, "after": {name: after}}


def _chunk(chunk: Chunk) -> Json:
    return json_fields(chunk, "role msgIdx=msg_idx chunkIdx=chunk_idx kind") | {"payload": dict(chunk.payload)}
