"""What is tried against Inspector and what held: `python -m tests.reliability`, or `make reliability`; exit status 1 where something did not hold.

Each row names a kind of attack or fault, what is promised, and the tests that try it. `--write` puts the table into docs/explanation/reliability.md.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
BEGIN, END = "<!-- make reliability -->", "<!-- end -->"
TRIES = "tries"
"""The property with which one test says that it tried a number of faults or requests."""

ROWS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Other users of the machine, and visitors without an account", "see no page", ("tests/shell/test_access_token.py",)),
    (
        "Odd requests, half-open and slow clients",
        "get a plain answer, and keep nobody waiting",
        ("tests/shell/test_odd_requests.py", "tests/shell/test_serve.py", "tests/postgres/test_pool.py"),
    ),
    (
        "Foreign hosts, forms of other sites, unsafe settings",
        "are refused or reported",
        ("tests/shell/test_middleware.py", "tests/shell/test_deployment.py", "tests/shell/test_checks.py"),
    ),
    (
        "Scripts, markup and control characters in conversations",
        "are shown and never run",
        (
            *("tests/views/*::test*hostile*", "tests/browser/*::test*hostile*", "tests/presentation/test_markdown.py"),
            "tests/programs/*test_hostile*.py",
        ),
    ),
    (
        "Secrets in conversations",
        "are masked wherever nobody asked for them",
        ("tests/presentation/test_mask*.py", "tests/views/test_masked.py"),
    ),
    (
        "Lines of the audit log that are changed, cut off or put back",
        "are named",
        ("tests/actions/test_audit.py", "tests/views/test_audit.py"),
    ),
    (
        "Own data, retention and what browsers keep",
        "are closed to others, purged with a tombstone, not stored",
        ("tests/actions/test_purge.py", "tests/views/test_cache_headers.py", "tests/shell/test_environment.py"),
    ),
    (
        "Kills, half-done writes, full and failing disks during a write",
        "lose no byte, and are explained afterwards",
        (
            *("tests/faults/test_faults.py", "tests/actions/test_repair_crash.py", "tests/actions/test_hot_journal.py"),
            "tests/actions/test_interrupted_append.py",
        ),
    ),
    (
        "Programs that write, hold locks or have files open",
        "lose nothing",
        (
            *("tests/actions/test_live_writer.py", "tests/sources/test_open_files.py", "tests/sources/test_shared_files.py"),
            *("tests/sources/test_lock_files.py", "tests/sources/test_appending.py", "tests/actions/test_agents_at_work.py"),
        ),
    ),
    (
        "Two people, two processes, two repairs at once",
        "one wins, and the other is told which",
        ("tests/actions/test_at_once.py", "tests/actions/test_two_repairs.py", "tests/actions/test_gbrain_at_once.py"),
    ),
    (
        "Readers while imports, repairs and undos run",
        "see one state, and no error",
        ("tests/views/test_one_snapshot.py", "tests/browser/test_readers.py"),
    ),
    (
        "Values, files and pages of any size",
        "stay within the stated limits",
        ("tests/sources/test_large_values.py", "tests/actions/test_big_value.py", "tests/shell/test_large_pages.py"),
    ),
    ("Any bytes", "are read or refused in a sentence", ("tests/fuzz/test_targets.py",)),
    (
        "Strangers on the network: every address, odd methods, hosts, headers and ways to write an address",
        "are sent to sign in or refused; nothing shows, nothing changes",
        ("tests/access/test_from_the_network.py",),
    ),
    (
        "Guessed passwords, forged answers of a provider, stolen and ended tokens, headers of a proxy that is none",
        "sign nobody in, and open no more than was given",
        (
            *("tests/sign_in/test_throttle.py", "tests/sign_in/test_provider.py", "tests/sign_in/test_tokens.py"),
            *("tests/sign_in/test_proxy_header.py", "tests/sign_in/test_sessions.py", "tests/sign_in/test_settings.py"),
        ),
    ),
    (
        "A stolen, expired, revoked or guessed share link",
        "shows one thing, masked and read-only, until it ends",
        ("tests/access/test_share_links.py",),
    ),
    (
        "People with a role: viewers, approvers of one source, roles that are taken away meanwhile",
        "see and do what the role says; of another source there is no trace, in no cache either",
        (
            *("tests/access/test_attacks.py", "tests/access/test_nothing_leaks.py", "tests/access/test_matrix.py"),
            "tests/access/test_limits.py",
        ),
    ),
    (
        "Receivers of notifications that are inside, lie, hang, fail or repeat secrets; servers that are killed while they send",
        "get nothing unmasked; each message comes once, or again with its key",
        (
            *("tests/notifying/test_posting.py", "tests/actions/test_notifications.py", "tests/shell/test_delivering.py"),
            "tests/postgres/test_delivering.py",
        ),
    ),
    ("Exchanged packages", "are not installed", ("tests/shell/test_packages.py",)),
    ("Twelve failures of repair tools that users reported", "do not happen here", ("tests/actions/test_field_failures.py",)),
)
"""(attacks or faults, what is promised, patterns of files or of `file::test`)."""


@dataclass
class Tally:
    """Counts tests for each row, by its number, and what those that say so tried; a plugin of pytest. `skipped`: not tried on this machine."""

    tried: Counter[int] = field(default_factory=Counter)
    held: Counter[int] = field(default_factory=Counter)
    skipped: Counter[int] = field(default_factory=Counter)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test counts once: by its call, or by its set-up or end where that failed or was skipped.
        if report.when != "call" and report.passed:
            return
        tries = sum(int(str(number)) for name, number in report.user_properties if name == TRIES) or 1
        for row in rows_of(report.nodeid):
            if report.skipped:
                self.skipped[row] += 1
                continue
            self.tried[row] += tries
            self.held[row] += tries if report.passed else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A hook of every process of the run, which loads this module as a plugin."""
    items[:] = [item for item in items if rows_of(item.nodeid)]


def rows_of(nodeid: str) -> list[int]:
    path = nodeid.partition("::")[0]
    return [
        number
        for number, (_, _, patterns) in enumerate(ROWS)
        if any(fnmatchcase(nodeid.partition("[")[0] if "::" in pattern else path, pattern) for pattern in patterns)
    ]


def files() -> list[str]:
    """Every file of the tests that a row names, each once."""
    paths = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))
    wanted = [pattern.partition("::")[0] for _, _, patterns in ROWS for pattern in patterns]
    return [path for path in paths if any(fnmatchcase(path, pattern) for pattern in wanted)]


def table(tally: Tally) -> str:
    """Markdown: a row for each kind, and all of them."""
    heads = ["Attack or fault", "Promise", "Tried", "Held", "Not tried here"]
    rows = [
        [kind, promise, *(f"{count[number]:,}" for count in (tally.tried, tally.held, tally.skipped))]
        for number, (kind, promise, _) in enumerate(ROWS)
    ]
    rows.append(["All", "", *(f"{count.total():,}" for count in (tally.tried, tally.held, tally.skipped))])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, ["---", "---", "---:", "---:", "---:"], *rows))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make reliability", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--only", metavar="TEXT", default="", help="files whose path contains this")
    options, more = parser.parse_known_args(arguments)
    tally = Tally()
    chosen = [path for path in files() if options.only in path]
    status = pytest.main(
        ["-p", "tests.reliability", "-p", "no:cacheprovider", "-n", "auto", "--dist", "loadfile", *more, *chosen], plugins=[tally]
    )
    text = table(tally)
    sys.stdout.write(f"\n{text}")
    if options.write:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.partition(END)[2]}")
    return int(bool(status))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
