"""Every setting of the deployment, read from the environment once.

What an operator tunes while the platform runs (limits, weights, times) is read late, through memories.conf.
"""

import os
import secrets
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
import environ

from memories.offline.open_connections import EndableConnection
from memplatform import addresses, environment, logs, postgres
from memplatform.library_settings import *  # noqa: F403

django_stubs_ext.monkeypatch()  # ModelForm[Entry] and its like mean something to the type checker, nothing at run time

#: Threads that wait for each other take eight times as long for the few products a recall needs (measured).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

BASE_DIR = environment.BASE
environment.require()
env = environ.Env()
env.ENVIRON = environment.variables()

#: Where the embedded database, credentials and logs live.
DATA_DIR = Path(env("MEMPLATFORM_DATA", default=str(environment.data_folder()))).absolute()
#: The folder of memory in markdown: below it one folder a workspace (see memories.files).
MEMORY_FILES_ROOT = Path(env("MEMORY_FILES_ROOT", default=str(DATA_DIR / "files"))).absolute()
#: Which process this is (web, embedder, worker …); empty for commands started by hand.
PROCESS = env("MEMPLATFORM_PROCESS", default="")
#: By this name a host is told from the others that work with the same database (memplatform.operations.hosts).
HOST_NAME = env("MEMPLATFORM_HOST_NAME", default=socket.gethostname())[:100]
#: The parts that run on this host alone; empty: all.
ONLY = [part.strip() for part in env.list("MEMPLATFORM_ONLY", default=[])]
PARTS = ONLY or list(environment.PARTS)


def _secret_key() -> str:
    """The key from the environment, else one made once and kept in a file only its owner reads."""
    if value := env("SECRET_KEY", default=""):
        return str(value)
    path = DATA_DIR / "credentials" / "secret-key"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"secret-key.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)  # two first starts at once agree on one key
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()


def _in_file(path: Path) -> str:
    """The text of a file; empty where it was not made yet, or is not for this account."""
    return path.read_text().strip() if os.access(path, os.R_OK) else ""


SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
#: Secrets are encrypted with the first and read with any of these; without one, SECRET_KEY is used.
SECRETS_KEYS = env.list("MEMPLATFORM_SECRETS_KEY", default=[])
DEBUG = env.bool("DEBUG", default=False)
LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]
#: The address people and bots call, where a proxy with TLS stands in front: https://memory.example.org
PUBLIC_URL = env("MEMPLATFORM_PUBLIC_URL", default="").rstrip("/")
#: Sites whose pages may call the API from a browser, with a key; every other page cannot read an answer.
CORS_ALLOWED_ORIGINS = [site.strip().rstrip("/") for site in env.list("MEMPLATFORM_CORS_ORIGINS", default=[])]
#: Addresses and networks of proxies that are believed about who calls; with a public address, those of this machine.
TRUSTED_PROXIES = env.list("MEMPLATFORM_TRUSTED_PROXIES", default=[]) or (["127.0.0.0/8", "::1"] if PUBLIC_URL else [])
_PUBLIC_HOST = [urlsplit(PUBLIC_URL).hostname] if PUBLIC_URL else []
#: The supervisor asks on this machine whether the platform is ready, whatever name others call it by.
ALLOWED_HOSTS = [*env.list("ALLOWED_HOSTS", default=[]), *_PUBLIC_HOST, *LOOPBACK]
HOST = env("MEMPLATFORM_HOST", default="127.0.0.1")
PORT = env.int("MEMPLATFORM_PORT", default=8000)
#: Whether MCP is served, on a port of its own beside the API (memplatform.processes.mcp).
MCP = env.bool("MEMPLATFORM_MCP", default=False) or "mcp" in ONLY
#: Whether a start backs the embedded database up before it changes tables that hold something.
BACKUP_BEFORE_UPGRADE = env.bool("MEMPLATFORM_BACKUP_BEFORE_UPGRADE", default=True)
MCP_PORT = env.int("MEMPLATFORM_MCP_PORT", default=8002)
#: Where MCP asks the API; the web of this host, unless that runs elsewhere.
API_URL = env("MEMPLATFORM_API_URL", default="").rstrip("/") or addresses.base_url(HOST, PORT)
#: Whether clients of MCP may ask people to let them in (channels_app.doors.oauth): auto, where nobody can listen in.
OAUTH = env("MEMPLATFORM_OAUTH", default="auto").lower()
#: As whom it is asked for that; empty where it is off.
OAUTH_ISSUER = addresses.issuer(OAUTH, PUBLIC_URL, HOST, PORT) if MCP else ""
if OAUTH == addresses.ON:  # the owner vouches that nobody listens in
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
#: The addresses at which MCP is spoken, the public one first: what tokens are made for.
MCP_URLS = addresses.mcp_urls(PUBLIC_URL, MCP_PORT)
#: Of the processor, for one call of the API; what has not ended by then is given up (memplatform.http.middleware).
REQUEST_SECONDS = env.float("MEMPLATFORM_REQUEST_SECONDS", default=10)
#: X-Memplatform-Now is believed only when this is on (tests of time).
TEST_CLOCK = env.bool("MEMPLATFORM_TEST_CLOCK", default=False)
#: Opens /metrics and the details of /readyz; the first start makes one.
METRICS_KEY = env("MEMPLATFORM_METRICS_KEY", default="") or _in_file(DATA_DIR / "credentials" / "metrics-key")
if PROCESS == "web":  # read when prometheus_client is first imported: counters of all workers, in files
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(DATA_DIR / "metrics")
    (DATA_DIR / "metrics").mkdir(parents=True, exist_ok=True)

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",  # before the admin: its templates take the place of Django's
    "unfold.contrib.filters",
    "memplatform",
    "memplatform.operations",
    *(() if environment.IS_INSTALLED else ("evals",)),  # manage.py evaluate
    "channels_app",
    "sessions_app",
    "memories",
    "pgtrigger",
    "rest_framework",
    "drf_standardized_errors",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_q",
    "memplatform.apps.SiteConfig",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "axes",
    "csp",
    "corsheaders",
]

