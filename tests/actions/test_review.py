"""A repair under review: what people write on it, whose approval counts and for how long, and what is looked at after it was applied."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils import timezone
from pytest_django import Settings

from inspector.actions import audit
from inspector.actions.apply_repair import apply_repair
from inspector.actions.approvals import BY_COMMAND, expires_at, why_lapsed
from inspector.actions.decide_repair import approve_repair, reject_repair, request_changes
from inspector.actions.planning import request_for
from inspector.actions.problems import Refused
from inspector.actions.propose_repair import propose_repair
from inspector.actions.reviewing import comment, incident_link, request_reviewers, reviewers_named
from inspector.actions.undo_repair import undo_repair
from inspector.actions.verification import verify_due
from inspector.models import AuditEntry, Conversation, Repair, RepairComment, loading
from inspector.models.repair import waiting_for_review
from tests.accounts import account
from tests.actions.building import (
    WHO,
    A,
    Store,
    U,
    applied,
    approved,
    bring,
    chunk_key,
    everything,
    imported,
    merged,
    pairs,
    proposed,
    put,
    row,
)

pytestmark = pytest.mark.django_db

RENUMBER = "renumber-messages"
AT = 1782000000000
TOKEN = "ghp_" + "Ab3dEf7hIj1LmN0pQrStUvWxYz0123456789"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def conversation(path: Path) -> Conversation:
    return imported(path, merged())


def problems() -> str:
    return " ".join(problem.sentence for problem in audit.state(values=True).problems)


def later(monkeypatch: pytest.MonkeyPatch, **time: float) -> None:
    moment: Callable[[], datetime] = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: moment() + timedelta(**time))


# What people write


def test_a_proposal_keeps_its_reason_link_reviewers_and_summary(conversation: Conversation) -> None:
    request = request_for(conversation.source, loading.stored(conversation), [RENUMBER], "in-place")
    repair = propose_repair(
        conversation, request, WHO, reason=f" all turns are one\r\nkey {TOKEN} ", incident="https://i.example/7", reviewers="ann, bob,ann"
    )
    assert repair.reason.startswith("all turns are one\nkey [masked github-token") and TOKEN not in repair.reason
    assert (repair.incident, repair.reviewers) == ("https://i.example/7", ["ann", "bob"])
    assert repair.summary.startswith("4 chunks renumbered, no content changes, ") and "MSG101 1 → 0" in repair.summary
    assert repair.counts["MSG101"] == [1, 0] and not problems()


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "ftp://h/x",
        "https://",
        "//h/x",
        "incident 7",
        "https://u:p@h/",
        "http://h/\u202ex",
        "https://h/a b",
        "https://h/" + "x" * 2000,
    ],
)
def test_an_incident_is_an_address_of_the_web_or_nothing(address: str) -> None:
    with pytest.raises(Refused, match="starts with http:// or https://"):
        incident_link(address)


def test_a_comment_is_masked_limited_and_in_the_log(conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    comment(repair, "ann", f"why seq 4? <script> \u202e {TOKEN}", "0123456789")
    kept = RepairComment.objects.get()
    assert (kept.who, kept.anchor, kept.verdict) == ("ann", "0123456789", "")
    assert kept.text.startswith("why seq 4? <script> \\u202e [masked github-token") and TOKEN not in kept.text
    line = AuditEntry.objects.get(verb="comment")
    assert (line.who, line.repair, line.detail["hunk"]) == ("ann", repair.oid, "0123456789") and not problems()
    for text, sentence in (("", "Nothing was written"), (" \n", "Nothing was written"), ("x" * 5001, "5,001 characters")):
        with pytest.raises(Refused, match=sentence):
            comment(repair, "ann", text)
    with pytest.raises(Refused, match="no hunk of the plan"):
        comment(repair, "ann", "x", "<b>")


def test_changes_are_requested_of_who_proposed_it_until_somebody_is_asked_again(conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    with pytest.raises(Refused, match="say in the comment what is to be changed"):
        request_changes(repair, "bob", " \n")
    assert waiting_for_review()["n"] == 1
    request_changes(repair, "bob", f"keep the original {TOKEN}")
    assert (repair.state, repair.changes_by, repair.waits_for) == ("proposed", "bob", "waits for changes") and waiting_for_review()[
        "n"
    ] == 0
    kept = RepairComment.objects.get()
    assert (kept.who, kept.verdict) == ("bob", "changes") and kept.text.startswith("keep the original [masked")
    assert AuditEntry.objects.get(verb="request changes").who == "bob" and not problems()
    request_reviewers(repair, WHO, "")
    assert repair.changes_by == "bob", "nobody was asked again"
    request_reviewers(repair, WHO, "bob")
    assert (repair.changes_by, repair.reviewers, waiting_for_review()["n"]) == ("", ["bob"], 1) and not problems()
    Repair.objects.update(changes_by="eve")
    assert problems()


def test_another_proposal_of_the_same_person_replaces_the_one_to_be_changed(conversation: Conversation) -> None:
    alone, asked = proposed(conversation, RENUMBER, mode="fork"), proposed(conversation, RENUMBER)
    request_changes(asked, "bob", "keep the original")
    request = request_for(conversation.source, loading.stored(conversation), [RENUMBER], "fork", now=AT)
    by_another = propose_repair(conversation, request, "ann")
    asked.refresh_from_db()
    assert (by_another.state, asked.state) == ("proposed", "proposed"), "it is for who proposed it to take it back"
    newer = propose_repair(conversation, request, WHO)
    for repair in (alone, asked):
        repair.refresh_from_db()
    assert (alone.state, asked.state, asked.approved_by, asked.changes_by) == ("proposed", "rejected", WHO, "")
    assert asked.comments.get(verdict="reject").text == f"Replaced by repair {newer.oid}." and not problems()


def test_so_does_one_that_waits_already_but_not_the_same_plan(conversation: Conversation) -> None:
    request = request_for(conversation.source, loading.stored(conversation), [RENUMBER], "fork", now=AT)
    waits, asked = propose_repair(conversation, request, WHO), proposed(conversation, RENUMBER)
    request_changes(asked, "bob", "keep the original")
    assert proposed(conversation, RENUMBER) == asked and Repair.objects.get(pk=asked.pk).changes_by == "bob"
    assert propose_repair(conversation, request, WHO) == waits and Repair.objects.get(pk=asked.pk).state == "rejected"


def test_changes_are_requested_before_the_decision_and_a_decision_ends_that(conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER)
    request_changes(repair, "bob", "keep the original")
    approve_repair(repair, "bob", repair.plan_digest, "fixed")
    assert (repair.state, repair.changes_by) == ("approved", "")
    with pytest.raises(Refused, match="This repair is approved; changes are requested to a proposed one"):
        request_changes(repair, "bob", "keep the original")


@pytest.mark.parametrize("change", [{"text": "another"}, {"who": "the boss"}, {"verdict": "approve"}, {"anchor": "1" * 10}, None], ids=str)
def test_a_comment_that_somebody_changed_or_took_away_shows(conversation: Conversation, change: dict[str, str] | None) -> None:
    repair = proposed(conversation, RENUMBER)
    comment(repair, "ann", "looks right")
    assert not problems()
    RepairComment.objects.update(**change) if change else RepairComment.objects.all().delete()
    assert f"Repair {repair.oid} is not as line" in problems()
    with pytest.raises(Refused, match="No store is written until that is settled"):
        approve_repair(repair, WHO, repair.plan_digest, "unfixed")


@pytest.mark.parametrize("name", ["reason", "incident", "summary", "safety", "regression"])
def test_what_was_proposed_is_sealed(conversation: Conversation, name: str) -> None:
    repair = proposed(conversation, RENUMBER)
    Repair.objects.update(**{name: "another"})
    assert f"Repair {repair.oid} is not as line" in problems()


def test_what_an_older_version_sealed_is_still_sealed(conversation: Conversation) -> None:
    """Its digest knew nothing of reasons, reviewers and comments."""
    repair = proposed(conversation, RENUMBER)
    Repair.objects.update(summary="", safety="", counts={})
    names = [
        *("oid", "conversation__oid", "revision", "mode", "options", "base_digest", "plan_digest", "state", "outcome", "rehearsal"),
        *("proposed_by", "proposed_at", "approved_by", "approved_at", "approved_digest", "applied_by", "applied_at", "undone_by"),
        *("undone_at", "values_digest"),
    ]
    facts = Repair.objects.values(*names).get()
    of_then = hashlib.sha256(json.dumps(facts, sort_keys=True, default=lambda value: value.isoformat()).encode()).hexdigest()
    assert audit.repair_digest(repair.oid) == of_then


def test_a_decision_keeps_its_comment(conversation: Conversation) -> None:
    first, second = proposed(conversation, RENUMBER), proposed(conversation, RENUMBER, mode="fork")
    approve_repair(first, "ann", first.plan_digest, "unfixed", "read twice")
    reject_repair(second, "bob", "one is enough")
    assert [tuple(row) for row in RepairComment.objects.values_list("repair__oid", "who", "verdict", "text")] == [
        (first.oid, "ann", "approve", "read twice"),
        (second.oid, "bob", "reject", "one is enough"),
    ]
    assert not problems()


def test_reviewers_are_names_and_where_people_sign_in_accounts(conversation: Conversation, settings: Settings) -> None:
    repair = proposed(conversation, RENUMBER)
    request_reviewers(repair, WHO, " ann,  bob c ")
    assert repair.reviewers == ["ann", "bob c"] and AuditEntry.objects.get(verb="request review").detail["reviewers"] == ["ann", "bob c"]
    with pytest.raises(Refused, match="At most 10 people"):
        reviewers_named(",".join(map(str, range(11))), conversation.source)
    settings.INSPECTOR_LOCAL = False
    account("ann")
    request_reviewers(repair, WHO, "ann")
    with pytest.raises(Refused, match="No account bob may approve"):
        request_reviewers(repair, WHO, "ann, bob")
    reject_repair(repair, WHO)
    with pytest.raises(Refused, match="nothing to review any more"):
        request_reviewers(repair, WHO, "ann")


# Whose approval counts, and for how long


def test_an_approval_expires_and_can_be_given_again(conversation: Conversation, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repair, before = approved(conversation, RENUMBER), everything(path)
    assert repair.approved_at is not None and expires_at(repair) == repair.approved_at + timedelta(days=7) and not why_lapsed(repair)
    later(monkeypatch, days=7, minutes=1)
    with pytest.raises(Refused, match=r"approval by tester expired: .* holds for 7 days .* approve it again. Nothing was written."):
        apply_repair(repair, WHO, interactive=True)
    assert (repair.state, repair.approved_by, repair.approved_digest) == ("proposed", "", "") and everything(path) == before
    assert AuditEntry.objects.filter(repair=repair.oid, verb="lapse").count() == 1 and not problems()
    approve_repair(repair, "ann", repair.plan_digest, "unfixed")
    apply_repair(repair, WHO, interactive=True)
    assert repair.state == "verified" and not problems()


def test_an_approval_holds_until_it_expires_and_for_ever_with_0(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    repair = approved(conversation, RENUMBER)
    later(monkeypatch, days=6, hours=23)
    assert not why_lapsed(repair)
    later(monkeypatch, days=700)
    assert why_lapsed(repair)
    settings.INSPECTOR_APPROVAL_EXPIRES = 0
    assert not why_lapsed(repair) and expires_at(repair) is None


@pytest.fixture
def of_ann(conversation: Conversation, settings: Settings) -> Repair:
    """Approved by an account that may."""
    repair = proposed(conversation, RENUMBER)
    settings.INSPECTOR_LOCAL, settings.INSPECTOR_APPROVERS = False, "reviewers"
    account("ann").groups.add(Group.objects.create(name="reviewers"))
    approve_repair(repair, "ann", repair.plan_digest, "unfixed")
    return repair


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda ann: ann.groups.clear(), "ann is not in the group reviewers"),
        (lambda ann: ann.grants.update(role="proposer"), "ann has the role of a proposer on .*, and to approve takes an approver"),
        (lambda ann: ann.grants.all().delete(), "ann has no role on "),
        (lambda ann: type(ann).objects.filter(pk=ann.pk).update(is_active=False), "the account ann is disabled"),
        (lambda ann: ann.delete(), "there is no account ann"),
    ],
    ids=["left", "less", "none", "disabled", "deleted"],
)
def test_an_approval_ends_with_the_role_of_who_gave_it(of_ann: Repair, path: Path, change: Callable[..., object], why: str) -> None:
    before = everything(path)
    assert not why_lapsed(of_ann)
    change(get_user_model().objects.get(username="ann"))
    with pytest.raises(Refused, match=f"approval by ann does not hold any more: {why}.* has to approve it again"):
        apply_repair(of_ann, WHO, interactive=True)
    assert of_ann.state == "proposed" and everything(path) == before and not problems()


def test_only_the_group_approves_and_superusers(of_ann: Repair, conversation: Conversation) -> None:
    repair = proposed(conversation, RENUMBER, mode="fork")
    account("bob")
    get_user_model().objects.create_superuser("root")
    with pytest.raises(Refused, match="bob is not in the group reviewers"):
        approve_repair(repair, "bob", repair.plan_digest, "unfixed")
    approve_repair(repair, "root", repair.plan_digest, "unfixed")
    assert not why_lapsed(repair)


def test_a_command_approves_without_an_account_but_never_as_the_second_person(conversation: Conversation, settings: Settings) -> None:
    settings.INSPECTOR_LOCAL = False
    repair = proposed(conversation, RENUMBER)
    approve_repair(repair, WHO, repair.plan_digest, BY_COMMAND)
    assert not why_lapsed(repair)
    settings.INSPECTOR_REQUIRE_SECOND_APPROVER = True
    with pytest.raises(Refused, match="a second person must"):
        apply_repair(repair, WHO, interactive=True)


def test_an_approval_falls_when_the_store_moved(conversation: Conversation, path: Path) -> None:
    repair = approved(conversation, RENUMBER)
    put(path, chunk_key(5), row("new"))
    with pytest.raises(Refused, match=r"store moved since this plan was made: .*0005 is new\. Import the source again and propose again"):
        apply_repair(repair, WHO, interactive=True)
    assert repair.state == "stale"


def test_an_approval_falls_when_the_plan_comes_out_otherwise(path: Path) -> None:
    values = merged().values
    del values["conv-index"]
    repair = approved(imported(path, values), RENUMBER, mode="fork")
    put(path, "conv-index", '["c1"]')
    before = everything(path)
    with pytest.raises(Refused, match="its approval does not hold any more: propose the repair again"):
        apply_repair(repair, WHO, interactive=True)
    assert repair.state == "stale" and everything(path) == before and not problems()


# After it was applied


def test_what_another_program_writes_back_is_a_regression_and_its_end_is_recorded(conversation: Conversation, path: Path) -> None:
    before = pairs(path)
    repair = applied(conversation, RENUMBER)
    repair.refresh_from_db()
    assert repair.checked_at is not None and not repair.regression
    repaired = pairs(path)
    for key, value in before.items():
        put(path, key, value)
    bring(path)
    repair.refresh_from_db()
    assert repair.regression == "Another program wrote back what was there before this repair." and repair.regressed_at
    assert repair.state == "verified" and AuditEntry.objects.filter(repair=repair.oid, verb="regress").count() == 1
    bring(path)
    assert AuditEntry.objects.filter(repair=repair.oid, verb="regress").count() == 1
    for key, value in repaired.items():
        put(path, key, value)
    bring(path)
    repair.refresh_from_db()
    assert not repair.regression and repair.regressed_at is None and AuditEntry.objects.filter(verb="hold again").exists()
    assert not problems()


def test_one_value_that_is_as_before_is_a_regression(conversation: Conversation, path: Path) -> None:
    before = pairs(path)
    repair = applied(conversation, RENUMBER)
    put(path, chunk_key(4), before[chunk_key(4)])
    bring(path)
    repair.refresh_from_db()
    assert repair.regression.startswith("1 of 4 values are as before the repair again: conv:c1:chunk:0000000004")


@pytest.mark.parametrize(("msg_idx", "code"), [(5, "MSG101"), (0, "MSG102")])
def test_a_program_that_goes_on_well_is_no_regression_and_one_that_damages_again_is(
    conversation: Conversation, path: Path, msg_idx: int, code: str
) -> None:
    repair = applied(conversation, RENUMBER)
    put(path, chunk_key(5), row("next", msg_idx=5))
    bring(path)
    repair.refresh_from_db()
    assert not repair.regression
    for seq, role in ((6, "assistant"), (7, "user"), (8, "assistant")):
        put(path, chunk_key(seq), row(f"again {seq}", role, msg_idx=msg_idx, chunk_idx=seq))
    bring(path)
    repair.refresh_from_db()
    assert repair.regression.startswith(f"{code} is found again: ")


def test_a_repair_is_looked_at_each_hour_and_never_after_its_undo(
    conversation: Conversation, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair = applied(conversation, RENUMBER)
    assert verify_due(WHO, 10) == 0
    later(monkeypatch, hours=1, minutes=1)
    put(path, chunk_key(1), merged().values[chunk_key(1)])
    assert verify_due(WHO, 10) == 1 and verify_due(WHO, 10) == 0
    repair.refresh_from_db()
    assert repair.regression == "" or "as before the repair again" in repair.regression
    other = applied(imported(path.with_name("b.db"), Store().append(U("a")).append(A("b")).append(U("c")), "c1"), RENUMBER, mode="fork")
    undo_repair(other, WHO, interactive=True)
    later(monkeypatch, hours=3)
    assert verify_due(WHO, 10) == 1


def test_a_comparison_that_fails_says_nothing_of_the_repair_and_stops_no_other(
    conversation: Conversation, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What we keep of it is not what it was: a fault of ours, which is logged and closes no page."""
    repair = applied(conversation, RENUMBER)
    Repair.objects.filter(pk=repair.pk).update(counts={"MSG101": "1"})
    later(monkeypatch, hours=2)
    assert verify_due(WHO, 10) == 1 and verify_due(WHO, 10) == 0
    assert f"repair {repair.oid} could not be compared" in caplog.text


def test_a_store_that_cannot_be_read_says_nothing_of_the_repair(
    conversation: Conversation, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repair = applied(conversation, RENUMBER)
    path.unlink()
    later(monkeypatch, hours=2)
    assert verify_due(WHO, 10) == 1 and verify_due(WHO, 10) == 0
    repair.refresh_from_db()
    assert not repair.regression
