"""The real judges: third-party validators that install.sh puts into a folder, `var/judges` or what INSPECTOR_JUDGES names.

What they are asked stands in inquiries.py.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = Path(os.environ.get("INSPECTOR_JUDGES") or HERE.parent.parent / "var" / "judges").absolute()
VERDICTS = HERE / "verdicts.json"
_TEMPLATE = "mistralai-Ministral-3-14B-Reasoning-2512.jinja"


@dataclass(frozen=True)
class Judge:
    """`name` is that of our profile, or begins with it; `needs` are files below FOLDER; `command` is run in `folder` with the requests on stdin."""

    name: str
    needs: tuple[str, ...]
    command: tuple[str, ...]
    folder: str = "."

    @property
    def profile(self) -> str:
        return self.name.partition(".")[0]

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


def _package(wire: str, name: str) -> Judge:
    script = (HERE / "run_ai_packages.mjs").read_text("utf-8")
    folder = "ai-packages"
    return Judge(
        wire,
        (f"{folder}/node_modules/ai/package.json", f"{folder}/node_modules/@ai-sdk/{name}/package.json"),
        ("node", "--input-type=module", "--eval", script, wire),
        folder,
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
PACKAGES = (
    _package("anthropic", "anthropic"),
    _package("openai-chat", "openai"),
    _package("openai-responses", "openai"),
    _package("gemini", "google"),
)
"""The AI SDK's own converters to providers: they judge nothing, and show what is sent."""
OLDEST = _ai("6.0.168")
"""The oldest version of the AI SDK that gbrain installs."""
