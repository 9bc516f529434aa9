"""What a plan would do: composed edits, the changes they make to records, and the case before and after, read back from those records."""

import difflib
import hashlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from inspector.conversation import notation
from inspector.conversation.edits import Edit, Plan, Replace, Safety, apply, between
from inspector.conversation.model import Chunk, Conversation, Fact, Kind
from inspector.conversation.tree import LEAF, spoken
from inspector.planning.differing import new_bytes
from inspector.profiles import templates
from inspector.profiles.base import Judgement, Profile
from inspector.profiles.catalogue import PROFILES, profile
from inspector.profiles.judging import judged_case, judgement_of, projected_case
from inspector.programs.formats import Change, DetectedByContent, Format, Lists, Record, Stored, WriteRefused, after
from inspector.programs.registry import program_or_default
from inspector.projections.base import Projection, Prompt, PromptPart, WireMessage
from inspector.projections.catalogue import for_wire
from inspector.readers.catalogue import reader
from inspector.rules.base import Case, Finding, Severity, at_least
from inspector.rules.catalogue import RULES, all_findings
from inspector.strategies.base import Strategy
from inspector.strategies.promote_leaked_call import names, promoted_calls
from inspector.strategies.truncate_before_incomplete import NAME as TRUNCATES
from inspector.strategies.truncate_before_incomplete import forgotten
from inspector.text import jsontext
from inspector.text.light import light_dataclass

_WINDOW = 1 << 20
"""Bytes of a record that are read at once."""
_ABOUT_SHOWN = 120
"""Characters of what an entry keeps next to its message that a shown diff holds unfolded."""
_ABOUT_KEPT = ("id", "parentId", "type", "stopReason")


def is_named(alone: str, listed: str) -> bool:
    """Whether a session whose file was read alone is the one that its folder knows as `ID file.jsonl`, since two files have its id."""
    return alone == listed or (listed.startswith(f"{alone} ") and listed.endswith(".jsonl"))


class NothingToDo(Exception):
    """No strategy of the plan proposes an edit, or no edit changes a byte of the store."""


def digest(stored: Stored) -> str:
    """SHA-256 (hex) over all records of the conversation: what a plan is bound to. The same bytes give the same digest."""
    return digest_of(stored.records)


def digest_of(records: Iterable[Record]) -> str:
    sha = hashlib.sha256()
    for record in records:
        for part in (record.key.encode("utf-8", "surrogateescape"), record.value.type.encode(), record.value.data):
            sha.update(len(part).to_bytes(8, "big"))
            for start in range(0, len(part), _WINDOW):
                sha.update(part[start : start + _WINDOW])
    return sha.hexdigest()


def compose(case: Case, strategies: Sequence[Strategy]) -> tuple[Edit, ...]:
    """The strategies one after the other, folded to one list of edits against the base."""
    return compose_effective(case, strategies)[0]


def compose_effective(case: Case, strategies: Sequence[Strategy]) -> tuple[tuple[Edit, ...], tuple[Strategy, ...]]:
    """The edits of `compose`, and those of the strategies that change something after the ones before them: only these have a cost and a safety mark here."""
    current, final, effective = case, case.conversation, []
    for strategy in strategies:
        later = apply(current.conversation, strategy.edits(current))
        if later != current.conversation:
            after = current.with_conversation(later)
            effective.append(strategy.of(current, after))
            current, final = after, later
    return between(case.conversation, final), tuple(effective)


class FindingKind(NamedTuple):
    code: str
    rule: str
    severity: Severity


def kinds_of(findings: Iterable[Finding]) -> Counter[FindingKind]:
    """How many there are of each kind."""
    return Counter(FindingKind(finding.code, finding.rule, finding.severity) for finding in findings)


@dataclass(frozen=True, slots=True)
class KnownSide:
    """What was worked out of a stored conversation when it was imported: how many findings there are of each kind, the verdict, with the first of its violations,
    and what a verdict says of the next request (state, words, reason), which only pages read."""

    counts: Mapping[FindingKind, int]
    judgement: Judgement
    next_request: tuple[str, ...]


