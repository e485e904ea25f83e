"""System checks of this installation (`manage.py check`): one sentence a problem, with what to do about it.

`check --deploy` adds what matters when others can reach it; `check --database default` asks the database too.
"""

import difflib
import ipaddress
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning
from django.db import connections
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from memories import embeddings
from memories.conf import MemorySettings, SettingMistyped, kinds, typed
from memplatform.database import roles
from memplatform.database.state import has_pending_migrations

POSTGRES = 160_000  # 16
PGVECTOR = (0, 8)
_SECRET_CHARS = 32
#: Settings that are no numbers of memories.conf: they name providers and switches of the deployment.
OTHERS = {
    "FILES_ROOT",
    "OFFLINE_ROOT",
    "RETRIEVERS",
    "EMBEDDERS",
    "EMBEDDER_WORK",
    "EVENT_TELLERS",
    "SECRET_FINDERS",
    "NAME_FINDERS",
}
OTHERS |= {"PROXY_BASE_URL", "PROXY_API_KEY", "PROXY_MODELS"}
OTHERS |= {"RERANK_BASE_URL", "RERANK_API_KEY", "RERANK_MODEL", "RERANK_FORM"}
_FAMILIES = ("EMBEDDING_", "LLM_", *(f"EMBEDDING{number}_" for number in range(2, 10)))
_VERSIONS = """
    SELECT current_setting('server_version_num')::int, current_setting('server_version'),
        (SELECT coalesce(installed_version, default_version) FROM pg_available_extensions WHERE name = 'vector')
"""
_Apps = Sequence[AppConfig] | None


def settings_are_typed(app_configs: _Apps, **kwargs: Any) -> Iterator[CheckMessage]:
    """MEMORY_* settings of a wrong type, and those nobody reads."""
    from memplatform.operations.jobs.registry import JOBS  # all the code there is; few processes check anything

    settings_by_name = {name: (kind, getattr(MemorySettings, name)) for name, kind in kinds().items()}
    settings_by_name |= {job.switch.removeprefix("MEMORY_"): (bool, job.is_on_by_default) for job in JOBS.values()}
    for setting in sorted(name for name in dir(settings) if name.startswith("MEMORY_")):
        name = setting.removeprefix("MEMORY_")
        if name in settings_by_name:
            kind, default = settings_by_name[name]
            try:
                value = typed(setting, getattr(settings, setting), kind)
            except SettingMistyped as problem:
                yield Error(str(problem), _("The default is %s.") % default, id="memplatform.E001")
                continue
            if isinstance(value, int | float) and value < 0:
                yield Error(_("%s is negative.") % setting, _("Give it 0 or more."), id="memplatform.E002")
        elif name not in OTHERS and not name.startswith(_FAMILIES):
            like = difflib.get_close_matches(name, settings_by_name, n=1)
            hint = _("Did you mean MEMORY_%s?") % like[0] if like else _("Take it away.")
            yield Warning(_("Nothing reads the setting %s.") % setting, hint, id="memplatform.W001")


def paths_lead_to_code(app_configs: _Apps, **kwargs: Any) -> Iterator[CheckMessage]:
    """Settings that name code by its dotted path, or need packages that are not always installed."""
    if settings.OTLP_ENDPOINT and find_spec("opentelemetry") is None:
        yield Error(
            _("OTEL_EXPORTER_OTLP_ENDPOINT is set, and OpenTelemetry is not installed."),
            _('Install it: pip install "memplatform[telemetry]".'),
            id="memplatform.E016",
        )
    for setting in (
        "MEMORY_EMBEDDERS",
        "MEMORY_RETRIEVERS",
        "MEMORY_EVENT_TELLERS",
        "MEMORY_SECRET_FINDERS",
        "MEMORY_NAME_FINDERS",
        "MEMORY_EMBEDDER_WORK",
    ):
        for dotted_path in getattr(settings, setting):
            try:
                import_string(embeddings.SHORT_NAMES.get(dotted_path, dotted_path))
            except ImportError as problem:
                names = {"setting": setting, "path": dotted_path}
                reasons = {"path": "package.module.name", "reason": problem}
                yield Error(
                    _("%(setting)s names %(path)s, which is not there.") % names,
                    _("Name what can be imported, as %(path)s; the reason: %(reason)s") % reasons,
                    id="memplatform.E011",
                )


def nothing_is_left_open(app_configs: _Apps, **kwargs: Any) -> Iterator[CheckMessage]:
    """What helps a developer on one machine and nobody else."""
    if len(settings.SECRET_KEY) < _SECRET_CHARS or len(set(settings.SECRET_KEY)) < 8:
        hint = _("Unset it, and one is made; or give it 50 random characters.")
        yield Warning(_("SECRET_KEY is so weak that it can be guessed."), hint, id="memplatform.W002")
    with suppress(ValueError):  # a name, which may be anybody's
        if settings.HOST == "localhost" or ipaddress.ip_address(settings.HOST).is_loopback:
            return
    if settings.DEBUG:
        hint = _("Unset DEBUG, or set MEMPLATFORM_HOST to 127.0.0.1.")
        yield Error(_("DEBUG shows settings and code to everybody who can reach it."), hint, id="memplatform.E003")
    if settings.TEST_CLOCK:
        hint = _("Unset MEMPLATFORM_TEST_CLOCK, or set MEMPLATFORM_HOST to 127.0.0.1.")
        yield Error(_("The test clock lets every caller set the time."), hint, id="memplatform.E004")


