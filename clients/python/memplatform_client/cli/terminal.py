"""What a person reads: in their language, without control characters, and errors that name what to do."""

from __future__ import annotations

import gettext
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from memplatform_client import errors

DOMAIN = "memplatform"
gettext.bindtextdomain(DOMAIN, Path(__file__).parent.parent / "locale")
gettext.textdomain(DOMAIN)  # click's own words are looked up there, too
_ = gettext.gettext

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Problem(click.ClickException):
    """A sentence that says what is wrong and what to do."""

    exit_code = 1


class WrongUsage(Problem):
    """It was asked for in a way that cannot be."""

    exit_code = 2


class WrongKey(Problem):
    """The key is missing, unknown, or may not do that."""

    exit_code = 3


class Away(Problem):
    """The platform gives no answer, or none of use at this moment."""

    exit_code = 4


def safe(text: str) -> str:
    """A text that moves no cursor and turns no line around: memories may hold what others wrote."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def say(text: str, *, error: bool = False) -> None:
    click.echo(safe(text), err=error)


def print_json(value: Any) -> None:
    """As one line a program reads."""
    click.echo(json.dumps(value, ensure_ascii=not (sys.stdout.encoding or "").lower().startswith("utf")))


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Errors of the client as sentences for a person."""
    try:
        yield
    except errors.NoAnswer as error:
        raise no_answer(url, error) from error
    except errors.NotAuthenticated as error:
        raise WrongKey(_("%(url)s does not know this key. Run `memplatform login`.") % {"url": url}) from error
    except errors.NotAllowed as error:
        problem = _("This key may not do that: %(why)s Ask an operator for a key that may.")
        raise WrongKey(problem % {"why": details_of(error)}) from error
    except errors.NotFound as error:
        problem = _("There is no such memory or scope, or this key does not reach it: %(why)s")
        raise Problem(problem % {"why": details_of(error)}) from error
    except errors.Throttled as error:
        raise Away(_("This key has made its calls of this minute. Try again in a minute.")) from error
    except errors.Unavailable as error:
        problem = _("The platform cannot answer now: %(why)s Try again shortly; `memplatform status` says more.")
        raise Away(problem % {"why": details_of(error)}) from error
    except errors.ApiError as error:
        if error.code == "unreadable":
            raise no_platform(url, error.status) from error
        raise Problem(safe(details_of(error))) from error


def no_answer(url: str, why: Exception) -> Away:
    """The error of a platform that is not reached."""
    problem = _("%(url)s gives no answer (%(why)s). Is the platform running, and is the address right?")
    return Away(problem % {"url": url, "why": why})


def no_platform(url: str, status: int) -> Away:
    """The error of an address where something else answers."""
    problem = _("What answers at %(url)s (status %(status)d) is no memplatform. Is the address right?")
    return Away(problem % {"url": url, "status": status})


def details_of(error: errors.ApiError) -> str:
    """What the platform says, with the fields it is about."""
    parts = [f"{one['attr']}: {one['detail']}" if one["attr"] else one["detail"] for one in error.errors]
    return safe(" ".join(parts))