@dataclass(frozen=True)
class PreviewSide:
    """One side of a preview: the case with what rules and provider say of it, worked out when it is asked for. Who only writes a plan asks for neither."""

    case: Case
    shape: Projection
    profile: str
    own_projection: str
    """The one deployed for the source; `shape` is that by which the profile judges."""
    known: KnownSide | None = None

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return all_findings(self.case)

    @cached_property
    def counts(self) -> Mapping[FindingKind, int]:
        """How many findings there are of each kind."""
        if self.known is not None:
            return self.known.counts
        return kinds_of(self.findings)

    @property
    def prompt(self) -> Prompt:
        return projected_case(self.case, self.profile, self.own_projection)

    @property
    def judgement(self) -> Judgement:
        """Of what is known of a stored conversation, the violations are the first one."""
        return judged_case(self.case, self.profile, self.own_projection)[1] if self.known is None else self.known.judgement


def look(case: Case, projection_name: str, profile_name: str, known: KnownSide | None = None) -> PreviewSide:
    """Raises UnknownProfile, UnknownProjection."""
    judge = profile(profile_name)
    return PreviewSide(case, for_wire(judge.wire, projection_name, judge.projection), profile_name, projection_name, known)


@light_dataclass(frozen=True, slots=True)
class DiffRow:
    """`op`: same, reindexed (only its numbers differ, and the store holds them), changed, removed, inserted, restored (stored already, and on the path again),
    appended (as stored, and written again behind it), unread (stored next to what changes, and readable neither before nor after).
    """

    op: str
    before: Chunk | None
    after: Chunk | None


@dataclass(frozen=True, slots=True)
class Cost:
    """`strategy` is the name of the one that has this cost; "" where it is the plan's own."""

    strategy: str
    sentence: str
    is_free: bool = False
    """Nothing is lost, invented or hidden by it."""


@dataclass(frozen=True)
class Preview:
    plan: Plan
    changes: tuple[Change, ...]
    digest: str
    before: PreviewSide
    after: PreviewSide
    rows: tuple[DiffRow, ...]
    costs: tuple[Cost, ...]
    warned: Callable[["Preview"], Iterator[str]]
    """Works the warnings out, which takes the rules and every profile of the wire shape."""

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self.warned(self))

    @property
    def cost(self) -> tuple[str, ...]:
        """Each with its strategy where the plan names several, since what one of them leaves alone another changes."""
        is_composed = len(self.plan.strategies) > 1
        return tuple(f"{cost.strategy}: {cost.sentence}" if is_composed and cost.strategy else cost.sentence for cost in self.costs)

    @property
    def bytes_written(self) -> int:
        return sum(len(change.after.data) for change in self.changes if change.after is not None)

    @property
    def bytes_new(self) -> int:
        """Of what is stored after it: of a file the lines that are in it only then."""
        return sum(map(new_bytes, self.changes))

    @property
    def text_diff(self) -> str:
        """Unified diff in notation, of the conversation before and after."""
        return self._diff(notation.dump_chunk, self.after.case.conversation.chunks)

    @property
    def shown_diff(self) -> str:
        """The same for a person: what entries keep next to their message is folded where it is long and not what changes."""
        # A row that stays is one line, also where its number in the file is another.
        after = [row.before if row.op == "same" and row.before is not None else row.after for row in self.rows if row.after is not None]
        return self._diff(_folded_chunk, [chunk for chunk in after if chunk is not None])

    @cached_property
    def renamed_members(self) -> tuple[str, ...]:
        """Of a new conversation, what its entries keep that is other than in this one though the plan does not change it: `sessionId`, for example."""
        before, later = self.before.case.conversation, self.after.case.conversation
        if before.native_id == later.native_id:
            return ()
        pairs = zip((row for row in self.rows if row.after is not None), later.chunks, strict=True)
        entries = [(row.after.payload.get("entry"), written.payload.get("entry")) for row, written in pairs if row.before and row.after]
        return tuple(
            dict.fromkeys(
                name
                for old, new in entries
                if isinstance(old, Mapping) and isinstance(new, Mapping)
                for name in (*new, *old)
                if old.get(name) != new.get(name)
            )
        )

    def _diff(self, text_of: Callable[[Chunk], str], after: Sequence[Chunk]) -> str:
        old, new = self.before.case.conversation, self.after.case.conversation
        before_lines, after_lines = ([text_of(chunk) for chunk in chunks] for chunks in (old.chunks, after))
        return "\n".join(difflib.unified_diff(before_lines, after_lines, old.native_id, new.native_id, n=2, lineterm=""))


