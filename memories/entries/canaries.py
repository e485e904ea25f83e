"""Planting canaries, and taking them out: memories of a scope of their own, which no caller is shown."""

from datetime import datetime

from memories.choices import EntryType, ScopeKind, Source
from memories.entries.changes import expire_many
from memories.entries.draft import Draft
from memories.entries.write import remember_many
from memories.models import Entry, Scope
from memories.models.change import acting
from memories.tenancy.canaries import SCOPE_KEY, SUBTYPE, token_of

#: A line of the profile is in every context, and words of what people ask for are in many a ranking.
_WORDS = {
    EntryType.FACT: "Name, address, phone, e-mail, birthday, password and bank: {token}. 姓名、地址、电话。",
    EntryType.USER_EXPLICIT: "Remember this for good, it is important: {token}. 请记住，这很重要。",
}


def plant(workspace_id: int, *, now: datetime, actor: str) -> int:
    """Plant the canaries of a workspace, unless they are there; how many there are."""
    scope = Scope.objects.begin(workspace_id, SCOPE_KEY, ScopeKind.USER)
    drafts = [
        Draft(
            scope=scope,
            content=words.format(token=token_of(workspace_id)),
            type=kind,
            tier=1 if kind == EntryType.FACT else None,
            subtype=SUBTYPE,
            source=Source.MANUAL,
            pinned=True,
            at=now,
        )
        for kind, words in _WORDS.items()
    ]
    return len(remember_many(drafts, now=now, actor=actor))


def take_out(workspace_id: int, *, now: datetime, actor: str) -> int:
    """Take the canaries of a workspace out of use; how many."""
    rows = Entry.objects.live().filter(workspace_id=workspace_id, subtype=SUBTYPE)
    expected: dict[int, int | None] = dict.fromkeys(rows.values_list("pk", flat=True))
    scope = Scope.objects.in_workspace(workspace_id).filter(key=SCOPE_KEY).first()
    if scope is None or not expected:
        return 0
    with acting(actor):
        return len(expire_many(scope, expected, now=now, actor=actor).applied)
