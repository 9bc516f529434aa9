"""Of our own labelled texts nearly all secrets are masked, in every container, and of ordinary lines nearly none changes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.presentation.masking import masked

FOLDER = Path(__file__).parent / "secrets"
_SECRET = re.compile("«(.*?)»")
KINDS, SAMPLES, ORDINARY = 47, 376, 1000


def samples() -> Iterator[tuple[str, str, list[str]]]:
    """(kind, text, its secrets)"""
    kind = ""
    for line in (FOLDER / "samples.txt").read_text().splitlines()[1:]:
        if line.startswith("## "):
            kind = line[3:]
        elif line:
            text = (
                line.replace("\\n", "\n")
                .replace("\\r", "\r")
                .replace("\\t", "\t")
                .replace("\\x00", "\0")
                .replace("\\\\", "\\")
                .replace("·", "")
            )
            yield kind, _SECRET.sub(r"\1", text), _SECRET.findall(text)


CONTAINERS = {
    "as it is": lambda text: text,
    "in a line": lambda text: f"before\nand then {text}\nafter",
    "in JSON": lambda text: json.dumps({"role": "user", "content": [{"type": "text", "text": text}]}),
    "in JSON twice": lambda text: json.dumps({"input": json.dumps({"command": text, "timeout": 10})}),
    "in JSON three times": lambda text: json.dumps([json.dumps({"arguments": json.dumps({"file": text})})]),
}


def leaks(text: str, secrets: list[str]) -> list[str]:
    """The secrets of which a part is in `text` that a person could use."""
    return [secret for secret in secrets if secret in text or (len(secret) > 16 and (secret[:12] in text or secret[-12:] in text))]


@pytest.mark.parametrize("container", CONTAINERS)
def test_nearly_all_secrets_are_masked(container: str) -> None:
    rows = list(samples())
    assert (len({kind for kind, *_ in rows}), len(rows)) == (KINDS, SAMPLES)
    missed = [(kind, text) for kind, text, secrets in rows if leaks(masked(CONTAINERS[container](text)), secrets)]
    assert len(missed) <= SAMPLES * 0.05, "\n".join(f"{kind}: {text}" for kind, text in missed)


def test_json_stays_json_and_what_is_around_stays() -> None:
    for _, text, _ in samples():
        for container in ("in JSON", "in JSON twice", "in JSON three times"):
            result = masked(CONTAINERS[container](text))
            assert json.loads(result).__class__ is json.loads(CONTAINERS[container](text)).__class__, text
            if container == "in JSON twice":
                assert json.loads(json.loads(result)["input"])["timeout"] == 10


def test_ordinary_lines_stay_as_they_are() -> None:
    lines = (FOLDER / "ordinary.txt").read_text().splitlines()
    assert len(lines) == ORDINARY
    changed = [masked(line) for line in lines if masked(line) != line]
    assert len(changed) <= ORDINARY * 0.01, "\n".join(changed)
