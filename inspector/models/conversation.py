"""A conversation with its revisions: each distinct content is kept, and re-import writes only what is new."""

from django.db import models
from django.db.models import Q

from inspector.models.identity import short_id
from inspector.models.json_text import JsonText
from inspector.models.source import Source
from inspector.models.visible import Visible

NO_ACTIVITY = 2**61
"""The place of a conversation of which nothing says when it was active: after all others."""
DEMO_PLACE = 2**62
"""What is added to the place of a conversation of the demo, which is there to try things on: it follows one's own."""


class Payload(models.Model):
    """Content-addressed bytes: record values as stored, and bodies of trace records (which may stay gzipped)."""

    digest = models.CharField(max_length=64, primary_key=True)
    data = models.BinaryField()
    gzipped = models.BooleanField(default=False)
    size = models.BigIntegerField()

    def __str__(self) -> str:
        return self.digest


class ConversationCount(models.Model):
    """How many conversations of a source are alike in what the lists filter by, and the chunks of all of them. Only `counting` writes it."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="conversation_counts", db_index=False)
    is_gone = models.BooleanField()
    is_damaged = models.BooleanField()
    has_silent = models.BooleanField()
    refused = models.BooleanField()
    is_crash = models.BooleanField()
    is_replaced = models.BooleanField(default=False, db_default=False)
    conversations = models.BigIntegerField(default=0)
    chunks = models.BigIntegerField(default=0)

    objects = Visible("source")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("source", "is_gone", "is_damaged", "has_silent", "refused", "is_crash", "is_replaced"),
                name="conversation_count_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.conversations} of {self.source_id}"


class Conversation(models.Model):
    """The columns next to the identity are a summary of the newest revision, for lists."""

    oid = models.CharField(max_length=12, unique=True)
    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="conversations")
    native_id = models.TextField()
    """Lone surrogates and NUL are escaped here; the exact id is in the record keys, and looked up by the `oid` that is made of it."""
    title = models.TextField(blank=True)
    model = models.TextField(blank=True)
    client_version = models.TextField(blank=True)
    """Of the program that wrote it last; "" where it does not say."""
    status = models.CharField(max_length=20, blank=True)
    identity = models.CharField(max_length=12, blank=True, db_index=True)
    """What every copy of it is known by, on every machine, as the first import had it; `oid` is of the source too. "" before it is imported again."""
    names = models.TextField(blank=True)
    """Title and native id as a search looks through them (`inspector.presentation.visible.folded`)."""
    last_activity = models.BigIntegerField(null=True)
    revision = models.PositiveIntegerField(default=0)
    is_gone = models.BooleanField(default=False)
    """The store did not hold it at the last import; what was read stays."""
    chunk_count = models.PositiveIntegerField(default=0)
    message_count = models.PositiveIntegerField(default=0)
    read_count = models.PositiveIntegerField(default=0)
    verdict = models.TextField(blank=True)
    damage = models.TextField(blank=True, db_default="")
    """What lists say in place of the verdict, without the next request."""
    next_request = JsonText(default=list, db_default=[])
    """State, words and more of `inspector.presentation.conversation.verdict.NextRequest`; empty before it is judged."""
    worst = models.CharField(max_length=10, blank=True)
    has_silent = models.BooleanField(default=False)
    refused = models.BooleanField(default=False)
    judged_by = models.CharField(max_length=20, blank=True)
    """Version of Inspector whose rules gave verdict and findings; another version judges again at the next import."""
    masked_by = models.CharField(max_length=20, blank=True, db_default="")
    """Version of Inspector by whose rules the secrets in `names` and in all its SearchText are masked; `renew` masks what another version masked."""
    projection = models.CharField(max_length=60, blank=True)
    profile = models.CharField(max_length=60, blank=True)
    """By which it was judged; "" of one that was judged before this was kept: those of its source."""
    place = models.BigIntegerField(default=NO_ACTIVITY)
    """Where it is in lists, ascending: `counting.place_of`. This and the columns below are written by `counting` alone."""
    is_damaged = models.BooleanField(default=False)
    """An error or a warning was found, or the provider rejects it, and no fork replaced it."""
    is_replaced = models.BooleanField(default=False, db_default=False)
    """Repaired by a fork, and not written on since: whoever goes on does it in the fork."""
    forked_by = models.ForeignKey("Repair", on_delete=models.SET_NULL, null=True, related_name="forks")
    """The repair that wrote it, of a fork."""
    is_crash = models.BooleanField(default=False)
    """It is a crash file: evidence of a request, next to the sessions."""
    counted = models.ForeignKey(ConversationCount, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    """Where it is counted now, with `counted_chunks`; None before it is counted for the first time."""
    counted_chunks = models.BigIntegerField(default=0)

    objects = Visible("source")

    class Meta:
        ordering = ("place", "id")
        # Partial ones: SQLite seeks in no index for NOT is_gone, and takes one with this very condition.
        indexes = [
            # With the source: whether that is the demo is asked of every row that a page by its number leaves out.
            models.Index(fields=("place", "id", "source"), name="listed", condition=Q(is_gone=False)),
            models.Index(fields=("chunk_count", "id"), name="listed_by_size", condition=Q(is_gone=False)),
            models.Index(fields=("place", "id"), name="listed_damaged", condition=Q(is_gone=False, is_damaged=True)),
            models.Index(fields=("place", "id"), name="listed_healthy", condition=Q(is_gone=False, is_damaged=False)),
            models.Index(fields=("place", "id"), name="listed_silent", condition=Q(is_gone=False, has_silent=True)),
            models.Index(fields=("place", "id"), name="listed_refused", condition=Q(is_gone=False, refused=True)),
            models.Index(fields=("place", "id"), name="listed_replaced", condition=Q(is_gone=False, is_replaced=True)),
            models.Index(fields=("place", "id"), name="listed_crash", condition=Q(is_gone=False, is_crash=True)),
            models.Index(fields=("source", "place", "id"), name="listed_of_source", condition=Q(is_gone=False)),
            models.Index(fields=("place", "id"), name="listed_gone", condition=Q(is_gone=True)),
        ]

    def __str__(self) -> str:
        return self.oid

    @staticmethod
    def oid_of(source: Source, native_id: str) -> str:
        return short_id(source.path, source.format, native_id)

    @property
    def judges(self) -> tuple[str, str]:
        """(projection, profile) where nobody asks for others."""
        return (self.projection, self.profile) if self.profile else (self.source.projection, self.source.profile)

    @property
    def is_silent(self) -> bool:
        """Whether its next request goes wrong and nobody is told."""
        # The name of this state is in a module that loads all rules, which no command needs to start.
        return bool(self.next_request[:1] == ["silent"])

    @property
    def shared_id(self) -> str:
        """Names it in links that leave the machine."""
        return self.identity or self.oid

    @property
    def short_native_id(self) -> str:
        return self.native_id[:8] if len(self.native_id) > 16 else self.native_id


class Revision(models.Model):
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    seen_at = models.DateTimeField()
    shared_facts = JsonText(default=dict)
    """Facts that are in records which the conversation shares with others (the index)."""

    objects = Visible("conversation__source")

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=("conversation", "number"), name="revision_number")]

    def __str__(self) -> str:
        return f"{self.conversation} revision {self.number}"


class _OfRevisions(models.Model):
    """A row that is valid from revision `since` to `until` (None: still)."""

    since = models.PositiveIntegerField()
    until = models.PositiveIntegerField(null=True)

    class Meta:
        abstract = True

    @staticmethod
    def at(revision: int) -> Q:
        return Q(since__lte=revision) & (Q(until__isnull=True) | Q(until__gte=revision))


GOES_ON = "+"
"""Ends the storage class of a row that goes on with the record before it: a file is kept in pieces (see `inspector.text.pieces`)."""


class Record(_OfRevisions):
    """One stored record, or a piece of a file: what a file grows by is a row of its own, and the rest of it stays."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="records", db_index=False)
    key = models.TextField()
    key_bytes = models.BinaryField(null=True)
    """Only where the key does not survive as text."""
    position = models.BigIntegerField()
    storage = models.CharField(max_length=10, default="text")
    payload = models.ForeignKey(Payload, on_delete=models.PROTECT, db_constraint=False, db_index=False)

    objects = Visible("conversation__source")

    class Meta:
        ordering = ("position", "id")
        indexes = [
            models.Index(fields=("conversation", "position"), name="record_by_position"),
            models.Index(fields=("payload", "conversation"), name="record_by_payload"),
        ]

    def __str__(self) -> str:
        return self.key


