"""`python -m tests.system.pooled.walled make` makes two workspaces; `… read SEED` reads them in turns, from many
threads over few connections, and prints what a thread saw that was not its own.
"""

import json
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import django

THREADS, TURNS = 6, 15


def make() -> dict[str, Any]:
    """Two workspaces with a scope and a key each: their ids and tokens."""
    from memories.choices import Permission, ScopeKind
    from memories.models import Bot, BotKey, Scope, Workspace

    made = {}
    for name in ("north", "south"):
        workspace = Workspace.objects.create(name=name)
        Scope.objects.begin(workspace.pk, "main", ScopeKind.USER)
        _key, token = BotKey.issue(
            Bot.objects.create(workspace=workspace, name=f"bot of {name}"), permissions=[Permission.READ]
        )
        made[token] = [workspace.pk, f"bot:bot of {name}"]
    return made


class Reader:
    """One thread's share: it enters as one of the bots, looks in several ways, and leaves."""

    def __init__(self, seed: str, made: dict[str, Any], *, is_careless: bool) -> None:
        self.chance = random.Random(seed)
        self.made, self.is_careless = made, is_careless
        self.strange: list[str] = []

    def go(self) -> list[str]:
        """What it saw that it should not have seen."""
        from django.db import connection

        for _turn in range(TURNS):
            token = self.chance.choice([None, *self.made])
            self._enter(token)
            expected = self.made[token] if token else [None, ""]
            for _look in range(self.chance.randint(1, 4)):
                self.chance.choice([self._look, self._look_twice, self._look_after_an_error])(expected)
            self._leave()
        connection.close()
        return self.strange

    def _enter(self, token: str | None) -> None:
        from django.utils import timezone

        from memories.models import BotKey
        from memories.tenancy import row_level_security

        if token is None:
            return
        if self.is_careless:  # as it is right with a connection of one's own
            from django.db import connection

            workspace, actor = self.made[token]
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('memplatform.workspaces', %s, false),"
                    " set_config('memplatform.actor', %s, false)",
                    [f"{{{workspace}}}", actor],
                )
            return
        assert row_level_security.enter_by_key(BotKey.digest_of(token), timezone.now(), counted=None)

    def _leave(self) -> None:
        from memories.tenancy import row_level_security

        if not self.is_careless:
            row_level_security.leave()

    def _look(self, expected: list[Any]) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("SELECT array_agg(DISTINCT workspace_id), current_setting('memplatform.actor', true),"
                           " current_setting('statement_timeout') FROM memories_scope")  # fmt: skip
            seen, actor, patience = cursor.fetchone()
        workspaces = [expected[0]] if expected[0] else None
        if (seen, actor or "") != (workspaces, expected[1]) or patience != "15s":
            self.strange.append(f"{seen} as {actor!r} for {patience}, and not {expected}")

    def _look_twice(self, expected: list[Any]) -> None:
        from django.db import transaction

        with transaction.atomic():
            self._look(expected)
            self._look(expected)

    def _look_after_an_error(self, expected: list[Any]) -> None:
        from django.db import DataError, connection, transaction

        with transaction.atomic():
            try:
                with transaction.atomic(), connection.cursor() as cursor:
                    cursor.execute("SELECT 1 / (%s - 1)", [1])
            except DataError:
                self._look(expected)


def read(seed: str) -> list[str]:
    """What all threads saw that was not theirs."""
    made, is_careless = json.loads(os.environ["MADE"]), bool(os.environ.get("CARELESS"))
    readers = [Reader(f"{seed} {number}", made, is_careless=is_careless) for number in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        return [strange for found in threads.map(Reader.go, readers) for strange in found]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    django.setup()
    print(json.dumps(make() if sys.argv[1] == "make" else read(sys.argv[2])))
