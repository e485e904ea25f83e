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
    address = Address(platform=PLATFORM)
    with Path(__file__).with_suffix(".tsv").open(encoding="utf-8") as file:
        return [
            Turn(address=address, user=user, assistant=answer, at=now - timedelta(hours=float(hours)))
            for hours, user, answer in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def take_turns(caller: Caller, *, now: datetime) -> None:
    """All of it or nothing, as a bot reports turns; only where nothing is remembered."""
    with transaction.atomic():
        if not Entry.objects.exists():
            for turn in turns(now):
                take_turn(caller, turn, now=now)
