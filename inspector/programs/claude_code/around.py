"""What other files of a project say of a session: outcomes of calls that have no result in it, and agents that it names and whose files are not there.

A result that is too large for the conversation is a file, `tool-results/CALL.txt` or `.json` (its content blocks), and the model gets a notice with its
beginning. An agent writes a file of its own, `subagents/agent-ID.jsonl`; `agent-ID.meta.json` names the call that started it (`toolUseId`), versions
without it keep the prompt of the call as the first message. Seen in public sessions of 2.1.6 to 2.1.240 (`formats/claude_code_codex.md` 1.1). Files with
other names in `tool-results` (`bq1x2y3z4.txt`) name no call, and the debug logs that were seen
(`~/.claude/debug`) hold events and errors, no results.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.conversation.model import Fact
from inspector.programs.claude_code.lines import ASSISTANT, SPOKEN
from inspector.programs.formats import Neighbors, Record
from inspector.text import jsontext
from inspector.text.jsontext import object_of

MISSING_AGENTS, OUTCOMES = "missingAgents", "outcomesInFiles"
"""Facts: ids of agents that a session names and that are not there; and outcomes of its calls, as `encoded` writes them."""
AGENT_FILE = re.compile(r"(?:^|/)agent-(?P<id>[^/]+)\.jsonl$")
AGENT = re.compile(r"(?:^|/)(?P<session>[^/]+)/subagents/agent-[^/]+\.jsonl$")
RESULTS = "tool-results"
NOTICE = "<persisted-output>"
"""How the program's notice of an output begins that it put into a file."""
_META = ".meta.json"
_ANSWERED = re.compile(rb'"tool_use_id"\s*:\s*"([^"\\]+)"')
_PLACEHOLDERS = (b"[Tool result missing", b"The tool call was interrupted before")
"""How results begin that are none."""
_STARTS_AGENTS = (b'"Task"', b'"Agent"')
_PREVIEW = 2000
_LONGEST = 200_000
"""Characters of what an agent said that are kept: a result of that size is a file as a rule."""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What came of the call `call_id`, by the file `key` at `place`. `is_ended`: the file says that the outcome is whole."""

    call_id: str
    key: str
    place: str
    text: str
    is_ended: bool = True


def outcomes_in(fact: str | None) -> tuple[FileOutcome, ...]:
    return tuple(FileOutcome(*values) for values in jsontext.parse(fact)) if fact else ()


def folder_of(key: str) -> str:
    """The folder of a session, which its agents share."""
    agent = AGENT.search(key)
    return key[: agent.end("session")] if agent else key.removesuffix(".jsonl")


def project_of(key: str) -> str:
    return folder_of(key).rpartition("/")[0]


def facts_around(record: Record, neighbors: Neighbors) -> dict[str, Fact]:
    folder, data = folder_of(record.key), record.value.data
    facts: dict[str, Fact] = {}
    below = neighbors.below(folder)
    if not AGENT_FILE.search(record.key) and (missing := list(_missing(data, project_of(record.key), below, neighbors))):
        facts[MISSING_AGENTS] = Fact(MISSING_AGENTS, ", ".join(missing), folder)
    outcomes = [*_spilled(data, below, neighbors), *_of_agents(record, below, neighbors)]
    if outcomes:
        values = [[one.call_id, one.key, one.place, one.text, one.is_ended] for one in outcomes]
        facts[OUTCOMES] = Fact(OUTCOMES, jsontext.compact(values), folder)
    return facts


def _missing(data: bytes, project: str, below: Sequence[str], neighbors: Neighbors) -> Iterator[str]:
    """Ids of agents of which a result says that it is theirs, each once, and that have no file in the project."""
    named = dict.fromkeys(_named_agents(data))
    absent = named.keys() - _agents(below)
    # An older version put it next to the session; a session that was made of another one names the agents of that.
    absent -= _agents(neighbors.below(project)) if absent else set()
    yield from (id_ for id_ in named if id_ in absent)


def _agents(keys: Sequence[str]) -> set[str]:
    return {match["id"] for key in keys if (match := AGENT_FILE.search(key))}


def _named_agents(data: bytes) -> Iterator[str]:
    for value in _lines_with(data, b'"agentId"', b'"toolUseResult"'):
        result = value.get("toolUseResult")
        id_ = result.get("agentId") if isinstance(result, dict) else None
        if isinstance(id_, str):
            yield id_


def _answered(data: bytes) -> set[str]:
    """Ids of calls with a result that is no placeholder."""
    ids = set(_ANSWERED.findall(data))
    for start in _PLACEHOLDERS:
        if start in data:
            ids -= {id_ for line in data.split(b"\n") if start in line for id_ in _ANSWERED.findall(line)}
    return {id_.decode("utf-8", "replace") for id_ in ids}


def _spilled(data: bytes, below: Sequence[str], neighbors: Neighbors) -> Iterator[FileOutcome]:
    files = {key.rpartition("/")[2].rpartition(".")[0]: key for key in below if f"/{RESULTS}/" in key and key.endswith((".txt", ".json"))}
    answered = _answered(data) if files else set[str]()
    for id_, key in files.items():
        if id_ in answered or f'"{id_}"'.encode() not in data or (content := neighbors.read(key)) is None:
            continue
        try:
            text = jsontext.decode(content)
        except jsontext.Unreadable:
            continue
        if text.strip():
            yield FileOutcome(id_, key, neighbors.place(key), notice(text, neighbors.place(key)))


def notice(text: str, place: str) -> str:
    """What the program gives the model for an output that it put into a file: where that is, and its first lines."""
    preview = text[:_PREVIEW]
    if len(text) > _PREVIEW:
        end = preview.rfind("\n")
        preview = (preview[:end] if end > _PREVIEW / 2 else preview) + "\n..."
    size = _size(len(text.encode("utf-8", "surrogatepass")))
    return f"{NOTICE}\nOutput too large ({size}). Full output saved to: {place}\n\nPreview (first 2KB):\n{preview}\n</persisted-output>"


def _size(size: int) -> str:
    """As the program writes it: `82.9KB`, `2.5MB`, `2KB`."""
    value, unit = (size / 1024, "KB") if size < 1 << 20 else (size / (1 << 20), "MB")
    return f"{value:.1f}".removesuffix(".0") + unit


def _of_agents(record: Record, below: Sequence[str], neighbors: Neighbors) -> Iterator[FileOutcome]:
    """What agents said last whose calls have no result; where neither the call nor the prompt names exactly one agent, nothing."""
    prompts = _open_prompts(record.value.data)
    if not prompts:
        return
    files = [key for key in below if AGENT_FILE.search(key)] or _older(record.key, neighbors)
    by_call: dict[str, list[tuple[str, bytes]]] = {}
    for key in files:
        if key != record.key and (data := neighbors.read(key)) is not None:
            by_call.setdefault(_call_of(key, data, prompts, neighbors), []).append((key, data))
    for id_ in prompts:
        match by_call.get(id_, []):
            case [(key, data)] if (answer := _last_answer(data)) is not None:
                yield FileOutcome(id_, key, neighbors.place(key), *answer)


def _older(key: str, neighbors: Neighbors) -> list[str]:
    """Agents of versions that put their files next to the session."""
    project = project_of(key)
    return [file for file in neighbors.below(project) if AGENT_FILE.search(file) and "/" not in file.removeprefix(f"{project}/")]


def _open_prompts(data: bytes) -> dict[str, str]:
    """Prompts of calls that start an agent and have no result, by the ids of the calls."""
    if not any(name in data for name in _STARTS_AGENTS):
        return {}
    answered = _answered(data)
    prompts: dict[str, str] = {}
    for value in (value for name in _STARTS_AGENTS for value in _lines_with(data, b'"tool_use"', name)):
        message = value.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") in ("Task", "Agent"):
                id_, given = block.get("id"), block.get("input")
                prompt = given.get("prompt") if isinstance(given, dict) else None
                if isinstance(id_, str) and id_ not in answered and isinstance(prompt, str):
                    prompts[id_] = prompt
    return prompts


def _call_of(key: str, data: bytes, prompts: Mapping[str, str], neighbors: Neighbors) -> str:
    """The call that started an agent: by the file next to the agent's, else by the prompt, where one open call has it; "" where nothing says so."""
    meta = neighbors.read(key.removesuffix(".jsonl") + _META)
    if meta is not None:
        named = object_of(meta).get("toolUseId")
        if isinstance(named, str):
            return named
    first = next((value for value in map(object_of, data.split(b"\n")) if value.get("type") in SPOKEN), {})
    message = first.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    words = _texts(content)
    ids = [id_ for id_, prompt in prompts.items() if prompt and prompt == words]
    return ids[0] if len(ids) == 1 else ""


def _last_answer(data: bytes) -> tuple[str, bool] | None:
    """The text that an agent ended with, and whether its file says that it ended; None where it was at work, or ended with an error."""
    texts: list[str] = []
    answer, stop = None, None
    for value in map(object_of, reversed(data.split(b"\n"))):
        message = value.get("message")
        if value.get("type") not in SPOKEN or not isinstance(message, dict):
            continue
        if value["type"] != ASSISTANT or value.get("isApiErrorMessage") is True or (answer is not None and message.get("id") != answer):
            break
        answer, stop = message.get("id"), stop or message.get("stop_reason")
        content = message.get("content")
        if any(isinstance(block, dict) and block.get("type") == "tool_use" for block in (content if isinstance(content, list) else ())):
            return None
        texts.insert(0, _texts(content))
    text = "\n".join(filter(None, texts))
    return (text, stop == "end_turn") if text.strip() and len(text) <= _LONGEST and stop in (None, "end_turn") else None


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _lines_with(data: bytes, *members: bytes) -> Iterator[dict[str, Any]]:
    if all(member in data for member in members):
        yield from (object_of(line) for line in data.split(b"\n") if all(member in line for member in members))
