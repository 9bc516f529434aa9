"""How people get in: their sessions, what a provider knows them by, their API tokens, and attempts that failed."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from inspector.access.roles import ROLES
from inspector.models.access import SourceGroup
from inspector.models.source import Source
from inspector.sign_in.browsers import LONGEST, in_words


class FailedSignIn(models.Model):
    """Attempts that failed for one name, one address, or a name from an address. `digest` hides which: people type their passwords as names."""

    kind = models.CharField(max_length=8)
    digest = models.CharField(max_length=64, unique=True)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    locked_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.failures} of {self.kind}"


class OpenSession(models.Model):
    """A browser in which somebody is signed in, for the list of one's sessions. What ends a session is the session itself."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="open_sessions")
    key = models.CharField(max_length=40, unique=True)
    begun_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)
    address = models.CharField(max_length=45, blank=True)
    by = models.CharField(max_length=10)
    agent = models.CharField(max_length=LONGEST, blank=True, default="")
    """What the browser says of itself (User-Agent), cut; "" in rows of an older version."""

    class Meta:
        ordering = ("-seen_at",)

    def __str__(self) -> str:
        return f"of {self.user_id}"

    @property
    def browser(self) -> str:
        return in_words(self.agent)


class Identity(models.Model):
    """By what a provider knows an account: names and e-mail addresses may pass to somebody else, these two do not."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=400)
    subject = models.CharField(max_length=255)
    bound_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=("issuer", "subject"), name="identity_once")]

    def __str__(self) -> str:
        return f"{self.subject} of {self.issuer}"


class ApiToken(models.Model):
    """Lets a program read twins as its person, with at most `role`, on all of their sources or on fewer. Only its hash is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    shown = models.CharField(max_length=16)
    """Its beginning, by which a person recognizes it."""
    role = models.CharField(max_length=10, choices=((word, word) for word in ROLES))
    source = models.ForeignKey(Source, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens")
    group = models.ForeignKey(SourceGroup, on_delete=models.CASCADE, null=True, blank=True, related_name="api_tokens")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = [models.CheckConstraint(condition=Q(source=None) | Q(group=None), name="api_token_on_one")]

    def __str__(self) -> str:
        return self.name

    @property
    def on(self) -> str:
        """What it is on, in words."""
        if self.source is not None:
            return self.source.name
        return f"the group {self.group.name}" if self.group is not None else "all sources that its person sees"
