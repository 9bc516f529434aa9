"""Sources of every program outside of the roots, every address of the pages on them, and what of the file system those open."""

import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.contrib.auth import get_user_model
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from inspector.actions import import_streams
from inspector.actions.group_previews import occurrences_of, planned_all
from inspector.actions.import_source import import_targets
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.repair_groups import open_group, propose_all
from inspector.actions.seal_bundle import seal_imported
from inspector.demo import dispatch_incident, gbrain_incident, rollouts_incident
from inspector.demo.branch_incident import openclaw_files, pi_files
from inspector.demo.creation import write_dispatch_store, write_journal, write_trace_store
from inspector.demo.stream_incident import capture_files
from inspector.models import (
    Conversation,
    Finding,
    Notifier,
    NotifierSecret,
    Problem,
    Repair,
    RepairGroup,
    Source,
    SourceGroup,
    Stream,
    TraceRecord,
    loading,
)
from inspector.planning.recommend import without_waiting
from inspector.profiles.judging import judged
from inspector.programs.pi_openclaw import openclaw, pi
from inspector.rules.base import findings
from inspector.rules.catalogue import RULES

WHO = "tester"
_EVENTS = ("open", "sqlite3.connect", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.link", "os.symlink", "os.utime")
_opened: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is None or event not in _EVENTS or not arguments or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    name = os.fsdecode(arguments[0])
    if event == "sqlite3.connect" and name.startswith("file:"):
        name = unquote(urlsplit(name).path)
    _opened.append(os.path.realpath(name))


sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[list[str]]:
    """The real path of everything that is opened, listed or changed within it."""
    global _opened
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


def below(names: Sequence[str], folder: Path) -> list[str]:
    return sorted({name for name in names if Path(name).is_relative_to(folder)})


def write_files(folder: Path, contents: Mapping[str, bytes]) -> Path:
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def sources_of_every_program(folder: Path) -> list[Source]:
    """Each as its program writes it, imported as a command does; all of their conversations idle."""
    folder.mkdir(parents=True)
    write_dispatch_store(folder / "dispatch.db", dispatch_incident.store_rows())
    write_trace_store(folder / "traces.db", dispatch_incident.trace_records())
    records = dispatch_incident.trace_records()
    write_journal(folder / "journal.jsonl", records[1:])
    write_journal(folder / "journal.jsonl.1", records[:1])
    write_files(folder / "rollouts", rollouts_incident.incident_files())
    write_files(folder / "openclaw", openclaw_files())
    write_files(folder / "pi", pi_files())
    (folder / "gbrain.sql").write_bytes(gbrain_incident.script().encode())
    (folder / "request.json").write_text('{"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant"}]}')
    captures = write_files(folder / "streams", capture_files())
    kept, large, *_ = sorted(captures.iterdir())
    import_targets([str(folder / "dispatch.db"), str(folder / "traces.db"), str(folder / "journal.jsonl")], WHO)
    for name in ("rollouts", openclaw.NAME, pi.NAME, "gbrain.sql", "request.json"):
        import_targets([str(folder / name)], WHO)
    import_targets([str(kept)], WHO)
    import_streams.LARGEST_KEPT, size = 0, import_streams.LARGEST_KEPT
    try:
        # As one that is too large to be kept, which every page reads from its file.
        import_targets([str(large)], WHO)
    finally:
        import_streams.LARGEST_KEPT = size
    sealed = Conversation.objects.filter(source__path__endswith="dispatch.db").latest("chunk_count")
    (folder / "evidence.zip").write_bytes(seal_imported(sealed, False, WHO))
    import_targets([str(folder / "evidence.zip")], WHO)
    return list(Source.objects.all())


def address_at(port: int) -> Source:
    """gbrain's jobs as read from a database server at this port, for which is waited no longer than a second."""
    source = Source.objects.get(path__endswith="gbrain.sql")
    name = f"postgresql://gbrain@127.0.0.1:{port}/brain?connect_timeout=1"
    Source.objects.filter(pk=source.pk).update(path=name, format="gbrain", oid=Source.oid_of(name))
    return Source.objects.get(pk=source.pk)


def strategies_for(row: Conversation) -> tuple[str, ...]:
    """What the page of a conversation recommends."""
    case = loading.case(row, row.source.reader)
    judgement = judged(case.reading, case.conversation, row.judges[1], row.judges[0])[1]
    return tuple(each.name for each in without_waiting(case, findings(case, RULES), judgement, row.judges[0]).candidate.strategies)


def propose_everywhere() -> list[Repair]:
    """One repair for each store that is written to from pages, on a conversation of it that has something to repair."""
    found = []
    for source in Source.objects.filter(is_trace=False, path__startswith="/"):
        for row in source.conversations.select_related("source"):
            names = strategies_for(row)
            mode = next((each.name for each in loading.format_of(source).modes if each.alias == "in-place"), "")
            try:
                found.append(propose_repair(row, request_for(source, loading.stored(row), names, mode), WHO))
                break
            except Refused:
                continue
    found += group_of_a_problem().current
    Source.objects.update(write_enabled=True)
    return found


def group_of_a_problem() -> RepairGroup:
    """The conversations of the first problem that one plan repairs, and that nobody repairs yet."""
    for problem in Problem.objects.filter(source__path__startswith="/").select_related("source"):
        plans = [plan for plan in planned_all(occurrences_of(problem), problem.code, [], "") if not plan["problem"]]
        if plans:
            group = open_group(problem.source, problem.code, problem.rule, plans, WHO, goes_on=False)
            propose_all(group, WHO)
            return group
    raise AssertionError("no conversation can be repaired together with others")


def notifier() -> Notifier:
    """One that is off and leads nowhere."""
    row, _ = Notifier.objects.get_or_create(
        oid="0" * 12, defaults={"name": "n", "kind": "webhook", "place": "https://a.invalid", "added_by": WHO, "added_at": timezone.now()}
    )
    NotifierSecret.objects.get_or_create(notifier=row, address="https://a.invalid/", secret="s" * 32)
    return row


class Walk:
    """Every address of the pages, for every source, conversation, stream, finding and repair there is (of conversations one for each source)."""

    def __init__(self) -> None:
        wanted = []
        for source in Source.objects.filter(is_trace=False):
            repaired = source.conversations.filter(pk__in=Repair.objects.values("conversation_id"))
            wanted += (repaired or source.conversations.order_by("-worst", "pk"))[:1]
        self.rows = list(Conversation.objects.filter(pk__in=[row.pk for row in wanted]).select_related("source"))
        body = TraceRecord.objects.exclude(body=None).values_list("body", flat=True).first()
        self.values: dict[str, list[object]] = {
            "conversations": [row.oid for row in self.rows],
            "streams": list(Stream.objects.values_list("oid", flat=True)),
            "findings": list(Finding.objects.filter(conversation__in=wanted).values_list("oid", flat=True)[:2]),
            "repairs": list(Repair.objects.values_list("oid", flat=True)),
            "repair-groups": list(RepairGroup.objects.values_list("oid", flat=True)),
            "problems": list(Problem.objects.values_list("oid", flat=True)[:2]),
            "sources": list(Source.objects.values_list("oid", flat=True)),
            "notifications": [notifier().oid],
            "old": [1],
            "new": [1],
            "position": [0],
            "digest": [body or "none"],
            "key": ["none"],
            "side": ["client"],
            "number": [0],
            "code": [RULES[0].code],
            "name": ["renumber-messages"],
            "pk": [get_user_model()._default_manager.get_or_create(username="somebody")[0].pk],
            "groups": [SourceGroup.objects.get_or_create(name="ours")[0].pk],
            "uidb64": ["MQ"],
            "kind": ["conversation"],
            "new-link": [row.oid for row in self.rows],
            "links": ["none"],
            "token": ["none"],
        }

    def addresses(self, *kinds: str) -> list[str]:
        """All of them, or those that begin so."""
        every = [address for pattern in get_resolver().url_patterns for address in self._filled(pattern)]
        return [address for address in every if address.startswith(kinds or "/") and address != "/logout/"]

    def _filled(self, pattern: URLPattern | URLResolver) -> list[str]:
        assert isinstance(pattern, URLPattern), "the pages have no nested addresses"
        route = str(pattern.pattern)
        kind = route.partition("/")[0]
        found = [f"/{route}"]
        for name, converter in pattern.pattern.converters.items():
            of_group = route.startswith("users/groups/")
            values = self.values["groups" if of_group else kind if name == "oid" else name]
            assert values, f"nothing to fill {route} with"
            kind_name = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
            found = [address.replace(f"<{kind_name}:{name}>", str(value)) for address in found for value in values]
        return found

    def forms(self, address: str) -> dict[str, object]:
        """What a form sends there, so that the act after it is really begun."""
        repair = Repair.objects.filter(oid__in=address.split("/")).first()
        row = next((row for row in self.rows if row.oid in address), None)
        return {
            "digest": repair.plan_digest if repair else "",
            "statement": "unfixed",
            "on": "1",
            "answers": "1",
            "strategy": list(strategies_for(row)) if row and address.endswith("/repairs/new/") else [],
            "mode": "",
            "error": "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after",
            "body": '{"messages": []}',
            "nonce": secrets.token_hex(4),
        }


def whole(answer: HttpResponse) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]


def sent_to(client: Client, address: str, form: dict[str, object]) -> str:
    """Where the form of a page is sent: what is proposed has to be the plan that its preview showed."""
    if not address.endswith("/repairs/new/"):
        return address
    page = client.get(address, {name: form[name] for name in ("strategy", "mode")}).content.decode()
    return address + unescape("".join(re.findall(r'formaction="(\?seen[^"]*)"', page)))


def visit(client: Client, walk: Walk, addresses: Sequence[str]) -> None:
    """GET of every address, POST where a form may be, answers read to their end; none fails or shows a traceback. Each finds the repairs in the same state."""
    repairs = list(Repair.objects.values())
    for address in addresses:
        form = walk.forms(address)
        for repair in repairs:
            Repair.objects.filter(pk=repair["id"]).update(**repair)
        for answer in [client.get(address)] + ([client.post(sent_to(client, address, form), form)] if address.endswith("/") else []):
            assert answer.status_code < 500, (address, answer.status_code)
            assert b"Traceback" not in whole(answer), address
