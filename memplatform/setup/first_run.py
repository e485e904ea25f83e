"""What a fresh database needs so that somebody can begin: made once, kept in files only their owner reads.

A conversation of our own about everyday things (demo.tsv) comes along, so that the first recall has something to find.
"""

import csv
import json
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import transaction

from channels_app.turns import take_turn
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import Permission
from memories.consolidation.capture import Turn
from memories.models import Bot, BotKey, Entry, Workspace
from memories.staff.models import Member
from memories.staff.roles import Role
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address

DEMO_PLATFORM = "cli"
#: What the first curl asks; the ninth turn answers it.
DEMO_QUESTION = json.dumps({"address": {"platform": DEMO_PLATFORM}, "message": "On which day is my bakery closed?"})


def take_demo_turns(caller: Caller, *, now: datetime) -> None:
    """The conversation, all of it or nothing, as a bot reports turns; only where nothing is remembered.

    Its lines are how many hours ago a turn was, the user's words and the answer.
    """
    with transaction.atomic(), Path(__file__).with_name("demo.tsv").open(encoding="utf-8") as file:
        if not Entry.objects.exists():
            for hours, user, answer in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                at = now - timedelta(hours=float(hours))
                turn = Turn(address=Address(platform=DEMO_PLATFORM), user=user, assistant=answer, at=at)
                take_turn(caller, turn, now=now)


OPERATOR = "operator"
WORKSPACE = "Demo"
BOT = "demo"
#: Of the key made by the first start; what a webhook receives, an owner has to allow.
DEMO_MAY = [Permission.READ.value, Permission.WRITE.value, Permission.ADMIN.value]


@dataclass(frozen=True)
class FirstRun:
    """Where the secrets lie (None: not on this machine), and those that were made just now."""

    password_file: Path | None
    key_file: Path | None
    new_password: str | None = None
    new_key: str | None = None


def ensure(data: Path, *, now: datetime, may_replace_key: bool = True) -> FirstRun:
    """Killed at any line, the next run completes it; run twice, it changes nothing.

    A host that is not the first makes no other key for the demo bot (`may_replace_key`): the first one has it.
    """
    folder = data / "credentials"
    folder.mkdir(mode=0o700, exist_ok=True)
    users, new_password = get_user_model().objects, None
    if not users.filter(is_superuser=True).exists():
        file = folder / "operator-password"
        if not file.exists():  # it comes before the account, so that it cannot be lost
            keep(file, secrets.token_urlsafe(12))
        new_password = file.read_text()
        users.create_superuser(OPERATOR, password=new_password)
    new_key = _bot(folder / "bot-key", now=now) if may_replace_key or not Workspace.objects.exists() else None
    if not (folder / "metrics-key").exists():
        keep(folder / "metrics-key", secrets.token_urlsafe(32))
    if key := BotKey.objects.usable(now).select_related("bot", "workspace").filter(bot=_demo_bot()).first():
        take_demo_turns(key.caller(), now=now)
    password_file, key_file = (
        file if file.exists() else None for file in (folder / "operator-password", folder / "bot-key")
    )
    return FirstRun(password_file, key_file, new_password, new_key)


def _bot(file: Path, *, now: datetime) -> str | None:
    """The token when one was made now: without any workspace, or when the demo bot's is not here."""
    if file.exists() and BotKey.objects.filter(digest=BotKey.digest_of(file.read_text())).exists():
        return None
    with transaction.atomic():
        bot = _demo_bot()
        if not Workspace.objects.exists():
            workspace = Workspace.objects.create(name=WORKSPACE)
            operator = get_user_model().objects.filter(is_superuser=True).earliest("pk")
            Member.objects.create(workspace=workspace, user=operator, role=Role.OWNER)
            bot = Bot.objects.create(workspace=workspace, name=BOT)
        if bot is None:
            return None
        _key, token = BotKey.issue(bot, permissions=DEMO_MAY, label="made by the first start")
        AuditRecord.note(AuditEvent.KEY_ISSUED, actor="setup", at=now, workspace_id=bot.workspace_id, about=str(bot))
        keep(file, token)  # before the commit: a key nobody knows is never left behind
    return token


def _demo_bot() -> Bot | None:
    return Bot.objects.filter(workspace__name=WORKSPACE, name=BOT, disabled_at=None).first()


def keep(file: Path, secret: str) -> None:
    """Write a secret where only its owner reads it, whole or not at all."""
    draft = file.with_name(f"{file.name}.new")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(secret)
    draft.replace(file)
