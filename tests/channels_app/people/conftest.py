"""Ann writes from Telegram and from Lark; both keep one memory a person."""

from typing import Any

import pytest

from channels_app.models import Channel, Identity, Person
from channels_app.people import linking
from channels_app.people.peers import Peer
from memories.models import Entry, Workspace
from tests.conftest import NOW, Api

ANN_TG, ANN_LARK = Peer("telegram", "u42"), Peer("lark", "ou_9")
FROM_TG = {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "c7"}
FROM_LARK = {"platform": "lark", "account": "desk", "peer": "ou_9", "chat": "c8"}


@pytest.fixture
def office(workspace: Workspace, api: Api) -> Api:
    """A bot whose two channels keep one memory a person, after a few turns."""
    for platform, account in (("telegram", "mybot"), ("lark", "desk")):
        Channel.objects.create(workspace=workspace, platform=platform, account=account, dm_scope="per-peer")
    say(api, FROM_TG, "I live in Hangzhou with my cat Mochi")
    say(api, FROM_TG, "My sister is called Lena")
    say(api, FROM_LARK, "The quarterly report is due on Friday")
    return api


def say(api: Api, address: dict[str, Any], words: str) -> str:
    """The key of the memory a turn goes to."""
    answer = api.post("turns", {"address": address, "user": words, "assistant": "Noted."})
    assert answer.status_code == 201, answer.json()
    return str(answer.json()["entries"][0]["scope"])


def recalled(api: Api, address: dict[str, Any], message: str) -> str:
    """What a recall serves, as one text."""
    answer = api.post("recall", {"address": address, "message": message})
    assert answer.status_code == 200, answer.json()
    return " ".join(entry["content"] for entry in answer.json()["memories"])


def link(workspace: Workspace, *peers: Peer) -> Person:
    """Linked, and everything carried over."""
    person = linking.link(workspace, peers or (ANN_TG, ANN_LARK), actor="user:ops", now=NOW)
    linking.unite_waiting(now=NOW)
    return person


def identity(peer: Peer) -> Identity:
    return Identity.objects.select_related("person").get(platform=peer.platform, peer=peer.peer)


def live_in(key: str) -> set[str]:
    """What is in use in a memory, by its first words."""
    return {
        content.split("\n")[0]
        for content in Entry.objects.live().filter(scope__key=key).values_list("content", flat=True)
    }
