"""A conversation of our own about everyday things (demo.tsv), so that the first recall has something to find."""

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path

from django.db import transaction

from channels_app.turns import take_turn
from memories.consolidation.capture import Turn
from memories.models import Entry
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address

PLATFORM = "cli"
#: What the first curl asks; the ninth turn answers it.
QUESTION = json.dumps({"address": {"platform": PLATFORM}, "message": "On which day is my bakery closed?"})


def turns(now: datetime) -> list[Turn]:
    """Every turn of the conversation, by lines of how many hours ago it was, the user's words and the answer."""
    with Path(__file__).with_suffix(".tsv").open() as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Turn(
                address=Address(platform=PLATFORM), user=user, assistant=answer, at=now - timedelta(hours=float(hours))
            )
            for hours, user, answer in lines
        ]


def take_turns(caller: Caller, *, now: datetime) -> None:
    """All of it or nothing, as a bot reports turns; only where nothing is remembered."""
    with transaction.atomic():
        if not Entry.objects.exists():
            for turn in turns(now):
                take_turn(caller, turn, now=now)
