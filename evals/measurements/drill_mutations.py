"""Does a leak drill find bugs? Planted one at a time, in filters, caches, keys, walls and exports, each with a drill.

    python -m evals.measurements drill_mutations                      all of them; a minute or two
    python -m evals.measurements drill_mutations --only NAME [NAME …]

A workspace of two people and a group of theirs, the smallest in which something can leak. Each bug is a change of one
place of the product for as long as its drill runs; a drill that hears nothing has missed it, and the command fails.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

from django.utils import timezone

from channels_app import context
from channels_app.doors.tools import get, place
from channels_app.turns import take_turn
from memories import recall as recalling
from memories import visibility
from memories.api import recall_traces
from memories.consolidation import capture
from memories.consolidation.capture import Turn
from memories.evaluation import remove
from memories.files.layout import scope_folder
from memories.models import BotKey, DailyEvent, Entry, RecallTrace, Scope, Workspace
from memories.recall import answer, candidates, eligibility, events
from memories.tenancy import resolver
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address
from memplatform.drill import asking
from memplatform.drill.asking import WORDINGS, Effort, Leak, Probes
from memplatform.drill.run import drill
from memplatform.transfer.export import sections
from sessions_app import visibility as of_sessions
from sessions_app.models import Session, SessionEvent
from sessions_app.search import retriever

NAME = "evals: bugs for the leak drill"
PEOPLE = ("ann", "ben")
GROUP = "telegram:mybot:group_g1"
Put = Callable[[Any, str, Any], Any]  # an attribute of the product in another's place


def groups_hear_everything(put: Put) -> None:
    put(eligibility, "audience_filter", lambda query: ([], {}))


def groups_hear_secrets(put: Put) -> None:
    put(eligibility, "_SQL", {**eligibility._SQL, "no_credential": "true"})
    put(eligibility, "credential_guard", lambda *_: eligibility.CredentialGuard())


def keys_reach_everything(put: Put) -> None:
    put(Caller, "may_reach", lambda self, key: True)


def keys_lose_their_patterns(put: Put) -> None:
    before = BotKey.caller
    put(BotKey, "caller", lambda self: replace(before(self), scope_patterns=()))
    put(Caller, "reaches_everything", property(lambda self: True))


def lists_forget_reach(put: Put) -> None:
    put(visibility, "_within_reach", lambda rows, caller, key: rows.filter(workspace_id=caller.workspace_id))


def scopes_are_found_by_anybody(put: Put) -> None:
    def anybody(caller: Caller, key: str) -> Scope:
        return Scope.objects.get(workspace_id=caller.workspace_id, key=key)

    put(visibility, "scope_for", anybody)


def entries_are_read_by_id(put: Put) -> None:
    put(get, "readable_entry", lambda query, uid, *_: Entry.objects.filter(uid=uid).first())


def days_are_read_by_id(put: Put) -> None:
    def any_day(uid: Any, *_: Any) -> DailyEvent | None:
        return DailyEvent.objects.select_related("scope").filter(uid=uid).first()

    put(get, "readable_day", any_day)


def messages_are_read_by_path(put: Put) -> None:
    def any_message(where: Any, uid: Any, conversation: int, number: int, now: Any) -> Any:
        event = SessionEvent.objects.select_related("session").get(pk=number)
        return get._Passage(event.content, event.at)

    put(get, "_message", any_message)


def groups_hear_days_of_people(put: Put) -> None:
    put(events, "_own_days", lambda places: {place.scope.pk: place for place in places})


def groups_hear_messages_of_people(put: Put) -> None:
    put(retriever, "_is_private_here", lambda place: False)


def profiles_are_of_anybody(put: Put) -> None:
    """As if they were the asker's own: a fact of a scope that is not searched ends the call before a word is told."""
    scope_filter, owner = "e.scope_id = ANY(%(scopes)s::bigint[]) AND", "e.scope_id, e.category"
    assert scope_filter in answer._PROFILE and owner in answer._PROFILE
    anybody = answer._PROFILE.replace(scope_filter, "")
    put(answer, "_PROFILE", anybody.replace(owner, "(%(scopes)s::bigint[])[1], e.category"))


def notes_are_of_somebody_else(put: Put) -> None:
    put(context, "_scope_of", lambda *_: Scope.objects.filter(kind="user").order_by("pk").first())


def answers_are_cached_by_the_question(put: Put) -> None:
    put(recalling, "answer_key", lambda query, *_: query.message if query.cache else None)


def peers_share_a_key(put: Put) -> None:
    """Whatever the rule of direct chats: the one of one memory a person is no channel's here."""
    put(resolver, "_direct_key", lambda *_: "telegram:direct_ann")


