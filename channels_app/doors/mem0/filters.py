"""mem0's filters as conditions of the database, always inside of what the caller may see.

The wall is the user: what belongs to a user is looked at only where the filter names users. `{"agent_id": "a"}` is what
the agent knows by itself; `{"user_id": "*", "agent_id": "a"}` what it was told by anybody.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import cached_property, partial, reduce
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from rest_framework.exceptions import ErrorDetail, ValidationError

from channels_app import addresses
from channels_app.addresses import find_channel
from channels_app.doors.mem0.answers import (
    IDS,
    PLATFORM,
    SHARED_IDS,
    USER,
    address_of,
    slot_name,
    slot_value,
    snake_case,
)
from channels_app.people import peers
from memories.api.fields import YEARS
from memories.choices import ScopeKind
from memories.models import Entry, Policy, Slot
from memories.models.state import State, in_state
from memories.tenancy.access import Caller
from memories.tenancy.resolver import starts_of_keys
from memories.visibility import visible_entries

MOST_CONDITIONS = 100
MOST_VALUES = 1_000  # names, ids and texts of a filter together: each name of a user is looked up
_OWN_SCOPE = reduce(or_, (Q(scope__key__startswith=start) for start in starts_of_keys(PLATFORM)))
#: Where rules give several platforms one memory, what was added here is found in it, and nothing else.
_HERE = _OWN_SCOPE | Q(channel=PLATFORM)
_USERS = _HERE & Q(scope__kind=ScopeKind.USER)
_SHARED = _HERE & Q(scope__kind=ScopeKind.CHAT)
_TIMES = {"created_at": "created_at", "timestamp": "created_at", "updated_at": "updated_at"}
_DAY, _MOMENT = timedelta(days=1), timedelta(microseconds=1)


def live_entries(caller: Caller, now: datetime) -> QuerySet[Entry]:
    """What the caller may see and is in use: what was deleted, or whose time is up, is not there."""
    policies = Policy.objects.of(caller.workspace_id)
    return visible_entries(caller).filter(in_state(State.LIVE, policies.over(now)))


def added_here(caller: Caller, now: datetime) -> QuerySet[Entry]:
    """What is in use of all that was added for mem0's ids."""
    return live_entries(caller, now).filter(_HERE)


def filtered(caller: Caller, filters: Mapping[str, Any], now: datetime) -> QuerySet[Entry]:
    """The entries in use that a filter names. Raises ValidationError where it names no user, agent, app or run."""
    # Refuse a filter of too many values before anything is looked up
    nodes, count = [filters], 0
    while nodes:
        node = nodes.pop()
        count += 1
        if count > MOST_VALUES:
            raise _refused(_("A filter has at most %(most)d values.") % {"most": MOST_VALUES})
        nodes += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    reader = _Reader(caller)
    condition, names_users = reader.conjunction(filters)
    if not reader.names_anybody:
        raise _refused(_("A filter names at least one of user_id, agent_id, app_id and run_id."))
    return live_entries(caller, now).filter(condition if names_users else condition & _SHARED)


def ids_filter(data: Mapping[str, Any]) -> dict[str, Any]:
    """A filter by the ids that stand beside it, and by the filter itself."""
    ids = {name: data[name] for name in IDS if data.get(name) is not None}
    return {"AND": [ids, data.get("filters") or {}]}


