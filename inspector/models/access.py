"""Who may do what with which sources."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from inspector.access.roles import ROLES, Role
from inspector.models.source import Source


class SourceGroup(models.Model):
    """Sources under one name, so that a role on them is given once."""

    name = models.CharField(max_length=60, unique=True)
    sources = models.ManyToManyField(Source, related_name="source_groups", blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """A role of one account: on a source, on those of a group, or, with neither, on all sources, also those that are added later."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=10, choices=((word, word) for word in ROLES))
    source = models.ForeignKey(Source, on_delete=models.CASCADE, null=True, blank=True, related_name="grants")
    group = models.ForeignKey(SourceGroup, on_delete=models.CASCADE, null=True, blank=True, related_name="grants")
    is_masked = models.BooleanField(default=False)
    """Secrets stay masked, whatever the role."""
    is_mapped = models.BooleanField(default=False)
    """It follows from a group that the person is in elsewhere, and is looked at again at each sign-in (INSPECTOR_GROUP_ROLES)."""
    given_by = models.TextField(blank=True)
    given_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("id",)
        constraints = [models.CheckConstraint(condition=Q(source=None) | Q(group=None), name="grant_on_one")]

    def __str__(self) -> str:
        return f"{self.role} of {self.user_id}"

    @property
    def least(self) -> Role:
        return ROLES[self.role]

    @property
    def on(self) -> str:
        """What it is on, in words."""
        if self.source is not None:
            return self.source.name
        return f"the group {self.group.name}" if self.group is not None else "all sources"
