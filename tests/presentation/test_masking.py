"""Secrets are masked in what is shown; what only looks like one stays readable."""

import hashlib
import json
import re
import time
import uuid

import pytest
from django.conf import settings

from inspector.presentation import masking
from inspector.presentation.masking import mask, masked
from tests.folding import in_one_test

# Made up, and put together here so that no scanner takes this file for a leak.
RANDOM = "7Hq2Zt9LmXc4Vb8NwRkY3sPdFgTj6UaE"
ANTHROPIC = "sk-" + f"ant-api03-{RANDOM}{RANDOM}-{RANDOM}AA"
PEM = "-----BEGIN RSA " + f"PRIVATE KEY-----\n{RANDOM}\n{RANDOM}+/=\n-----END RSA " + "PRIVATE KEY-----"
JWT = "eyJ" + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"

SECRETS = [
    ("aws-access-key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("secret", "aws_secret_access_key = '" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY" + "'"),
    ("github-token", "ghp_" + "A" * 20 + "0123456789abcdef"),
    ("gitlab-token", "glpat" + "-abcdefghij0123456789"),
    ("slack-token", "xoxb" + "-123456789012-abcdefABCDEF123456"),
    ("stripe-key", "sk_live" + "_" + RANDOM * 3),
    ("sendgrid-key", "SG." + "a" * 22 + "." + "b" * 43),
    ("api-key", "sk-" + "a1" * 10 + "T3BlbkFJ" + "b2" * 10),
    ("anthropic-key", ANTHROPIC),
    ("api-key", "sk-proj-" + RANDOM + RANDOM),
    ("api-key", "sk-or-v1-" + hashlib.sha256(b"").hexdigest()),
    ("google-key", "AIza" + "SyD-" + RANDOM[:31]),
    ("github-token", "github_pat_" + RANDOM),
    ("api-key", "hf_" + RANDOM),
    ("authorization", f"Authorization: Bearer {RANDOM}"),
    ("password", "postgres://app:hunter2@db.example.org/app"),
    ("password", "amqp://app:p$ss!w@rabbit:5672"),
    ("password", "redis://:hunter2secret@cache:6379/0"),
    ("authorization", "Authorization: Basic dXNlcjpodW50ZXIyaHVudGVyMg=="),
    ("jwt", JWT),
    ("password", 'password = "correct horse"'),
    ("secret", '"client_secret": "correct-horse"'),
    ("password", json.dumps({"command": 'export DB_PASSWORD="correct-horse"'})),
    ("api-key", json.dumps(json.dumps({"api_key": "correct-horse-7"}))),
    ("api-key", f"curl -H 'x-api-key: {RANDOM}'"),
    ("password", "DATABASE_PASSWORD=correct-horse"),
    ("private-key", PEM),
    ("private-key", json.dumps({"text": PEM})),
]


@in_one_test(
    "before",
    [
        *("\x1b[32m", "\x1b[01;31m\x1b[K", "\\x1b[32m", "\\u001b[32m", "\\\\u001b[32m", "\\033[1m", "\\e[0m"),
        *("\u5bc6\u94a5\u662f", "cl\u00e9", "\\u201c", "\\u003d", "\\\\u003d", "\\x22", "%20", "%22", "q%3D"),
    ],
)
@in_one_test("token", ["ghp_" + RANDOM, ANTHROPIC, "AKIA" + "IOSFODNN7EXAMPLE", "sk-proj-" + RANDOM, JWT])
def test_a_token_begins_after_a_color_an_escape_and_a_letter_of_another_script(before: str, token: str) -> None:
    assert masked(f"{before}{token}") == f"{before}{masked(token)}"


@pytest.mark.parametrize(
    "line",
    [
        "{0}PASSWORD{1}={2}",
        "{0}db_password{1}: {2}",
        "{0}DB_PASSWORD{1}={0}{2}{1}",
        "password: {0}{2}{1}",
        '{0}"password"{1}: {0}"{2}"{1}',
        '{0}"password"{1}{0}:{1} {0}"{2}"{1}',
    ],
)
def test_a_color_between_a_name_and_its_secret_hides_neither(line: str) -> None:
    """As `grep --color=always PASSWORD .env` and viewers of JSON print it, and as JSON keeps what they print."""
    text = line.format("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K", "correct-horse-7")
    assert "horse" not in masked(text)
    assert "horse" not in masked(json.dumps({"output": text}))
    assert "horse" not in masked(json.dumps(json.dumps({"output": text})))


@pytest.mark.parametrize("before", ["x", "9", "Z", "5%2", "u201"])
def test_what_goes_on_with_a_word_is_no_token(before: str) -> None:
    assert masked(f"{before}ghp_{RANDOM}") == f"{before}ghp_{RANDOM}"


@in_one_test(("kind", "text"), SECRETS)
@in_one_test("around", ["{}", "before {} after", "line one\n{}\nline two", "x" * 1500 + " {} " + "y" * 1500])
def test_a_secret_is_masked_wherever_it_stands(kind: str, text: str, around: str) -> None:
    result = masked(around.format(text))
    assert re.search(rf"\[masked {kind} [0-9a-f]{{4}}\]", result)
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
    key = mask(ANTHROPIC, "anthropic-key")
    assert masked(f"a {ANTHROPIC} b {ANTHROPIC}") == f"a {key} b {key}"
    assert masked("postgres://app:hunter2@db/app") == f"postgres://app:{mask('hunter2', 'password')}@db/app"
    assert masked(f"one\n{PEM}\ntwo") == f"one\n{mask(PEM, 'private-key')}\ntwo"


def test_the_same_secret_has_the_same_mask_and_another_another() -> None:
    first, second, third = (masked(f"password={word}") for word in ("hunter2", "hunter2", "hunter3"))
    assert first == second != third


def test_the_mask_depends_on_the_key_of_the_installation() -> None:
    """Without it four digits would confirm a guess."""
    before = masked("password=hunter2")
    try:
        masking.use_key(b"another")
        assert masked("password=hunter2") != before
    finally:
        masking.use_key(settings.SECRET_KEY.encode())


def test_every_secret_of_a_line_is_masked() -> None:
    line = " ".join(f'"password": "word-number-{number}",' for number in range(60))
    assert "word-number" not in masked(line) and masked(line).count("[masked password ") == 60


def test_a_key_block_without_its_end_is_masked_as_far_as_it_goes() -> None:
    assert masked(PEM.partition("-----END")[0] + "\n} and then code").endswith("]} and then code")


def test_the_end_of_a_long_secret_is_masked_too() -> None:
    for text in (f"password={RANDOM * 500}", f"ghp_{RANDOM * 500}", f"Authorization: Bearer {RANDOM * 500}", f'api_key="{RANDOM * 500}'):
        assert RANDOM not in masked(text), text[:30]


def test_masking_twice_changes_nothing_more() -> None:
    for _, text in SECRETS:
        assert masked(masked(text)) == masked(text)


@in_one_test(
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
        '{"password": {"type": "string", "description": "The password of the user, 8 letters or more", "minLength": 8, "format": "password"}}',
        '{"credentials": {"mode": "include", "provider": "aws", "region": "eu-west-1", "user": "bob42"}}',
        '{"secrets": ["NPM_TOKEN", "DEPLOY_KEY"], "required": ["user", "password"], "tokens": {"input": 12, "names": ["ab12cd34", "x1y2z3w4"]}}',
        "password: |\n  The password of the user, as it is in the store.\nhost: db",
        "description: >\n  hunter2 and so on\npasswords:\n  - required\nhost: db",
        "| password | The password of the user | string |\n| token | count42 |",
        "| name | password | what |\n|---|---|---|\n| x | required | y |\n| z | optional | y |",
        "cat password | md5sum && grep -c token | sha256sum",
        "| tokens | cost |\n|---|---|\n| 1200 | 0.2 |\n| 4421 | 0.4 |",
        "https://example.org:8443/@scope/pkg@1.2 http://localhost:3000/a?mail=me@example.org see http://h:80, or me@example.org",
        "tests/x.py:1234:conv:chunk:0000014 and 10:20:30:40:50",
        '{"kind": "SecretStore", "data": {"path": "abc123/def456"}}',
        'if x.password -> y2 || call("password", "username2") or ["password", "email12"]',
        "ENV PASSWORD_FILE /run/x1 and echo $1 $2 costs $5 or $6 and pw: no",
        "ratelimit-tokens-reset:\n  - '2026-02-17T23:44:21Z'",
    ],
)
def test_what_only_looks_like_a_secret_stays_readable(text: str) -> None:
    assert masked(text) == text
    assert masked("x " * 700 + text) == "x " * 700 + text


