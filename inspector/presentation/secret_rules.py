"""What secrets look like, as data: tokens that begin with the prefix of their issuer, and names whose value is a secret.

The prefixes are those that the issuers document; the list was compared with the kinds of gitleaks and detect-secrets. Every pattern is tried only where its
literal is, and reads on from there without going back, so that masking takes time in proportion to the text.
"""

import re
from typing import NamedTuple


class Prefixed(NamedTuple):
    """A token that begins with `prefix` and goes on with at least `least` characters of `body`, few enough for one that a page cut; `alone`: of exactly that many."""

    kind: str
    prefix: str
    body: str = r"[\w-]"
    least: int = 6
    alone: bool = False

    def pattern(self) -> re.Pattern[str]:
        count = f"{{{self.least}}}(?![A-Za-z0-9])" if self.alone else f"{{{self.least},}}+"
        return re.compile(re.escape(self.prefix) + self.body + count)


_HEX, _LETTERS, _DOTTED = "[0-9a-f]", "[A-Za-z0-9]", r"[\w.~+/=-]"

PREFIXED = (
    *(Prefixed("aws-access-key", prefix, "[A-Z0-9]", 16, True) for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    Prefixed("alibaba-access-key", "LTAI", _LETTERS, 12),
    *(Prefixed("anthropic-key", prefix, least=8) for prefix in ("sk-ant-",)),
    *(Prefixed("api-key", prefix, least=16) for prefix in ("sk-",)),
    *(Prefixed("stripe-key", prefix, _LETTERS) for prefix in ("sk_live_", "sk_test_", "rk_live_", "rk_test_")),
    Prefixed("webhook-secret", "whsec_", "[A-Za-z0-9+/=]"),
    *(Prefixed("github-token", prefix) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")),
    *(
        Prefixed("gitlab-token", prefix, r"[\w.-]")
        for prefix in (
            *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "gloas-", "glffct-"),
            "GR1348941",
        )
    ),
    *(
        Prefixed("slack-token", prefix, r"[\w.-]")
        for prefix in ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxe.", "xapp-")
    ),
    Prefixed("slack-webhook", "hooks.slack.com/services/", r"[\w/-]", 20),
    Prefixed("slack-webhook", "hooks.slack.com/workflows/", r"[\w/-]", 20),
    *(Prefixed("discord-webhook", prefix, r"[\w/-]", 40) for prefix in ("discord.com/api/webhooks/", "discordapp.com/api/webhooks/")),
    *(Prefixed("google-key", prefix, least=least) for prefix, least in (("AIza", 16), ("GOCSPX-", 10), ("1//0", 20))),
    Prefixed("google-key", "ya29.", r"[\w.-]", 16),
    *(
        Prefixed("api-key", prefix, least=16)
        for prefix in (
            "hf_",
            "api_org_",
            "gsk_",
            "xai-",
            "pplx-",
            "r8_",
            "nvapi-",
            "tgp_v1_",
            "csk-",
            "fw_",
            "tvly-",
            "jina_",
            "phx_",
            "sbp_",
            "re_",
        )
    ),
    *(
        Prefixed("api-key", prefix, least=16)
        for prefix in ("lsv2_pt_", "lsv2_sk_", "pk-lf-", "sb_secret_", "ntn_", "figd_", "lin_api_", "lin_oauth_")
    ),
    Prefixed("npm-token", "npm_", _LETTERS, 16),
    Prefixed("pypi-token", "pypi-", least=16),
    Prefixed("rubygems-key", "rubygems_", _HEX, 16),
    Prefixed("crates-token", "cio", _LETTERS, 32, True),
    Prefixed("nuget-key", "oy2", "[a-z0-9]", 43, True),
    Prefixed("clojars-token", "CLOJARS_", "[a-z0-9]", 20),
    Prefixed("docker-token", "dckr_pat_"),
    Prefixed("docker-token", "dckr_oat_"),
    *(Prefixed("digitalocean-token", prefix, _HEX, 16) for prefix in ("dop_v1_", "doo_v1_", "dor_v1_")),
    *(Prefixed("shopify-token", prefix, "[A-Fa-f0-9]", 16) for prefix in ("shpat_", "shpca_", "shppa_", "shpss_")),
    *(Prefixed("square-token", prefix) for prefix in ("sq0atp-", "sq0csp-")),
    Prefixed("square-token", "EAAA", least=56),
    Prefixed("sendgrid-key", "SG.", r"[\w.-]", 20),
    *(Prefixed("brevo-key", prefix, _LETTERS, 20) for prefix in ("xkeysib-", "xsmtpsib-")),
    Prefixed("mailgun-key", "key-", _HEX, 32, True),
    Prefixed("twilio-key", "SK", _HEX, 32, True),
    Prefixed("twilio-key", "AC", _HEX, 32, True),
    *(Prefixed("vault-token", prefix, least=20) for prefix in ("hvs.", "hvb.", "hvr.")),
    Prefixed("terraform-token", "atlasv1.", least=40),
    Prefixed("databricks-token", "dapi", "[0-9a-h]", 32),
    *(Prefixed("grafana-token", prefix, r"[\w+/=-]", 20) for prefix in ("glc_", "glsa_")),
    *(Prefixed("sentry-token", prefix, r"[\w+/=-]", 20) for prefix in ("sntrys_", "sntryu_")),
    *(Prefixed("new-relic-key", prefix, _LETTERS, 16) for prefix in ("NRAK-", "NRII-", "NRJS-")),
    Prefixed("dynatrace-token", "dt0c01.", r"[A-Z0-9.]", 24),
    Prefixed("pulumi-token", "pul-", _HEX, 20),
    Prefixed("postman-key", "PMAK-", r"[\w-]", 20),
    *(Prefixed("planetscale-token", prefix, r"[\w.=-]", 16) for prefix in ("pscale_tkn_", "pscale_pw_", "pscale_oauth_")),
    *(Prefixed("doppler-token", prefix, _LETTERS, 20) for prefix in ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.")),
    Prefixed("tailscale-key", "tskey-", least=12),
    Prefixed("fly-token", "fm1", r"[\w+/=-]", 40),
    Prefixed("fly-token", "fm2_", r"[\w+/=,-]", 40),
    *(Prefixed("atlassian-token", prefix, r"[\w=-]", 20) for prefix in ("ATATT3x", "ATCTT3x", "ATBB", "BBDC-")),
    Prefixed("netlify-token", "nfp_", _LETTERS, 20),
    Prefixed("1password-token", "ops_eyJ", r"[\w=+/-]", 20),
    Prefixed("artifactory-key", "AKCp", _LETTERS, 16),
    Prefixed("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]", 16),
    Prefixed("azure-key", "AccountKey=", "[A-Za-z0-9+/=]", 16),
    Prefixed("azure-key", "SharedAccessKey=", "[A-Za-z0-9+/=]", 16),
)

NAMED = ("pass", "pwd", "secret", "token", "key", "credential", "auth", "amz-signature", "sig=")
"""What a name contains whose value may be a secret. A signature alone is none: those of thinking are a part of every history."""

_KEYS = (
    "api access secret private auth account sign signing signature encrypt encryption master shared storage subscription app application service db database"
    " deploy function functions webhook admin root jwt hmac aes license client consumer project developer write server ssh rest integration ingest"
)
KEYS = tuple(_KEYS.split())
"""Words before `key` with which it is a secret: most keys are keys of tables."""

NO_SECRET = re.compile(
    r"(?:(?:[-_.]|(?<=[a-z])(?=[A-Z]))(?:id|ids|name|names|file|path|dir|url|uri|ref|arn|policy|length|len|field|type|count|limit|size|version|digest|hash|label|hint|env"
    r"|store|manager|index|prefix|suffix|format|algorithm|method|status|error|mode|provider|source|class|expiry|expires|ttl|at|in|usage|budget|details|reset|remaining)"
    r"|tokens|keys|ing|ized?|er|or|ry|ive|age|s_count|sha256|\.(?:txt|md|py|js|ts|go|json|ya?ml|toml|sh|env))$",
    re.IGNORECASE,
)
"""How a name ends that only speaks of a secret: `SECRET_KEY_FILE`, `token_count`, `passing`."""

_PLACEHOLDERS = (
    "none null nil true false undefined str string text number int integer bool boolean object any bytes required optional default example placeholder unknown"
    " password passwd secret token hidden redacted masked removed empty invalid incorrect missing wrong expired changed reset needed prompt input varchar type"
    " yes no on off auto bearer basic self void char key value values username user login email file files not set unset disabled enabled float dict list array"
    " func function const let var return import export public private protected static readonly async await new this that these the and only"
)
PLACEHOLDERS = frozenset(_PLACEHOLDERS.split())
"""Words that are no secret, however they are assigned."""

_PROSE = "a an and are as at be by can cannot for from has have if in is it may must no not of on or should that the this to too was were will with you your"
PROSE = frozenset(_PROSE.split())
"""A quoted text with two of these is a sentence."""

_PLAIN = (
    "user username user_name login email mail type name title description format pattern enum url uri host hostname port database dbname region provider engine kind"
    " id mode status role scope scopes path file env from label comment note algorithm version placeholder $ref"
)
PLAIN_MEMBERS = frozenset(_PLAIN.split())
"""Members of an object below the name of a secret that are none themselves."""

FOREIGN = (
    *("\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4", "\u5bc6\u94a5", "\u30d1\u30b9\u30ef\u30fc\u30c9"),
    *("\u043f\u0430\u0440\u043e\u043b\u044c", "\ube44\ubc00\ubc88\ud638", "contrase\u00f1a"),
)
"""The word for a password, and in Chinese also for a key, in scripts of which no letter is in other texts."""
