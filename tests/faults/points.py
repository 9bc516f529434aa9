"""A fault at one call, and what a person finds and does afterwards."""

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.faults.bench import Answer, Bench, Fault, names_write
from tests.faults.flags import DISAGREE, FALSE, FORKS, LEFT, LOST, ODD, REFUSED, TORN, UNSETTLED
from tests.faults.shim import Call
from tests.faults.stores import Found, Intent

LOOKS = ("scan", "verify", "inbox", "page", "list")
TRIES = 5
"""Runs that may pass a call by: how many pages SQLite writes for a commit differs by one or two between runs from the same bytes."""


@dataclass
class Result:
    """`first` is what the store is right after the fault: before, after, or between."""

    program: str
    mode: str
    command: str
    kind: str
    call: Call
    first: str = ""
    flags: set[str] = field(default_factory=set)
    story: list[str] = field(default_factory=list)

    def tell(self, answer: Answer) -> None:
        said = answer.text.strip().splitlines()
        is_page = answer.what.startswith("GET")
        self.story.append(f"{answer.what}: {answer.status} {'(page)' if is_page else said[-1][:300] if said else ''}")
        if answer.is_odd:
            self.flags.add(ODD)


class Commands:
    """What a person may type, and the buttons of the page of a repair."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def arguments(self, name: str, oid: str) -> tuple[str, ...]:
        return self.bench.repairing if name == "repair" else (name, oid)

    def run(self, name: str, oid: str, fault: Fault | None = None) -> Answer:
        if name.startswith("press "):
            return self.bench.press(f"/repairs/{oid}/{name.removeprefix('press ')}/")
        return self.bench.command(*self.arguments(name, oid), fault=fault)

    def acts(self, command: str) -> tuple[str, ...]:
        """The same command first, then the others and the buttons of the page."""
        return (command, *(name for name in ("repair", "apply", "undo") if name != command), "press apply", "press undo")


@dataclass(frozen=True)
class Start:
    """A saved state, and the command that begins with it; `oid` is its repair, "" where there is none yet."""

    name: str
    command: str
    oid: str = ""


def starts(bench: Bench) -> Iterator[Start]:
    """Every state with its command; each is saved when it is given."""
    commands = Commands(bench)
    bench.save("repair")
    yield Start("repair", "repair")
    bench.restore("repair")
    done = commands.run("repair", "")
    assert done.status == 0, f"{bench.case.name}: {done.text}"
    (intent,) = bench.intents()
    bench.save("undo")
    yield Start("undo", "undo", intent.oid)
    bench.restore("repair")
    made = bench.fork("propose and approve", lambda: _approved(bench))
    assert made.status == 0, made.text
    (intent,) = bench.intents()
    bench.save("apply")
    yield Start("apply", "apply", intent.oid)
    if bench.case.is_interrupted_twice:
        bench.restore("repair")
        _interrupt(bench, commands)
        intent = bench.intents()[-1]
        for command in ("apply", "undo"):
            bench.save(f"{command}, again")
            yield Start(f"{command}, again", command, intent.oid)
            bench.restore(f"{command}, again")


def _interrupt(bench: Bench, commands: Commands) -> None:
    """Kills the repair where most is left to do: between two files, in the middle of an append, or with a journal to roll back; else where it is written
    and not recorded."""
    calls = commands.run("repair", "", Fault("record")).calls
    bench.restore("repair")
    on_store = [call for call in calls if call.path.startswith(f"{bench.store_folder}/")]
    renames = [call for call in on_store if call.name == "rename"]
    pages = [call for call in on_store if call.path.endswith(".db") and call.name == "pwrite"]
    appends = [call for call in on_store if call.name == "write" and call.path.endswith(".jsonl")]
    if len(renames) > 1:
        fault = Fault("kill before", renames[-1])
    else:
        fault = Fault("kill after", (renames or pages)[0]) if renames or pages else Fault("half write", appends[0])
    killed = commands.run("repair", "", fault)
    assert killed.status == -signal.SIGKILL, killed.text
    bench.let_time_pass()


def _approved(bench: Bench) -> int:
    """As two clicks on the pages do it."""
    from django.db import connections

    from inspector.actions.decide_repair import approve_repair
    from inspector.actions.planning import request_for
    from inspector.actions.propose_repair import propose_repair
    from inspector.models import Conversation, loading

    rows = Conversation.objects.select_related("source")
    row = rows.get(native_id=bench.case.conversation) if bench.case.conversation else rows.get()
    request = request_for(row.source, loading.stored(row), bench.case.strategies, bench.case.mode)
    repair = propose_repair(row, request, "tester")
    approve_repair(repair, "tester", repair.plan_digest, statement="unfixed")
    connections.close_all()
    return 0


def examine(bench: Bench, start: Start, call: Call, kind: str, number: int, acts: Sequence[str]) -> Result:
    """`number` chooses how it is looked at afterwards; each of `acts` begins with what that look left."""
    result = Result(bench.case.program, bench.case.mode, start.name, kind, call)
    commands = Commands(bench)
    oid = start.oid
    for _ in range(TRIES):
        bench.restore(start.name)
        answer = commands.run(start.command, oid, Fault(kind, call))
        if any(call.is_like(other) for other in answer.calls):
            break
    else:
        result.first = "missed"
    result.tell(answer)
    if result.first == "missed":
        return result
    bench.let_time_pass()
    found, intents = bench.look()
    result.first = {None: "between", frozenset(): "before"}.get(found.present, "after")
    _note(result, found)
    if _is_false(answer, found, oid or (intents[-1].oid if intents else "")):
        result.flags.add(FALSE)
    found, intents = _looked(bench, result, number, found, intents)
    if len(acts) > 1:
        bench.save("looked")
    for place, act in enumerate(acts):
        if place:
            bench.restore("looked")
        _acted(bench, commands, result, act, oid or (intents[-1].oid if intents else ""), found)
    return result


def _note(result: Result, found: Found) -> None:
    if found.lost:
        result.flags.add(LOST)
        result.story.append(f"lost: {', '.join(found.lost[:5])}")


def _is_false(answer: Answer, found: Found, oid: str) -> bool:
    """Whether a command that was not killed says something of the store that is not so."""
    if answer.status == -signal.SIGKILL or found.present is None:
        return False
    is_there, text = oid in found.present, answer.text.lower()
    if answer.what.startswith("undo"):
        return is_there if answer.status == 0 else not is_there and ("nothing was undone" in text or "nothing was written" in text)
    return not is_there if answer.status == 0 else is_there and "nothing was written" in text


def _looked(bench: Bench, result: Result, number: int, found: Found, intents: list[Intent]) -> tuple[Found, list[Intent]]:
    """One look that writes nothing to the store; afterwards record and store agree, or the answer says which write is needed."""
    how = LOOKS[number % len(LOOKS)]
    oid = intents[-1].oid if intents else ""
    if not oid and how in ("verify", "page"):
        how = "scan"
    match how:
        case "scan":
            answer = bench.command("scan", bench.path)
        case "verify":
            answer = bench.command("verify", oid)
        case "inbox":
            answer = bench.page("/")
        case "list":
            answer = bench.page("/repairs/")
        case _:
            answer = bench.page(f"/repairs/{oid}/")
    result.tell(answer)
    now, intents = bench.look()
    if now.content != found.content:
        result.flags.add(LOST)
        result.story.append("the look wrote to the store")
    recorded = frozenset(intent.oid for intent in intents if intent.is_recorded)
    needs_write = now.present is None or now.is_hot
    agrees = names_write(answer.text, intents) if needs_write else recorded == now.present
    if not agrees:
        result.flags.add(DISAGREE)
        result.story.append(f"store {_told(now)}, record {sorted((intent.oid, intent.state) for intent in intents)}")
    return now, intents


def _told(found: Found) -> str:
    return ("torn" if found.present is None else f"has {sorted(found.present)}") + (" and a hot journal" if found.is_hot else "")


def _acted(bench: Bench, commands: Commands, result: Result, act: str, oid: str, found: Found) -> None:
    """The act, then undo of whatever it left; the store is as before in the end."""
    if act != "repair" and not oid:
        return
    result.story.append(f"-- {act}")
    was = found.present
    answer = commands.run(act, oid)
    result.tell(answer)
    now, intents = bench.look()
    if (now.present is None or now.is_hot) and act == "repair" and names_write(answer.text, intents):
        answer = commands.run("apply", oid)
        result.tell(answer)
        now, intents = bench.look()
    recorded = frozenset(intent.oid for intent in intents if intent.is_recorded)
    _note(result, now)
    if now.present is None or now.is_hot:
        result.flags.add(TORN)
    elif len(now.present) > 1:
        result.flags.add(FORKS)
    elif now.present != recorded or (act == "repair" and not now.present):
        result.flags.add(UNSETTLED)
    if act in ("undo", "press undo") and answer.status != 0 and (was is None or oid in was):
        result.flags.add(REFUSED)
    if result.flags & {TORN, FORKS, UNSETTLED}:
        result.story.append(f"store {_told(now)}, record {sorted((intent.oid, intent.state) for intent in intents)}")
    for intent in reversed(intents):
        if now.present is None or intent.oid in now.present:
            undone = commands.run("undo", intent.oid)
            result.tell(undone)
            if undone.status and now.present is not None:
                result.flags.add(REFUSED)
    end, _ = bench.look()
    if end.extra and end.present == frozenset():
        # What a dead process left next to the store may wait for the next write, and goes with it.
        for again in ("repair", "undo"):
            intents = bench.intents()
            commands.run(again, intents[-1].oid if intents else "")
        end, _ = bench.look()
    _note(result, end)
    if end.extra:
        result.flags.add(LEFT)
        result.story.append(f"left over: {', '.join(end.extra[:5])}")
    if end.present is None or end.is_hot:
        result.flags.add(TORN)
    elif not end.present and not end.extra and not end.lost and end.content != bench.before:
        result.flags.add(LOST)
        result.story.append("after undo the store is not as before")
