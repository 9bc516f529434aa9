"""The project's settings; what differs between machines comes from the environment."""

import gc
import os
from urllib.parse import urlsplit

from csp.constants import NONE, SELF

from inspector import environment
from inspector.base_path import base_path
from inspector.installation import INSTALLED, PACKAGE, data_folder

# A long conversation is millions of frozen values, none of them in a cycle: with Python's own thresholds the collector looks through
# all of them again and again while they are made, and finds nothing.
gc.set_threshold(100_000, 20, 100)

BASE_DIR = PACKAGE.parent
VAR_DIR = data_folder()
EMBEDDED_DATABASE = VAR_DIR / "inspector.sqlite3"

DEBUG = environment.flag("DJANGO_DEBUG")
ALLOWED_HOSTS = environment.host_names("DJANGO_ALLOWED_HOSTS")
SECRET_KEY = environment.secret_key("DJANGO_SECRET_KEY", VAR_DIR / "secret-key")

# Local single-operator mode: nobody but the person at this machine can reach the pages, so nobody signs in.
INSPECTOR_LOCAL = environment.is_local(ALLOWED_HOSTS)
INSPECTOR_SOURCES = environment.sources("INSPECTOR_SOURCES")
INSPECTOR_WRITE_BACK = environment.flag("INSPECTOR_WRITE_BACK")
INSPECTOR_REQUIRE_SECOND_APPROVER = environment.flag("INSPECTOR_REQUIRE_SECOND_APPROVER")
INSPECTOR_APPROVERS = os.environ.get("INSPECTOR_APPROVERS", "").strip()
INSPECTOR_APPROVAL_EXPIRES = environment.days("INSPECTOR_APPROVAL_EXPIRES", 7)
INSPECTOR_WATCH = environment.flag("INSPECTOR_WATCH", default=True)
environment.megabytes("INSPECTOR_LARGEST_VALUE")
environment.megabytes("INSPECTOR_LARGEST_FILE")
environment.count("INSPECTOR_MOST_EMPTY")
environment.program("INSPECTOR_OPENCODE", INSPECTOR_LOCAL)
INSPECTOR_BASE_URL = environment.base_url("INSPECTOR_BASE_URL")
INSPECTOR_TRUSTED_PROXIES = environment.networks("INSPECTOR_TRUSTED_PROXIES")
INSPECTOR_PASSWORDS = environment.flag("INSPECTOR_PASSWORDS", default=True)
INSPECTOR_SESSION_HOURS = environment.hours("INSPECTOR_SESSION_HOURS", 24)
INSPECTOR_SESSION_IDLE_HOURS = environment.hours("INSPECTOR_SESSION_IDLE_HOURS", 4)
INSPECTOR_OIDC_ISSUER = environment.issuer("INSPECTOR_OIDC_ISSUER")
INSPECTOR_OIDC_CLIENT_ID = os.environ.get("INSPECTOR_OIDC_CLIENT_ID", "").strip()
INSPECTOR_OIDC_CLIENT_SECRET = os.environ.get("INSPECTOR_OIDC_CLIENT_SECRET", "").strip()
INSPECTOR_OIDC_SCOPES = os.environ.get("INSPECTOR_OIDC_SCOPES", "").strip() or "openid profile email"
INSPECTOR_OIDC_NAME = os.environ.get("INSPECTOR_OIDC_NAME", "").strip() or "preferred_username"
INSPECTOR_OIDC_GROUPS = os.environ.get("INSPECTOR_OIDC_GROUPS", "").strip() or "groups"
INSPECTOR_PROXY_USER_HEADER = environment.header("INSPECTOR_PROXY_USER_HEADER")
INSPECTOR_PROXY_GROUPS_HEADER = environment.header("INSPECTOR_PROXY_GROUPS_HEADER")
INSPECTOR_GROUP_ROLES = environment.roles_of_groups("INSPECTOR_GROUP_ROLES")
INSPECTOR_NEW_PEOPLE = environment.one_of("INSPECTOR_NEW_PEOPLE", ("mapped", "all", "none"))
environment.refuse_incomplete_sign_in()
INSPECTOR_NOTIFY_PRIVATE = environment.networks("INSPECTOR_NOTIFY_PRIVATE")
INSPECTOR_EMAIL_FROM = environment.sender("INSPECTOR_EMAIL_FROM")
INSPECTOR_METRICS_TOKEN = environment.bearer_token("INSPECTOR_METRICS_TOKEN")
_mail_server = environment.email("INSPECTOR_EMAIL_URL")
INSPECTOR_EMAIL = bool(_mail_server)
EMAIL_HOST = _mail_server.get("EMAIL_HOST", "")
EMAIL_PORT = _mail_server.get("EMAIL_PORT") or 25
EMAIL_HOST_USER = _mail_server.get("EMAIL_HOST_USER") or ""
EMAIL_HOST_PASSWORD = _mail_server.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS = _mail_server.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _mail_server.get("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = 15

INSTALLED_APPS = [
    "inspector",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    # Instead of its default: that one caches templates in debug mode too.
    "template_partials.apps.SimpleAppConfig",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
]

MIDDLEWARE = [
    "inspector.frames.with_room",
    "inspector.metrics.time_requests",
    "inspector.middleware.answer_plainly",
    "inspector.middleware.come_through_the_proxy",
    "django.middleware.security.SecurityMiddleware",
    # Before whatever writes a body.
    "inspector.middleware.Compressed",
    # Before whatever looks at an address.
    "inspector.base_path.live_below_base_path",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "inspector.cache_headers.limit_what_is_kept",
    "inspector.health.answer_health",
    "inspector.static_files.serve_static_files",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Before CommonMiddleware, whose answer to a foreign host name is a page without a next step.
    "inspector.middleware.name_the_operator",
    # Before the first that asks our database for what pages show.
    "inspector.middleware.limit_access",
    "inspector.middleware.refuse_other_methods",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    # After the check of the form token, since to reveal is a POST, and around all that shows what is stored.
    "inspector.masked_answers.mask_secrets",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    # Before the first that opens a store.
    "inspector.middleware.limit_reach",
    "inspector.middleware.keep_at_hand",
    "inspector.middleware.settle_interrupted",
    # In place of the view, after all that may refuse it.
    "inspector.views.reading.say_what_is_read",
    # The last: whatever has to be written before a page is shown belongs before it.
    "inspector.middleware.read_one_snapshot",
]

ROOT_URLCONF = "inspector.urls"
WSGI_APPLICATION = "inspector.wsgi.application"

_finders_of_templates = ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # In a wheel they are those of the app.
        "DIRS": [] if INSTALLED else [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    _finders_of_templates if DEBUG else [("django.template.loaders.cached.Loader", _finders_of_templates)],
                )
            ],
            "builtins": [
                "template_partials.templatetags.partials",
                "django.templatetags.static",
                "django_htmx.templatetags.django_htmx",
                "inspector.templatetags.form_fields",
                "inspector.templatetags.show",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

INSPECTOR_OWN_DATABASE_NAMED = bool(os.environ.get("INSPECTOR_DATABASE_URL"))
"""Whether another terminal needs the variable too, to work on this database."""
DATABASES = {"default": environment.database("INSPECTOR_DATABASE_URL", EMBEDDED_DATABASE, start=VAR_DIR if INSTALLED else BASE_DIR)}
INSPECTOR_AUDIT_KEY_FILE = environment.audit_key_file("INSPECTOR_AUDIT_KEY_FILE", DATABASES["default"], VAR_DIR)
if "postgresql" in DATABASES["default"]["ENGINE"]:
    # The queue of `worker` processes. With SQLite nothing imports it.
    INSTALLED_APPS.append("procrastinate.contrib.django")
    PROCRASTINATE_AUTODISCOVER_MODULE_NAME = ""
    PROCRASTINATE_IMPORT_PATHS = ["inspector.management.jobs"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [] if INSTALLED else [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "inspector.static_files.ByHashedName",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "inspector.static_files.HashedNames"},
}

PASSWORD_RESET_TIMEOUT = 3 * 86_400
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]