def talks_are_told_to_groups(put: Put) -> None:
    put(capture, "_in_scope", lambda draft, scope, resolved: replace(draft, scope=scope, chats=(GROUP,)))


def traces_are_shown_to_any_key(put: Put) -> None:
    put(recall_traces, "trace_for", lambda caller, uid: RecallTrace.objects.filter(uid=uid).first())


def histories_are_shown_to_any_key(put: Put) -> None:
    def every(caller: Caller) -> Any:
        return Session.objects.filter(workspace_id=caller.workspace_id)

    put(of_sessions, "visible_sessions", every)


def exports_hold_other_scopes(put: Put) -> None:
    put(asking, "sections", lambda workspace, scope, *, history: sections(workspace, None, history=history))


def files_of_all_are_read(put: Put) -> None:
    def every(caller: Caller, _at: Any) -> Any:
        scopes = Scope.objects.filter(workspace_id=caller.workspace_id)
        return [scope_folder(caller.folder, scope.key) for scope in scopes]

    put(place, "folders_of_scope", every)
    put(place.Place, "folders", property(lambda self: every(self.caller, None)))


def as_of_forgets_what_groups_hear(put: Put) -> None:
    before = eligibility.audience_filter
    for module in (eligibility, candidates):
        put(module, "audience_filter", lambda query: ([], {}) if query.as_of else before(query))
    put(eligibility.Past, "withholds", lambda self, entry: False)


BUGS: list[Callable[[Put], None]] = [
    groups_hear_everything, groups_hear_secrets, keys_reach_everything,
    keys_lose_their_patterns, lists_forget_reach, scopes_are_found_by_anybody, entries_are_read_by_id,
    days_are_read_by_id, messages_are_read_by_path, groups_hear_days_of_people, groups_hear_messages_of_people,
    profiles_are_of_anybody, notes_are_of_somebody_else, answers_are_cached_by_the_question, peers_share_a_key,
    talks_are_told_to_groups, traces_are_shown_to_any_key, histories_are_shown_to_any_key, exports_hold_other_scopes,
    files_of_all_are_read, as_of_forgets_what_groups_hear,
]  # fmt: skip


class LeakFound(Exception):
    """The first leak of a drill, which is enough."""

    def __init__(self, leak: Leak) -> None:
        super().__init__(leak)
        self.leak = leak


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=[bug.__name__ for bug in BUGS], metavar="NAME")


def main(options: argparse.Namespace) -> None:
    missed_bugs = []
    with workspace(timezone.now()) as house:
        for bug in BUGS:
            if options.only and bug.__name__ not in options.only:
                continue
            begun = time.monotonic()
            leak = leak_with(bug, house, now=timezone.now())
            place = f"{leak.place} at {leak.door} to {leak.asker}" if leak else "MISSED"
            print(f"{bug.__name__:36s} {time.monotonic() - begun:5.1f} s  {place}", flush=True)
            missed_bugs += [] if leak else [bug.__name__]
    bug_count = len(options.only or BUGS)
    print(f"{bug_count - len(missed_bugs)} of {bug_count} planted bugs found")
    if missed_bugs:
        raise SystemExit(f"missed: {', '.join(missed_bugs)}")


@contextmanager
def workspace(now: datetime) -> Iterator[Workspace]:
    """Two people and a group, each with a turn; taken away afterwards with all that is of it."""
    for old_workspace in Workspace.objects.filter(name=NAME):
        remove(old_workspace)
    house = Workspace.objects.create(name=NAME)
    try:
        inhabit(house, now - timedelta(hours=1))
        yield house
    finally:
        remove(house)


def inhabit(house: Workspace, at: datetime) -> None:
    """A turn of each person alone, and one of a third in the group."""
    places: Sequence[dict[str, Any]] = [{"peer": peer} for peer in PEOPLE]
    in_group = {"peer": "cleo", "account": "mybot", "chat": "g1", "is_group": True}
    for fields in [*places, in_group]:
        address = Address(platform="telegram", **fields)
        turn = Turn(address=address, user=f"My boat is called {address.peer}.", assistant="ok", at=at)
        take_turn(house.caller("bot:ours"), turn, now=at)


def leak_with(bug: Callable[[Put], None], house: Workspace, *, now: datetime) -> Leak | None:
    """The first leak a drill hears while a bug is there; None: it is missed."""
    listen = Probes.listen

    def stop_at_the_first(self: Probes, *answer: Any) -> None:
        listen(self, *answer)
        if self.leaks:
            raise LeakFound(next(iter(self.leaks)))

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Probes, "listen", stop_at_the_first))
        bug(lambda target, name, value: stack.enter_context(mock.patch.object(target, name, value)))
        try:
            drill(house, sample=None, effort=Effort(wordings=WORDINGS[1:2]), now=now)
        except LeakFound as found:
            return found.leak
    return None
