"""Secrets are masked in what is pasted; what only looks like one stays readable."""

import hashlib
import json
import time
import uuid

import pytest

from inspector.presentation.masking import masked

# Made up, and put together here so that no scanner takes this file for a leak.
RANDOM = "7Hq2Zt9LmXc4Vb8NwRkY3sPdFgTj6UaE"
ANTHROPIC = "sk-" + f"ant-api03-{RANDOM}{RANDOM}-{RANDOM}AA"
PEM = "-----BEGIN RSA " + f"PRIVATE KEY-----\n{RANDOM}\n{RANDOM}+/=\n-----END RSA " + "PRIVATE KEY-----"
JWT = "eyJ" + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SECRETS = [
    ("AWS Access Key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("AWS Access Key", "aws_secret_access_key = '" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" + "'"),
    ("GitHub Token", "ghp_" + "A" * 20 + "0123456789abcdef"),
    ("GitLab Token", "glpat" + "-abcdefghij0123456789"),
    ("Slack Token", "xoxb" + "-123456789012-abcdefABCDEF123456"),
    ("Stripe Access Key", "sk_live" + "_" + RANDOM * 3),
    ("SendGrid API Key", "SG." + "a" * 22 + "." + "b" * 43),
    ("OpenAI Token", "sk-" + "a1" * 10 + "T3BlbkFJ" + "b2" * 10),
    ("Anthropic API Key", ANTHROPIC),
    ("API Key", "sk-proj-" + RANDOM + RANDOM),
    ("API Key", "sk-or-v1-" + hashlib.sha256(b"").hexdigest()),
    ("API Key", "AIza" + "SyD-" + RANDOM[:31]),
    ("API Key", "github_pat_" + RANDOM),
    ("API Key", "hf_" + RANDOM),
    ("Bearer Token", f"Authorization: Bearer {RANDOM}"),
    ("Basic Auth Credentials", "postgres://app:hunter2@db.example.org/app"),
    ("Basic Auth Credentials", "amqp://app:p$ss!w@rabbit:5672"),
    ("Basic Auth Credentials", "redis://:hunter2secret@cache:6379/0"),
    ("Basic Auth Credentials", "Authorization: Basic dXNlcjpodW50ZXIyaHVudGVyMg=="),
    ("JSON Web Token", JWT),
    ("Secret Keyword", 'password = "correct horse"'),
    ("Secret Keyword", '"client_secret": "correct-horse"'),
    ("Secret Keyword", json.dumps({"command": 'export DB_PASSWORD="correct-horse"'})),
    ("Secret Keyword", json.dumps(json.dumps({"api_key": "correct-horse"}))),
    ("Secret Keyword", f"curl -H 'x-api-key: {RANDOM}'"),
    ("Secret Keyword", "DATABASE_PASSWORD=correct-horse"),
    ("Private Key", PEM),
    ("Private Key", json.dumps({"text": PEM})),
]


@pytest.mark.parametrize(("kind", "text"), SECRETS)
@pytest.mark.parametrize("around", ["{}", "before {} after", "line one\n{}\nline two", "x" * 1500 + " {} " + "y" * 1500])
def test_a_secret_is_masked_wherever_it_stands(kind: str, text: str, around: str) -> None:
    result = masked(around.format(text))
    assert f"[{kind} masked]" in result
    words = (
        RANDOM,
        "hunter2",
        "correct",
        "wJalrXUtn",
        "IOSFODNN7",
        "0123456789abcdef",
        "abcdefghij01",
        "dozjgNry",
        "p$ss!w",
        "b" * 20,
        "dXNlc",
    )
    assert not [word for word in words if word in result]
    assert result.startswith(around.partition("{}")[0]) and result.endswith(around.partition("{}")[2])


def test_what_is_around_a_secret_stays() -> None:
    assert masked(f"a {ANTHROPIC} b {ANTHROPIC}") == "a [Anthropic API Key masked] b [Anthropic API Key masked]"
    assert masked("postgres://app:hunter2@db/app") == "postgres://app:[Basic Auth Credentials masked]@db/app"
    assert masked(f"one\n{PEM}\ntwo") == "one\n[Private Key masked]\ntwo"


def test_every_secret_of_a_line_is_masked() -> None:
    line = " ".join(f'"password": "word-number-{number}",' for number in range(60))
    assert "word-number" not in masked(line) and masked(line).count("[Secret Keyword masked]") == 60


def test_a_key_block_without_its_end_is_masked_as_far_as_it_goes() -> None:
    assert masked(PEM.partition("-----END")[0] + "\n} and then code") == "[Private Key masked]} and then code"


def test_masking_twice_changes_nothing_more() -> None:
    for _, text in SECRETS:
        assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize(
    "text",
    [
        hashlib.sha256(b"plan").hexdigest(),
        hashlib.sha1(b"commit").hexdigest(),
        hashlib.md5(b"").hexdigest(),
        f"base_digest={hashlib.sha256(b'').hexdigest()} plan_digest: {hashlib.sha256(b'x').hexdigest()}",
        str(uuid.UUID(int=0x1A997B0809C2412CB29648703C8AAF58)),
        "conv:1a997b08-09c2-412c-b296-48703c8aaf58:chunk:0000000014",
        "20260628:1a997b08-09c2-412c-b296-48703c8aaf58",
        "turn-1782655702655-p7c4wz#1 step call_8f2b61d0c94e4a7b toolu_01A09q90qw90lq917835lq9",
        "4f9f3bd4a413",
        '10 assistant 0.2 tool-call call_8f2b61d0c94e4a7b run_shell {"command":"grep -rniE \'hit ?rate\' packages"} step="turn-1782655702655-p7c4wz#0"',
        "pip install sk-learn-compatible-estimator-library scikit-learn task-oriented-dialogue-system",
        '<div class="sk-loading-spinner sk-fading-circle-delayed">',
        "def password_of(user): return user.password",
        "max_tokens=4096 MAX_TOKENS=4096 TOKEN_LIMIT=128000",
        "export TOKEN=$(cat file) API_KEY=${KEY} SECRET_KEY_FILE=/run/secrets/key",
        "Bearer authentication is required; send Authorization: Bearer <token>",
        "http://localhost:8000/repairs/4f9f3bd4a413/ ssh://git@example.org:22/repo https://example.org/@scope/package",
        "git log: BEGIN PRIVATE part of the key handling",
        "api_key: process.env.ANTHROPIC_API_KEY",
        "from inspector.programs.dispatch.readers import interrupted_result",
        '{"inputTokens":1988,"outputTokens":168,"cacheReadTokens":1920}',
        "192.168.0.1 and 8.8.8.8",
    ],
)
def test_what_only_looks_like_a_secret_stays_readable(text: str) -> None:
    assert masked(text) == text
    assert masked("x " * 700 + text) == "x " * 700 + text


HOSTILE = {
    "names": "api_key" * 40_000,
    "names and quotes": 'api_key="a' * 30_000,
    "spaces": ("api_key" + " " * 300) * 1000,
    "backticks": ("`a" * 200 + "key == ") * 700,
    "sk": "sk-" * 100_000,
    "jwt": ("eyJ" * 40 + ".") * 2500,
    "slashes": ("//" * 200 + "/:_authToken=") * 700,
    "urls": "://a:" * 60_000,
    "key blocks": ("-----BEGIN RSA " + "PRIVATE KEY-----") * 10_000,
    "slack": "xoxb-1-" * 40_000,
    "letters": "a" * 300_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_bounded_time(name: str) -> None:
    """300 KB; a rule that is quadratic in the line would take minutes."""
    started = time.process_time()
    masked(HOSTILE[name])
    assert time.process_time() - started < 10


def test_a_megabyte_of_usual_text_is_quick() -> None:
    text = '{"command":"find . -path ./node_modules -prune","token_count":128,"key":"conv:1a997b08"}\\n' * 11_000
    started = time.process_time()
    assert masked(text) == text
    assert time.process_time() - started < 10
