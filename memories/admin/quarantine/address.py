"""The address of the page that asks before something is put into quarantine."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse


def quarantine_url(**seed: Any) -> str:
    """The page that asks about an entry, a batch, the file of a scope, or a bot."""
    return f"{reverse('quarantine_new')}?{urlencode(seed)}"