def _folded_chunk(chunk: Chunk) -> str:
    """Two rows of one entry that differ there alone must not look alike, so that the digest of what is folded takes its place."""
    about = chunk.payload.get("entry")
    text = jsontext.compact(about) if isinstance(about, Mapping) else ""
    if len(text) <= _ABOUT_SHOWN or not isinstance(about, Mapping):
        return notation.dump_chunk(chunk)
    kept_members = {name: about[name] for name in _ABOUT_KEPT if name in about}
    folded = {
        **kept_members,
        "folded": f"{len(about) - len(kept_members)} more, {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}",
    }
    return notation.dump_chunk(replace(chunk, payload={**chunk.payload, "entry": folded}))


def preview(
    case: Case,
    stored: Stored,
    format_: Format,
    plan: Plan,
    strategies: Sequence[Strategy],
    projection_name: str,
    profile_name: str,
    known: KnownSide | None = None,
) -> Preview:
    """`case` is that of `stored`, as the chosen reader has it, `known` what is known of it; `strategies` those of the plan that change something.

    Raises NothingToDo, WriteRefused, EditMismatch.
    """
    if not plan.edits:
        raise NothingToDo
    changes = tuple(format_.write(plan, stored))
    if not changes:
        raise NothingToDo
    target = format_.target(plan)
    conversations = [
        conversations.conversation
        for conversations in format_.read(after(stored.records, changes))
        if is_named(conversations.conversation.native_id, target)
    ]
    # Nothing is left to find where a plan removes the only rows of a conversation that has no counter and no meta row.
    written = conversations[0] if conversations else replace(stored.conversation, chunks=(), facts={})
    if target == stored.conversation.native_id:
        written = replace(written, facts={**written.facts, **_shared_facts(stored)})
    before = look(case, projection_name, profile_name, known)
    later = look(case.with_conversation(written), projection_name, profile_name)
    final = apply(stored.conversation, plan.edits)
    if len(final.chunks) != len(later.case.conversation.chunks):
        # Readers differ in what ends a path: an entry of a type that one of them does not know, for example.
        raise WriteRefused(
            f"{case.reading.reader} would take another path from what is written than the plan's; plan it with another --reader, or choose another mode."
        )
    if later.case.reading.failure and not case.reading.failure:
        raise WriteRefused(f"{case.reading.reader} could not open what is written, and opens what is stored: {later.case.reading.failure}.")
    numbers_only = all(isinstance(edit, Replace) and edit.old.payload == edit.new.payload for edit in plan.edits)
    if numbers_only and _lengths(later.case) == _lengths(case) != _lengths(case.with_conversation(final)):
        # Where a record is a message, whatever its number, nothing can be joined.
        raise WriteRefused(f"{stored.conversation.format} keeps each of these messages apart: what is joined would be read as before.")
    mode = next((mode for mode in format_.modes if mode.name == plan.mode), None)
    tree = case.tree.chunks if case.tree else ()
    is_new = target != stored.conversation.native_id
    rows = _rows(
        stored.conversation, final, later.case.conversation, is_new, mode is not None and mode.appends, {chunk.key for chunk in tree}
    )
    return Preview(
        plan,
        changes,
        plan.digest(changes),
        before,
        later,
        tuple(_with_unread(rows, tree)),
        (
            *(Cost(strategy.name, strategy.cost, not strategy.safety) for strategy in strategies),
            *([Cost("", mode.cost)] if mode and mode.cost and any(row.op in ("changed", "appended") for row in rows) else []),
            *(Cost("", sentence) for sentence in _other_path(case, not is_new)),
            *(Cost("", sentence) for sentence in _gap(rows)),
        ),
        lambda preview: _warnings(preview, stored, format_, strategies),
    )


