"""Which session of a store cannot be resumed, why, and the command that repairs it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.actions.planning import RepairRequest, preview_of, request_for
from inspector.actions.problems import NothingToRepair, Refused
from inspector.checking import line_numbers
from inspector.conversation.edits import EditMismatch
from inspector.conversation.queries import span_text
from inspector.installation import option, program
from inspector.management.diagnosis import Diagnosis
from inspector.management.requesting import request_of
from inspector.management.target import Chosen
from inspector.models import Source
from inspector.presentation.conversation.resume_state import BROKEN, DAMAGED, RESUMED, UNKNOWN
from inspector.presentation.conversation.resuming import Obstacle, blocks, obstacle, restart_of, resume_state
from inspector.presentation.visible import visible
from inspector.profiles.judging import judged
from inspector.programs.catalogue import FORMATS, NEW_FILE_ONLY, READ_ONLY
from inspector.programs.formats import FILE, Scripted, WriteRefused, not_read
from inspector.programs.registry import program_or_default
from inspector.rules.base import findings
from inspector.rules.catalogue import RULES
from inspector.sources import folders, places, stores, streaming
from inspector.sources.own_program import read_only
from inspector.sources.places import place
from inspector.sources.problems import NotShown, SourceProblem, shown
from inspector.strategies.catalogue import strategy
from inspector.text.shell_words import path_word

_LONGEST = 300


def diagnosis(chosen: Chosen, path: str) -> Diagnosis:
    """`path` is the store as it was named."""
    case, native_id = chosen.case(), visible(chosen.conversation.native_id)
    results = findings(case, RULES)
    judgement = judged(case.reading, case.conversation, chosen.profile, chosen.projection)[1]
    state = resume_state(case, results, judgement)
    reason = obstacle(case, results, judgement)
    if state == UNKNOWN:
        return Diagnosis(state, native_id, file=_own_file(chosen, path), unread=not_read(case.tree or case.conversation))
    if state != BROKEN or reason is None:
        return Diagnosis(state, native_id, restart=restart_of(case, results) if state in (RESUMED, DAMAGED) else "")
    why = _why(chosen, reason)
    file = _own_file(chosen, path)
    title = visible(chosen.conversation.title)
    try:
        command, new_id = _command(chosen, path, file)
    except (Refused, WriteRefused, EditMismatch, SourceProblem) as problem:
        by_hand = next((finding.no_repair_reason for finding in results if blocks(finding)), "")
        by_hand = by_hand or shown(str(problem), 600)
        return Diagnosis(
            BROKEN, native_id, title, file or path, why, no_command=by_hand, extract=_extract(chosen, path) if case.messages else ""
        )
    return Diagnosis(BROKEN, native_id, title, file or path, why, command, new_id=new_id)


def _why(chosen: Chosen, reason: Obstacle) -> str:
    """One sentence, which begins with the line of the file; of a store that is no file, or where no line is known, with the seq."""
    sentence = shown(" ".join(reason.why.split()), _LONGEST).rstrip(".")
    sentence += "" if sentence.endswith("…") else "."
    case = chosen.case()
    lines = line_numbers(case.tree or case.conversation, chosen.stored, set(reason.seqs[:1]))[1]
    first = next((f"Line {line:,}: " for line in lines.values()), f"Seq {span_text(reason.seqs)}: " if reason.seqs else "")
    return first + sentence


def _own_file(chosen: Chosen, path: str) -> str:
    """The file of a session that is that file and nothing else, so that nobody needs to read the whole store for a repair; "" of another one."""
    records = chosen.stored.records
    if (
        chosen.format.name in program_or_default(chosen.format.name).neighbor_files
        or len(records) != 1
        or records[0].value.type != FILE
        or not folders.is_folder(Path(path))
    ):
        return ""
    return str(Path(path) / records[0].key.partition("/")[2])


def _opened_as(chosen: Chosen, path: str, file: str) -> tuple[str, bool]:
    """What the command names, and whether that is the session alone. A new session is written next to the old one: its folder has to be open."""
    if not file:
        return path, False
    if chosen.format.modes[0].alias != "fork":
        return file, True
    folder = Path(file).parent
    with streaming.opened(folder, chosen.format, False, "") as store:
        is_enough = any(listed.native_id == chosen.conversation.native_id for listed in store.listed)
    return (str(folder) if is_enough else path), False


def _command(chosen: Chosen, path: str, file: str) -> tuple[str, str]:
    """The command, after its plan was made and judged, and the id of the session that it writes, "" for its own. Raises Refused and what a plan raises."""
    request, how = _planned(chosen, path)
    unsaved = Source(format=chosen.format.name, reader=chosen.reader, projection=chosen.projection, profile=chosen.profile)
    opened, is_alone = _opened_as(chosen, path, file)
    if any(visible(name) != name for name in (places.real(place(opened)), chosen.conversation.native_id)):
        raise NotShown(Path(file or opened))
    # The id that the command has given to the same repair of the same bytes before: its keys begin at what it names.
    stored = chosen.stored
    if file and not is_alone and opened != path:
        (record,) = stored.records
        stored = replace(stored, records=(replace(record, key="/".join(Path(file).parts[-2:])),))
    first = request_for(unsaved, stored, request.strategies, request.mode, request.reader).options.get("fork_id") or ""
    words = [program(), "repair", path_word(opened)]
    if not is_alone:
        words.append(option("--conversation", chosen.conversation.native_id))
    if _detected(opened) != chosen.format.name:
        words += ["--format", chosen.format.name]
    return " ".join([*words, *how, *_target(chosen, first)]), first


def _extract(chosen: Chosen, path: str) -> str:
    native_id = chosen.conversation.native_id
    words = [program(), "extract", path_word(path), option("--conversation", native_id)]
    if _detected(path) != chosen.format.name:
        words += ["--format", chosen.format.name]
    return " ".join([*words, option("--out", f"{native_id.replace('/', '-')}.md")])


def _planned(chosen: Chosen, path: str) -> tuple[RepairRequest, list[str]]:
    """What is recommended, else what the rules name, as far as the provider accepts what it gives; and the words of a command that ask for it."""
    goal = ["--for", chosen.profile]
    options: dict[str, Any] = {"reader": None, "strategy": None, "goal": chosen.profile, "leaf": "", "out": None, "mode": None}
    try:
        request = request_of(chosen, options)
        _refuse_rejected(chosen, path, request)
        return request, goal
    except NothingToRepair:
        # A reader may damage on its way what is whole in the store, and only a note says so.
        named = dict.fromkeys(name for finding in findings(chosen.case(), RULES) for name in finding.repaired_by)
        names = [name for name in named if not strategy(name).manual_only]
        if not names:
            raise
        request = request_of(chosen, options | {"strategy": names, "goal": None})
        _refuse_rejected(chosen, path, request)
        return request, ["--strategy", *names]


def _refuse_rejected(chosen: Chosen, path: str, request: RepairRequest) -> None:
    """Raises Refused where the session cannot be resumed after the repair, and what a plan raises."""
    after = preview_of(chosen.case(), chosen.stored, chosen.format, path, request).after
    if after.case.reading.failure or not after.judgement.sendable or any(blocks(finding) for finding in after.findings):
        raise Refused(f"No repair is proven: after {', '.join(request.strategies)} the session still cannot be resumed.")


def _target(chosen: Chosen, new_id: str) -> list[str]:
    """Where the result goes: into the store, or into a new file where Inspector does not write to the store. Raises Refused."""
    if not read_only(chosen.format.name):
        return ["--apply"]
    if chosen.format.name in NEW_FILE_ONLY:
        return ["--out", path_word(f"{new_id}.jsonl")]
    if isinstance(chosen.format, Scripted):
        return ["--out", path_word(f"repair-{chosen.conversation.native_id}.sql")]
    raise Refused(READ_ONLY[chosen.format.name])


def _detected(path: str) -> str:
    shape = stores.identify(place(path))
    score, name = max((format_.sniff(shape), format_.name) for format_ in FORMATS)
    return name if score > 0 else ""
