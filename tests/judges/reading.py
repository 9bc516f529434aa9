"""The histories that judges are asked about: blocks of our notation in files, and what is sent of them."""

import re
from pathlib import Path
from typing import Any

from inspector.conversation import notation, queries
from inspector.profiles.base import Judgement
from inspector.profiles.catalogue import profile
from inspector.projections.base import Prompt
from inspector.projections.catalogue import projection

FOLDER = Path(__file__).parent / "histories"
_HEAD = re.compile(r"^== ([a-z0-9-]+): .+$", re.MULTILINE)


def read() -> dict[str, str]:
    """Name -> text in the notation. Names are told apart over all files."""
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.txt")):
        _, *blocks = _HEAD.split(path.read_text("utf-8"))
        for name, text in zip(blocks[::2], blocks[1::2], strict=True):
            assert name not in found, f"two histories are called {name}"
            found[name] = text
    return found


HISTORIES = read()


def prompt(name: str, profile_name: str) -> Prompt:
    """The request that is made of the history in the profile's wire shape: judged by us and by the real judge alike."""
    conversation, _ = notation.load(HISTORIES[name], name)
    judge = profile(profile_name)
    return projection(judge.projection or judge.wire).project(queries.true_messages(conversation.chunks))


def verdict(name: str, profile_name: str) -> Judgement:
    return profile(profile_name).judge(prompt(name, profile_name))


def requests(profile_name: str) -> dict[str, dict[str, Any]]:
    """Name -> what is sent, for a runner: the list, and a system prompt outside of it where the shape has one."""
    made = {name: prompt(name, profile_name) for name in HISTORIES}
    return {name: {"messages": each.values, "system": each.system} for name, each in made.items()}
