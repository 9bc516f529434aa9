"""The rows: what is measured, in units of which yardstick of the same run, and the goal. Milliseconds are information only."""

import json
import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import quote

from bench import bodies, inputs, plain, start, streams
from bench.ground import NEEDLES, REPAIR, Ground, client, forget, timed
from bench.measuring import Measured, Ran, below, command, in_turns, manage, noise, ratio, resident, stop
from inspector.demo.creation import write_dispatch_store

PAGE_OF_LIST, PAGE_OF_CHUNKS, PAINT, START = 5.0, 8.1, 0.068, 0.72
"""What the yardsticks took on the machine of the goals in milliseconds, the least of several runs: milliseconds of the plain pages, seconds of their first paint
and of a command that does nothing (2 cores, CPython 3.11). A goal in milliseconds, in units of its yardstick, is its quotient by these."""
CHROMIUM = os.environ.get("INSPECTOR_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Skipped(Exception):
    """It cannot be measured here; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    work: str
    yardstick: str
    goal: float
    measure: Callable[[Ground], Measured]
    is_least: bool = False
    """The value is to be at least the goal; at most otherwise."""
    milliseconds: float = 0
    """Of the goal, where it was set in milliseconds."""
    on_server: bool = True
    """Whether it depends on the database of the program, and is measured on PostgreSQL as well."""

    def limit(self, noise_: float) -> float:
        return self.goal / (1 + noise_) if self.is_least else self.goal * (1 + noise_)

    def is_met(self, measured: Measured) -> bool:
        limit = self.limit(measured.noise)
        return measured.value >= limit if self.is_least else measured.value <= limit


# Imports


def import_of_sessions(name: str, ground: Ground) -> Measured:
    """`name`: of the files of the ground."""
    files: list[Path] = getattr(ground, name)
    folders = sorted({str(path.parent) for path in files})
    yardstick: list[float] = []
    runs: list[Ran] = []
    for _ in range(ground.rounds):
        yardstick.append(timed(lambda: plain.parsed_and_inserted(files, ground.plain_address)))
        runs.append(command(ground.fresh(name), "import_source", *folders))
    wall, cpu = min(run.wall for run in runs), min(run.cpu for run in runs)
    text = f"{wall:.1f} s, {cpu:.1f} s of CPU, yardstick {min(yardstick):.1f} s; {max(run.peak for run in runs):,.0f} MB"
    return Measured(min(yardstick) / wall, noise(yardstick), text)


def import_of_dispatch(ground: Ground) -> Measured:
    ran, yardstick = ground.dispatch_import
    text = f"{ran.wall:.0f} s, {ran.cpu:.0f} s of CPU, yardstick {min(yardstick):.1f} s; {ground.dispatch.stat().st_size / 1e6:,.0f} MB"
    return Measured(min(yardstick) / ran.wall, noise(yardstick), text)


def unchanged_import(ground: Ground) -> Measured:
    environ = ground.database("fleet")
    command(environ, "import_source", *ground.fleet_folders)
    starts, runs = [], []
    for _ in range(ground.rounds + 1):
        starts.append(command(environ, "rules").cpu)
        runs.append(command(environ, "import_source", *ground.fleet_folders).cpu)
    return Measured(
        (min(runs) - min(starts)) / min(starts), noise(starts), f"{min(runs):.2f} s of CPU, start of a command {min(starts):.2f} s"
    )


def grown_bytes(ground: Ground) -> Measured:
    """New bytes of our database in units of the new lines' bytes, over five times ten chunks: databases grow by pages."""
    environ, path = ground.fresh("grown"), ground.folder / "grown.jsonl"
    inputs.session(path, ground.middle, 90)
    command(environ, "import_source", str(path))
    unchanged = min(command(environ, "import_source", str(path)).cpu for _ in range(2))
    before = after = ground.size("grown")
    new, seconds = 0, []
    for seed in range(5):
        new += inputs.grown(path, 10, seed)
        seconds.append(command(environ, "import_source", str(path)).cpu)
        after = ground.size("grown")
    text = f"{new / 5000:.1f} KB each; {min(seconds):.2f} s of CPU, of the unchanged file {unchanged:.2f} s"
    return Measured((after - before) / new, 0, text)


def found_of_needles(ground: Ground) -> Measured:
    assert ground.sized
    ground.use("sized")
    needles = NEEDLES.values() if not ground.quick else list(NEEDLES.values())[:1]
    with client() as get:
        totals = [json.loads(get(f"/conversations.json?q={needle}"))["total"] for needle in needles]
    return Measured(sum(total == 1 for total in totals) / len(totals), 0, f"{totals} conversations for words at lines {sorted(NEEDLES)}")


def scan_progress(ground: Ground) -> Measured:
    """Until the first progress on a terminal, above the start of a command."""
    environ = ground.database("fleet")
    files = inputs.fleet(ground.folder / "scanned", ground.scaled(200), (), ground.scaled(500))
    folders = sorted({str(path.parent) for path in files})
    starts = [command(environ, "rules").wall for _ in range(2)]
    first = min(_first_progress(environ, folders[0]) for _ in range(ground.rounds))
    starts.append(command(environ, "rules").wall)
    return Measured(max(0, first - min(starts)) / min(starts), noise(starts), f"{first:.2f} s, start of a command {min(starts):.2f} s")


def scan_again(ground: Ground) -> Measured:
    """500 files that are as they were: the processor's time of the whole command."""
    environ = ground.database("fleet")
    files = inputs.fleet(ground.folder / "scanned", ground.scaled(200), (), ground.scaled(500))
    folder = sorted({str(path.parent) for path in files})[0]
    command(environ, "scan", folder)
    again = [command(environ, "scan", folder).cpu for _ in range(ground.rounds)]
    starts = [command(environ, "rules").cpu for _ in range(ground.rounds)]
    return Measured(min(again) / min(starts), noise(starts), f"{min(again):.2f} s of CPU, start of a command {min(starts):.2f} s")


def _first_progress(environ: dict[str, str], folder: str) -> float:
    ours, theirs = pty.openpty()
    begun = time.perf_counter()
    process = subprocess.Popen(manage("scan", folder, "--no-cache"), env=environ, stdout=subprocess.DEVNULL, stderr=theirs, text=True)
    try:
        ready, _, _ = select.select([ours], [], [], 60)
        seconds = time.perf_counter() - begun
        if not ready:
            raise Skipped("scan said nothing on a terminal for a minute")
        return seconds
    finally:
        stop(process)
        os.close(ours)
        os.close(theirs)


# Pages


def page_of_list(address: str, ground: Ground) -> Measured:
    ground.use(ground.filled)
    with client() as get:
        seconds = in_turns({"page": lambda: get(address), "plain": lambda: get("/plain/list/50/")}, 20)
    return ratio(seconds["page"], seconds["plain"])


def search(ground: Ground) -> Measured:
    """A word of every conversation, and an id of one: the slower of both."""
    ground.use(ground.dispatch_imported)
    from inspector.models import SearchText

    words = SearchText.objects.order_by("pk")[10].text
    rare = words[words.index("toolu_") :][:30]
    with client() as get:
        works = {"plain": lambda: get("/plain/list/50/")}
        works |= {word: partial(get, f"/conversations/?q={quote(word)}") for word in ("ledger", rare)}
        seconds = in_turns(works, ground.rounds + 2)
    common, one = (ratio(seconds[word], seconds["plain"]) for word in ("ledger", rare))
    worst = max(common, one, key=lambda measured: measured.value)
    text = f"`ledger` {min(seconds['ledger']) * 1000:,.0f} ms, an id {min(seconds[rare]) * 1000:,.0f} ms, yardstick {min(seconds['plain']) * 1000:.1f} ms"
    return Measured(worst.value, worst.noise, text)


def conversation_page(which: str, is_first: bool, rest: str, plain_rows: int, ground: Ground) -> Measured:
    """`which`: attribute of the ground that names the size."""
    oid = ground.sized[getattr(ground, which)]
    ground.use("sized")
    return views(f"/conversations/{oid}/{rest}", is_first, plain_rows)


def finding_page(ground: Ground) -> Measured:
    oid = ground.sized[ground.large]
    ground.use("sized")
    from inspector.models import Finding

    return views(f"/findings/{Finding.objects.filter(conversation__oid=oid).values_list('oid', flat=True)[0]}/", True, 100)


def views(address: str, is_first: bool, plain_rows: int) -> Measured:
    """Before a first view nothing is in memory."""
    with client() as get:

        def view() -> None:
            if is_first:
                forget()
            get(address)

        get(address)
        seconds = in_turns({"page": view, "plain": lambda: get(f"/plain/chunks/{plain_rows}/")}, 5 if is_first else 10)
    return ratio(seconds["page"], seconds["plain"])


def other_window(ground: Ground) -> Measured:
    """Each view shows rows that no view before it showed, of a conversation that is open."""
    oid = ground.sized[ground.large]
    ground.use("sized")
    places = count(1000, 500)
    with client() as get:
        get(f"/conversations/{oid}/")
        works = {"page": lambda: get(f"/conversations/{oid}/?at={next(places)}"), "plain": lambda: get("/plain/chunks/100/")}
        seconds = in_turns(works, 10)
    return ratio(seconds["page"], seconds["plain"])


def flat(rest: str, is_first: bool, which: str, than: str, ground: Ground) -> Measured:
    """The same page of a larger conversation in units of that of a smaller one."""
    pages = {size: f"/conversations/{ground.sized[getattr(ground, size)]}/{rest}" for size in (which, than)}
    ground.use("sized")
    with client() as get:

        def view(address: str) -> None:
            if is_first:
                forget()
            get(address)

        seconds = in_turns({size: partial(view, address) for size, address in pages.items()}, ground.rounds)
    return ratio(seconds[which], seconds[than])


def prompt_page(ground: Ground) -> Measured:
    """The prompt next to its chunks, kept and with nothing in memory. What the very first view computes for it is information."""
    oid = ground.sized[ground.large]
    ground.use("sized")
    from django.test import RequestFactory

    from inspector.access.context import unlimited
    from inspector.models import Conversation
    from inspector.views import prompts

    row = Conversation.objects.select_related("source").get(oid=oid)
    begun = time.process_time()
    unlimited(prompts.keep_page)(RequestFactory().get("/"), row)
    seconds = time.process_time() - begun
    forget()
    measured = conversation_page("large", True, "prompt/?at=300", 100, ground)
    return replace(measured, information=f"{measured.information}; computed at the very first view in {seconds:.1f} s of CPU")


def first_preview(which: str, ground: Ground) -> Measured:
    """The first click on what a page suggests, after the import and with nothing in memory. What the import computed for it is information."""
    oid = ground.sized[getattr(ground, which)]
    ground.use("sized")
    from inspector.models import BackgroundTask

    with client() as get:
        assert "Propose this repair" in get(f"/conversations/{oid}/{_PREVIEW}"), "the page shows no preview"
    measured = flat(_PREVIEW, True, which, "small", ground)
    ahead = BackgroundTask.objects.filter(conversation__oid=oid, kind="preview").values_list("seconds", flat=True).first()
    text = "computed in the request" if ahead is None else f"computed at the import in {ahead:.1f} s of CPU"
    return replace(measured, information=f"{measured.information}; {text}")


def first_paint(ground: Ground) -> Measured:
    """In Chromium, of the page from the web server; the yardstick is the plain page from a file."""
    from inspector.access_token import link

    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise Skipped("playwright is not installed") from None
    if CHROMIUM is None:
        raise Skipped("no Chromium on this machine")
    oid, environ = ground.sized[ground.middle], ground.database("sized")
    ground.use("sized")
    file = ground.folder / "plain.html"
    with client() as get:
        file.write_text(get("/plain/chunks/100/"))
    process, url = serving(environ)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            )
            tab = browser.new_page()
            tab.goto(link(url))

            def painted(address: str) -> float:
                tab.goto(address, wait_until="load")
                # Asked again and again from here: the page's own policy lets no text be run in it.
                while (start := tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")) is None:
                    tab.wait_for_timeout(10)
                return float(start) / 1000

            seconds: dict[str, list[float]] = {"page": [], "plain": []}
            for _ in range(5):
                seconds["plain"].append(painted(file.as_uri()))
                seconds["page"].append(painted(f"{url}conversations/{oid}/"))
            browser.close()
    finally:
        stop(process)
    return ratio(seconds["page"], seconds["plain"])


def serving(environ: dict[str, str]) -> tuple["subprocess.Popen[str]", str]:
    """The web server, and its address."""
    process = subprocess.Popen(
        manage("serve", "--json", "--port", "0"), env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    return process, str(json.loads(process.stdout.readline())["url"])


# Memory


def memory_of_dispatch(of_all: bool, ground: Ground) -> Measured:
    ran, _ = ground.dispatch_import
    return Measured(ran.peak_of_all if of_all else ran.peak, 0, f"{ground.dispatch.stat().st_size / 1e6:,.0f} MB of dispatch.db")


def memory_of_session(of_all: bool, ground: Ground) -> Measured:
    path, ran = ground.session_import
    return Measured(ran.peak_of_all if of_all else ran.peak, 0, f"{path.stat().st_size / 1e6:,.0f} MB of one session, {ran.wall:.0f} s")


def memory_of_server(ground: Ground) -> Measured:
    """The most that the web process keeps after any page of the large conversation."""
    from urllib.request import Request, urlopen

    from inspector.access_token import bearer

    oid, environ = ground.sized[ground.large], ground.database("sized")
    process, url = serving(environ)
    after: dict[str, float] = {}
    try:
        about = f"conversations/{oid}"
        for address in (
            f"{about}/",
            f"{about}/?at=9000",
            f"{about}/?kind=text",
            f"{about}/?q=ledger",
            f"{about}/chunks/5000/",
            f"{about}/prompt/",
            f"{about}.json",
            f"{about}.md",
            f"{about}/trace/",
            f"{about}/repairs/new/{REPAIR}",
            f"explain/?target={oid}&error={quote(REJECTED)}",
            "whatif/",
        ):
            with urlopen(Request(f"{url}{address}", headers=bearer()), timeout=300) as answer:
                answer.read()
            after[address] = resident(process.pid)
        below_it = sum(resident(pid) for pid in below(process.pid))
    finally:
        stop(process)
    worst = max(after, key=lambda address: after[address])
    return Measured(
        after[worst], 0, f"most after {worst}, at first {next(iter(after.values())):,.0f} MB; processes below it {below_it:,.0f} MB"
    )


# Without the database of the program


def start_of_commands(ground: Ground) -> Measured:
    small = ground.folder / "small.db"
    if not small.exists():
        write_dispatch_store(small, inputs.rows(1, 20))
    return start.measured(small, max(ground.rounds, 3))


def growth_of_bodies(ground: Ground) -> Measured:
    return bodies.measured(ground.rounds, (250, 500) if ground.quick else bodies.MESSAGES)


def long_stream(ground: Ground) -> Measured:
    return streams.measured(ground.folder, ground.rounds, ground.scaled(streams.SIZE))


REJECTED = "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01ABC"
PLAIN_LIST, PLAIN_CHUNKS = "plain page, 50 rows", "plain page, 100 rows"
_PREVIEW = f"repairs/new/{REPAIR}"
ROWS = (
    Row(name="import-sessions", work="import 100,000 chunks, 102 sessions", yardstick="parse and insert (rate)", goal=0.35, is_least=True, measure=partial(import_of_sessions, "fleet")),
    Row(name="import-claude-code", work="the same, of Claude Code, a chunk a line", yardstick="parse and insert (rate)", goal=0.35, is_least=True, measure=partial(import_of_sessions, "claude_fleet")),
    Row(name="import-dispatch", work="import 1,000,000 chunks, dispatch.db", yardstick="parse and insert (rate)", goal=0.5, is_least=True, measure=import_of_dispatch),
    Row(name="import-unchanged", work="import 102 files again, above a start", yardstick="start of a command", goal=0.3 / START, milliseconds=300, measure=unchanged_import),
    Row(name="import-grown", work="10,000 chunks grown by 10: database", yardstick="bytes of the new lines", goal=8, measure=grown_bytes),
    Row(name="scan-progress", work="scan 500 files: first progress, above a start", yardstick="start of a command", goal=1 / START, milliseconds=1000, measure=scan_progress),
    Row(name="scan-again", work="scan 500 files that are as they were", yardstick="start of a command", goal=2, measure=scan_again),
    Row(name="search-complete", work="words found in a session, early to late", yardstick="all of them", goal=1, is_least=True, measure=found_of_needles),
    Row(name="inbox", work="inbox, 92,000 findings", yardstick=PLAIN_LIST, goal=20 / PAGE_OF_LIST, milliseconds=20, measure=partial(page_of_list, "/")),
    Row(name="list", work="list of 10,000 conversations", yardstick=PLAIN_LIST, goal=15 / PAGE_OF_LIST, milliseconds=15, measure=partial(page_of_list, "/conversations/")),
    Row(name="list-deep", work="the same, page 150", yardstick=PLAIN_LIST, goal=15 / PAGE_OF_LIST, milliseconds=15, measure=partial(page_of_list, "/conversations/?page=150")),
    Row(name="search", work="search in 1,000,000 chunks", yardstick=PLAIN_LIST, goal=100 / PAGE_OF_LIST, milliseconds=100, measure=search),
    Row(name="page-first-10k", work="conversation, 10,000 chunks, first view", yardstick=PLAIN_CHUNKS, goal=50 / PAGE_OF_CHUNKS, milliseconds=50, measure=partial(conversation_page, "middle", True, "?at=300", 100)),
    Row(name="page-first-100k", work="conversation, 100,000 chunks, first view", yardstick=PLAIN_CHUNKS, goal=50 / PAGE_OF_CHUNKS, milliseconds=50, measure=partial(conversation_page, "large", True, "?at=300", 100)),
    Row(name="page-later-10k", work="the same, 10,000, later views", yardstick=PLAIN_CHUNKS, goal=10 / PAGE_OF_CHUNKS, milliseconds=10, measure=partial(conversation_page, "middle", False, "?at=300", 100)),
    Row(name="page-later-100k", work="the same, 100,000, later views", yardstick=PLAIN_CHUNKS, goal=10 / PAGE_OF_CHUNKS, milliseconds=10, measure=partial(conversation_page, "large", False, "?at=300", 100)),
    Row(name="page-window", work="another window of 100,000 chunks", yardstick=PLAIN_CHUNKS, goal=50 / PAGE_OF_CHUNKS, milliseconds=50, measure=other_window),
    Row(name="page-flat", work="the same, 100,000, first view", yardstick="the same, 10,000", goal=1.2, measure=partial(flat, "?at=300", True, "large", "middle")),
    Row(name="permalink", work="link to a chunk of 100,000, first view", yardstick=PLAIN_CHUNKS, goal=3 / PAGE_OF_CHUNKS, milliseconds=3, measure=partial(conversation_page, "large", True, "chunks/300/", 100)),
    Row(name="finding-100k", work="finding in 100,000 chunks, first view", yardstick=PLAIN_CHUNKS, goal=50 / PAGE_OF_CHUNKS, milliseconds=50, measure=finding_page),
    Row(name="prompt-100k", work="prompt of 100,000 chunks, kept, next to them", yardstick=PLAIN_CHUNKS, goal=50 / PAGE_OF_CHUNKS, milliseconds=50, measure=prompt_page),
    Row(name="preview-10k", work="first preview of one repair in 10,000 chunks", yardstick="the same in 1,000", goal=1.5, measure=partial(first_preview, "middle")),
    Row(name="preview-100k", work="first preview of one repair in 100,000 chunks", yardstick="the same in 1,000", goal=1.5, measure=partial(first_preview, "large")),
    Row(name="paint", work="first paint, 10,000 chunks", yardstick="plain page, 100 rows", goal=0.3 / PAINT, milliseconds=300, measure=first_paint, on_server=False),
    Row(name="memory-dispatch", work="MB, import of dispatch.db, own process", yardstick="MB", goal=300, measure=partial(memory_of_dispatch, False)),
    Row(name="memory-dispatch-all", work="MB, the same with its workers", yardstick="MB", goal=600, measure=partial(memory_of_dispatch, True)),
    Row(name="memory-session", work="MB, import of a session of 200 MB", yardstick="MB", goal=300, measure=partial(memory_of_session, False)),
    Row(name="memory-session-all", work="MB, the same with its workers", yardstick="MB", goal=600, measure=partial(memory_of_session, True)),
    Row(name="memory-server", work="MB, web process, every page of 100,000 chunks", yardstick="MB", goal=200, measure=memory_of_server),
    Row(name="start", work="start of a command", yardstick="django.setup(), its own", goal=start.LIMIT_RATIO, measure=start_of_commands, on_server=False),
    Row(name="bodies", work="5,000 messages of a request, each", yardstick="1,250 messages, each", goal=bodies.LIMIT_GROWTH, measure=growth_of_bodies, on_server=False),
    Row(name="stream", work="50 MB of a captured stream", yardstick="json.loads of its events", goal=streams.LIMIT_RATIO, measure=long_stream, on_server=False),
)  # fmt: skip