def data_can_be_written(app_configs: _Apps, **kwargs: Any) -> Iterator[CheckMessage]:
    """The folder of credentials, logs and the embedded database."""
    folder = Path(settings.DATA_DIR)
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
        hint = _("Give this account the right to write there, or set MEMPLATFORM_DATA to another folder.")
        yield Error(_("The data folder %s cannot be written to.") % folder, hint, id="memplatform.E005")


def embedder_is_there(app_configs: _Apps, **kwargs: Any) -> Iterator[CheckMessage]:
    """Without one, recall is by keywords: it works, and finds less."""
    if settings.MEMORY_EMBEDDERS and not embeddings.providers():
        hint = _("Install requirements-embedder.txt, or set MEMORY_EMBEDDERS; empty, it is keywords on purpose.")
        yield Warning(_("No embedder can be used: recall is by keywords only."), hint, id="memplatform.W003")


def model_is_whole(app_configs: _Apps, **kwargs: Any) -> Iterator[CheckMessage]:
    """A model of the machine's own that is half configured, and so off."""
    address, model = settings.MEMORY_LLM_BASE_URL, settings.MEMORY_LLM_MODEL
    if bool(address) != bool(model):
        missing = "MEMORY_LLM_MODEL" if address else "MEMORY_LLM_BASE_URL"
        hint = _("Set %s too, or neither.") % missing
        yield Warning(_("The model is off: %s is not set.") % missing, hint, id="memplatform.W004")
    if not (address or model) and settings.MEMORY_LLM_API_KEY:
        hint = _("Set MEMORY_LLM_BASE_URL and MEMORY_LLM_MODEL, or take the key away.")
        yield Warning(_("The model is off, and has a key."), hint, id="memplatform.W005")
    if address and not address.startswith(("http://", "https://")):
        hint = _("Give it as http://127.0.0.1:9000/v1, or with https://.")
        yield Error(_("MEMORY_LLM_BASE_URL is no address of the web."), hint, id="memplatform.E009")
    key = settings.MEMORY_LLM_API_KEY.strip()
    if not (key.isascii() and key.isprintable()):
        hint = _("Give it as one line of letters, digits and signs.")
        yield Error(_("MEMORY_LLM_API_KEY holds characters no header can carry."), hint, id="memplatform.E010")


def reranker_is_whole(app_configs: _Apps, **kwargs: Any) -> Iterator[CheckMessage]:
    """A reranker that cannot be asked, or settings of one that is off."""
    from memories import reranker  # with its client of HTTP

    address = settings.MEMORY_RERANK_BASE_URL
    for setting in ("MEMORY_RERANK_API_KEY", "MEMORY_RERANK_MODEL"):
        if getattr(settings, setting) and not address:
            hint = _("Set MEMORY_RERANK_BASE_URL, or take it away.")
            yield Warning(_("The reranker is off, and %s is set.") % setting, hint, id="memplatform.W006")
    if address and not address.startswith(("http://", "https://")):
        hint = _("Give it as http://127.0.0.1:9000, or with https://.")
        yield Error(_("MEMORY_RERANK_BASE_URL is no address of the web."), hint, id="memplatform.E013")
    if settings.MEMORY_RERANK_FORM not in reranker.FORMS:
        hint = _("Set MEMORY_RERANK_FORM to one of %s.") % ", ".join(reranker.FORMS)
        yield Error(_("MEMORY_RERANK_FORM names no form of a reranker."), hint, id="memplatform.E014")
    key = settings.MEMORY_RERANK_API_KEY.strip()
    if not (key.isascii() and key.isprintable()):
        hint = _("Give it as one line of letters, digits and signs.")
        yield Error(_("MEMORY_RERANK_API_KEY holds characters no header can carry."), hint, id="memplatform.E015")


def database_is_able(app_configs: _Apps, databases: Sequence[str] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """A PostgreSQL that is too old, or without pgvector."""
    for alias in databases or ():
        with connections[alias].cursor() as cursor:
            cursor.execute(_VERSIONS)
            if problem := lacking(*cursor.fetchone()):
                yield problem


def lacking(number: int, version: str, vector: str | None) -> CheckMessage | None:
    """What a server of this version with this pgvector (None: without) lacks; None if it will do."""
    if number < POSTGRES:
        hint = _("Use version 16 or newer, or unset DATABASE_URL for the embedded one.")
        return Error(_("PostgreSQL %s is too old.") % version, hint, id="memplatform.E006")
    if vector is None:
        hint = _("Install the pgvector package of your system for this PostgreSQL, version 0.8 or newer.")
        return Error(_("This PostgreSQL has no pgvector."), hint, id="memplatform.E007")
    if tuple(int(part) for part in vector.split(".")[:2]) < PGVECTOR:
        hint = _("Install version 0.8 or newer, then run: ALTER EXTENSION vector UPDATE.")
        return Error(_("pgvector %s is too old.") % vector, hint, id="memplatform.E008")
    return None


def database_has_roles(app_configs: _Apps, databases: Sequence[str] | None, **kwargs: Any) -> Iterator[CheckMessage]:
    """Roles that are missing, that lack a right, or may do too much."""
    if "default" in (databases or ()) and not has_pending_migrations():  # migrating gives the rights
        yield from roles.problems()


#: Every check and when it is made.
CHECKS: dict[Any, tuple[str, ...]] = {
    settings_are_typed: (),
    paths_lead_to_code: (),
    nothing_is_left_open: (Tags.security,),
    data_can_be_written: (),
    embedder_is_there: (),
    model_is_whole: (),
    reranker_is_whole: (),
    database_is_able: (Tags.database,),
    database_has_roles: (Tags.database,),
}
