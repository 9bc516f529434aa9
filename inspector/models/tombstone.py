"""What was purged: that it was here, when, and why it is gone. Nothing of what it said."""

from django.db import models

from inspector.models.visible import Visible


class Tombstone(models.Model):
    """One for each link: a conversation, its findings and its repairs; a source that was removed, its streams and its problems."""

    class Kind(models.TextChoices):
        CONVERSATION = "conversation"
        FINDING = "finding"
        REPAIR = "repair"
        SOURCE = "source"
        STREAM = "stream"
        PROBLEM = "problem"

    oid = models.CharField(max_length=12, unique=True)
    kind = models.CharField(max_length=12, choices=Kind)
    conversation = models.CharField(max_length=12, db_index=True)
    """Its id; of a conversation its own. Of a source, its streams and its problems the id of the source."""
    source = models.CharField(max_length=12, db_index=True)
    native = models.CharField(max_length=12)
    """A hash of the conversation's own id, by which its trace records are known."""
    first_seen = models.DateTimeField(null=True)
    last_activity = models.BigIntegerField(null=True)
    """Epoch milliseconds."""
    purged_at = models.DateTimeField()
    purged_by = models.TextField()
    reason = models.TextField()
    is_import_allowed = models.BooleanField(default=False)
    """Else imports of its store leave the conversation out."""

    objects = Visible("source", by="oid")

    def __str__(self) -> str:
        return self.oid

    @property
    def is_of_source(self) -> bool:
        """Of a whole source: it has the id of the source in place of a conversation's."""
        return self.conversation == self.source

    @property
    def act(self) -> str:
        return "removed" if self.is_of_source else "purged"

    @property
    def comes_back(self) -> bool:
        """With the next import of its store: whoever removes a source forbids no import of it."""
        return self.is_import_allowed or self.is_of_source

    @property
    def sentence(self) -> str:
        """For whoever follows a link to it."""
        seen = f" first imported on {self.first_seen:%Y-%m-%d} and" if self.first_seen else ""
        return f"The {self.kind} {self.oid} was{seen} {self.act} on {self.purged_at:%Y-%m-%d} by {self.purged_by}: {self.reason}."