HOSTILE = {
    "names": "api_key",
    "assignments": "api_key=",
    "names and quotes": 'api_key="a',
    "open quotes": "password='",
    "escapes": "password=\\\\",
    "spaces": "api_key" + " " * 300,
    "backticks": "`a" * 200 + "key == ",
    "sk": "sk-",
    "jwt": "eyJ" * 40 + ".",
    "slashes": "//" * 200 + "/:_authToken=",
    "urls": "://a:",
    "key blocks": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "slack": "xoxb-1-",
    "letters": "a",
    "digits": "0123456789abcdef",
    "curl": "curl -u ",
    "options": "mysql -p -u ",
    "cookies": "cookie: a=1; ",
    "pairs": '"name":"password","value":',
    "said": "password is ",
    "masks": "[masked ",
    "lists": '"password":["a1b2c3",',
    "objects": '{"password":{"x":',
    "blocks": "password: |\n a1b2c3\n",
    "deeper blocks": "password: |\n  ",
    "items": "passwords:\n- a1b2c3\n",
    "tables": "| password |\n|---|\n",
    "one row": "| password ",
    "header": "| password | token |\n|---|---|\n| a1b2c3 | x |\n",
    "hosts": "://a:@b@",
    "manifests": "kind: Secret\ndata:\n  a: b1\n",
    "ends of keys": "-----END " + "PRIVATE KEY-----\nabc ",
    "pgpass": "h:5432:a:b:",
    "variables": 'password" {',
    "arguments": 'password", "',
    "environments": "ENV password ",
    "defaults": "${password:-",
    "hashes": "$6$abc",
    "columns": "password,user\na1b2c3,x\n",
    "headings": "password,user\n",
    "one line of columns": "pass,",
    "statements": "insert into t (password) values ('a1b2c3',",
    "open values": "insert into t (password) values ((",
    "below": "password:\\n\\n",
    "digests": "digest response=",
    "numbers": '"passwords":[123456,',
    "passwords of China": "\u5bc6\u7801\uff1a",
    "one letter that grows in lower case": "\u0130password=\u0130",
}


def _work(text: str) -> float:
    """CPU seconds."""
    started = time.process_time()
    masked(text)
    return time.process_time() - started


@pytest.mark.parametrize("name", HOSTILE)
def test_eight_times_the_text_is_not_much_more_than_eight_times_the_work(name: str) -> None:
    """A rule that goes back over the line takes 64 times as long. Only what seems to is measured again: a busy machine may be slow three times, not always.

    The smaller text is longer than a block may be (8,000 characters), or it has one block and the larger has thousands of short ones.
    """
    part = HOSTILE[name] * (16_000 // len(HOSTILE[name]))
    large, small = [_work(part * 8)], [_work(part)]
    while min(large) >= 24 * max(min(small), 0.0003) and len(large) < 3:
        large.append(_work(part * 8))
        small.append(_work(part))
    assert min(large) < 24 * max(min(small), 0.0003)
