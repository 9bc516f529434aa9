"""Two sources, one of which a person may not see; and a world of both, in which all that is hidden says a word that is found nowhere else."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import transaction
from django.utils import timezone

from inspector import background
from inspector.actions.decide_problem import Decision, decide
from inspector.actions.group_previews import planned_all
from inspector.actions.import_source import import_targets
from inspector.actions.purge import purge
from inspector.actions.repair_groups import open_group, propose_all
from inspector.actions.reviewing import comment
from inspector.demo.stream_incident import capture_files
from inspector.models import (
    BackgroundTask,
    Conversation,
    Finding,
    Problem,
    Repair,
    RepairGroup,
    Source,
    Stream,
    StreamFinding,
    Tombstone,
)
from inspector.models.visible import Visible
from tests.actions.building import A, Store, T, U, approved, bring, imported, make, merged, proposed, tc, tr
from tests.views.imported import example

WORD = "zanthorp"
RENUMBER = "renumber-messages"


def two_sources(folder: Path) -> tuple[Source, Source]:
    """The one that is shown, and the one that is hidden."""
    shown = imported(folder / "shown.db", merged()).source
    hidden = imported(folder / "hidden.db", merged()).source
    return shown, hidden


@dataclass
class World:
    """`ids`: of each kind of thing, by its place in an address, those that are shown and those that are hidden."""

    shown: list[Source]
    hidden: list[Source]
    ids: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)


def _worked_on(source: Source, who: str, word: str) -> None:
    """Repairs, a group, a task, a decision and a purge, all of which say the word."""
    row = source.conversations.get(native_id=f"{word}-one")
    repair = approved(row, RENUMBER)
    comment(repair, who, f"{word} was here")
    proposed(source.conversations.get(native_id=f"{word}-two"), RENUMBER, who=who)
    problem = Problem.objects.get(source=source, code=Finding.objects.filter(conversation=row).values_list("code", flat=True)[:1])
    decide([problem.oid], Decision("assign", to=word), who)
    others = source.conversations.filter(native_id__in=[f"{word}-four", f"{word}-five"]).select_related("source")
    plans = [plan for plan in planned_all(others, problem.code, [], "") if not plan["problem"]]
    group = open_group(source, problem.code, problem.rule, plans, who, goes_on=False, reason=word)
    propose_all(group, who)
    background.plan_of(Repair.objects.get(pk=repair.pk), "/")
    BackgroundTask.objects.create(
        source=source, key=f"{word:x<64}"[:64], kind="group apply", started_at=timezone.now(), arguments={"total": 3}, back="/"
    )
    purge(source.conversations.get(native_id=f"{word}-three"), who, f"{word} asked for it")


def _store(word: str) -> Store:
    store = Store()
    for name in ("one", "two", "three", "four", "five"):
        merged(store, f"{word}-{name}")
        store.append(U(f"the {word} of {name}"), A("calling", tc(f"{word}-call")), T(tr(f"{word}-call")), to=f"{word}-{name}")
    return store


def world(folder: Path) -> World:
    """Of the shown store a copy is hidden too, whose conversations have the same shared ids."""
    for name in ("shown", WORD):
        (folder / name).mkdir(parents=True)
    shown = [example(folder / "shown"), *Source.objects.filter(is_trace=True)]
    make(folder / "shown" / "plain.db", _store("plain").values)
    make(folder / WORD / f"{WORD}.db", _store(WORD).values)
    make(folder / WORD / "plain-copy.db", _store("plain").values)
    for name, where in (("shown", "shown"), (WORD, WORD)):
        for file, data in list(capture_files().items())[:2]:
            (folder / name / f"{where}-{file}").write_bytes(data)
            import_targets([str(folder / name / f"{where}-{file}")], name)
    bring(folder / "shown" / "plain.db", folder / WORD / f"{WORD}.db", folder / WORD / "plain-copy.db")
    _worked_on(Source.objects.get(path__endswith="plain.db"), "tester", "plain")
    _worked_on(Source.objects.get(path__endswith=f"{WORD}.db"), WORD, WORD)
    Source.objects.filter(path__contains=WORD).update(came_from=f"the host of {WORD}")
    made = World(
        shown + [each for each in Source.objects.all() if WORD not in each.path and each not in shown],
        list(Source.objects.filter(path__contains=WORD)),
    )
    hidden = {source.pk for source in made.hidden}
    for kind, model, column, path in _IDS:
        rows = model._base_manager.order_by("pk").values_list(column, path)
        made.ids[kind] = tuple([oid for oid, source in rows if (source in hidden) is is_hidden and oid] for is_hidden in (False, True))  # type: ignore[assignment]
    gone = Tombstone._base_manager.values_list("oid", "kind", "source")
    for oid, kind, source in gone:
        made.ids[f"{kind}s"][source in {each.oid for each in made.hidden}].append(oid)
    return made


_IDS: tuple[tuple[str, Any, str, str], ...] = (
    ("conversations", Conversation, "oid", "source"),
    ("findings", Finding, "oid", "conversation__source"),
    ("stream-findings", StreamFinding, "oid", "stream__source"),
    ("problems", Problem, "oid", "source"),
    ("repairs", Repair, "oid", "conversation__source"),
    ("repair-groups", RepairGroup, "oid", "source"),
    ("sources", Source, "oid", "pk"),
    ("streams", Stream, "oid", "source"),
    ("tasks", BackgroundTask, "key", "source"),
)


def remove(sources: list[Source]) -> None:
    """As if they had never been: every row that belongs to them."""
    numbers = frozenset(source.pk for source in sources)
    with transaction.atomic():
        for model in _leaves_first():
            manager: Any = model._default_manager
            rows = model._base_manager.filter(manager.condition(numbers, ""))
            model._base_manager.filter(pk__in=list(rows.values_list("pk", flat=True)))._raw_delete("default")  # type: ignore[attr-defined]


def _leaves_first() -> Iterator[Any]:
    """Those that lead to the source by the longest path come first, so that it can still be followed."""
    models = [model for model in apps.get_app_config("inspector").get_models() if isinstance(model._default_manager, Visible)]
    return iter(sorted(models, key=lambda model: (-len(model._default_manager.path.split("__")), model is Source, model is Conversation)))  # type: ignore[attr-defined]
