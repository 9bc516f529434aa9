"""Records what Inspector answers about stores, and compares two records: a move or a rename must change no answer.

    .venv/bin/python tools/answers.py record before.jsonl FOLDER...
    .venv/bin/python tools/answers.py compare before.jsonl after.jsonl [--renamed OLD=NEW ...]

Of the demo and of every file in the folders: `scan --json`, `show --json` of each conversation, and `repair --plan --json` for every
suggested strategy. A line is {"command", "status", "answer", "error"}; what differs at every run (ids that a plan draws, times of the plan) is left out.
"""

import argparse
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEMO = Path("/tmp/inspector-answers")
TIME = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d[.\d-]*Z?")
EPOCH = re.compile(r"\b1\d{12}\b")
DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
SHOWN = 40


def record(output: Path, folders: list[Path]) -> None:
    own = DEMO / "inspector.sqlite3"
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir()
    os.environ["INSPECTOR_DATABASE_URL"] = f"sqlite:///{own}"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "inspector.settings")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import django

    django.setup()
    ask("migrate", "--verbosity", "0")
    ask("demo", "--folder", str(DEMO / "demo"))
    targets = sorted((DEMO / "demo").iterdir())
    for folder in folders:
        targets += sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
    with output.open("w") as lines:
        for target in targets:
            for answer in answers(str(target)):
                lines.write(settled(json.dumps(answer, sort_keys=True)) + "\n")


def answers(target: str) -> Iterator[dict[str, Any]]:
    scanned = ask("scan", target, "--json", "--no-cache")
    yield scanned
    report = scanned["answer"]
    for conversation in report.get("conversations", ()) if isinstance(report, dict) else ():
        name = conversation["native_id"]
        yield ask("show", target, "--conversation", name, "--json")
        for strategy in sorted({strategy for finding in conversation["findings"] for strategy in finding.get("repaired_by", ())}):
            yield ask("repair", target, "--conversation", name, "--strategy", strategy, "--plan", "--json")


def ask(*arguments: str) -> dict[str, Any]:
    from django.core.management import CommandError, call_command

    out, err, status = io.StringIO(), io.StringIO(), 0
    try:
        call_command(*arguments, stdout=out, stderr=err)
    except CommandError as error:
        status = 2
        err.write(str(error))
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    text = out.getvalue()
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text
    return {"command": list(arguments), "status": status, "answer": answer, "error": err.getvalue()}


def settled(line: str) -> str:
    return DIGEST.sub("DIGEST", EPOCH.sub("0", TIME.sub("TIME", line)))


def compare(before: Path, after: Path, renamed: list[str]) -> int:
    """Prints where two records differ, and returns in how many lines."""
    words = [pair.partition("=")[::2] for pair in renamed]
    old, new = ({json.dumps(line["command"]): line for line in map(json.loads, path.read_text().splitlines())} for path in (before, after))
    different = 0
    for command in [*old, *(command for command in new if command not in old)]:
        was, now = json.dumps(old.get(command), sort_keys=True), json.dumps(new.get(command), sort_keys=True)
        for word, replacement in words:
            was = was.replace(word, replacement)
        if was == now:
            continue
        different += 1
        if different <= SHOWN:
            print(command)
            for place, first, second in differences(json.loads(was), json.loads(now)):
                print(f"    {place}\n      - {first}\n      + {second}")
    print(f"{len(old):,} answers before, {len(new):,} after, {different:,} differ")
    return different


def differences(was: Any, now: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys()):
            if was.get(key) != now.get(key):
                yield from differences(was.get(key), now.get(key), f"{place}.{key}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for position, (first, second) in enumerate(zip(was, now, strict=True)):
            if first != second:
                yield from differences(first, second, f"{place}[{position}]")
    else:
        yield place, json.dumps(was)[:300], json.dumps(now)[:300]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("output", type=Path)
    recording.add_argument("folders", type=Path, nargs="*")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--renamed", nargs="*", default=[], metavar="OLD=NEW")
    chosen = parser.parse_args()
    if chosen.command == "record":
        record(chosen.output, chosen.folders)
        return 0
    return 1 if compare(chosen.before, chosen.after, chosen.renamed) else 0


if __name__ == "__main__":
    sys.exit(main())