class ChunkRow(_OfRevisions):
    """Where a chunk of a conversation is and what it is; its words are in SearchText, its bytes in a payload."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="chunk_rows", db_index=False)
    position = models.PositiveIntegerField()
    """Its place among the chunks of the revision, from 0."""
    seq = models.BigIntegerField(null=True)
    msg_idx = models.BigIntegerField(null=True)
    chunk_idx = models.BigIntegerField(null=True)
    role = models.CharField(max_length=20, blank=True)
    kind = models.CharField(max_length=20, blank=True)
    key = models.TextField()
    at_time = models.BigIntegerField(null=True)
    """Epoch milliseconds."""
    payload = models.CharField(max_length=64, blank=True)
    """Digest of the payload that has its raw bytes; "" where they are no part of one."""
    start = models.BigIntegerField(default=0)
    size = models.BigIntegerField(default=0)
    check_sum = models.BigIntegerField()
    """CRC-32 of its words: what is parsed from its bytes alone must have it (`inspector.models.single_chunk`)."""

    objects = Visible("conversation__source")

    class Meta:
        ordering = ("position", "id")
        indexes = [
            models.Index(fields=("conversation", "position"), name="chunk_by_position"),
            models.Index(fields=("conversation", "seq"), name="chunk_by_seq"),
        ]

    def __str__(self) -> str:
        return self.key


class SearchText(_OfRevisions):
    """The searchable words of chunks that follow each other (`inspector.models.searching`)."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="search_texts")
    position = models.BigIntegerField()
    """Orders the rows of a revision, with gaps."""
    count = models.PositiveIntegerField()
    """Chunks in it."""
    size = models.BigIntegerField()
    digest = models.CharField(max_length=64)
    is_indexed = models.BooleanField(default=False)
    text = models.TextField()

    objects = Visible("conversation__source")

    class Meta:
        ordering = ("position", "id")
        indexes = [models.Index(fields=("id",), name="text_to_index", condition=Q(is_indexed=False))]

    def __str__(self) -> str:
        return f"{self.count} chunks of {self.conversation_id}"


