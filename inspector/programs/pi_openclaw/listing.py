"""How OpenClaw finds a session: by its entry in the sessions.json of the folder. A new session file without one is in no list.

From the sources of OpenClaw (2026.1 to 2026.9) and its documents. `agent:AGENT:explicit:SESSION` is the key that the program itself gives to a session that is
named by its id, and `SESSION.jsonl` its file. Under an entry whose times are older than the daily reset the program begins an empty session; an entry without
activity for 30 days is removed, and its file renamed. Tried with the gateway of 2026.7.1: while it runs it lists and opens a session that is added in this way,
and lists it no longer after undo; entries with old times it removed, or opened empty.
"""

import json
import re
from datetime import UTC, datetime

from inspector.conversation.edits import Plan
from inspector.conversation.model import Conversation
from inspector.programs.formats import Cell, Change, Element, WriteRefused
from inspector.programs.pi_openclaw.folder import INDEX, INDEX_UNREADABLE
from inspector.text import jsontext

NEW = "new-session"
"""The mode that writes a new session."""
LISTED_AT = "listed_at"
"""The option of a plan that holds the time of its entry (epoch ms): that of the plan, which nothing stored says."""
FACTS = ("index", "sessionKey")
"""What is read of a sessions.json: one of these for every session of its folder."""
_AGENT_FOLDER = re.compile(r"(?:^|/)agents/([A-Za-z0-9][A-Za-z0-9_-]{0,63})/sessions/[^/]+$")
_AGENT_KEY = re.compile(r"agent:([A-Za-z0-9][A-Za-z0-9_-]{0,63}):")
_TIME = re.compile("[0-9]{1,14}")
_DEFAULT_AGENT = "main"


def options(mode: str, now: int) -> dict[str, str]:
    return {LISTED_AT: str(now)} if mode == NEW else {}


def index_of(conversation: Conversation, key: str) -> str:
    """The sessions.json in which a new session next to the file `key` can be listed; "" where there is none that can be read."""
    listing = [conversation.fact(name) for name in FACTS if name in conversation.facts]
    if not listing or any((text or "").startswith(INDEX_UNREADABLE) for text in listing):
        return ""
    return f"{key.rpartition('/')[0]}/{INDEX}"


def entry(plan: Plan, conversation: Conversation, key: str) -> Change:
    """The entry of the new session in the file `key`."""
    return Change(key, None, Cell(jsontext.encode(_member(plan, conversation, key)), "file"), Element.MEMBER)


def follow_up(plan: Plan, conversation: Conversation, key: str) -> str:
    """What is left to the operator until OpenClaw opens the new session; `key` is that of the old one's file."""
    name = _name(plan, conversation, key)
    if index_of(conversation, key):
        return (
            f"Stop the gateway before you apply this plan: newer versions write sessions.json without its lock file. Then OpenClaw lists the new session, and "
            f"`openclaw tui --session {name}` opens it, with the settings of its agent. Send the first message before the next daily reset (04:00 by default): the entry has the time of this plan, "
            f"{_shown(plan)} UTC, and after a reset OpenClaw begins an empty session under the same key. Chats that are connected to the old session stay connected to it."
        )
    fact = conversation.facts.get("index")
    reason = (fact.value or "").rstrip(".") if fact else "There is no sessions.json next to the file"
    return (
        f"{reason}: OpenClaw does not list the new session until you write its entry. Stop the gateway and put this member into the object in sessions.json: "
        f"{_inline_member(plan, name)}. From 2026.8 on, OpenClaw keeps sessions in SQLite: then also run `openclaw doctor --session-sqlite import`."
    )


def follow_up_of_a_store(plan: Plan, conversation: Conversation) -> str:
    """The same for a session of OpenClaw's SQLite store, of which the new session is a file outside of it."""
    name = _name(plan, conversation, "")
    return (
        f"OpenClaw does not read the new file before it is imported. Stop the gateway, put the file into agents/{name.split(':')[1]}/sessions as "
        f"{plan.options['fork_id']}.jsonl, write a sessions.json next to it that holds {{{_inline_member(plan, name)}}}, and run `openclaw doctor --session-sqlite import`."
    )


def _inline_member(plan: Plan, name: str) -> str:
    return f"{jsontext.compact(name)}: {json.dumps(_entry(plan))}"


def _member(plan: Plan, conversation: Conversation, key: str) -> str:
    """As the program writes a member of its object, two spaces a level."""
    return json.dumps({_name(plan, conversation, key): _entry(plan)}, indent=2)[len("{\n  ") : -len("\n}")]


def _entry(plan: Plan) -> dict[str, object]:
    """Newer versions ask for the start of the session and its last message, elder ones for the last change."""
    at = _listed_at(plan)
    return {"sessionId": plan.options["fork_id"], "updatedAt": at, "sessionStartedAt": at, "lastInteractionAt": at}


def _name(plan: Plan, conversation: Conversation, key: str) -> str:
    """The folder says whose sessions these are; in a folder of another name, the old session's own key does."""
    above = plan.source.rstrip("/").rpartition("/")[0]
    match = _AGENT_FOLDER.search(f"{above}/{key}") or _AGENT_KEY.match(conversation.fact("sessionKey") or "")
    return f"agent:{match[1].lower() if match else _DEFAULT_AGENT}:explicit:{plan.options['fork_id']}"


def _listed_at(plan: Plan) -> int:
    """Raises WriteRefused: a plan may come from a file."""
    time = plan.options.get(LISTED_AT, "0")
    if not _TIME.fullmatch(time):
        raise WriteRefused("The time that the plan has for the new session in OpenClaw's list is no time; make the plan again.")
    return int(time)


def _shown(plan: Plan) -> str:
    return f"{datetime.fromtimestamp(_listed_at(plan) / 1000, UTC):%Y-%m-%d %H:%M}"
