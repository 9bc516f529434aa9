"""What people write on a repair: why it is proposed, who is asked to decide, and comments. All of it is text of people: masked before it is kept."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from inspector.access.permits import acts
from inspector.actions.approvals import approvers_of
from inspector.actions.problems import Refused
from inspector.actions.recording import audit_repair
from inspector.models import Repair, RepairComment, Source
from inspector.models.transactions import one_writer
from inspector.presentation.masking import masked
from inspector.presentation.visible import visible

LONGEST = 5_000
"""Characters of a comment, or of a reason."""
LONGEST_LINK = 2_000
MOST_COMMENTS = 500
MOST_REVIEWERS, LONGEST_NAME = 10, 150
_ANCHOR = re.compile("[0-9a-f]{10}")


def text_of_a_person(text: str, what: str) -> str:
    """Without secrets, and with what would not show. Raises Refused where it is too long."""
    text = text.replace("\r\n", "\n").strip()
    if len(text) > LONGEST:
        raise Refused(f"{what} has {len(text):,} characters, and at most {LONGEST:,} are kept: shorten it, or link to where the rest is.")
    return masked(visible(text))


def incident_link(address: str) -> str:
    """An http or https address, or "". Raises Refused for any other: the page makes a link of it."""
    address = address.strip()
    if not address:
        return ""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", address) and "@" not in parts.netloc
    except ValueError:
        usable = False
    if not usable or len(address) > LONGEST_LINK or visible(address) != address:
        raise Refused(
            f"The incident is a link that starts with http:// or https://, of at most {LONGEST_LINK:,} characters and without a password: "
            f"{masked(visible(address[:80]))!r} is none. Leave it out, or copy the address of the incident."
        )
    return masked(address)


def reviewers_named(names: str | Iterable[str], source: Source) -> list[str]:
    """Names with commas between them, each once; where people sign in, those of accounts that may approve repairs of the source. Raises Refused."""
    parts = names.split(",") if isinstance(names, str) else names
    chosen = list(dict.fromkeys(name for part in parts if (name := visible(" ".join(part.split())))))
    if len(chosen) > MOST_REVIEWERS:
        raise Refused(f"At most {MOST_REVIEWERS} people can be asked to review, and {len(chosen)} are named: leave some out.")
    for name in chosen:
        if len(name) > LONGEST_NAME:
            raise Refused(f"{name[:40]}… is no name: name the reviewers with commas between them.")
        if not settings.INSPECTOR_LOCAL and not approvers_of(source).filter(username=name).exists():
            # Whether there is such an account is for administrators.
            raise Refused(f"No account {name} may approve repairs of this source: name those that may, with commas between them.")
    return [masked(name) for name in chosen]


def checked(source: Source, reason: str, incident: str, reviewers: str) -> dict[str, Any]:
    """What is written on a proposal, as `propose_repair` takes it. Raises Refused."""
    names = ", ".join(reviewers_named(reviewers, source))
    return {"reason": text_of_a_person(reason, "The reason"), "incident": incident_link(incident), "reviewers": names}


@acts("ask")
def request_reviewers(repair: Repair, operator: str, names: str | Iterable[str]) -> None:
    """In place of those who were asked before; none takes the request back. Raises Refused."""
    if repair.state not in Repair.WAITING:
        raise Refused(f"This repair is {repair.state}: there is nothing to review any more.")
    chosen = reviewers_named(names, repair.conversation.source)
    with one_writer():
        # Who asks again has answered what was requested.
        answered = {"changes_by": ""} if chosen else {}
        if not Repair.objects.filter(pk=repair.pk, state=repair.state).update(reviewers=chosen, **answered):
            raise Refused("Somebody else decided on this repair a moment ago; open it again.")
        audit_repair(repair, operator, "request review", reviewers=chosen)
    repair.refresh_from_db()


@acts("comment")
def comment(repair: Repair, operator: str, text: str, anchor: str = "") -> RepairComment:
    """`anchor` is that of a hunk of its plan; "" of the whole repair. Raises Refused."""
    text = text_of_a_person(text, "The comment")
    if not text:
        raise Refused("Nothing was written: type the comment, then send it.")
    if anchor and not _ANCHOR.fullmatch(anchor):
        raise Refused("This is no hunk of the plan: open the repair again, and comment on one that it shows.")
    if repair.comments.count() >= MOST_COMMENTS:
        raise Refused(
            f"This repair has {MOST_COMMENTS} comments, and no more are kept: go on in the incident or ticket that it belongs to."
        )
    with one_writer():
        row = keep_comment(repair, operator, text, anchor=anchor)
        audit_repair(repair, operator, "comment", **({"hunk": anchor} if anchor else {}))
    return row


def keep_comment(repair: Repair, operator: str, text: str, anchor: str = "", verdict: str = "") -> RepairComment:
    """Only inside `one_writer`, before the line of the audit log that covers it."""
    return RepairComment.objects.create(repair=repair, at=timezone.now(), who=operator, anchor=anchor, verdict=verdict, text=text)
