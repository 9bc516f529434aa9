"""What the repair actions share: the plan of a repair, built again from the same base, and the source as it is now."""

import hashlib
import itertools
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from time import time_ns

from django.conf import settings

from inspector.actions.problems import NothingToRepair, Refused, Stale
from inspector.conversation.edits import EditMismatch, Plan
from inspector.conversation.model import Conversation as StoredConversation
from inspector.conversation.tree import LEAF
from inspector.models import Conversation, Repair, Source, loading
from inspector.planning.preview import KnownSide, NothingToDo, Preview, compose_effective, digest, preview, safety_of
from inspector.presentation.tree.branches import with_leaf
from inspector.presentation.visible import visible
from inspector.profiles.answering import own_judges
from inspector.programs.catalogue import NEW_FILE_ONLY, READ_ONLY
from inspector.programs.formats import Format, Lists, Scripted, Stored, WriteRefused, not_read
from inspector.readers.catalogue import UnknownReader, reader_of
from inspector.rules.base import Case
from inspector.sources import own_program, reading
from inspector.sources.own_program import read_only
from inspector.sources.places import place
from inspector.sources.problems import SourceProblem
from inspector.strategies.catalogue import UnknownStrategy, strategy
from inspector.text.at_hand import at_work

_FORKS = uuid.UUID("6f1f5f0e-5c0d-5d0c-9a52-0b1f6a3f1d52")


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """What a person asks for; a repair holds the same and can be computed again from it.

    `options` has, as "leaf", the entry of a tree whose path is repaired, as addresses name it; without it, the path is the reader's own.
    """

    strategies: tuple[str, ...]
    mode: str
    reader: str
    projection: str
    profile: str
    options: dict[str, str]


def mode_named(format_: Format, name: str | None) -> str:
    """The format's own name of a mode or alias; its first mode (the safest) unless named. Raises Refused."""
    if format_.name in READ_ONLY and format_.name not in NEW_FILE_ONLY and not isinstance(format_, Scripted):
        raise Refused(READ_ONLY[format_.name])
    for mode in format_.modes:
        if not name or name in (mode.name, mode.alias):
            return mode.name
    offered = ", ".join(mode.shown for mode in format_.modes)
    raise Refused(f"{format_.title} cannot be written in mode {name!r}; it offers {offered}.")


def reader_named(format_: Format, name: str) -> str:
    """Raises Refused where there is no such reader, or where it is of another program."""
    try:
        return reader_of(name, format_.name).name
    except UnknownReader as problem:
        raise Refused(str(problem)) from None


def request_for(
    source: Source,
    stored: Stored,
    strategies: Sequence[str],
    mode: str | None,
    reader: str | None = None,
    native_ids: Collection[str] = (),
    leaf: str = "",
    now: int | None = None,
) -> RepairRequest:
    """The same question on the same bytes is the same request, so its plan has the same digest wherever it is asked. Raises Refused.

    `native_ids` are those in the store, where it was read now; else those of the last import count. `now` (epoch ms, the present where it is None) is the
    time of the entry where a new conversation has one in a list: the one thing that differs each time the question is asked.
    """
    format_ = loading.format_of(source)
    named = mode_named(format_, mode)
    options = _options(source, stored, strategies, named, native_ids, leaf, now)
    # A command has chosen its judges for the conversation already.
    is_imported = source.pk is not None
    judges = own_judges(stored.conversation, source.projection, source.profile) if is_imported else (source.projection, source.profile)
    return RepairRequest(tuple(strategies), named, reader_named(format_, reader or source.reader), *judges, options)


