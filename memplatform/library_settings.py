"""Settings of libraries: logins and passwords, what pages load, the description of the API, the admin's look."""

from datetime import timedelta

from corsheaders.defaults import default_headers
from csp.constants import NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "memplatform.site.accounts.Accounts"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AXES_HANDLER = "memplatform.site.logins.LoginLimits"  # counts of a name and of an address alone, too
AXES_FAILURE_LIMIT = 5  # wrong passwords for one account from one address; then that pair waits
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # so that a stranger elsewhere cannot lock an operator out
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "admin/locked.html"
AXES_ENABLE_ADMIN = False  # its tables know no workspace; the log names account and address
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["password"]  # account and address stand in the log: somebody has to see who is attacked

#: Pages load from here alone. The admin's scripts evaluate expressions (Alpine), and set styles.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, UNSAFE_EVAL],
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

#: Pages of sites in CORS_ALLOWED_ORIGINS reach what is called with a key; never the admin, whose cookie stays here.
_STAINLESS = (
    *("arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version", "timeout"),
    *("helper-method", "poll-helper", "custom-poll-interval"),
)
CORS_URLS_REGEX = r"^/(api/(?!docs)|v1/)"
CORS_ALLOW_HEADERS = (
    *default_headers,  # Authorization and Content-Type among them
    *("idempotency-key", "if-match", "x-request-id", "mem0-user-id"),
    *("openai-organization", "openai-project"),  # what OpenAI's client sends from a browser
    *(f"x-stainless-{name}" for name in _STAINLESS),
    *(f"x-memplatform-{name}" for name in ("platform", "account", "sender", "chat", "session", "group", "memory")),
)
CORS_EXPOSE_HEADERS = ("ETag", "Retry-After", "X-Request-ID")
CORS_PREFLIGHT_MAX_AGE = 3_600

#: How the description of the API is generated and shown.
SPECTACULAR_SETTINGS = {
    "TITLE": "memplatform API",  # generators name a package after it: not as our own client is named
    "DESCRIPTION": "The memory an operator can trust: what bots remember, and recall.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [
        "memories.api.access.BotKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "SERVE_PERMISSIONS": ["memories.api.access.StaffOrKey"],
    "SWAGGER_UI_DIST": "SIDECAR",  # everything from here: no page of ours asks another host
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": True,
    "ENUM_NAME_OVERRIDES": {
        "EntryType": "memories.choices.EntryType",
        "EntryState": "memories.models.state.State",
        "MessageRole": "sessions_app.api.serializers.ROLES",
        "ReadRole": "sessions_app.api.answers.READ_ROLES",
        "BatchState": "memories.choices.BatchState",
        "ChangeState": "memories.choices.ChangeState",
        "OutcomeEnum": "memories.choices.Outcome",
        "SavedOutcome": "channels_app.doors.tools.write.SAVE_OUTCOMES",
        "SourceEnum": "memories.choices.Source",
        "OriginEnum": "memories.choices.Origin",
        "SearchSource": "channels_app.doors.tools.search.ALL_SOURCES",
        "ErrorType": "memories.api.schema.ERROR_TYPES",
    },
}
UNFOLD = {
    "SITE_TITLE": "memplatform",
    "SITE_HEADER": "memplatform",
    "SITE_SYMBOL": "psychology",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("memplatform/icon.svg")}],
    "ENVIRONMENT": "memplatform.site.site.time_zone_badge",
    "SHOW_LANGUAGES": True,
    "SHOW_VIEW_ON_SITE": False,
    "ACCOUNT": {
        "navigation": [
            {"title": _("Change password"), "link": reverse_lazy("admin:password_change")},
            {"title": _("Second factor"), "link": reverse_lazy("admin:second_factor")},
        ]
    },
    "DASHBOARD_CALLBACK": "memplatform.site.home.page",
    "STYLES": [lambda request: static("memplatform/admin.css"), lambda request: static("memplatform/home.css")],
    "SCRIPTS": [lambda request: static("memplatform/admin.js")],
    "SIDEBAR": {"show_search": True, "command_search": True, "navigation": []},
    "COLORS": {
        "primary": {  # teal: calm, unlike the red and orange of what needs attention; white on 600 is readable
            "50": "#f0fdfa",
            "100": "#ccfbf1",
            "200": "#99f6e4",
            "300": "#5eead4",
            "400": "#2dd4bf",
            "500": "#14b8a6",
            "600": "#0f766e",
            "700": "#115e59",
            "800": "#134e4a",
            "900": "#0f3f3c",
            "950": "#042f2e",
        }
    },
}
