"""One person, two platforms: private chats share one memory once they are linked; what a group was told stays there."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from channels_app.models import Answerer, Channel, Connection, NoticeMode, Receiving
from channels_app.people import linking
from channels_app.platforms import intake, notices, slack, wire
from memories import secrets
from memories.audit.models import AuditRecord
from memories.choices import DmScope
from memories.models import Entry, Workspace
from tests.channels_app.platforms.conftest import arrive, make_connection, work_through
from tests.memories.llm.fake_server import FakeModel
from tests.support import fake_slack
from tests.support.fake_slack import APP, BOT, TEAM, TOKEN, FakeSlack
from tests.support.fake_telegram import FakeTelegram

ANN, BOB, ANN_AT_SLACK, TELEGRAM_GROUP, SLACK_CHANNEL = 42, 77, "U0ANN", -100_1, "C0WALK"


class Chats:
    """Two bots of one workspace, each on its platform."""

    def __init__(self, workspace: Workspace, bot_api: FakeTelegram, web_api: FakeSlack) -> None:
        self.bot_api, self.web_api = bot_api, web_api
        self.telegram = make_connection(workspace, notices=NoticeMode.OFF)
        channel = Channel.objects.create(workspace=workspace, platform="slack", account=f"{TEAM}-{BOT}")
        options = {"bot_name": "mem", "bot_id": BOT, "bot_app": APP}
        self.slack = Connection.objects.create(
            workspace=workspace, channel=channel, options=options, receiving=Receiving.PULL,
            answerer=Answerer.MODEL, notices=NoticeMode.OFF, noticed_entry=0,
        )  # fmt: skip
        secrets.keep(self.slack.secret_name("token"), TOKEN, workspace=workspace)
        Channel.objects.update(dm_scope=DmScope.PER_PEER)
        rows = Connection.objects.select_related("channel", "workspace")
        self.telegram, self.slack = rows.get(pk=self.telegram.pk), rows.get(pk=self.slack.pk)

    def at_telegram(self, text: str, *, user: int = ANN, group: int | None = None) -> str:
        """Somebody writes at Telegram; the last thing the bot sends then."""
        arrive(self.telegram, self.bot_api.write(user, text, group=group))
        work_through()
        return self.bot_api.texts()[-1]

    def at_slack(self, text: str, *, channel: str = "") -> str:
        """Ann writes at Slack; the last thing the bot sends then."""
        body = fake_slack.wrapped(fake_slack.message(ANN_AT_SLACK, text, group=channel))
        intake.keep(self.slack, slack.read(body, intake.account_of(self.slack)), now=timezone.now())
        work_through()
        return str(self.web_api.texts()[-1])

    def link(self) -> None:
        """Ann links her account at Slack with that at Telegram."""
        code = self.at_telegram("/link").split()[-1]
        assert "share one memory" in self.at_slack(f"/link {code}")
        linking.unite_waiting(now=timezone.now())


@pytest.fixture
def chats(workspace: Workspace, bot_api: FakeTelegram, settings: Any, model: FakeModel) -> Iterator[Chats]:
    wire.names.clear()
    with fake_slack.fake_slack() as web_api:
        settings.SLACK_API_URL = web_api.url
        chats = Chats(workspace, bot_api, web_api)
        chats.at_telegram("Remember that I sail a dinghy.")
        chats.at_slack("Remember that I play the cello.")
        chats.at_telegram("@mem_bot remember that my surgery is on Friday.", group=TELEGRAM_GROUP)
        chats.at_slack(f"<@{BOT}> remember that my lawsuit is on Monday.", channel=SLACK_CHANNEL)
        yield chats


def asked_with(model: FakeModel) -> str:
    """What the model was last given."""
    return "\n".join(message["content"] for message in model.requests[-1].body["messages"])


def live(words: str) -> set[str]:
    """The memories in use that hold this, by scope."""
    entries = Entry.objects.live().filter(content__contains=words).select_related("scope")
    return {entry.scope.key for entry in entries}


def test_private_chats_share_one_memory_and_groups_do_not(chats: Chats, model: FakeModel) -> None:
    before = chats.at_slack("/memory")
    assert "cello" in before and "dinghy" not in before
    chats.link()
    for answer in (chats.at_telegram("/memory"), chats.at_slack("/memory")):
        assert "dinghy" in answer and "cello" in answer
        assert "surgery" not in answer and "lawsuit" not in answer
    chats.at_slack("/reset")
    chats.at_slack("What do I sail, a dinghy?")
    assert "I sail a dinghy" in asked_with(model)


def test_nothing_seems_lost_while_memories_are_on_their_way(chats: Chats, model: FakeModel) -> None:
    code = chats.at_telegram("/link").split()[-1]
    chats.at_slack(f"/link {code}")
    for answer in (chats.at_telegram("/memory"), chats.at_slack("/memory")):
        assert "on their way" in answer and "nothing about you" not in answer
    linking.unite_waiting(now=timezone.now())
    assert "on their way" not in chats.at_telegram("/memory")


def test_what_is_carried_over_is_not_told_as_learnt(chats: Chats, model: FakeModel) -> None:
    Connection.objects.update(notices=NoticeMode.EACH, noticed_entry=Entry.objects.latest("pk").pk)
    chats.link()
    for connection in Connection.objects.select_related("channel", "workspace"):
        assert notices.announce_new_memories(connection, now=timezone.now() + timedelta(minutes=1)) == 0
    assert not any("Learnt" in text for text in (*chats.bot_api.texts(), *map(str, chats.web_api.texts())))


def test_what_a_group_of_one_platform_was_told_never_shows_at_the_other(chats: Chats, model: FakeModel) -> None:
    chats.link()
    chats.at_slack(f"<@{BOT}> when is my surgery, and what do I sail?", channel=SLACK_CHANNEL)
    assert "lawsuit" in asked_with(model)
    assert "Friday" not in asked_with(model) and "dinghy" not in asked_with(model)
    chats.at_telegram("@mem_bot when is my lawsuit, and what do I play?", group=TELEGRAM_GROUP)
    assert "surgery" in asked_with(model)
    assert "Monday" not in asked_with(model) and "cello" not in asked_with(model)
    chats.at_slack("When is my surgery?")
    assert "Friday" not in asked_with(model)
    for text in ("/memory", "/why", "/export"):
        assert "Friday" not in chats.at_slack(text)
        assert "Friday" not in chats.at_slack(text, channel=SLACK_CHANNEL)
    file = next(row for row in reversed(chats.web_api.sent) if row.get("file"))
    assert "lawsuit" in file["text"] and "cello" in file["text"]
    assert chats.web_api.texts(SLACK_CHANNEL) and "dinghy" not in "".join(
        row["text"] for row in chats.web_api.sent if row["channel"] == SLACK_CHANNEL and "user" not in row
    )


@pytest.mark.parametrize("word", ["/unlink", "/解绑"])
def test_a_person_unlinks_and_each_account_has_what_was_its_own(chats: Chats, model: FakeModel, word: str) -> None:
    words = ("dinghy", "cello", "surgery", "lawsuit")
    before = {name: live(name) for name in words}
    assert "not linked" in chats.at_slack("/unlink")
    chats.link()
    chats.at_slack("Remember that I bake rye bread.")
    answer = chats.at_slack(word)
    assert answer.startswith("Unlinked") or answer.startswith("已解除关联")
    linking.unite_waiting(now=timezone.now())
    at_slack, at_telegram = chats.at_slack("/memory"), chats.at_telegram("/memory")
    assert "cello" in at_slack and "rye bread" in at_slack and "dinghy" not in at_slack
    assert "dinghy" in at_telegram and "cello" not in at_telegram and "rye bread" not in at_telegram
    assert "not linked" in chats.at_telegram("/unlink")
    assert AuditRecord.objects.filter(actor=f"person:slack:{ANN_AT_SLACK}", details={"unlinked": 1}).count() == 1
    assert live("cello") == before["cello"]
    assert live("surgery") == before["surgery"] and live("lawsuit") == before["lawsuit"]
    chats.link()  # and again
    assert "rye bread" in chats.at_telegram("/memory")


def test_who_unlinks_and_links_at_once_is_asked_to_wait_and_keeps_the_code(chats: Chats, model: FakeModel) -> None:
    """The first link was with somebody else: nothing of hers may stay there."""
    code = chats.at_telegram("/link", user=BOB).split()[-1]
    chats.at_slack(f"/link {code}")
    linking.unite_waiting(now=timezone.now())
    assert "cello" in chats.at_telegram("/memory", user=BOB)
    chats.at_slack("/unlink")
    code = chats.at_telegram("/link").split()[-1]
    assert "Try again in a minute" in chats.at_slack(f"/link {code}")
    linking.unite_waiting(now=timezone.now())
    assert "share one memory" in chats.at_slack(f"/link {code}")
    linking.unite_waiting(now=timezone.now())
    assert "cello" in chats.at_telegram("/memory") and "dinghy" in chats.at_slack("/memory")
    assert "cello" not in chats.at_telegram("/memory", user=BOB)
    assert "not known" in chats.at_slack(f"/link {code}")


def test_what_a_person_forgot_while_linked_stays_so_when_unlinked_until_it_is_undone(
    chats: Chats, model: FakeModel
) -> None:
    chats.link()
    chats.at_slack("Remember that I bake rye bread.")
    listed = chats.at_slack("/memory").split("\n")
    number = next(line for line in listed if "cello" in line).partition(".")[0]
    assert "cello" in chats.at_slack(f"/forget {number}")
    chats.at_slack("/unlink")
    linking.unite_waiting(now=timezone.now())
    at_slack = chats.at_slack("/memory")
    assert "rye bread" in at_slack and "cello" not in at_slack
    assert live("cello") == set()
    assert chats.at_slack("/undo") == "It is remembered again."
    linking.unite_waiting(now=timezone.now())
    assert "cello" in chats.at_slack("/memory")
    assert "cello" not in chats.at_telegram("/memory")
    chats.link()
    chats.at_slack("/forget everything")
    chats.at_slack("yes")
    chats.at_slack("/unlink")
    linking.unite_waiting(now=timezone.now())
    assert "I know nothing about you yet" in chats.at_slack("/memory")
    assert "dinghy" not in chats.at_telegram("/memory")


def test_nobody_unlinks_somebody_else(chats: Chats, model: FakeModel) -> None:
    chats.link()
    assert "not linked" in chats.at_telegram("/unlink", user=BOB)
    assert "cello" in chats.at_telegram("/memory")
