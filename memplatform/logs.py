"""How the platform logs: events with fields, as plain lines or as JSON, and never a key or a word of a user.

Imported by the settings: nothing of Django in here.
"""

import logging
import re
from typing import Any

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

#: Keys of bots, and whatever stands behind «Bearer».
_KEYS = re.compile(r"\bmp_[A-Za-z0-9_-]{8,}|(?<=[Bb]earer )[^\s\"']+")
#: PostgreSQL's detail lines quote the row that was refused; messages of people are not for the log.
_DETAIL = re.compile(r"^(DETAIL|CONTEXT):.*(\n(?![A-Z]+:|Traceback|\S+Error).*)*", re.MULTILINE)
#: Of what other libraries attach to their lines, only this: Django attaches whole requests.
_EXTRA = ("status_code",)


def configuration(form: str, level: str) -> dict[str, Any]:
    """The argument of logging.config.dictConfig; structlog is configured alike."""
    processors: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    as_json = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
    rendering = as_json if form == "json" else plain_line
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *processors,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [*processors, structlog.stdlib.ExtraAdder(_EXTRA), structlog.processors.format_exc_info],
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, redact, rendering],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"event": formatter},
        "filters": {"routes": {"()": RoutesForPaths}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "event", "filters": ["routes"]}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django-q": {"level": "WARNING"},  # it logs every pulse
            "axes": {"level": "WARNING"},  # wrong passwords and locked logins; not each step of its own
            "httpx": {"level": "WARNING"},
        },
    }


class RoutesForPaths(logging.Filter):
    """Of a request that failed Django logs the path; here it is the route: paths name people."""

    def filter(self, record: logging.LogRecord) -> bool:
        request: Any = getattr(record, "request", None)
        if hasattr(request, "path_info") and isinstance(record.args, tuple):
            match = getattr(request, "resolver_match", None)
            route = match.route if match else "unknown"
            paths = (request.path, request.path_info)
            record.args = tuple(route if argument in paths else argument for argument in record.args)
        return True


def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """An event without keys and quoted rows."""
    return {name: without_secrets(value) for name, value in event.items()}


def without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return _DETAIL.sub("", _KEYS.sub("***", value))
    if isinstance(value, dict):
        return {name: without_secrets(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(inner) for inner in value]
    return value


def plain_line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """`2026-03-01T09:00:00Z INFO memories.recall memory_recall user_id=main results_count=2`."""
    moment, level, logger = (event.pop(name, "") for name in ("timestamp", "level", "logger"))
    words, trace = event.pop("event", ""), event.pop("exception", "")
    fields = ""
    for name, value in event.items():
        text = str(value)
        if isinstance(value, str) and (not text or re.search(r"[\s=\"]", text)):
            text = repr(text)
        fields += f" {name}={text}"
    return f"{moment} {str(level).upper()} {logger} {words}{fields}" + (f"\n{trace}" if trace else "")
