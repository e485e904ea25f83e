"""`manage.py migrate`: Django's, one at a time for each database, and the rights of the processes with the tables."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import Error, connections

from memplatform.database import roles, state

_MIGRATING = 7_305_116  # a lock; any number nobody else uses
_LOOK_EVERY = 0.2


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with alone(_MIGRATING, options["database"]):
            if refusal := state.refused():
                raise CommandError(refusal)
            if options["plan"] or options["check_unapplied"]:
                super().handle(*args, **options)
                return
            roles.ensure()  # what is there already: the checks ask for it
            super().handle(*args, **options)
            roles.ensure()


@contextmanager
def alone(lock: int, alias: str = "default") -> Iterator[None]:
    """Hold a lock of the database, for which it asks again and again: to wait inside the database for whoever builds an
    index beside the writers, who waits for every statement, would be a deadlock.
    """
    with connections[alias].cursor() as cursor:
        while True:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock])
            if cursor.fetchone()[0]:
                break
            time.sleep(_LOOK_EVERY)
        try:
            yield
        finally:
            with suppress(Error):  # it ends with the connection, too
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock])