MIDDLEWARE = [
    "memplatform.http.middleware.TrustedProxies",
    "memplatform.http.middleware.RequestLog",
    "memplatform.http.middleware.NoStore",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "corsheaders.middleware.CorsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "memplatform.http.middleware.SecondFactor",  # after it somebody is who gave password and code
    "memplatform.http.middleware.RequestBudget",
    "memplatform.http.middleware.WorkspaceWall",
    "memplatform.http.leaks.LeakGuard",  # inside the wall: what it notes has to be written
    "memplatform.http.middleware.OperatorTimeZone",
    "django.contrib.messages.middleware.MessageMiddleware",
    "memplatform.http.middleware.MaskedCredentials",  # inside the wall, and after messages
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",  # last: it answers for a login that is locked
]

# People who log in: memplatform.library_settings.
REQUIRE_SECOND_FACTOR = env.bool("MEMPLATFORM_REQUIRE_SECOND_FACTOR", default=False)
SESSION_COOKIE_AGE = env.int("MEMPLATFORM_LOGIN_HOURS", default=12) * 3600
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

# Behind TLS: cookies, links and redirects are for https alone. A trusted proxy says so (memplatform.http.middleware).
IS_HTTPS = PUBLIC_URL.startswith("https://")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = IS_HTTPS
# Asked on this machine, past the proxy:
SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$", r"^metrics$", r"^api/", r"^v1/"]
SECURE_HSTS_SECONDS = 31_536_000 if IS_HTTPS else 0
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []

ROOT_URLCONF = "memplatform.urls"
WSGI_APPLICATION = "memplatform.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [environment.TEMPLATES],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

#: Addresses by which these processes log in, where roles of their own were made for them by hand.
DATABASE_LOGINS = {
    "web": env("MEMPLATFORM_WEB_DATABASE_URL", default=""),
    "worker": env("MEMPLATFORM_WORKER_DATABASE_URL", default=""),
    "embedder": env("MEMPLATFORM_EMBEDDER_DATABASE_URL", default=""),
    "channels": env("MEMPLATFORM_CHANNELS_DATABASE_URL", default=""),
}
#: The web's role, bound by row-level security; empty where it works as the owner of the tables.
WEB_ROLE = env("MEMPLATFORM_WEB_ROLE", default="memplatform_web")
#: The same database past a pooler that lends a connection for one transaction, where DATABASE_URL leads to such a one.
DIRECT_URL = env("DATABASE_DIRECT_URL", default="") if env("DATABASE_URL", default="") else ""
#: Whether this process reaches the database through that pooler; commands and the supervisor go past it.
DATABASE_IS_POOLED = bool(DIRECT_URL) and PROCESS in DATABASE_LOGINS
#: What each transaction begins with there (memories.postgresql).
DATABASE_TRANSACTION_SETTINGS: dict[str, str] = {}
_address = DATABASE_LOGINS.get(PROCESS) or env("DATABASE_URL", default="") or postgres.url(DATA_DIR)


