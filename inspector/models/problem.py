"""A problem: one rule in one source, the conversations or captured streams in which it occurs, and what people decided about it."""

from datetime import UTC, date, datetime

from django.db import models
from django.db.models import Q

from inspector.models.conversation import Conversation
from inspector.models.identity import short_id
from inspector.models.json_text import JsonText
from inspector.models.repair import Repair
from inspector.models.source import Source
from inspector.models.stream import Stream
from inspector.models.visible import Visible
from inspector.text.versions import is_at_least

SEVERITIES = ("error", "warning", "note")


class ProblemState(models.TextChoices):
    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    REGRESSED = "regressed"
    IGNORED = "ignored"
    REPAIRED = "repaired"


class Problem(models.Model):
    """What comes from the data is written by `counting` alone, decisions by `actions.decide_problem` (and taken back by `counting` when it occurs again)."""

    oid = models.CharField(max_length=12, unique=True)
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="rule_problems", db_index=False)
    code = models.CharField(max_length=12)
    rule = models.CharField(max_length=60)
    rank = models.PositiveSmallIntegerField()
    """Of the worst open occurrence, `rank_of`: 0 for a silent error, 5 for a note that raises an error; of a repaired problem as it was."""
    conversations = models.BigIntegerField(default=0)
    """In which it occurs now, or captured streams of a source that is a capture: of open occurrences, with their `findings`."""
    findings = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    """Conversations or streams in which it ever occurred."""
    first_seen = models.BigIntegerField()
    """Epoch milliseconds, as `last_seen`: activity in the conversation where it is known, when the file of a stream was written, else when it was read."""
    last_seen = models.BigIntegerField()
    repaired_at = models.DateTimeField(null=True)
    """Since when it has no open occurrence; None while it has one."""
    regressed_at = models.DateTimeField(null=True)
    """When it occurred again after a repair."""
    decision = models.CharField(
        max_length=12, blank=True, choices=((state.value, state.value) for state in (ProblemState.ACKNOWLEDGED, ProblemState.IGNORED))
    )
    reason = models.TextField(blank=True)
    ignored_until = models.DateField(null=True)
    """The first day (UTC) on which it is open again."""
    until_occurs = models.BooleanField(default=False)
    """It is ignored until it occurs in another conversation, or again in a repaired one."""
    decided_by = models.TextField(blank=True)
    decided_at = models.DateTimeField(null=True)
    assigned_to = models.TextField(blank=True)
    fixed_in = models.CharField(max_length=60, blank=True)
    """Version of the client since which the damage is not done any more, as somebody said; "" where no version is known."""
    fixed_at = models.DateTimeField(null=True)
    """When it was said; None while nobody did, and after it occurred again all the same."""
    fixed_by = models.TextField(blank=True)

    objects = Visible("source")

    class Meta:
        ordering = ("rank", "-conversations", "id")
        constraints = [models.UniqueConstraint(fields=("source", "code"), name="problem_once")]

    def __str__(self) -> str:
        return f"{self.code} in {self.source_id}"

    @staticmethod
    def oid_of(source_oid: str, code: str) -> str:
        return short_id("problem", source_oid, code)

    @property
    def shared_id(self) -> str:
        """What a link names it by that opens wherever a copy of the store is: a conversation that has it, by the id of all its copies, and the rule."""
        first = self.occurrences.filter(conversation__isnull=False).select_related("conversation").first()
        of_copies = first.conversation.identity if first and first.conversation else ""
        return f"{of_copies}-{self.code}" if of_copies else self.oid

    @property
    def is_of_streams(self) -> bool:
        """Whether it occurs in captured streams, which are evidence: nothing is written to them."""
        return self.source.is_trace

    @property
    def noun(self) -> str:
        return "stream" if self.is_of_streams else "conversation"

    @property
    def severity(self) -> str:
        return SEVERITIES[self.rank // 2]

    @property
    def silent(self) -> bool:
        return not self.rank % 2

    @property
    def is_ignored(self) -> bool:
        return self.decision == ProblemState.IGNORED and (self.ignored_until is None or self.ignored_until > today())

    def is_after_fix(self, client_version: str, at: int) -> bool:
        """Whether what was active at this moment (epoch milliseconds) should not have it: by the version that wrote it, or by the time where one is not known."""
        if self.fixed_at is None:
            return False
        is_later = is_at_least(client_version, self.fixed_in)
        return at > self.fixed_at.timestamp() * 1000 if is_later is None else is_later

    @property
    def state(self) -> ProblemState:
        if not self.conversations:
            return ProblemState.REPAIRED
        if self.is_ignored:
            return ProblemState.IGNORED
        if self.decision == ProblemState.ACKNOWLEDGED:
            return ProblemState.ACKNOWLEDGED
        return ProblemState.REGRESSED if self.regressed_at else ProblemState.OPEN


class ProblemDay(models.Model):
    """How many conversations or streams a rule began to occur in on a day (UTC), by the client that wrote them and the model that answered."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    client_version = models.TextField(blank=True)
    model = models.TextField(blank=True)
    occurrences = models.BigIntegerField(default=0)

    objects = Visible("problem__source")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("problem", "day", "client_version", "model"), name="problem_day_once")]
        indexes = [models.Index(fields=("day",), name="problem_day_by_day")]

    def __str__(self) -> str:
        return f"{self.occurrences} on {self.day}"


WORST_FIRST = ("state", "rank", "place", "id")
"""The order of the occurrences of a problem: those that are open, the worst, those that were active last; streams as in their file."""


class Occurrence(models.Model):
    """A conversation or a captured stream in which a rule occurs, or did. Only `counting` and the import of captures write it."""

    class State(models.IntegerChoices):
        OPEN = 0
        REPLACED = 1
        REPAIRED = 2
        GONE = 3

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="occurrences", db_index=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, related_name="occurrences")
    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, null=True, related_name="occurrences", db_index=False)
    state = models.PositiveSmallIntegerField(choices=State)
    """REPLACED: repaired by a fork, and still found in the original. GONE: the store does not have the conversation any more, or the file the stream."""
    rank = models.PositiveSmallIntegerField()
    place = models.BigIntegerField()
    """That of the conversation, or the position of the stream, so that one index lists the occurrences of a problem."""
    findings = models.BigIntegerField()
    first_at = models.BigIntegerField()
    """Epoch milliseconds, as `Problem.first_seen`."""
    day = models.ForeignKey(ProblemDay, on_delete=models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False)
    """Where it is counted; None of a conversation that a repair wrote, which is not a new one."""
    closed_at = models.DateTimeField(null=True)
    closed_revision = models.PositiveIntegerField(default=0)
    repair = models.ForeignKey(Repair, on_delete=models.SET_NULL, null=True, related_name="+")
    """After which it was no longer found, or the fork; None where no repair of ours did it."""
    regressed_at = models.DateTimeField(null=True)
    """When it was found again after that."""

    objects = Visible("problem__source")

    class Meta:
        ordering = WORST_FIRST
        constraints = [
            models.UniqueConstraint(fields=("problem", "conversation"), name="occurrence_once"),
            models.UniqueConstraint(fields=("stream", "problem"), name="occurrence_in_stream_once", condition=Q(stream__isnull=False)),
            models.CheckConstraint(
                name="occurrence_of_one",
                condition=Q(conversation__isnull=False, stream__isnull=True) | Q(conversation__isnull=True, stream__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=("problem", "state", "rank", "place", "id"), name="listed_of_problem"),
            models.Index(fields=("closed_at",), name="closed_occurrences", condition=Q(closed_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.problem_id} in {self.conversation_id or self.stream_id}"


class ProblemEvent(models.Model):
    """What was decided about a problem, and what became of it."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    who = models.TextField(blank=True)
    """"" of what an import found."""
    verb = models.CharField(max_length=20)
    detail = JsonText(default=dict)

    objects = Visible("problem__source")

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.verb} by {self.who}"


class SavedView(models.Model):
    """A person's name for a choice of problems: the query of the inbox."""

    who = models.TextField()
    name = models.CharField(max_length=60)
    query = models.TextField()

    class Meta:
        ordering = ("name",)
        constraints = [models.UniqueConstraint(fields=("who", "name"), name="saved_view_once")]

    def __str__(self) -> str:
        return self.name


def rank_of(severity: str, silent: bool) -> int:
    """What nobody notices does the most harm."""
    return 2 * SEVERITIES.index(severity) + (not silent)


def today() -> date:
    return datetime.now(UTC).date()


def in_states() -> dict[ProblemState, Q]:
    """Problems that are on this day open (in whichever way), repaired, or ignored: each is in one of the three."""
    is_over = Q(ignored_until__lte=today())
    return {
        ProblemState.OPEN: Q(conversations__gt=0) & (~Q(decision=ProblemState.IGNORED) | is_over),
        ProblemState.REPAIRED: Q(conversations=0),
        ProblemState.IGNORED: Q(conversations__gt=0, decision=ProblemState.IGNORED)
        & (Q(ignored_until=None) | Q(ignored_until__gt=today())),
    }
