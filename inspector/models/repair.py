"""A repair from proposal to undo, the bytes that it writes, and the audit log."""

import json
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any, Self

from django.db import models

from inspector.models.conversation import Conversation
from inspector.models.json_text import JsonText
from inspector.models.prepared import totals
from inspector.models.source import Source
from inspector.models.visible import Visible


class RepairGroup(models.Model):
    """Repairs of one problem, one rule in one source, that are reviewed, written and undone together. Approval and state are those of each repair."""

    oid = models.CharField(max_length=12, unique=True)
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="repair_groups")
    code = models.CharField(max_length=12)
    rule = models.CharField(max_length=60)
    members = JsonText(default=list)
    """The conversations in the order in which they are written, each as `actions.group_previews.planned` has it, with why it could not be proposed."""
    goes_on = models.BooleanField(default=False)
    """What is written or undone goes on after a failure; else it stops there."""
    reason = models.TextField(blank=True)
    incident = models.TextField(blank=True)
    reviewers = JsonText(default=list)
    proposed_by = models.TextField()
    proposed_at = models.DateTimeField()

    objects = Visible("source")

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.oid

    @property
    def strategies(self) -> list[str]:
        """Those of all its plans, each once."""
        return list(dict.fromkeys(name for member in self.members for name in member.get("strategies", ())))

    @property
    def current(self) -> "list[Repair]":
        """Of each conversation the repair that was proposed last, in the order of `members`."""
        newest = {repair.conversation.oid: repair for repair in self.repairs.select_related("conversation__source").order_by("pk")}
        return [newest[member["conversation"]] for member in self.members if member["conversation"] in newest]


class Repair(models.Model):
    class State(models.TextChoices):
        PROPOSED = "proposed"
        APPROVED = "approved"
        REJECTED = "rejected"
        APPLIED = "applied"
        VERIFIED = "verified"
        UNDONE = "undone"
        OVERWRITTEN = "overwritten"
        STALE = "stale"
        FAILED = "failed"

    WAITING = (State.PROPOSED, State.APPROVED)
    """Neither written nor given up: no other one is proposed for its conversation."""

    class Intent(models.TextChoices):
        APPLY = "apply"
        UNDO = "undo"

    oid = models.CharField(max_length=12, unique=True)
    conversation = models.ForeignKey(Conversation, on_delete=models.PROTECT, related_name="repairs")
    revision = models.PositiveIntegerField()
    strategies = JsonText()
    mode = models.CharField(max_length=40)
    reader = models.CharField(max_length=80)
    projection = models.CharField(max_length=80)
    profile = models.CharField(max_length=80)
    options = JsonText(default=dict)
    base_digest = models.CharField(max_length=64)
    plan_digest = models.CharField(max_length=64)
    state = models.CharField(max_length=12, choices=State)
    outcome = models.TextField(blank=True)
    rehearsal = JsonText(default=dict)
    proposed_by = models.TextField()
    proposed_at = models.DateTimeField()
    approved_by = models.TextField(blank=True)
    approved_at = models.DateTimeField(null=True)
    approved_digest = models.CharField(max_length=64, blank=True)
    applied_by = models.TextField(blank=True)
    applied_at = models.DateTimeField(null=True)
    undone_by = models.TextField(blank=True)
    undone_at = models.DateTimeField(null=True)
    values_digest = models.CharField(max_length=64, blank=True)
    """Of the values that are kept, SHA-256 (hex) as `actions.audit` computes it; "" before they are kept."""
    intent = models.CharField(max_length=5, choices=Intent, blank=True)
    """What is being written to the store; set with the kept values before the write, cleared with the record of its outcome."""
    claimed_at = models.DateTimeField(null=True)
    """While somebody applies or undoes it."""
    claimed_by = models.TextField(blank=True)
    """The process that does, as `sources.processes` names it."""
    reason = models.TextField(blank=True, default="")
    """Why it was proposed, in the words of who did."""
    incident = models.TextField(blank=True, default="")
    """An http or https address."""
    reviewers = JsonText(default=list)
    """Names of those who were asked to decide."""
    changes_by = models.TextField(blank=True, default="")
    """Who asked for another plan: while it is proposed, it then waits for who proposed it, not for reviewers."""
    summary = models.TextField(blank=True, default="")
    """What the plan does, in one line, as it was when it was proposed; "" of a repair of an older version."""
    safety = models.CharField(max_length=80, blank=True, default="")
    """What it loses or invents in this conversation, in words; "" of a repair of an older version, of which only its strategies say it."""
    counts = JsonText(default=dict)
    """Rule code -> [findings before, findings after], by the plan, with the worst severity before and after where as many are milder; of a repair of an older version nothing."""
    regression = models.TextField(blank=True, default="")
    """What was lost of it, or found again, at the last check of the store; "" while it holds."""
    regressed_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    """When the store was last compared after the repair was applied."""
    group = models.ForeignKey(RepairGroup, on_delete=models.PROTECT, null=True, related_name="repairs")

    objects = Visible("conversation__source")

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("intent",), name="repair_with_intent"),
            # Every page counts those that wait for review.
            models.Index(fields=("state",), name="repair_in_state"),
        )

    def __str__(self) -> str:
        return self.oid

    @classmethod
    def waiting_of(cls, conversation: Conversation) -> "models.QuerySet[Repair]":
        """The repairs of a conversation that wait for a decision or to be applied, the newest first."""
        return cls.objects.filter(conversation=conversation, state__in=cls.WAITING).order_by("-pk")

    @property
    def waits_for(self) -> str:
        """What is to be done next with one that waits."""
        if self.state != self.State.PROPOSED:
            return "is approved, not written"
        return "waits for changes" if self.changes_by else "waits for review"

    @property
    def is_moved(self) -> bool:
        """Whether it waits, and the last import read other content than its plan is based on; the store itself is compared when it is applied."""
        if self.state not in (self.State.PROPOSED, self.State.APPROVED):
            return False
        if self.conversation.revision == self.revision:
            return self.conversation.is_gone
        revisions = self.conversation.revisions.filter(number__in=(self.revision, self.conversation.revision))
        return len(set(revisions.values_list("digest", flat=True))) > 1

    @classmethod
    def listed(cls, states: Iterable[str], source: str = "") -> "models.QuerySet[Repair]":
        """Those in one of the states, that lists show (`Visible.counted`); of a group one, whichever of its conversations are in them."""
        states = tuple(states)
        newer = cls.objects.filter(group=models.OuterRef("group"), pk__gt=models.OuterRef("pk"))
        newer = newer.filter(models.Q(state__in=states) | models.Q(conversation=models.OuterRef("conversation")))
        return cls.objects.counted(source).filter(state__in=states).exclude(models.Exists(newer))