def span(value: Any, zone: tzinfo) -> tuple[datetime, datetime]:
    """When a time begins and ends: a day, a moment, or Unix seconds. Raises ValidationError."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            begin, length = datetime.fromtimestamp(value, zone), _MOMENT
        elif len(value) == len("2026-01-31"):
            begin, length = datetime.combine(date.fromisoformat(value), datetime.min.time(), zone), _DAY
        else:
            begin, length = datetime.fromisoformat(value), _MOMENT
            begin = begin if begin.tzinfo else begin.replace(tzinfo=zone)
        if begin.year not in YEARS:
            raise ValueError
    except (TypeError, ValueError, OverflowError, OSError):
        raise _refused(_("“%(value)s” is no time.") % {"value": str(value)[:50]}) from None
    return begin, begin + length


@dataclass
class _Reader:
    """One filter, read from its root; each part as a condition, and whether it names users."""

    caller: Caller
    names_anybody: bool = False
    conditions: int = 0

    def conjunction(self, tree: Any, *, inside_not: bool = False) -> tuple[Q, bool]:
        """All parts of a tree hold."""
        parts = [self._part(name, value, inside_not) for node in _nodes(tree) for name, value in node.items()]
        return _all(part for part, _has_user in parts), any(has_user for _part, has_user in parts)

    def _part(self, name: str, value: Any, inside_not: bool) -> tuple[Q, bool]:
        self.conditions += 1
        if self.conditions > MOST_CONDITIONS:
            raise _refused(_("A filter has at most %(most)d conditions.") % {"most": MOST_CONDITIONS})
        name = snake_case(name)
        if name == "AND":
            return self.conjunction(value, inside_not=inside_not)
        if name == "OR":
            # One of the parts holds. Beside those that name users, the others are of what no user has
            parts = [self.conjunction(node, inside_not=inside_not) for node in _nodes(value)]
            names_users = any(has_user for _part, has_user in parts)
            is_walled = names_users and not inside_not
            return _any(part & _SHARED if is_walled and not has_user else part for part, has_user in parts), names_users
        if name == "NOT":
            none = _any(self.conjunction(node, inside_not=True)[0] for node in _nodes(value))
            return ~none, False
        self.names_anybody |= name in IDS and not inside_not
        return self._leaf(name, value), name == USER

    def _leaf(self, name: str, value: Any) -> Q:
        if name == "metadata" and isinstance(value, dict):
            return _all(_compared(part, partial(_slot, slot_name(key)), name) for key, part in value.items())
        if name == "memory_ids":
            ids = value.get("in") if isinstance(value, dict) else value
            uids = []
            for text in _texts(ids if isinstance(ids, list) else [ids]):
                with suppress(ValueError):  # nobody's
                    uids.append(UUID(text))
            return Q(uid__in=uids)
        if name in _TIMES:
            column = _TIMES[name]
            condition = Q()
            for operator, operand in _operators(value).items():
                begin, end = span(operand, self.caller.zone)
                match operator:
                    case "gte" | "lt":
                        condition &= Q(**{f"{column}__{operator}": begin})
                    case "gt":
                        condition &= Q(**{f"{column}__gte": end})
                    case "lte":
                        condition &= Q(**{f"{column}__lt": end})
                    case "eq" | "ne":
                        same = Q(**{f"{column}__gte": begin, f"{column}__lt": end})
                        condition &= same if operator == "eq" else ~same
                    case _:
                        raise _unknown_operator(operator, column)
            return condition
        if name == USER:
            return _HERE & _compared(value, self._user, name)
        if name in SHARED_IDS:
            return _compared(value, partial(_shared_id, name, self.caller.workspace_id), name)
        if name == "categories":
            return _compared(value, partial(_column, "category"), name)
        if name == "keywords":
            return _compared(value, partial(_column, "content"), name)
        raise _refused(_("“%(name)s” is nothing a filter knows.") % {"name": name[:50]})

    def _user(self, operator: str, value: Any) -> Q:
        if operator == "any":
            return _USERS
        names = _texts(value)
        has_user_slot = Exists(Slot.objects.filter(entry=OuterRef("pk"), name=USER, value__in=names))
        person_of = partial(peers.person_of, self.caller.workspace_id)
        keys = []
        for name in names:
            _platform, channel = self._channel
            address = address_of({USER: name})
            resolution = addresses.resolve_in_channel(self.caller, address, channel, lambda *_: ("", ""), person_of)
            keys.append(resolution.user_scope)
        return Q(scope__key__in=keys) & (_OWN_SCOPE | Q(has_user_slot))

    @cached_property
    def _channel(self) -> Any:
        return find_channel(self.caller.workspace_id, PLATFORM, "")


#: The condition of an operator: «any», «in» with a list, «contains» or «icontains» with a text.
_Condition = Callable[[str, Any], Q]


def _compared(value: Any, condition: _Condition, field: str) -> Q:
    """A field's value or operators, by the conditions of the field."""
    comparison = Q()
    for operator, operand in _operators(value).items():
        match operator:
            case "eq" | "ne":
                same = condition("any", None) if operand == "*" else condition("in", [operand])
                comparison &= same if operator == "eq" else ~same
            case "in" if isinstance(operand, list):
                comparison &= condition("in", operand)
            case "contains" | "icontains" if isinstance(operand, str) and field not in IDS:
                comparison &= condition(operator, operand)
            case _:
                raise _unknown_operator(operator, field)
    return comparison


def _operators(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"in" if isinstance(value, list) else "eq": value}


def _slot(name: str, operator: str, value: Any) -> Q:
    rows = Slot.objects.filter(entry=OuterRef("pk"), name=name)
    if operator == "in":
        rows = rows.filter(value__in=[slot_value(text) for text in value])
    elif operator != "any":
        rows = rows.filter(**{f"value__{operator}": value})
    return Q(Exists(rows))


def _shared_id(name: str, workspace_id: int, operator: str, value: Any) -> Q:
    """Of an entry itself; of what no user has, the id its memory was added with, which facts do not repeat."""
    rows = Slot.objects.filter(workspace_id=workspace_id, name=name)
    rows = rows if operator == "any" else rows.filter(value__in=_texts(value))
    shared_scopes = rows.filter(entry__scope__kind=ScopeKind.CHAT).values("entry__scope")
    return Q(pk__in=rows.values("entry")) | (_SHARED & Q(scope__in=shared_scopes))


def _column(column: str, operator: str, value: Any) -> Q:
    if operator == "any":
        return ~Q(**{column: ""})
    return Q(**{f"{column}__{operator}": _texts(value) if operator == "in" else value})


def _nodes(tree: Any) -> list[dict[str, Any]]:
    nodes = tree if isinstance(tree, list) else [tree]
    if not all(isinstance(node, dict) for node in nodes):
        raise _refused(_("A filter is an object, or a list of such."))
    return nodes


def _texts(values: Iterable[Any]) -> list[str]:
    texts = list(values)
    if not all(isinstance(text, str) for text in texts):
        raise _refused(_("Names in a filter are texts."))
    return texts


def _all(parts: Iterable[Q]) -> Q:
    return reduce(and_, parts, Q())


def _any(parts: Iterable[Q]) -> Q:
    return reduce(or_, parts, Q(pk__in=[]))


def _unknown_operator(operator: str, field: str) -> ValidationError:
    words = {"operator": operator[:20], "field": field}
    return _refused(_("“%(operator)s” with this value does not go with “%(field)s”.") % words)


def _refused(text: str) -> ValidationError:
    return ValidationError({"filters": [ErrorDetail(text, code="invalid")]})
