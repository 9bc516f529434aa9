"""An example on its whole way: a real store imported, its findings on every surface, and a repair there and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.test import Client

from inspector.actions.apply_repair import apply_repair
from inspector.actions.decide_repair import approve_repair
from inspector.actions.undo_repair import undo_repair, verify_repair
from inspector.models import Conversation, Repair, loading
from inspector.planning.recommend import recommended
from inspector.rules.base import findings
from inspector.rules.catalogue import RULES
from tests.actions.building import WHO, Store, again, everything, imported, proposed
from tests.commands.running import run
from tests.programs.dispatch.appended_stores import Said

Appends = Sequence[Sequence[Said]]


def said(appends: Appends, to: str = "c1", store: Store | None = None) -> Store:
    """A store (or `store`) in which the appends of one conversation stand."""
    store = store or Store()
    for messages in appends:
        store.append(*messages, to=to)
    return store


def codes(conversation: Conversation) -> list[str]:
    return sorted(conversation.findings.filter(is_open=True).values_list("code", flat=True))


def spans(conversation: Conversation, code: str) -> list[list[int]]:
    return [found.seqs for found in conversation.findings.filter(code=code, is_open=True).order_by("key")]


def scanned(path: Path, native_id: str, *more: object) -> dict[str, Any]:
    """The report of one conversation in the JSON of `scan`."""
    reports = run("scan", path, *more, "--json").json["conversations"]
    return next(report for report in reports if report["native_id"] == native_id)


@dataclass(frozen=True)
class Shown:
    """One conversation on every surface; they must say the same."""

    conversation: Conversation
    page: str
    report: dict[str, Any]


def surfaces(path: Path, native_id: str, client: Client, *more: object) -> Shown:
    """Asserts that rows, page and command name the same rules."""
    conversation = Conversation.objects.get(native_id=native_id, source__path=str(path))
    answer = client.get(f"/conversations/{conversation.oid}/")
    assert answer.status_code == 200
    page = answer.content.decode()
    report = scanned(path, native_id, *more)
    assert sorted(found["code"] for found in report["findings"]) == codes(conversation)
    assert not [code for code in codes(conversation) if code not in page]
    return Shown(conversation, page, report)


def brought(path: Path, store: Store, native_id: str, client: Client) -> Shown:
    imported(path, store, native_id)
    return surfaces(path, native_id, client)


def advised(conversation: Conversation) -> tuple[str, ...]:
    case = loading.case(conversation, conversation.source.reader)
    return tuple(strategy.name for strategy in recommended(case, findings(case, RULES)))


def repaired(path: Path, native_id: str, *strategies: str, gone: set[str], mode: str = "in-place") -> list[str]:
    """Repairs (as recommended, unless named), reads again and takes it back. Asserts that `gone` is gone and undo gives back every byte.

    Returns the codes that are left in the result.
    """
    conversation = again(path, native_id)
    before = everything(path)
    assert gone <= set(codes(conversation))
    repair = proposed(conversation, *(strategies or advised(conversation)), mode=mode)
    assert everything(path) == before
    approve_repair(repair, WHO, repair.plan_digest, statement="unfixed")
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == Repair.State.VERIFIED and verify_repair(repair)[0] and everything(path) != before
    left = codes(again(path, repair.options["fork_id"] if mode == "fork" else native_id))
    assert not gone & set(left)
    undo_repair(repair, WHO, interactive=True)
    assert everything(path) == before and repair.state == Repair.State.UNDONE
    return left
