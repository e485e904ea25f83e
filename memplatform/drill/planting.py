"""Canaries of a drill: words nobody else may be shown, in every kind of place of a scope.

They are planted in a transaction that is never committed: nobody is served one, no webhook is told, and whatever ends
the drill, a kill as well, takes them out. Files are planted below a folder of the drill's own, which the platform does
not read.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from string import ascii_lowercase

from channels_app.turns import take_turn
from memories import entries
from memories.choices import Category, EntryType, ScopeKind, Source
from memories.consolidation.capture import Turn
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft
from memories.exceptions import PlatformError
from memories.files.layout import folder_name, scope_folder
from memories.models import Entry, Scope
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, group_of_key, owner_of_key
from sessions_app.models import SessionEvent

#: How every word of a drill begins; letters alone, so that none passes for a secret.
PREFIX = "zqdr"
LETTERS = 14
ACTOR = "leak-drill"
#: What is said around each: common words, which many questions hold.
WORDS = {
    "en": "The drill word is {token}: holiday, salary, birthday, meeting and password of this week.",
    "zh": "演练口令是 {token}：假期、工资、生日、会议和密码都与它有关。",
}


@dataclass(frozen=True)
class Canary:
    """A planted word: whose memory it is in, as what, and where it may be heard."""

    token: str
    scope: str
    place: str
    group: str = ""  # the group it was said in, of a person's memory
    paths: tuple[str, ...] = ()  # at which tools read it

    @property
    def is_secret(self) -> bool:
        return self.place == "credential"


@dataclass(frozen=True)
class Home:
    """A scope that takes part: where its conversation is, and with whom."""

    scope: Scope
    address: Address | None  # None: its key tells no address

    @property
    def is_group(self) -> bool:
        return self.scope.kind == ScopeKind.CHAT


@dataclass
class Planted:
    """What was planted, and what took nothing."""

    canaries: list[Canary] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)  # scopes that are frozen, or in a conversation


def home_of(scope: Scope, member: str) -> Home:
    """A scope with its address; a group is spoken in by this member."""
    if scope.kind == ScopeKind.USER:
        owner = owner_of_key(scope.key)
        if owner is None or not owner[0]:
            return Home(scope, None)
        return Home(scope, Address(platform=owner[0], peer=owner[1]))
    place = group_of_key(scope.key)
    if place is None:
        return Home(scope, None)
    platform, account, chat = place
    return Home(scope, Address(platform=platform, account=account, peer=member, chat=chat, is_group=True))


def plant(caller: Caller, homes: Sequence[Home], *, now: datetime) -> Planted:
    """Plant in each of these scopes, through the doors everybody's memories come in by. Inside a transaction."""
    planted = Planted()
    groups = [home for home in homes if home.is_group and home.address]
    for number, home in enumerate(homes):
        try:
            planted.canaries += _plant_entries(home, now)
            token, key = new_token(), home.scope.key
            day = EventDraft(scope=home.scope, local_date=now.date() - timedelta(days=1), content=words_of(token))
            for event in daily_events.write([day], now=now, actor=ACTOR):
                planted.canaries.append(Canary(token, key, "day", paths=(f"daily_events/{event.uid}",)))
            if home.address:
                # A message of the conversation of this scope, and the turn that is made of it
                token = new_token()
                turn = Turn(address=home.address, user=words_of(token), assistant="Noted.", at=now)
                result = take_turn(caller, turn, now=now)
                paths = tuple(result.session.origin_of(event) for event in result.events)
                planted.canaries.append(Canary(token, key, "message", paths=paths))
                group = groups[number % len(groups)] if groups and not home.is_group else None
                if group and group.address and home.address.platform == group.address.platform:
                    # What a person says in a group: theirs, and the group's
                    token = new_token()
                    address = replace(group.address, peer=home.address.peer)
                    turn = Turn(address=address, user=words_of(token), assistant="Noted.", at=now)
                    take_turn(caller, turn, now=now)
                    planted.canaries.append(Canary(token, key, "said_in_group", group=group.scope.key))
            # A note in the folder of the scope, below the drill's own root
            folder, path = scope_folder(caller.folder, key), f"memory/scopes/{folder_name(key)}/{now:%Y-%m-%d}.md"
            if folder.owns(path):
                token, place = new_token(), Path(folder.workspace) / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(f"- {words_of(token)}\n", encoding="utf-8")
                planted.canaries.append(Canary(token, key, "file", paths=(path,)))
        except PlatformError as refusal:
            planted.refused.append(f"{home.scope.key}: {refusal}")
    return planted


def new_token() -> str:
    return PREFIX + "".join(secrets.choice(ascii_lowercase) for _ in range(LETTERS))


def words_of(token: str, *, chinese: bool = False) -> str:
    """What is planted around a token."""
    return WORDS["zh" if chinese else "en"].format(token=token)


def _plant_entries(home: Home, now: datetime) -> Iterator[Canary]:
    """Saved memories, a fact, a line of the profile, a secret."""
    scope = home.scope
    kinds: list[tuple[str, dict[str, object]]] = [
        ("saved", {"type": EntryType.USER_EXPLICIT, "source": Source.TOOL}),
        ("fact", {"type": EntryType.FACT, "tier": 2, "source": Source.EXTRACTION}),
        ("profile", {"type": EntryType.FACT, "tier": 1, "source": Source.EXTRACTION, "importance": 1.0}),
        ("credential", {"type": EntryType.NOTE, "source": Source.EXTRACTION, "category": Category.CREDENTIAL}),
    ]
    chats = (scope.key,) if not home.is_group else ()
    canaries, drafts = [], []
    for number, (place, columns) in enumerate(kinds):
        token = new_token()
        canaries.append(Canary(token, scope.key, place))
        content = words_of(token, chinese=bool(number % 2))
        drafts.append(Draft(scope=scope, content=content, at=now, chats=chats, **columns))  # type: ignore[arg-type]
    results = entries.remember_many(drafts, now=now, actor=ACTOR)
    for canary, result in zip(canaries, results, strict=True):
        yield replace(canary, paths=(f"entries/{result.entry.uid}",))


def rows_of(workspace_id: int) -> dict[str, int]:
    """How many rows hold a word of a drill: none, outside of one."""
    return {
        "entries": Entry.objects.filter(workspace_id=workspace_id, content__contains=PREFIX).count(),
        "messages": SessionEvent.objects.filter(workspace_id=workspace_id, content__contains=PREFIX).count(),
    }
