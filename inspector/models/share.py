"""Links that show one thing without a login."""

from django.db import models

from inspector.models.source import Source
from inspector.models.visible import Visible


class ShareLink(models.Model):
    """The token of a link is shown once and kept as a hash: who reads this table opens nothing."""

    class Kind(models.TextChoices):
        CONVERSATION = "conversation"
        FINDING = "finding"
        REPAIR = "repair"
        PROBLEM = "problem"
        STREAM = "stream"

    oid = models.CharField(max_length=12, unique=True)
    token_hash = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=12, choices=Kind)
    about = models.CharField(max_length=12)
    """The id of what it shows."""
    label = models.TextField(blank=True)
    """What that was called when the link was made, with secrets masked."""
    source = models.ForeignKey(Source, on_delete=models.SET_NULL, null=True, related_name="share_links")
    """None once the source was removed."""
    created_by = models.TextField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    is_exact = models.BooleanField(default=False)
    """Secrets are shown as they are stored."""
    note = models.TextField(blank=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.TextField(blank=True)
    opened = models.PositiveBigIntegerField(default=0)
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)

    objects = Visible("source")

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.oid

    @property
    def href(self) -> str:
        """Of the page itself, for who signs in."""
        return f"/{self.kind}s/{self.about}/"