def _lengths(case: Case) -> list[tuple[str, int]]:
    """The messages that are read, each by its role and how many chunks it has."""
    return [(message.role, len(message.chunks)) for message in case.reading.messages]


def _warnings(preview: Preview, stored: Stored, format_: Format, strategies: Sequence[Strategy]) -> Iterator[str]:
    """What the plan leaves, makes worse or asks for, as sentences."""
    plan, before, later = preview.plan, preview.before, preview.after
    yield from _idle(plan, strategies)
    yield from format_.follow_up(plan, stored) if isinstance(format_, Lists) else ()
    yield from _remaining(before, later, plan, before.case.reading.reader)
    yield from _unsettled(before.prompt, later.prompt, preview.rows)
    yield from _worse_elsewhere(before, later)
    if isinstance(format_, DetectedByContent) and (hidden := format_.warning(preview.changes)):
        yield hidden


def _idle(plan: Plan, effective: Sequence[Strategy]) -> Iterator[str]:
    for name in plan.strategies:
        if name not in {strategy.name for strategy in effective}:
            yield f"{name} changes nothing in this plan: leave it out."


def _other_path(case: Case, is_same: bool) -> Iterator[str]:
    """What becomes of the path that the reader takes by itself, where a person chose another: what is written last is the live one."""
    chosen, walk = case.tree.fact(LEAF) if case.tree is not None else None, reader(case.reading.reader).path
    if case.tree is None or chosen is None or walk is None:
        return
    own = walk(replace(case.tree, facts={name: fact for name, fact in case.tree.facts.items() if name != LEAF}))
    if [chunk.key for chunk in own.chunks] == [chunk.key for chunk in case.conversation.chunks]:
        return
    end = f"the entry {spoken(own.chunks[-1].key.rpartition('.')[0])}" if own.chunks else "no entry"
    if is_same:
        yield f"The path to {spoken(chosen)} becomes the live one: the path that programs take now, which ends in {end}, stays in the file as another branch."
    else:
        yield f"The new session holds the path to {spoken(chosen)}, and not the one that programs take now, which ends in {end}."


def _gap(rows: Sequence[DiffRow]) -> Iterator[str]:
    """Where the store keeps numbers, and those of what is removed are not given again."""
    seqs = {row.after.seq for row in rows if row.after is not None}
    removed = {row.before.seq for row in rows if row.op == "removed" and row.before is not None}
    if any(seq not in seqs and seq < max(seqs, default=0) for seq in removed):
        yield "A gap in the numbers stays where chunks are removed."


def _shared_facts(stored: Stored) -> dict[str, Fact]:
    """Facts in records that the conversation shares with others (the index): no change of one conversation touches them."""
    own = {record.key for record in stored.records}
    return {name: fact for name, fact in stored.conversation.facts.items() if fact.key and fact.key not in own}


def safety_of(strategies: Sequence[Strategy]) -> frozenset[Safety]:
    return frozenset(mark for strategy in strategies for mark in strategy.safety)


def diff_rows(before: Conversation, after: Conversation) -> tuple[DiffRow, ...]:
    """Two states of one conversation, in the order of the later one."""
    return _rows(before, after, after)


