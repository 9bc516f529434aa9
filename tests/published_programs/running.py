"""The published programs, which install.sh puts into a folder, `var/programs` or what INSPECTOR_PROGRAMS names; and what they read, kept in goldens.json.

`python -m tests.published_programs.running` runs all of them over the files of sessions/ and writes goldens.json again.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspector.programs.formats import Format
from inspector.programs.pi_openclaw.openclaw import OPENCLAW
from inspector.programs.pi_openclaw.pi import PI
from tests.published_programs.sessions import ONLY_PI, kept

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("INSPECTOR_PROGRAMS") or HERE.parent.parent / "var" / "programs").absolute()
GOLDENS = HERE / "goldens.json"
# All files take two seconds; a cycle takes permanently, or until the memory is full.
SECONDS = 20
MEGABYTES = 512
STOPPED = {"stops": "killed: no answer in time, or out of memory"}


@dataclass(frozen=True)
class Program:
    """`reader` is ours that stands for it; `packages` are folders below FOLDER, given to the script in this order."""

    name: str
    reader: str
    form: Format
    script: str
    packages: tuple[str, ...]

    def missing(self) -> str:
        if not shutil.which("node"):
            return "there is no node here: install node 20"
        absent = [each for each in self.packages if not (FOLDER / each / "package.json").exists()]
        return f"{FOLDER / absent[0]} is not there: `make programs` installs it" if absent else ""

    def reads(self, name: str) -> bool:
        return not name.startswith(ONLY_PI) or (self.form is PI and self.reader != "pi-1.5")

    def ask(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """{"version": names and versions, "files": {file: {"path", "context", "sent"} or {"stops"}}}. A file that stops the program costs a new start."""
        version, read, waiting = "", {}, dict(files)
        while waiting:
            (head, *answers), changed = self._run(waiting)
            version = head["version"]
            for name, answer in zip(list(waiting), answers, strict=False):
                read[name] = {**answer, "rewritten": True} if name in changed else answer
                del waiting[name]
            if waiting:
                stopped = next(iter(waiting))
                read[stopped] = STOPPED
                del waiting[stopped]
        return {"version": version, "files": read}

    def _run(self, files: Mapping[str, bytes]) -> tuple[list[dict[str, Any]], set[str]]:
        """One line of JSON per file that it got through, after the one with its version; and the files that it wrote to."""
        with tempfile.TemporaryDirectory(prefix="programs-") as home:
            copies = {name: Path(home, f"{number}.jsonl") for number, name in enumerate(files)}
            for name, copy in copies.items():
                copy.write_bytes(files[name])
            packages = [str(FOLDER / each) for each in self.packages]
            script = ["node", f"--max-old-space-size={MEGABYTES}", str(HERE / self.script), *packages, *map(str, copies.values())]
            # Neither the person's settings nor their sessions are theirs to see.
            surroundings = {"PATH": os.environ.get("PATH", ""), "HOME": home}
            try:
                run = subprocess.run(script, cwd=home, env=surroundings, capture_output=True, timeout=SECONDS, check=False)
                out, why = run.stdout, run.stderr
            except subprocess.TimeoutExpired as late:
                out, why = late.stdout or b"", late.stderr or b""
            answers = [json.loads(line) for line in out.splitlines()]
            assert answers, why.decode(errors="replace")
            return answers, {name for name, copy in copies.items() if copy.read_bytes() != files[name]}


def _pi(version: str, reader: str, scope: str) -> Program:
    modules = f"pi-{version}/node_modules/{scope}"
    return Program(f"pi-{version}", reader, PI, "run_pi.mjs", (f"{modules}/pi-coding-agent", f"{modules}/pi-ai"))


PROGRAMS = (
    _pi("0.73.1", "pi-0.69", "@mariozechner"),
    _pi("0.87.1", "pi-0.87", "@earendil-works"),
    # Its coding agent cannot be installed: the repair of 1.5.2 gets what the session reader of 0.87.1 reads.
    Program(
        *("pi-ai-1.5.2", "pi-1.5", PI, "run_pi.mjs"),
        ("pi-0.87.1/node_modules/@earendil-works/pi-coding-agent", "pi-ai-1.5.2/package"),
    ),
    Program("openclaw-2026.9.6", "openclaw-2026.9", OPENCLAW, "run_openclaw.mjs", ("openclaw-2026.9.6/node_modules/openclaw",)),
)


def goldens() -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Versions by program; then what was read, by file and program."""
    told = json.loads(GOLDENS.read_text("utf-8"))
    return told["versions"], {name: {by: each["reads"] for each in groups for by in each["by"]} for name, groups in told["files"].items()}


def write_goldens() -> None:
    answers = {program.name: program.ask({name: data for name, data in kept().items() if program.reads(name)}) for program in PROGRAMS}
    versions = {name: answer["version"] for name, answer in answers.items()}
    files = {
        file: _grouped({name: answer["files"][file] for name, answer in answers.items() if file in answer["files"]}) for file in kept()
    }
    GOLDENS.write_text(json.dumps({"versions": versions, "files": files}, indent=1, ensure_ascii=True) + "\n", "utf-8")


def _grouped(answers: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Programs that read the same are told together."""
    groups: list[dict[str, Any]] = []
    for name, reads in answers.items():
        same = next((group for group in groups if group["reads"] == reads), None)
        if same:
            same["by"].append(name)
        else:
            groups.append({"by": [name], "reads": reads})
    return groups


if __name__ == "__main__":
    absent = [reason for program in PROGRAMS if (reason := program.missing())]
    if absent:
        sys.exit("\n".join(absent))
    write_goldens()