# Browsers share cookies between all ports of localhost: Django's own names would sign people out of other programs on this machine.
SESSION_COOKIE_NAME = "inspector_session"
CSRF_COOKIE_NAME = "inspector_csrf"
# Other pages of the host do not get them.
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = base_path(INSPECTOR_BASE_URL) or "/"
SESSION_COOKIE_AGE = INSPECTOR_SESSION_HOURS * 3600
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "inspector.views.pages.form_not_accepted"

# A proxy ends TLS and says so in a header, which it has to set: nobody else may reach our port.
_behind_https = not INSPECTOR_LOCAL and INSPECTOR_BASE_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _behind_https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _behind_https else None
SECURE_SSL_HOST = urlsplit(INSPECTOR_BASE_URL).netloc or None
SECURE_REDIRECT_EXEMPT = ["^healthz$"]
SECURE_HSTS_SECONDS = 365 * 86_400 if _behind_https else 0
# Other names below ours, and lists in browsers, are for the owner of the domain to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
# With a proxy that ends TLS the browser's origin is https and ours http, so it has to be named.
CSRF_TRUSTED_ORIGINS = ["{0.scheme}://{0.netloc}".format(urlsplit(INSPECTOR_BASE_URL))] if INSPECTOR_BASE_URL else []

X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

# The largest request body that a provider takes is 32 MB (Anthropic), and /check/ takes what can be sent.
DATA_UPLOAD_MAX_MEMORY_SIZE = 40 * 1024 * 1024
# The largest form has a box for each strategy; one form has a file.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 200
DATA_UPLOAD_MAX_NUMBER_FILES = 1

# Without this Django mails errors to nobody when debug mode is off.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"without_token": {"()": "inspector.logs.WithoutToken"}},
    "formatters": {"line": {"()": "inspector.logs.MaskedFormatter", "fmt": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}, "nowhere": {"class": "logging.NullHandler"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": ["stderr"], "level": "INFO" if DEBUG else "WARNING", "propagate": False},
        # The lines of `runserver`, one for each request.
        "django.server": {"handlers": ["stderr"], "level": "INFO", "filters": ["without_token"], "propagate": False},
        # Refusals below 500: the answer itself says it, and anyone could fill the terminal with them.
        "django.request": {"level": "ERROR"},
        "django.security": {"handlers": ["nowhere"], "propagate": False},
        # It says after every burst of requests that one of them waited.
        "waitress.queue": {"level": "ERROR"},
    },
}