@totals
def waiting_for_review() -> tuple[models.QuerySet[Repair], dict[str, models.Aggregate]]:
    """`n`: how many repairs, or groups of them, were proposed and wait for a decision."""
    return Repair.listed([Repair.State.PROPOSED]).filter(changes_by=""), {"n": models.Count("*")}


class RepairComment(models.Model):
    """What somebody wrote on a repair, or on one hunk of its diff; with a verdict, a decision."""

    class Verdict(models.TextChoices):
        APPROVE = "approve"
        REJECT = "reject"
        CHANGES = "changes"

    repair = models.ForeignKey(Repair, on_delete=models.CASCADE, related_name="comments")
    at = models.DateTimeField()
    who = models.TextField()
    anchor = models.CharField(max_length=20, blank=True)
    """Of a hunk (`presentation.repair.hunks`); "" of the whole repair."""
    verdict = models.CharField(max_length=10, blank=True, choices=Verdict)
    text = models.TextField(blank=True)

    objects = Visible("repair__conversation__source")

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.repair_id} by {self.who}"


class RepairChange(models.Model):
    """One value before and after, committed before the store is touched: undo needs nothing else."""

    repair = models.ForeignKey(Repair, on_delete=models.CASCADE, related_name="changes")
    position = models.PositiveIntegerField()
    key = models.BinaryField()
    element = models.CharField(max_length=10, blank=True)
    before = models.BinaryField(null=True)
    before_type = models.CharField(max_length=10, blank=True)
    after = models.BinaryField(null=True)
    after_type = models.CharField(max_length=10, blank=True)

    objects = Visible("repair__conversation__source")

    class Meta:
        ordering = ("position",)

    def __str__(self) -> str:
        return f"{self.repair_id}.{self.position}"


class AuditEntry(models.Model):
    """Who did what to which bytes, when. Each line is sealed with a key that is not in the database, and carries the seal of the line before."""

    at = models.DateTimeField()
    who = models.TextField()
    verb = models.CharField(max_length=40)
    source_path = models.TextField(blank=True)
    conversation = models.TextField(blank=True)
    repair = models.CharField(max_length=12, blank=True)
    detail = JsonText(default=dict)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.who} {self.verb}"

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **named: Any) -> Self:
        """What somebody put into the database that no line can have is read as something that can be shown, and that the seal does not cover."""
        entry = super().from_db(db, field_names, values, **named)
        for name, value in list(vars(entry).items()):
            if isinstance(value, bytes):
                setattr(entry, name, repr(value))
            elif name == "at" and value is None:
                entry.at = datetime.fromtimestamp(0, UTC)
            elif name == "detail" and not isinstance(value, dict):
                entry.detail = {"unreadable": repr(value)}
        return entry

    def content(self) -> bytes:
        """What its seal covers: everything but the seal itself."""
        facts: list[Any] = [
            self.previous,
            self.at.isoformat(),
            self.who,
            self.verb,
            self.source_path,
            self.conversation,
            self.repair,
            self.detail,
        ]
        return json.dumps(facts, sort_keys=True).encode()
