"""Scopes as a caller may see them; what it may not see does not exist for it."""

from collections.abc import Iterable

from django.db.models import QuerySet

from memories.exceptions import ScopeNotFound
from memories.models import Scope
from memories.tenancy.access import Caller
from memories.tenancy.resolver import kind_of_key


def scope_for(caller: Caller, scope_key: str) -> Scope:
    """The scope with this key. Unknown and forbidden are the same: ScopeNotFound."""
    if not caller.may_reach(scope_key):
        raise ScopeNotFound
    try:
        return Scope.objects.in_workspace(caller.workspace_id).get(key=scope_key)
    except Scope.DoesNotExist as error:
        raise ScopeNotFound from error


def scope_to_write(caller: Caller, scope_key: str) -> Scope:
    """The scope with this key, begun if nobody wrote to it yet.

    Only a key the resolver could have made begins a scope; any other unknown key is ScopeNotFound.
    """
    kind = kind_of_key(scope_key)
    if not caller.may_reach(scope_key):
        raise ScopeNotFound
    if kind is None:
        return scope_for(caller, scope_key)
    return Scope.objects.begin(caller.workspace_id, scope_key, kind)


def reached(caller: Caller, chats: Iterable[str]) -> list[str]:
    """Of the chats a memory came from, those whose scope the key may see."""
    return [chat for chat in chats if caller.may_reach(chat)]


def visible_scopes(caller: Caller) -> QuerySet[Scope]:
    """All scopes a key may see."""
    scopes = Scope.objects.in_workspace(caller.workspace_id)
    if caller.reaches_everything:
        return scopes
    reachable = [pk for pk, name in scopes.values_list("pk", "key") if caller.may_reach(name)]
    return scopes.filter(pk__in=reachable)