def _options(
    source: Source, stored: Stored, strategies: Sequence[str], mode: str, native_ids: Collection[str], leaf: str, now: int | None
) -> dict[str, str]:
    """The format's options, with an id for a new conversation, in the format's own form, that this source is not known to hold."""
    chosen = {LEAF: visible(leaf)} if leaf else {}
    format_, basis = loading.format_of(source), " ".join((digest(stored), *strategies, *chosen.values()))
    listing = format_.listing(mode, stored, time_ns() // 1_000_000 if now is None else now) if isinstance(format_, Lists) else {}
    for count in itertools.count():
        options = format_.options(mode, stored, str(uuid.uuid5(_FORKS, f"{basis} {count}"))) | listing | chosen
        name = options.get("fork_id")
        if name is None:
            return options
        is_imported = source.pk is not None and loading.present_conversation(source, name) is not None
        if not is_imported and name not in native_ids:
            return options
    raise AssertionError("itertools.count ends")


def at_leaf(case: Case, leaf: str) -> Case:
    """The case of the path to `leaf`, an entry as addresses name it, instead of the reader's own path ("" = that one). Raises Refused."""
    if not leaf:
        return case
    leaf_name = visible(leaf)
    name = leaf_name[:80]
    if case.tree is None:
        raise Refused(f"{case.reading.reader} reads this conversation as a list, so that no leaf can be chosen in it: leave {name} out.")
    tree = with_leaf(case.tree, leaf_name)
    key = tree.fact(LEAF)
    if key is None or visible(key) != leaf_name:
        raise Refused(
            f"There is no entry {name} in this conversation now: choose another leaf, or none for the path that the reader takes."
        )
    leaf_case = case.with_conversation(tree)
    end = leaf_case.conversation.chunks[-1].key.rpartition(".")[0] if leaf_case.conversation.chunks else ""
    if end != key:
        raise Refused(f"{case.reading.reader} cannot end its path at the entry {name}: choose another leaf, or another reader.")
    # Of the path that the reader takes by itself, what is said is the same as without a choice.
    return case if leaf_case.conversation.chunks == case.conversation.chunks else leaf_case


@at_work()
def preview_of(
    case: Case, stored: Stored, format_: Format, source_path: str, request: RepairRequest, known: KnownSide | None = None
) -> Preview:
    """The plan on exactly these records; `case` is theirs, as `request.reader` has it, and `known` what is known of it. Raises Refused where there is
    nothing to do or the format cannot write it."""
    if not request.strategies:
        raise NothingToRepair("Choose at least one strategy: without one there is nothing to do.")
    case = at_leaf(case, request.options.get(LEAF, ""))
    if case.tree is not None:
        # A plan for a tree is for its path; the records are those of the whole file.
        stored = replace(stored, conversation=case.conversation)
    refuse_doubles(stored)
    refuse_unread(case.tree or stored.conversation)
    try:
        edits, effective = compose_effective(case, [strategy(name) for name in request.strategies])
    except (UnknownStrategy, UnknownReader) as problem:
        raise Refused(str(problem)) from None
    plan = Plan(
        source_path,
        stored.conversation.native_id,
        request.mode,
        request.strategies,
        safety_of(effective),
        digest(stored),
        edits,
        request.options,
    )
    try:
        return preview(case, stored, format_, plan, effective, request.projection, request.profile, known)
    except NothingToDo:
        raise NothingToRepair(f"Nothing to do: {', '.join(request.strategies)} would change nothing in this conversation.") from None
    except (WriteRefused, EditMismatch) as problem:
        raise Refused(str(problem)) from None


def shown_digest(preview: Preview) -> str:
    """SHA-256 (hex) over the plan, and the reader and judges that its preview shows it by, which the plan's own digest does not cover."""
    before = preview.before
    parts = (preview.digest, before.case.reading.reader, before.shape.name, before.profile)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def refuse_unread(conversation: StoredConversation) -> None:
    """Raises Refused where something of it is over a limit of ours."""
    if reason := not_read(conversation):
        raise Refused(
            f"The conversation {reason}: a repair could lose it or contradict it, so none is made. Its program may read it as it is."
        )


def refuse_doubles(stored: Stored) -> None:
    """A table without its primary key may hold a key twice, and then no edit can say which of the two it means. Raises Refused."""
    keys: set[str] = set()
    for record in stored.records:
        if record.key in keys:
            raise Refused(
                f"The store holds two records under the key {visible(record.key)[:200]}, so no repair can name one of them: "
                "copy the rows into a table with the primary key that the program makes, and import that."
            )
        keys.add(record.key)


def request_of(repair: Repair) -> RepairRequest:
    return RepairRequest(tuple(repair.strategies), repair.mode, repair.reader, repair.projection, repair.profile, dict(repair.options))


def preview_repair(repair: Repair) -> Preview:
    """The preview on the revision that the repair was proposed on: what was and is shown, whatever the store did since. Raises Refused."""
    try:
        case = loading.case(repair.conversation, repair.reader, repair.revision)
    except UnknownReader as problem:
        raise Refused(str(problem)) from None
    return preview_on(repair.conversation, repair.revision, request_of(repair), case)


def preview_on(conversation: Conversation, revision: int, request: RepairRequest, case: Case, known: KnownSide | None = None) -> Preview:
    """The plan on a revision in our database, whose case `case` is, as `request.reader` has it, and `known` what is known of it. Raises Refused."""
    stored = loading.stored(conversation, revision)
    return preview_of(case, stored, loading.format_of(conversation.source), conversation.source.path, request, known)


def current(conversation: Conversation, native_id: str | None = None) -> Stored | None:
    """The conversation in its store as it is now; None where it is gone. Raises Refused where the store cannot be read."""
    source = conversation.source
    looked_up = native_id if native_id is not None else loading.stored(conversation).conversation.native_id
    try:
        stored = reading.read_one(place(source.path), loading.format_of(source), looked_up)
    except SourceProblem as problem:
        raise Refused(problem.sentence) from None
    # What a repair wrote through the program is compared with what the program was given.
    return stored if stored is None or native_id is None else own_program.file_form(loading.format_of(source), stored)


def moved(old: Stored, now: Stored | None) -> list[tuple[str, str]]:
    """What differs between two readings, record by record."""
    before = {record.key: record.value for record in old.records}
    after = {} if now is None else {record.key: record.value for record in now.records}
    words = {(True, False): "is gone", (False, True): "is new"}
    return [
        (key, words.get((key in before, key in after), "has another value"))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def stale(changes: list[tuple[str, str]]) -> Stale:
    return Stale(f"The store moved since this plan was made: {listed(changes)}. Import the source again and propose again.", changes)


def listed(changes: list[tuple[str, str]]) -> str:
    """The first few of (record key, what happened) for a sentence; keys are hostile text."""
    more = f" and {len(changes) - 5} more" if len(changes) > 5 else ""
    return "; ".join(f"{visible(key)} {what}" for key, what in changes[:5]) + more


def web_may_write(source: Source) -> bool:
    """Whether the pages may write to the source: the demo's at once in local mode, others only after a deliberate switch."""
    if read_only(source.format):
        return False
    if settings.INSPECTOR_LOCAL:
        return source.is_demo or source.write_enabled or bool(settings.INSPECTOR_WRITE_BACK)
    return source.write_enabled and bool(settings.INSPECTOR_WRITE_BACK)