def _database(address: str) -> dict[str, Any]:
    """Of an address; a socket's folder stands in its query, tools look for it elsewhere."""
    database: dict[str, Any] = env.db_url_config(address)
    options = database.setdefault("OPTIONS", {})
    database |= {place.upper(): options.pop(place) for place in ("host", "port") if place in options}
    return database


DATABASES = {"default": _database(_address if DATABASE_IS_POOLED else DIRECT_URL or _address)}
DATABASES["default"]["OPTIONS"] = {
    **DATABASES["default"]["OPTIONS"],
    # Generic plans misjudge scopes of very different sizes: every recall is planned for its own scope. What is prepared
    # says so itself (memories.postgresql).
    "prepare_threshold": sys.maxsize,
}
#: A server whose machine has gone from the network is given up, and not waited for as long as the kernel would; the
#: address may name others. A socket of this machine knows none of them.
#: A former primary, to which a proxy still leads for a moment, takes no writes: it is as good as away.
_PATIENCE: dict[str, object] = {"target_session_attrs": "primary"}
_PATIENCE |= {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
DATABASES["default"]["OPTIONS"] = _PATIENCE | DATABASES["default"]["OPTIONS"]
if DATABASE_IS_POOLED:
    _place = {key: value for key, value in _database(DIRECT_URL).items() if key in ("HOST", "PORT", "NAME")}
    DATABASES["direct"] = DATABASES["default"] | _place | {"TEST": {"MIRROR": "default"}}
    DATABASES["direct"]["OPTIONS"] = dict(DATABASES["default"]["OPTIONS"])
    DATABASES["default"] |= {"ENGINE": "memories.offline.postgresql", "DISABLE_SERVER_SIDE_CURSORS": True}
if PROCESS == "web":  # only there: a pool and forked workers share sockets
    DATABASES["default"]["ENGINE"] = "memories.offline.postgresql"
    DATABASES["default"]["OPTIONS"]["pool"] = {
        "min_size": 1,
        "max_size": 8,
        "timeout": 0.2,  # of one wait; there are as many as memories.offline.postgresql allows
        "connection_class": EndableConnection,
    }
    DATABASES["default"]["OPTIONS"].setdefault("connect_timeout", 2)  # a server that hangs refuses nobody
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True  # after the database was away, no request meets a dead connection
    #: One statement of a request; PostgreSQL gives up a longer one, and the answer is 503. Above conf.SESSION_WAIT.
    STATEMENT_SECONDS = env.float("MEMPLATFORM_STATEMENT_SECONDS", default=15)
    _limits = {"statement_timeout": str(int(STATEMENT_SECONDS * 1000))}
    if DATABASE_IS_POOLED:  # it takes no options of a session
        DATABASE_TRANSACTION_SETTINGS = {
            **({"role": WEB_ROLE} if WEB_ROLE and not DATABASE_LOGINS["web"] else {}),
            "memplatform.workspaces": "",
            "memplatform.actor": "",
            **_limits,
        }
    else:  # a statement of its own: a pooler that lends a connection for a session takes no options either
        EndableConnection.session_settings = _limits
    _session = [DATABASES["default"]["OPTIONS"].get("options", "")]
    if WEB_ROLE and not DATABASE_LOGINS["web"]:
        _session.append(f"-c role={WEB_ROLE}")
    if _options := " ".join(filter(None, _session)):
        DATABASES["direct" if DATABASE_IS_POOLED else "default"]["OPTIONS"]["options"] = _options
#: Servers that follow the database, for recalls (memories.offline.replicas): reached as the web reaches the database.
_followers = [_database(part.strip()) for part in env("DATABASE_REPLICA_URL", default="").split(",") if part.strip()]
HAS_REPLICAS = bool(_followers)
DATABASE_REPLICAS: list[dict[str, Any]] = []
for _follower in _followers if PROCESS == "web" else ():
    _options = DATABASES["default"]["OPTIONS"] | {"target_session_attrs": "any"} | _follower["OPTIONS"]
    _place = {name: _follower[name] for name in ("HOST", "PORT", "NAME") if _follower.get(name)}
    DATABASE_REPLICAS.append(DATABASES["default"] | _place | {"OPTIONS": _options})
#: Where OTLP over HTTP is taken; empty: no traces (memories.telemetry).
OTLP_ENDPOINT = env("OTEL_EXPORTER_OTLP_ENDPOINT", default="").rstrip("/")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TASK_WORKERS = 2
TASK_SECONDS = 600  # no task lives longer
Q_CLUSTER = {
    "name": "memplatform",
    "orm": "default",
    "broker_class": "memplatform.operations.jobs.queue.Broker",
    "workers": TASK_WORKERS,
    "queue_limit": TASK_WORKERS,  # what is taken in advance and waits too long would run twice
    "bulk": 1,
    "timeout": TASK_SECONDS,
    "retry": 1500,
    "max_attempts": 3,
    "ack_failures": False,
    "catch_up": False,
    "poll": 1,
    "recycle": 50,
    "save_limit": 1000,
    "time_zone": "UTC",
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["memories.api.access.BotKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["memories.api.access.KeyPermits"],
    "DEFAULT_THROTTLE_CLASSES": ["memories.api.access.KeyThrottle"],
    "DEFAULT_SCHEMA_CLASS": "memories.api.schema.CallSchema",
    "URL_FORMAT_OVERRIDE": None,  # «format» is no parameter of any call
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["memories.api.requests.StrictJSONParser"],
    "EXCEPTION_HANDLER": "drf_standardized_errors.handler.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
DRF_STANDARDIZED_ERRORS = {"EXCEPTION_HANDLER_CLASS": "memplatform.http.errors.Handler"}
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576  # a larger body is refused before it is parsed

LOGIN_REDIRECT_URL = "admin:index"
LANGUAGE_CODE = env("LANGUAGE_CODE", default="en")
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [environment.LOCALE]
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = "memplatform.formats"
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # served from where the packages keep them: nothing to collect
#: Whether all of a domain, and browsers' own lists, promise https is for the domain's owner to say.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

LOG_FORMAT = env("LOG_FORMAT", default="plain")  # plain, or json: one object a line
LOG_LEVEL = env("LOG_LEVEL", default="INFO").upper()
LOGGING = logs.configuration(LOG_FORMAT, LOG_LEVEL)

#: What goes on while the database is away: cached keys, sessions and channels, and the journal of accepted calls.
MEMORY_OFFLINE_ROOT = Path(env("MEMORY_OFFLINE_ROOT", default=str(DATA_DIR / "offline"))).absolute()
#: A file for each erasure of a person, by which they are erased again from a database of before it.
ERASURES_ROOT = Path(env("MEMPLATFORM_ERASURES", default=str(DATA_DIR / "erasures"))).absolute()
#: Object storage (S3) for old history and recall traces (memplatform.archive). Without a bucket there is no archive.
ARCHIVE = {
    "ENDPOINT": env("MEMPLATFORM_ARCHIVE_ENDPOINT", default=""),
    "BUCKET": env("MEMPLATFORM_ARCHIVE_BUCKET", default=""),
    "KEY": env("MEMPLATFORM_ARCHIVE_KEY", default=""),
    "SECRET": env("MEMPLATFORM_ARCHIVE_SECRET", default=""),
    "REGION": env("MEMPLATFORM_ARCHIVE_REGION", default="us-east-1"),
    "PREFIX": env("MEMPLATFORM_ARCHIVE_PREFIX", default=""),
}

#: Embedding providers in order of trust, by short name or dotted path (see memories.embeddings). Empty: keyword recall.
MEMORY_EMBEDDERS = env.list("MEMORY_EMBEDDERS", default=["bundled"])
#: Where recall looks besides the entries (see memories.recall.events).
RETRIEVERS = ["sessions_app.search.retriever.session_events", "memories.recall.events.daily_events"]
MEMORY_RETRIEVERS = env.list("MEMORY_RETRIEVERS", default=RETRIEVERS)
#: How what they find is shown on a trace's page (see memories.admin.events).
TELLERS = ["sessions_app.admin.conversation.session_events", "memories.admin.events.daily_events"]
MEMORY_EVENT_TELLERS = env.list("MEMORY_EVENT_TELLERS", default=TELLERS)
#: What else is looked through with the memories of a scope (see memories.lifecycle.old_entries).
SECRET_FINDERS = ["sessions_app.history.retention.mark_messages"]
MEMORY_SECRET_FINDERS = env.list("MEMORY_SECRET_FINDERS", default=SECRET_FINDERS)
#: Whom operators call by a name, for the search for sessions (see sessions_app.admin.sessions).
NAME_FINDERS = ["channels_app.people.peers.peers_called"]
MEMORY_NAME_FINDERS = env.list("MEMORY_NAME_FINDERS", default=NAME_FINDERS)
#: What the embedder does while no entry waits for it (see memories.index.worker.Work).
EMBEDDER_WORK = [
    "memories.notes.freshness.index_changed_files",
    "channels_app.tasks.replay_soon",
    "memories.tasks.deliver_soon",
    "sessions_app.search.embedder.embed_events",
]
MEMORY_EMBEDDER_WORK = env.list("MEMORY_EMBEDDER_WORK", default=EMBEDDER_WORK)
#: Where Telegram's Bot API answers: its own servers, or one of yours.
TELEGRAM_API_URL = env("MEMPLATFORM_TELEGRAM_API_URL", default="https://api.telegram.org").rstrip("/")
SLACK_API_URL = env("MEMPLATFORM_SLACK_API_URL", default="https://slack.com/api").rstrip("/")
WECHAT_API_URL = env("MEMPLATFORM_WECHAT_API_URL", default="https://api.weixin.qq.com").rstrip("/")
WECOM_API_URL = env("MEMPLATFORM_WECOM_API_URL", default="https://qyapi.weixin.qq.com").rstrip("/")
WECOM_SOCKET_URL = env("MEMPLATFORM_WECOM_SOCKET_URL", default="wss://openws.work.weixin.qq.com").rstrip("/")
DINGTALK_API_URL = env("MEMPLATFORM_DINGTALK_API_URL", default="https://api.dingtalk.com").rstrip("/")
#: The addresses DingTalk names for answers within an hour and a half are believed where they begin so.
DINGTALK_SESSION_URL = env("MEMPLATFORM_DINGTALK_SESSION_URL", default="https://oapi.dingtalk.com").rstrip("/")
FEISHU_API_URL = env("MEMPLATFORM_FEISHU_API_URL", default="https://open.feishu.cn").rstrip("/")
LARK_API_URL = env("MEMPLATFORM_LARK_API_URL", default="https://open.larksuite.com").rstrip("/")
#: For the OpenAI-compatible `endpoint`; those of `endpoint2` and on are MEMORY_EMBEDDING2_… and on, read when used.
MEMORY_EMBEDDING_BASE_URL = env("MEMORY_EMBEDDING_BASE_URL", default="")
MEMORY_EMBEDDING_API_KEY = env("MEMORY_EMBEDDING_API_KEY", default="")
MEMORY_EMBEDDING_MODEL = env("MEMORY_EMBEDDING_MODEL", default="")
MEMORY_EMBEDDING_DIMENSION = env.int("MEMORY_EMBEDDING_DIMENSION", default=0)
#: Cosine of unrelated texts by that model; measure it, a wrong one only shifts the floor of similarity.
MEMORY_EMBEDDING_FLOOR = env.float("MEMORY_EMBEDDING_FLOOR", default=0.0)

#: The owner's reranker (memories.reranker): off until an address is named. Its form: auto, jina or tei.
MEMORY_RERANK_BASE_URL = env("MEMORY_RERANK_BASE_URL", default="")
MEMORY_RERANK_API_KEY = env("MEMORY_RERANK_API_KEY", default="")
MEMORY_RERANK_MODEL = env("MEMORY_RERANK_MODEL", default="")
MEMORY_RERANK_FORM = env("MEMORY_RERANK_FORM", default="auto").lower()

#: The model behind the proxy (channels_app.doors.openai): off until an address is named. Models: empty, all it has.
MEMORY_PROXY_BASE_URL = env("MEMORY_PROXY_BASE_URL", default="")
MEMORY_PROXY_API_KEY = env("MEMORY_PROXY_API_KEY", default="")
MEMORY_PROXY_MODELS = [name.strip() for name in env.list("MEMORY_PROXY_MODELS", default=[])]

#: The machine's own model (memories.llm): off until an address and a model are named.
MEMORY_LLM_BASE_URL = env("MEMORY_LLM_BASE_URL", default="")
MEMORY_LLM_MODEL = env("MEMORY_LLM_MODEL", default="")
#: Its key as it is, or in a file only this account reads.
_key_file = env("MEMORY_LLM_API_KEY_FILE", default="")  # memplatform.environment has looked whether it can be read
MEMORY_LLM_API_KEY = env("MEMORY_LLM_API_KEY", default="") or (_in_file(Path(_key_file)) if _key_file else "")
#: Proxies of the environment are not used for it; this one is.
MEMORY_LLM_PROXY = env("MEMORY_LLM_PROXY", default="")

#: Every other number of memories.conf may be set by its name; it is read, and its type minded, when it is used.
vars().update({name: text for name, text in os.environ.items() if name.startswith("MEMORY_") and name not in globals()})
