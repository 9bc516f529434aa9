"""The real judges: third-party validators that install.sh puts into a folder, `var/judges` or what INSPECTOR_JUDGES names.

`python -m tests.judges.running` asks all of them and writes verdicts.json anew.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("INSPECTOR_JUDGES") or HERE.parent.parent / "var" / "judges").absolute()
VERDICTS = HERE / "verdicts.json"
_TEMPLATE = "mistralai-Ministral-3-14B-Reasoning-2512.jinja"


@dataclass(frozen=True)
class Judge:
    """`name` is that of our profile; `needs` are files below FOLDER; `command` is run in `folder` with the requests on stdin."""

    name: str
    needs: tuple[str, ...]
    command: tuple[str, ...]
    folder: str = "."

    def missing(self) -> str:
        absent = [need for need in self.needs if not (FOLDER / need).exists()]
        return f"{FOLDER / absent[0]} is not there: `make judges` installs it" if absent else ""

    def ask(self, requests: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """{"version": its name and version, "verdicts": {history: {"ok", "error"}}}."""
        told = subprocess.run(
            self.command, cwd=FOLDER / self.folder, input=json.dumps(requests), capture_output=True, text=True, timeout=120, check=False
        )
        assert told.returncode == 0, told.stderr
        answer: dict[str, Any] = json.loads(told.stdout)
        return answer


def _ai(version: str) -> Judge:
    script = (HERE / "run_ai.mjs").read_text("utf-8")
    return Judge(
        f"ai-sdk-{version}",
        (f"ai-{version}/node_modules/ai/package.json",),
        ("node", "--input-type=module", "--eval", script),
        f"ai-{version}",
    )


def _mistral(name: str, version: str, tokenizer: str) -> Judge:
    python = f"mistral-common-{version}/bin/python"
    return Judge(name, (python,), (str(FOLDER / python), str(HERE / "run_mistral.py"), tokenizer))


def _template() -> Judge:
    python = "mistral-common-1.13.1/bin/python"
    return Judge(
        "alternating-template",
        (python, _TEMPLATE),
        (str(FOLDER / python), str(HERE / "run_template.py"), str(FOLDER / _TEMPLATE)),
    )


JUDGES = (
    _ai("6"),
    _ai("7"),
    _mistral("mistral-strict", "1.11.0", "v11"),
    _mistral("mistral", "1.13.1", "v13"),
    _template(),
)


def write_verdicts() -> None:
    from tests.judges.reading import HISTORIES, requests

    answers = {judge.name: judge.ask(requests(judge.name)) for judge in JUDGES}
    histories = {name: {judge: answer["verdicts"][name] for judge, answer in answers.items()} for name in HISTORIES}
    told = {"versions": {judge: answer["version"] for judge, answer in answers.items()}, "histories": histories}
    VERDICTS.write_text(json.dumps(told, indent=1, ensure_ascii=True) + "\n", "utf-8")


if __name__ == "__main__":
    absent = [reason for judge in JUDGES if (reason := judge.missing())]
    if absent:
        sys.exit("\n".join(absent))
    write_verdicts()