class Finding(models.Model):
    """A finding as the source's reader has it; other readers are judged when a page asks. One that is no longer found stays, for its links."""

    oid = models.CharField(max_length=12, unique=True)
    identity = models.CharField(max_length=12, blank=True, db_index=True)
    """As that of its conversation."""
    is_open = models.BooleanField(default=True)
    """Found in the newest revision."""
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="findings")
    revision = models.PositiveIntegerField()
    """The last in which it was found."""
    reader = models.CharField(max_length=80, blank=True)
    code = models.CharField(max_length=12)
    rule = models.CharField(max_length=60)
    severity = models.CharField(max_length=10)
    silent = models.BooleanField()
    origin = models.CharField(max_length=10)
    message = models.TextField()
    seqs = JsonText()
    total = models.PositiveIntegerField()
    key = models.TextField()

    objects = Visible("conversation__source")

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=("code",), name="finding_by_code")]

    def __str__(self) -> str:
        return f"{self.code} in {self.conversation_id}"

    @property
    def shared_id(self) -> str:
        """Names it in links that leave the machine."""
        return self.identity or self.oid


class ConversationRule(models.Model):
    """The open findings of one rule in one conversation that are equally severe. Only `counting` writes it."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="rules", db_index=False)
    code = models.CharField(max_length=12)
    rule = models.CharField(max_length=60)
    severity = models.CharField(max_length=10)
    silent = models.BooleanField()
    findings = models.BigIntegerField()
    first = models.ForeignKey(Finding, on_delete=models.CASCADE, related_name="+", db_index=False)
    is_worst = models.BooleanField()
    """Of those of this rule in this conversation: it counts the conversation. None is where a fork replaced it."""
    is_gone = models.BooleanField()
    place = models.BigIntegerField()
    """Both are those of the conversation, so that one index lists the conversations of a rule."""

    objects = Visible("conversation__source")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("conversation", "code", "severity", "silent"), name="conversation_rule_once")]
        indexes = [
            models.Index(fields=("code", "place", "conversation"), name="listed_of_rule", condition=Q(is_gone=False, is_worst=True)),
            models.Index(fields=("code", "place", "conversation"), name="listed_of_rule_gone", condition=Q(is_gone=True, is_worst=True)),
        ]

    def __str__(self) -> str:
        return f"{self.code} in {self.conversation_id}"


class RuleCount(models.Model):
    """How many present conversations of a source have open findings of a rule, by the worst of them, and how many findings of this severity. Only `counting` writes it."""

    source = models.ForeignKey(Source, on_delete=models.CASCADE, related_name="rule_counts", db_index=False)
    code = models.CharField(max_length=12)
    severity = models.CharField(max_length=10)
    conversations = models.BigIntegerField(default=0)
    findings = models.BigIntegerField(default=0)

    objects = Visible("source")

    class Meta:
        constraints = [models.UniqueConstraint(fields=("source", "code", "severity"), name="rule_count_once")]

    def __str__(self) -> str:
        return f"{self.findings} of {self.code} in {self.source_id}"
