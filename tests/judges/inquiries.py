"""Who is asked what, and the file that keeps what they said. `python -m tests.judges.inquiries` asks all of them and writes the files again."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.judges import bodies, gbrain, packages, reading
from tests.judges.running import HERE, JUDGES, OLDEST, PACKAGES, VERDICTS, Judge

Requests = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Inquiry:
    """`requests` of a profile's name: question -> what the judge is given. The file holds {"versions", "histories": {question: {judge: verdict}}}."""

    name: str
    file: Path
    judges: tuple[Judge, ...]
    requests: Callable[[str], Requests]

    @cached_property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text("utf-8"))
        return found

    def write(self) -> None:
        answers = {judge.name: judge.ask(self.requests(judge.profile)) for judge in self.judges}
        # What only some were asked is no question to the others.
        questions = dict.fromkeys(question for answer in answers.values() for question in answer["verdicts"])
        histories = {
            question: {judge: answer["verdicts"][question] for judge, answer in answers.items() if question in answer["verdicts"]}
            for question in questions
        }
        told = {"versions": {judge: answer["version"] for judge, answer in answers.items()}, "histories": histories}
        self.file.write_text(json.dumps(told, indent=1, ensure_ascii=True) + "\n", "utf-8")


_AI = JUDGES[:2]
_MISTRAL = tuple(judge for judge in JUDGES if judge.name == "mistral")

HISTORIES = Inquiry("histories", VERDICTS, JUDGES, reading.requests)
GBRAIN = Inquiry("gbrain", HERE / "gbrain_verdicts.json", (*_AI, OLDEST, *_MISTRAL), gbrain.requests)
BODIES = Inquiry("bodies", HERE / "ai_sdk_verdicts.json", (*_AI, OLDEST), bodies.requests)
SENT = Inquiry("sent", HERE / "ai_sdk_sent.json", PACKAGES, packages.requests)
INQUIRIES = (HISTORIES, GBRAIN, BODIES, SENT)


if __name__ == "__main__":
    absent = [reason for inquiry in INQUIRIES for judge in inquiry.judges if (reason := judge.missing())]
    if absent:
        sys.exit("\n".join(absent))
    for inquiry in INQUIRIES:
        inquiry.write()
