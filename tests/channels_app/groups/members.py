"""Three members who talk in private and in two groups, and what each of them may hear where (A3, A5).

Every statement has a word of its own, so that whatever an answer holds can be told apart: whose it is, where it was
said, and whether the chat has a copy of it.
"""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from memories import entries
from memories.batches import bulk_actions
from memories.entries import daily_events
from memories.index import worker
from memories.models import Entry, Scope, Workspace
from memories.models.change import acting
from tests.conftest import NOW, make_draft, make_key
from tests.sessions_app.conftest import Talk, clock

MEMBERS = ("ann", "ben", "cleo")
GROUPS = ("g1", "g2")
TOPICS = ("holiday", "salary", "生日", "房租")
TURNS = 90
WORD = re.compile(r"zq\d+x")
YESTERDAY = NOW - timedelta(days=1)


def user(peer: str) -> str:
    return f"telegram:direct_{peer}"


def chat(group: str) -> str:
    return f"telegram:mybot:group_{group}"


def address(peer: str, place: str) -> dict[str, Any]:
    """Somebody in a group, or alone with the bot."""
    here = {"platform": "telegram", "account": "mybot", "peer": peer}
    return {**here, "chat": place, "is_group": True} if place in GROUPS else {**here, "chat": f"dm-{peer}"}


@dataclass
class Secret:
    """Whose a statement is, every place it came from, and the groups that have a copy of it."""

    owner: str
    places: set[str]
    copies: set[str] = field(default_factory=set)


@dataclass
class World:
    """The secrets, by their words."""

    talk: Talk
    secrets: dict[str, Secret] = field(default_factory=dict)
    pick: random.Random = field(default_factory=lambda: random.Random(3))

    def word(self, owner: str, places: set[str], copies: set[str] | None = None) -> str:
        word = f"zq{len(self.secrets)}x"
        self.secrets[word] = Secret(owner, places, copies or set())
        return word

    def may_hear(self, word: str, peer: str, place: str, rule: str) -> bool:
        """The rule, said once more in other words than the product's."""
        secret = self.secrets[word]
        if place not in GROUPS:
            return secret.owner == peer
        if place in secret.copies:
            return True
        own = secret.owner == peer
        return own and (rule == "all" or (rule == "same_chat" and secret.places == {place}))


def words_in(answer: Any) -> set[str]:
    """Every statement of which anything stands anywhere in an answer, but for the question."""
    return set(WORD.findall(json.dumps(answer, ensure_ascii=False, default=str)))


def questions() -> list[str]:
    return [f"what about the {topic}?" for topic in TOPICS] + ["what did we say yesterday?", "昨天我们聊了什么"]


def everyone() -> Iterator[tuple[str, str]]:
    """Every member in every place: alone with the bot, and in each group; and a guest who never said anything."""
    for peer in (*MEMBERS, "guest"):
        for place in ("dm", *GROUPS):
            yield peer, place


def make_world(workspace: Workspace, turns: int = TURNS) -> World:
    world = World(Talk(make_key(workspace)))
    _talk(world, turns)
    for peer in MEMBERS:
        _facts(world, Scope.objects.get(workspace=workspace, key=user(peer)), peer)
        _days(world, workspace, peer)
    _tasks(world)
    worker.drain(now=NOW)
    return world


def _talk(world: World, turns: int) -> None:
    """Random turns of random people in random places."""
    for n in range(turns):
        peer = MEMBERS[n % 3] if n < 9 else world.pick.choice(MEMBERS)
        place = ("dm", *GROUPS)[n // 3 % 3] if n < 9 else world.pick.choice(("dm", *GROUPS))
        word = world.word(peer, {place}, {place} - {"dm"})
        topic = world.pick.choice(TOPICS)
        world.talk.say(
            f"my {topic} is {word}, {world.pick.choice(TOPICS)} {n}",
            f"noted the {topic}",
            at=YESTERDAY + timedelta(minutes=n),
            address=address(peer, place),
        )


def _chats(owner: str, places: set[str]) -> tuple[str, ...]:
    return tuple(user(owner) if place == "dm" else chat(place) for place in sorted(places))


def _facts(world: World, scope: Scope, peer: str) -> None:
    """Facts of every mix of sources, some of them merged: at the door, by a merge, and by a batch."""
    mixes = [{"dm"}, {"g1"}, {"g2"}, {"g1", "g2"}, {"dm", "g1"}]
    for topic in TOPICS[::2]:
        for places in mixes:
            _remember(scope, f"{peer}'s {topic} fact {world.word(peer, places)}", _chats(peer, places))
        at_door = world.word(peer, {"dm", "g1"})
        for place in ("g1", "dm"):  # said twice: one memory of two chats
            _remember(scope, f"{peer}'s {topic} twice {at_door}", _chats(peer, {place}))
        for merge in (_merge, _merge_in_a_batch):
            word = world.word(peer, {"dm", "g1"})
            keeper = _remember(scope, f"{peer}'s {topic} kept {word}", _chats(peer, {"g1"}))
            gone = _remember(scope, f"{peer}'s {topic} gone {world.word(peer, {'dm'})}", _chats(peer, {"dm"}))
            merge(scope, keeper, gone)


def _remember(scope: Scope, content: str, chats: tuple[str, ...]) -> Entry:
    draft = make_draft(scope, content, type="fact", tier=2, source="extraction", category="config", chats=chats)
    return entries.remember(draft, now=NOW, actor="test").entry


def _merge(scope: Scope, keeper: Entry, gone: Entry) -> None:
    with acting("test"):
        assert entries.merge(scope, keeper.pk, {gone.pk: None}, now=NOW).applied == [gone.pk]


def _merge_in_a_batch(scope: Scope, keeper: Entry, gone: Entry) -> None:
    merging = bulk_actions.merge(keeper)
    assert bulk_actions.apply_action([gone], merging, now=NOW, actor="test", reason="test").changed == 1


def _days(world: World, workspace: Workspace, peer: str) -> None:
    """What happened, by the person and by the group."""
    own = Scope.objects.get(workspace=workspace, key=user(peer))
    results = [
        daily_events.EventDraft(
            scope=own,
            local_date=YESTERDAY.date(),
            content=f"{peer} day {world.word(peer, places)}",
            chats=_chats(peer, places),
        )
        for places in ({"dm"}, {"g1"}, {"dm", "g2"})
    ]
    for group in GROUPS:
        where = Scope.objects.get(workspace=workspace, key=chat(group))
        text = f"the group's day {world.word(peer, {group}, {group})}"
        results.append(daily_events.EventDraft(scope=where, local_date=YESTERDAY.date(), content=text))
    daily_events.write(results, now=NOW, actor="test")


def _tasks(world: World) -> None:
    """Tasks with tools: the group hears of those it was there for, the order of the tools is the speaker's alone."""
    for peer in MEMBERS:
        for place in ("dm", *GROUPS):
            done = world.word(peer, {place}, {place} - {"dm"})
            calls = [{"name": f"look_{done}", "arguments": {"at": done}}, {"name": "tell"}]
            world.talk.say(
                f"look after the violin of {peer}", "done", address=address(peer, place), tool_calls=calls, at=YESTERDAY
            )


def asked(world: World, call: str, peer: str, place: str, message: str, **more: Any) -> dict[str, Any]:
    body = {"address": address(peer, place), "message": message, "need": "off", **more}
    answer = world.talk.post(call, body, **clock())
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())
