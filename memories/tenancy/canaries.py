"""Canaries: tokens nobody can guess, planted where no answer should lead; in an answer to somebody else they sing.

A token names its workspace and is signed with the secret of the platform, so that an invented one
is recognised without the database.
"""

import re
from collections.abc import Iterable

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

#: Looked for in every answer: as rare as it is short.
PREFIX = b"mpcanary-"
#: The scope of a workspace that no address leads to, and the subtype of what is planted there.
SCOPE_KEY = SUBTYPE = "canary"
_DIGITS = 32
_TOKEN = re.compile(rb"mpcanary-([1-9][0-9]{0,17})-([0-9a-f]{%d})" % _DIGITS)
#: Characters of the longest token: a piece of a stream may end within one.
LONGEST = len(PREFIX) + 18 + 1 + _DIGITS


def token_of(workspace_id: int) -> str:
    """The token of a workspace."""
    return f"{PREFIX.decode()}{workspace_id}-{_signature(workspace_id, settings.SECRET_KEY)}"


def planted_in(body: bytes) -> Iterable[int]:
    """The workspaces whose tokens stand in a body."""
    if PREFIX not in body:
        return ()
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return {
        int(number)
        for number, signed in _TOKEN.findall(body)
        if any(constant_time_compare(signed.decode(), _signature(int(number), key)) for key in keys)
    }


def _signature(workspace_id: int, key: str) -> str:
    value = salted_hmac("memplatform.canary", str(workspace_id), secret=key, algorithm="sha256")
    return value.hexdigest()[:_DIGITS]
