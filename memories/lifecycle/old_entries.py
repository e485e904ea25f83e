"""Entries of a time before something was looked at when they are written: looked through once.

Old turns that tell nothing new: found once, and taken out of what is ranked (A7).

Turns are looked at when they are written. Those of a time before that are looked at here, each with the memories before
it; nothing of them is changed but the mark, and their search rows are made anew.

Secrets of a time when nobody looked for them: found once, and made credentials in a batch that can be undone.

Memories are looked at when they are written. Those that were stored before, or by older rules, are looked through here,
a scope at a time; what is found is masked in the admin from then on, kept from groups, and served to those who ask.
Packages above look through what is theirs of a scope by the dotted paths in MEMORY_SECRET_FINDERS.
"""

import time
from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import models, transaction
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from memories import batches
from memories.batches.steps import EditStep, PlanRow
from memories.choices import SECRET, Category, Echo, SecretsRule
from memories.conf import conf
from memories.entries.draft import subtype_of
from memories.entries.duplicates import EchoCandidate, find_echoes, mark_echoes
from memories.entries.past import count_scope
from memories.exceptions import ScopeFrozen
from memories.index import scope_statistics
from memories.language.confidential import find_secrets
from memories.models import Entry, Scope
from memories.models.tenancy import SECRETS_VERSION, lock_scopes

CHUNK = 500


def mark_old_echoes(*, seconds: float) -> dict[str, int]:
    """Decide of every old entry whether it is an echo; how many were looked at, and how many are one.

    It stops after so many seconds, and goes on where it stopped when it is called again. A frozen scope is left for
    later.
    """
    ends = time.monotonic() + seconds
    looked_at = echoes = 0
    for scope_id in undecided().order_by("scope").values_list("scope", flat=True).distinct():
        scope = Scope.objects.get(pk=scope_id)
        try:
            while time.monotonic() < ends:
                with transaction.atomic():
                    lock_scopes([scope])
                    entries = list(undecided().filter(scope=scope).order_by("pk")[:CHUNK])
                    texts = [EchoCandidate(scope.pk, entry.content, entry.terms, before=entry.pk) for entry in entries]
                    terms = {term for entry in entries for term in entry.terms}
                    counts = scope_statistics.frequencies([scope.pk], terms)
                    decided = find_echoes(texts, counts, workspace_id=scope.workspace_id)
                    mark_echoes(entries, decided)
                if not decided:
                    break
                looked_at += len(decided)
                echoes += sum(echo != Echo.NONE for echo in decided)
            count_scope(scope)
        except ScopeFrozen:
            continue
    return {"entries": looked_at, "echoes": echoes}


def count_undecided() -> dict[str, int]:
    """How many entries nobody has looked at yet; those of frozen scopes wait."""
    return {"entries": undecided().filter(scope__frozen=False).count()}


def undecided() -> models.QuerySet[Entry]:
    """Entries written before turns were looked at."""
    return Entry.objects.filter(echo__isnull=True)


JOB = "find-secrets"
ACTOR = f"job:{JOB}"
_ROWS = 500


def find_old_secrets(*, now: datetime, seconds: float) -> dict[str, int]:
    """Look through the scopes nobody has looked through by these rules; how many, with their memories and secrets.

    It stops after so many seconds, and goes on where it stopped when it is called again: a run that was killed finds
    its plan again. A frozen scope is left for later.
    """
    ends = time.monotonic() + seconds
    scopes = looked_at = secrets = 0
    for scope in _waiting().order_by("pk"):
        if time.monotonic() > ends:
            break
        memories = _to_look_at([scope])
        number = memories.count()
        # what holds a secret becomes a credential
        rows = []
        for entry in memories.order_by("pk").only("pk", "version", "content").iterator(chunk_size=_ROWS):
            if kinds := {secret.kind for secret in find_secrets(entry.content)}:
                marks = {"category": Category.CREDENTIAL.value, "subtype": subtype_of(kinds)}
                rows.append(PlanRow.of(entry, EditStep(columns=marks)))
        try:
            if rows:
                run = f"{JOB}:{SECRETS_VERSION}"
                batches.apply_batch(batches.plan(scope, rows, name=JOB, run=run, actor=ACTOR, now=now), now=now)
            for path in settings.MEMORY_SECRET_FINDERS:
                import_string(path)(scope)
        except ScopeFrozen:  # since it was chosen
            continue
        Scope.objects.filter(pk=scope.pk).update(secrets_version=SECRETS_VERSION)
        scopes, looked_at, secrets = scopes + 1, looked_at + number, secrets + len(rows)
    return {"scopes": scopes, "entries": looked_at, "secrets": secrets}


def count_waiting() -> dict[str, int]:
    """How many scopes nobody has looked through, and how many memories are to be; those that are frozen wait."""
    waiting = _waiting()
    return {"scopes": waiting.count(), "entries": _to_look_at(waiting).count()}


def _waiting() -> QuerySet[Scope]:
    """The scopes to look through that are not frozen; none where secrets are nobody's concern."""
    scopes = Scope.objects.filter(secrets_version__lt=SECRETS_VERSION, frozen=False)
    return scopes.none() if conf.SECRETS == SecretsRule.OFF else scopes


def _to_look_at(scopes: Iterable[Scope]) -> QuerySet[Entry]:
    """The memories of these scopes that are no credentials."""
    return Entry.objects.filter(scope__in=scopes).exclude(category__in=SECRET)
