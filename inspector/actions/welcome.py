"""A link by which a person sets a password, once: it ends with the password that is set, with the next sign-in, and after three days."""

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode


def link_of(user: User, base: str = "") -> str:
    """`base` is the address of these pages, where INSPECTOR_BASE_URL does not say it."""
    path = f"/welcome/{urlsafe_base64_encode(force_bytes(user.pk))}/{default_token_generator.make_token(user)}/"
    return f"{(settings.INSPECTOR_BASE_URL or base).rstrip('/')}{path}"
