"""Verdicts that were given before are taken apart as the next import would say them."""

import re
from itertools import islice
from typing import Any

from django.db import migrations

BATCH = 500

_ENDS = (
    ("rejected", r"the next request is rejected by (?P<by>\S+) at (?P<at>.+) \((?P<id>.+)\)", r"rejected at \g<at>", r"\g<id> of \g<by>"),
    ("silent", r"the next request goes wrong silently: it passes all known rules", "wrong silently", "passes all known rules"),
    ("passes", r"the next request passes all known rules", "passes", ""),
    ("", r"the session can be resumed, (?P<how>.+)", "can be resumed", r"\g<how>"),
    ("", r"a turn is running, so its open end is not judged", "not judged", "a turn is running"),
    ("", r"a retry returns the stored answer and makes no request", "none", "a retry returns the stored answer"),
    ("", r"(?P<what>a retry would run .+), before the next request", "after a retry", r"\g<what>"),
)
_LEFT_OUT = re.compile(r" leaves out (seq \d[\d ,–-]*(?:and \d+ more)?)")
_LOST = re.compile(r"(?:,| and) (\d[\d,]*) (?:is|are) lost\.$")


def fill(apps: Any, schema_editor: Any) -> None:
    conversations = apps.get_model("inspector", "Conversation").objects
    rows = iter(conversations.exclude(verdict="").only("verdict").order_by("pk").iterator(chunk_size=BATCH))
    while batch := list(islice(rows, BATCH)):
        for row in batch:
            row.damage, row.next_request = _apart(row.verdict)
        conversations.bulk_update(batch, ["damage", "next_request"])


def _apart(verdict: str) -> tuple[str, list[str]]:
    for state, ending, words, more in _ENDS:
        if match := re.fullmatch(f"(?P<before>.+?); {ending}\\.", verdict, re.DOTALL):
            damage, rest = f"{match['before']}.", match.expand(more)
            # It passes, and lacks what was stored: nobody is told so.
            if state == "passes" and (left_out := _LEFT_OUT.search(damage)):
                return damage, ["silent", "wrong silently", f"without {left_out[1]}"]
            if state == "passes" and (lost := _LOST.search(damage)):
                return damage, ["silent", "wrong silently", f"without {lost[1]} stored chunk{'' if lost[1] == '1' else 's'}"]
            return damage, [state, match.expand(words), rest]
    return verdict, ["", "", ""]


class Migration(migrations.Migration):
    dependencies = [("inspector", "0050_next_request")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
