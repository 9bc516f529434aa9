"""Rows that are written many at a time."""

from pathlib import Path

import pytest

from inspector.actions.examining import examine, write_examined
from inspector.models import Conversation, Finding
from inspector.models.bulk import put
from inspector.models.transactions import one_writer
from inspector.presentation.conversation.examined import Examined
from tests.actions.building import imported, merged

pytestmark = pytest.mark.django_db
FIELDS = [
    "oid",
    "identity",
    "conversation",
    "revision",
    "code",
    "rule",
    "severity",
    "silent",
    "origin",
    "message",
    "seqs",
    "total",
    "key",
    "is_open",
    "reader",
]


def row(conversation: Conversation, oid: str, message: str) -> list[object]:
    return [oid, "", conversation.pk, 1, "MSG101", "a-rule", "error", True, "store", message, "[1, 2]", 2, "k", True, "r"]


def test_a_row_that_is_there_gets_the_new_values_and_stays_the_same_row(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    with one_writer():
        put(Finding, "oid", FIELDS, [row(conversation, "first", "before"), row(conversation, "second", "other")])
        known = Finding.objects.get(oid="first")
        put(Finding, "oid", FIELDS, [row(conversation, "first", "after"), row(conversation, "third", "new")])
    assert Finding.objects.get(oid="first").pk == known.pk
    assert dict(Finding.objects.filter(rule="a-rule").values_list("oid", "message")) == {
        "first": "after",
        "second": "other",
        "third": "new",
    }
    assert (known.seqs, known.silent, known.total) == ([1, 2], True, 2)


def test_a_finding_that_is_found_again_is_the_same_row_open_again(tmp_path: Path) -> None:
    conversation = imported(tmp_path / "a.db", merged())
    before = set(Finding.objects.values_list("pk", "oid", "message"))
    with one_writer():
        write_examined([(conversation, Examined((), "p", "q", 0, 0, "Fine.", "Fine.", ("passes", "passes", ""), "", False, False))])
    assert before and not Finding.objects.filter(is_open=True).exists()
    with one_writer():
        examine(conversation)
    assert set(Finding.objects.filter(is_open=True).values_list("pk", "oid", "message")) == before