def _rows(
    base: Conversation,
    final: Conversation,
    written: Conversation,
    is_new: bool = False,
    appends: bool = False,
    in_tree: Collection[str] = (),
) -> tuple[DiffRow, ...]:
    """Rows in the order of the result; `written` holds the same chunks as `final`, with the numbers that the store will have.

    `is_new`: it is another conversation, whose lines name it; they are shown as the plan has them. `appends`: of the mode that writes it. `in_tree`: keys of
    all that is stored, on the path or not.
    """
    as_written = dict(zip((chunk.key for chunk in final.chunks), written.chunks, strict=True))
    planned = {chunk.key: chunk for chunk in final.chunks}
    old = {chunk.key: chunk for chunk in base.chunks}
    rows: list[DiffRow] = []
    has_numbers = program_or_default(base.format).numbering.is_stored
    waiting = [chunk for chunk in base.chunks if chunk.key not in as_written]
    for key, chunk in as_written.items():
        before = old.get(key)
        while before is not None and waiting and waiting[0].seq < before.seq:
            rows.append(DiffRow("removed", waiting.pop(0), None))
        if is_new and before is not None:
            chunk = _as_planned(chunk, planned[key])
        op = "restored" if before is None and key in in_tree else _op(before, chunk, has_numbers)
        if appends and op == "changed" and before is not None and _content(before) == _content(chunk):
            op = "appended"
        rows.append(DiffRow(op, before, chunk))
    return (*rows, *(DiffRow("removed", chunk, None) for chunk in waiting))


def _with_unread(rows: Sequence[DiffRow], tree: Iterable[Chunk]) -> Iterator[DiffRow]:
    """With the rows that cannot be read, each where it is stored, next to one that changes: a reviewer misses them where a path leads around them."""
    on_path = {chunk.key for row in rows for chunk in (row.before, row.after) if chunk is not None}
    unread = deque(chunk for chunk in tree if chunk.kind is Kind.UNREADABLE and chunk.key not in on_path)
    last = "same"
    for row in rows:
        stored = row.before or (row.after if row.op == "restored" else None)
        while stored is not None and unread and unread[0].seq < stored.seq:
            chunk = unread.popleft()
            if not row.op == last == "same":
                yield DiffRow("unread", chunk, None)
        yield row
        last = row.op
    if last != "same":
        yield from (DiffRow("unread", chunk, None) for chunk in unread)


def _as_planned(written: Chunk, planned: Chunk) -> Chunk:
    """A written chunk with what its plan keeps next to the message."""
    entry = {"entry": planned.payload["entry"]} if "entry" in planned.payload else {}
    return replace(written, parent=planned.parent, payload={**_content(written)[2], **entry})


def _content(chunk: Chunk) -> tuple[str, Kind, dict[str, Any]]:
    """What it says, without what its entry keeps next to the message."""
    return chunk.role, chunk.kind, {name: value for name, value in chunk.payload.items() if name != "entry"}


def _op(before: Chunk | None, chunk: Chunk, has_numbers: bool) -> str:
    if before is None:
        return "inserted"
    if before.payload != chunk.payload or before.role != chunk.role or before.kind != chunk.kind:
        return "changed"
    same = not has_numbers or (before.seq, before.msg_idx, before.chunk_idx) == (chunk.seq, chunk.msg_idx, chunk.chunk_idx)
    return "same" if same else "reindexed"


def _unsettled(before: Prompt, later: Prompt, rows: Sequence[DiffRow]) -> Iterator[str]:
    """A signature may cover what is sent before its block, and only its provider knows."""
    pairs = zip(before.messages, later.messages, strict=False)
    shorter = min(len(before.messages), len(later.messages))
    is_moved = before.system != later.system
    first = 0 if is_moved else next((at for at, (old, new) in enumerate(pairs) if old.value != new.value), shorter)
    old_parts = [(_role(message), part) for message in before.messages[first : first + 1] for part in message.parts]
    for place, (role, part) in enumerate((_role(message), part) for message in later.messages[first:] for part in message.parts):
        chunk = part.chunk
        is_moved = is_moved or place >= len(old_parts) or not _is_sent_alike(old_parts[place], (role, part))
        # What is moved comes as a new block with the old words.
        if is_moved and chunk.kind is Kind.THINKING and chunk.payload.get("signature"):
            old = next((row.before for row in rows if row.after is not None and row.after.seq == chunk.seq), None)
            seq = f"seq {chunk.seq}" if old is None or old.seq == chunk.seq else f"seq {old.seq} (seq {chunk.seq} after the repair)"
            yield f"What is before the signed thinking at {seq} changes: whether its signature survives that, nobody can know offline."
            return


