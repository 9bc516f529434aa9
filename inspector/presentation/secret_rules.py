"""The patterns of detect-secrets' plugins, each with words without which it cannot match."""

import re
from collections.abc import Iterator
from typing import Any

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.ibm_cos_hmac import IbmCosHmacDetector
from detect_secrets.plugins.keyword import QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP, KeywordDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

# Left out: the entropy plugins (digests and ids are what we show), public addresses, JWT and private keys (their rules find a part only).
_LITERALS: dict[Any, tuple[str, ...]] = {
    ArtifactoryDetector: ("akc", "ap"),
    AWSKeyDetector: ("a3t", "abia", "acca", "akia", "asia", "aws"),
    AzureStorageKeyDetector: ("accountkey=",),
    BasicAuthDetector: ("://",),
    CloudantDetector: ("cl",),
    DiscordBotTokenDetector: (".",),
    GitHubTokenDetector: ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    GitLabTokenDetector: ("gl", "gr1348941"),
    IbmCloudIamDetector: ("key", "pwd", "pass", "token"),
    IbmCosHmacDetector: ("secret",),
    MailchimpDetector: ("-us",),
    NpmDetector: ("_authtoken",),
    OpenAIDetector: ("t3blbkfj",),
    PypiTokenDetector: ("pypi-",),
    SendGridDetector: ("sg.",),
    SlackDetector: ("xox", "hooks.slack.com"),
    SoftlayerDetector: ("sl", "softlayer"),
    SquareOAuthDetector: ("sq0csp-",),
    StripeDetector: ("k_live_",),
    TelegramBotTokenDetector: (":",),
    TwilioKeyDetector: ("ac", "sk"),
}
_KEYS = ("api", "auth", "service", "account", "db", "database", "priv", "private", "client")
_PASSES = ("db", "database", "key")
_KEYWORDS = (
    *(f"{name}{join}key" for name in _KEYS for join in ("", "_")),
    *(f"{name}{join}pass" for name in _PASSES for join in ("", "_")),
    *("password", "passwd", "pwd", "secret", "contrase"),
)


def rules_of_detect_secrets() -> Iterator[tuple[str, tuple[str, ...], re.Pattern[str], int]]:
    """(kind, literals, pattern, group that holds the secret; 0 = all of the match)."""
    for plugin, literals in _LITERALS.items():
        for pattern in plugin.denylist:
            if plugin is TelegramBotTokenDetector:
                # A counter before a UUID looks the same, but goes on.
                pattern = re.compile(rf"(?<!\d){pattern.pattern}(?![\w-])")
            # Three runs of spaces in a row take cubic time on a line of spaces.
            spaced = pattern.pattern.replace("(?: *)", "(?: {0,4})").replace("| +|", "| {1,4}|")
            # These capture the prefix that identifies the kind of a token, the others the secret where they capture anything.
            group = 0 if plugin in (GitHubTokenDetector, GitLabTokenDetector) else min(pattern.groups, 1)
            yield plugin.secret_type, literals, re.compile(spaced, pattern.flags), group
    for pattern, group in QUOTES_REQUIRED_DENYLIST_REGEX_TO_GROUP.items():
        # No rule goes on with a letter after the name, so giving letters back only costs time: minutes, on a line made for it.
        yield str(KeywordDetector.secret_type), _KEYWORDS, re.compile(pattern.pattern.replace(r")\w*", r")\w*+"), pattern.flags), group
