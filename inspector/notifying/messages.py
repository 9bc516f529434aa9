"""A notice in the words of each way of delivery. What is quoted is foreign: it calls nobody, links nowhere and begins no header."""

import json
import re
from typing import Any

from inspector.notifying.events import Notice
from inspector.presentation.markdown import prose

_CALLS = re.compile(r"(@|#|!|://|www\.)(?=\w)", re.IGNORECASE)
_SUBJECT = 150


def json_body(notice: Notice) -> bytes:
    return json.dumps(notice.body, ensure_ascii=True).encode()


def slack_body(notice: Notice) -> bytes:
    """Foreign text is in elements of plain text, which have no markup; the only markup is our own link. `text` is what a phone shows, without markup too."""
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "plain_text", "emoji": False, "text": _harmless(notice.sentence)[:2900]}}
    ]
    if notice.total > 1:
        lines = "\n".join(f"\u2022 {line}" for line in map(_harmless, notice.lines))
        blocks.append({"type": "section", "text": {"type": "plain_text", "emoji": False, "text": lines[:2900]}})
    if notice.link:
        blocks.append(
            {"type": "context", "elements": [{"type": "mrkdwn", "verbatim": True, "text": f"<{_address(notice)}|Open in Inspector>"}]}
        )
    message = {
        "text": slack_escaped(notice.sentence),
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": blocks,
    }
    return json.dumps(message, ensure_ascii=True).encode()


def slack_escaped(text: str) -> str:
    """The three characters that begin something in Slack's markup, and what its clients make links and mentions of."""
    return _harmless(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _harmless(text: str) -> str:
    """With a space of no width where a client would see a mention, a channel or an address."""
    return _CALLS.sub("\\1\u200b", text)


def github_body(notice: Notice) -> bytes:
    """A comment in Markdown. GitHub has no idempotency key: the last line says which message it is, for whoever sees it twice."""
    lines = [prose(notice.sentence)]
    if notice.total > 1:
        lines += ["", *(f"- {prose(line)}" for line in notice.lines)]
    if notice.link:
        lines += ["", f"<{_address(notice)}>"]
    lines += ["", f"<sub>Inspector, message {notice.key}</sub>"]
    return json.dumps({"body": "\n".join(lines)}, ensure_ascii=True).encode()


def _address(notice: Notice) -> str:
    """Our own link, without what would end it in any of the markups."""
    return re.sub(r"[\s<>|]", "", notice.link)


def subject(notice: Notice) -> str:
    """On one line, whatever is quoted: a line break would begin another header."""
    line = " ".join("".join(character if character.isprintable() else " " for character in f"Inspector: {notice.sentence}").split())
    return line if len(line) <= _SUBJECT else f"{line[: _SUBJECT - 1]}\u2026"


def text(notice: Notice) -> str:
    """The body of an e-mail, as plain text."""
    parts = [_harmless(notice.sentence)]
    if notice.total > 1:
        parts.append("\n".join(f"- {_harmless(line)}" for line in notice.lines))
    if notice.link:
        parts.append(notice.link)
    parts.append(f"Message {notice.key} of Inspector. Who administers it chooses at Notifications what is sent to whom.")
    return "\n\n".join(parts) + "\n"