def _role(message: WireMessage) -> Any:
    return message.value.get("role")


def _is_sent_alike(old: tuple[Any, PromptPart], new: tuple[Any, PromptPart]) -> bool:
    (old_role, old_part), (new_role, new_part) = old, new
    return (old_role, old_part.path, old_part.text, _content(old_part.chunk)) == (
        new_role,
        new_part.path,
        new_part.text,
        _content(new_part.chunk),
    )


def _worse_elsewhere(before: PreviewSide, later: PreviewSide) -> Iterator[str]:
    """Of the profiles of one wire shape, those other than the chosen one that refuse the result and took what was before.

    Not chat templates, of which each refuses much that its neighbor takes: who runs one chooses its profile.
    """
    judge = profile(before.profile)
    for other in PROFILES:
        if other.wire != judge.wire or other.name == judge.name or other in templates.OFFERED:
            continue
        # What is after a repair is judged whole, so that the verdict of a part of its profile is there already.
        is_part = other.part_of == judge.name
        refused = other.among(later.judgement.violations) if is_part else _verdict(later, judge, other).violations
        if refused and _verdict(before, judge, other).sendable:
            yield f"{other.name} would refuse the result, and does not refuse what is stored: {refused[0].text}"


def _verdict(side: PreviewSide, judge: Profile, other: Profile) -> Judgement:
    """On the prompt that is there already, where both profiles want the same one."""
    if other.projection == judge.projection:
        return judgement_of(side.prompt, side.case.conversation, other.name)
    return judged_case(side.case, other.name, side.own_projection)[1]


def _remaining(before: PreviewSide, later: PreviewSide, plan: Plan, reader: str) -> list[str]:
    """What stays broken, what gets worse, and what the next turn on an unfixed server does."""
    warnings = []
    for call, is_recorded in promoted_calls(before.case.conversation, later.case.conversation) if names(plan.strategies) else ():
        on_resume = f"On resume the program sees the call {call.tool_name} with {jsontext.compact(call.payload.get('input'))[:500]}"
        warnings.append(
            f"{on_resume}, and the result that is recorded of it."
            if is_recorded
            else f"{on_resume}, closed as interrupted. Inspector runs nothing; the model may make the call again, and then the program runs it."
        )
    if TRUNCATES in plan.strategies:
        warnings += forgotten(before.case.conversation, apply(before.case.conversation, plan.edits))
    for dropped in later.case.reading.dropped:
        # What a compaction took the place of stays out on purpose.
        if dropped.intentional or "compact" in dropped.why:
            continue
        seqs = ", ".join(f"{seq}" for seq in dropped.seqs[:8])
        warnings.append(f"After the repair {reader} still leaves out seq {seqs}: {dropped.why}.")
    counts = [Counter[str](), Counter[str]()]
    for of_side, side in zip(counts, (before, later), strict=True):
        for kind, count in side.counts.items():
            of_side[kind.code] += count if at_least(kind.severity, Severity.WARNING) else 0
    # Another reader may find nothing of what the plan repairs for the program.
    aim = {rule.code for rule in RULES if not set(rule.repaired_by).isdisjoint(plan.strategies)}
    ended = {code for code, count in counts[0].items() if counts[1][code] < count} | aim
    next_turn = later.case.program.repairs.next_turn.items()
    warnings += [sentence for sentence, codes in next_turn if not codes or not ended.isdisjoint(codes)]
    for code, count in sorted(counts[1].items()):
        if count > counts[0][code]:
            warnings.append(
                f"{code} is found {count} {'time' if count == 1 else 'times'} after the repair, {counts[0][code]} {'time' if counts[0][code] == 1 else 'times'} before."
            )
    if later.judgement.violations and not before.judgement.violations:
        warnings.append(f"{later.judgement.profile} would refuse the result: {later.judgement.violations[0].text}")
    return warnings
