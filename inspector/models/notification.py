"""Who is told of which events, and the messages to them: an outbox that is written with the act itself, and a log of what became of each."""

from django.db import models

from inspector.models.access import SourceGroup
from inspector.models.json_text import JsonText
from inspector.models.source import Source


class Notifier(models.Model):
    """Somewhere that messages are sent to. What opens it is in NotifierSecret; nothing that is shown of it does."""

    class Kind(models.TextChoices):
        WEBHOOK = "webhook", "Webhook"
        SLACK = "slack", "Slack"
        GITHUB = "github", "GitHub issue"
        EMAIL = "email", "E-mail"

    oid = models.CharField(max_length=12, unique=True)
    name = models.CharField(max_length=60, unique=True)
    kind = models.CharField(max_length=10, choices=Kind)
    place = models.TextField()
    """Where it leads, as it is shown: the host of an address, whose rest may be a secret; the issue; the recipients."""
    tail = models.CharField(max_length=4, blank=True)
    """The last four characters of its secret."""
    events = JsonText(default=list)
    least = models.CharField(max_length=10, default="note")
    """The least severity of a problem that it wants."""
    is_limited = models.BooleanField(default=False)
    """To `sources` and those of `groups`: to none, when those that it had were removed. Else all sources but the demo's."""
    sources = models.ManyToManyField(Source, blank=True, related_name="notifiers")
    groups = models.ManyToManyField(SourceGroup, blank=True, related_name="notifiers")
    is_on = models.BooleanField(default=True)
    added_by = models.TextField()
    added_at = models.DateTimeField()
    left_out = models.BigIntegerField(default=0)
    """Messages that were not kept, since too many waited."""

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class NotifierSecret(models.Model):
    """What nobody is shown again: the address of a webhook, of which a part may be a password, and its key; the token of GitHub."""

    notifier = models.OneToOneField(Notifier, on_delete=models.CASCADE, primary_key=True, related_name="kept_secret")
    address = models.TextField(blank=True)
    secret = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"of notifier {self.pk}"


class Delivery(models.Model):
    """One message to one notifier."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        GIVEN_UP = "given up"

    key = models.CharField(max_length=36, unique=True)
    """The same in every attempt, so that a receiver knows a message that it already has."""
    notifier = models.ForeignKey(Notifier, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=20)
    together = models.CharField(max_length=60, blank=True)
    """What happens meanwhile with the same words here is added to this message; "" of one that is sent at once."""
    source = JsonText(default=dict)
    """Id and name; {} of a test."""
    items = JsonText(default=list)
    """Masked and short, as `notifying.events` makes them."""
    total = models.PositiveIntegerField(default=1)
    page = models.TextField(blank=True)
    """The path of the page that shows it."""
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    added_at = models.DateTimeField()
    due_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True)
    claimed_by = models.TextField(blank=True)
    """The process that sends it now, as `sources.processes` names it."""
    attempts = models.PositiveSmallIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    """Of the last answer by HTTP."""
    answer = models.TextField(blank=True)
    """Its beginning, masked."""
    error = models.TextField(blank=True)
    """Why the last attempt failed, in one sentence."""

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=("due_at",), condition=models.Q(state="waiting"), name="delivery_due"),
            models.Index(fields=("notifier", "state", "id"), name="delivery_of_notifier"),
            models.Index(fields=("together",), condition=models.Q(state="waiting"), name="delivery_together"),
            models.Index(fields=("ended_at",), name="delivery_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.notifier_id}"
