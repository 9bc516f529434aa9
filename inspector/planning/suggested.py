"""Which of the strategies that a rule names repair a finding in this conversation: each is tried, since a rule knows only what may help."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from inspector.conversation.edits import Edit, EditMismatch, Plan, apply, between
from inspector.planning.preview import NothingToDo, is_named, preview, safety_of
from inspector.planning.recommend import composed
from inspector.programs.catalogue import READ_ONLY, format_named
from inspector.programs.formats import Change, Stored, WriteMode, WriteRefused, after
from inspector.rules.base import Case, Finding, Severity, at_least, findings
from inspector.rules.catalogue import rule
from inspector.strategies.catalogue import strategy

_NEW_ID = "00000000-0000-4000-8000-000000000000"
"""In place of the id that a plan gives a new conversation: nothing of this is written."""


@dataclass(frozen=True, slots=True)
class _CheckedCase:
    """A case, and what rules report on it: the key that each anchor had before it was moved, and the severity, by the code of the rule."""

    case: Case
    reported: dict[str, list[tuple[str, Severity]]] = field(default_factory=dict)
    keys_by_kind: dict[tuple[str, Severity], tuple[frozenset[str], int]] = field(default_factory=dict)

    def keys(self, finding: Finding) -> tuple[frozenset[str], int]:
        """Of what the rule of `finding` reports as at least as severe, and how many findings that is: the same for all of one kind."""
        kind = finding.code, finding.severity
        if kind not in self.keys_by_kind:
            keys = self._keys(finding)
            self.keys_by_kind[kind] = frozenset(keys), len(keys)
        return self.keys_by_kind[kind]

    def _keys(self, finding: Finding) -> list[str]:
        if finding.code not in self.reported:
            reported = findings(self.case, [rule(finding.code)])
            self.reported[finding.code] = [(finding_now.key.rpartition("moved:")[2], finding_now.severity) for finding_now in reported]
        return [key for key, severity in self.reported[finding.code] if at_least(severity, finding.severity)]


@dataclass(slots=True)
class _Trial:
    """One strategy alone: its edits and what they make of the conversation; as a mode of the format writes it, else why none can.

    `written` is by the mode that writes least, `written_first` by the first one, which is what a person is offered.
    """

    edits: Sequence[Edit]
    after: _CheckedCase
    written: "_Written | None" = None
    written_first: "_Written | None" = None
    read_back: _CheckedCase | None = None


def suggested(case: Case, reported: Iterable[Finding], stored: Stored | None = None) -> tuple[Finding, ...]:
    """`reported`, each with those of its strategies that the format can write and after which the rule does not report it any more, or as less severe.

    `stored` is the conversation of the case with its records; without it nothing is asked of its format. Of a conversation in a bundle that is the
    format of the store that it comes from. Where no strategy is left, `no_repair_reason` says why.
    """
    before, trials = _CheckedCase(case), dict[str, _Trial]()
    return tuple(_suggested(before, finding, stored, trials) for finding in reported)


def _suggested(before: _CheckedCase, finding: Finding, stored: Stored | None, trials: dict[str, _Trial]) -> Finding:
    repairing: list[str] = []
    refusals: list[str] = []
    for name in finding.repaired_by:
        if name not in trials:
            trials[name] = _trial(before.case, name)
        trial = trials[name]
        is_repaired = _is_repaired(before, finding, trial.after)
        # What rules on records look at, only the written form may show: another id, a line that is gone from the file.
        shows_late = bool(trial.edits) and not is_repaired and finding.code.startswith("STORE")
        if (is_repaired or shows_late) and stored is not None:
            if shows_late:
                written = trial.written_first = trial.written_first or _written(before.case, trial.edits, name, stored)
            else:
                # That some mode can write it is all that is asked, and a new file of a long conversation takes longer than all its rules.
                written = trial.written = trial.written_first or trial.written or _written(before.case, trial.edits, name, stored, _size)
            if isinstance(written, str):
                refusals.append(written)
                continue
            if shows_late:
                trial.read_back = trial.read_back or _read_back(before.case, *written, stored)
                is_repaired = _is_repaired(before, finding, trial.read_back)
        repairing += [name] if is_repaired or (shows_late and stored is None) else []
    if len(repairing) == len(finding.repaired_by):
        return finding
    names = ", ".join(finding.repaired_by)
    tried = f"{names} alone does not repair it" if len(finding.repaired_by) == 1 else f"Each of these alone does not repair it: {names}"
    together = (
        "Several together may: where the provider rejects the request, `repair --for PROFILE` looks for them, and `--strategy NAME NAME` "
        "takes those that you name"
    )
    why = refusals[0] if refusals else f"{tried}. {together}."
    return replace(finding, repaired_by=tuple(repairing), no_repair_reason="" if repairing else why)


def as_written(case: Case, stored: Stored | None, projection: str, profile: str, names: Sequence[str]) -> Case | None:
    """What the strategies of these names leave of the case in the preview of the first mode that can write it.

    None where they change nothing, where no mode can, and without the records.
    """
    if stored is None:
        return None
    return next((later for _, later in in_modes(case, stored, projection, profile, names)), None)


def in_modes(case: Case, stored: Stored, projection: str, profile: str, names: Sequence[str]) -> Iterator[tuple[str, Case]]:
    """Each mode that can write it, by its name, with what is read then."""
    strategies, later = composed(case, names)
    edits = between(case.conversation, later.conversation)
    format_ = format_named(case.conversation.format)
    for mode in format_.modes:
        with suppress(NothingToDo, WriteRefused, EditMismatch):
            plan, base = _plan(case, edits, names, stored, mode)
            yield mode.name, preview(case, base, format_, plan, strategies, projection, profile).after.case


def _trial(case: Case, name: str) -> _Trial:
    try:
        edits = tuple(strategy(name).edits(case))
        later = case.with_conversation(apply(case.conversation, edits)) if edits else case
    except EditMismatch:
        # A store that has a key twice can be edited by nobody.
        return _Trial((), _CheckedCase(case))
    return _Trial(between(case.conversation, later.conversation) if edits else (), _CheckedCase(later))


def _is_repaired(before: _CheckedCase, finding: Finding, later: _CheckedCase) -> bool:
    """Whether the rule does not report it any more, or only as less severe, and nothing else in its place."""
    if later.case is before.case:
        return False
    keys, count = later.keys(finding)
    return finding.key not in keys and count < before.keys(finding)[1]


_Written = tuple[Plan, Sequence[Change]] | str
"""A plan of one mode with its changes; why no mode can write it, in the words of the first."""


def _size(mode: WriteMode) -> int:
    """A new conversation repeats the whole of the old one."""
    return ("in-place", "", "fork").index(mode.alias)


def _written(case: Case, edits: Sequence[Edit], name: str, stored: Stored, order: Callable[[WriteMode], int] = lambda mode: 0) -> _Written:
    format_ = format_named(case.conversation.format)
    if not format_.modes:
        return READ_ONLY[format_.name]
    refusals: dict[str, str] = {}
    for mode in sorted(format_.modes, key=order):
        try:
            plan, base = _plan(case, edits, [name], stored, mode)
            return plan, tuple(format_.write(plan, base))
        except (WriteRefused, EditMismatch) as problem:
            refusals[mode.name] = str(problem)
    return refusals[format_.modes[0].name]


def _plan(case: Case, edits: Sequence[Edit], names: Sequence[str], stored: Stored, mode: WriteMode) -> tuple[Plan, Stored]:
    """With the conversation that it is about: of a tree the path. Raises WriteRefused, EditMismatch."""
    base = replace(stored, conversation=case.conversation) if case.tree is not None else stored
    options = format_named(case.conversation.format).options(mode.name, base, _NEW_ID)
    safety = safety_of([strategy(name) for name in names])
    return Plan("", base.conversation.native_id, mode.name, tuple(names), safety, "", tuple(edits), options), base


def _read_back(case: Case, plan: Plan, changes: Sequence[Change], stored: Stored) -> _CheckedCase:
    """What the changes leave; a conversation without chunks where no row of it is left."""
    format_ = format_named(case.conversation.format)
    target = format_.target(plan)
    conversations = [
        stored_again.conversation
        for stored_again in format_.read(after(stored.records, changes))
        if is_named(stored_again.conversation.native_id, target)
    ]
    return _CheckedCase(case.with_conversation(conversations[0] if conversations else replace(stored.conversation, chunks=(), facts={})))
