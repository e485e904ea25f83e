"""All that a person said is put into quarantine from their page, with what was made of it, and let back."""

import pytest
from django.test import Client
from django.urls import reverse

from memories import entries
from memories.batches import quarantine
from memories.choices import EntryType, Origin, Source
from memories.entries.draft import QuotedWords
from memories.models import Batch, Entry, Scope, Workspace
from memories.staff.roles import Role
from sessions_app.models import SessionEvent
from tests.channels_app.people.test_about import LI, LI_IN_GROUP, WEI, WEI_IN_GROUP
from tests.channels_app.people.test_pages import owner as owner
from tests.channels_app.people.test_pages import page
from tests.conftest import NOW, Api, make_draft
from tests.memories.admin.conftest import enter, make_user

pytestmark = pytest.mark.django_db
FREE = {"confirmed": "yes", "reason": "the account was stolen"}


@pytest.fixture
def town(api: Api, workspace: Workspace) -> Api:
    """Li says something alone and in a group, Wei as well; of Li's words more was made."""
    for address, words, name in (
        (LI, "The treasure lies below the zeppelin", "Li Na"),
        (LI_IN_GROUP, "Zhang Wei sold the zeppelin for a song", "Li Na"),
        (WEI_IN_GROUP, "We bake bread on Monday", "Zhang Wei"),
        (WEI, "I was born in Harbin", "Zhang Wei"),
    ):
        body = {"address": address, "user": words, "assistant": f"Noted of {name}.", "sender_name": name}
        assert api.post("turns", body).status_code == 201
    saved = {"address": LI_IN_GROUP, "content": "The zeppelin is free on Friday", "type": "user_explicit"}
    assert api.post("entries", saved).status_code == 201
    group = Scope.objects.get(key="telegram:mybot:group_g1")
    event = SessionEvent.objects.select_related("session").get(content__contains="for a song")
    draft = make_draft(group, "Wei owns no zeppelin", type=EntryType.FACT, tier=2, source=Source.EXTRACTION)
    fact = entries.remember(draft, now=NOW, actor="extraction").entry
    words = QuotedWords(origin=event.session.origin_of(event), start=0, end=5, quote="Zhang", speaker="", at=NOW)
    fact.evidence.create(workspace_id=fact.workspace_id, **vars(words))
    line = entries.remember(
        make_draft(group, "A zeppelin was sold", type=EntryType.FACT, tier=1), now=NOW, actor="night"
    ).entry
    entries.link_sources(group, line.pk, [fact.pk], now=NOW)
    return api


def live() -> set[str]:
    return {
        words.split("\n")[0].removeprefix("User: ") for words in Entry.objects.live().values_list("content", flat=True)
    }


def test_the_page_shows_what_goes_and_one_run_takes_all_of_it_out(
    town: Api, workspace: Workspace, owner: Client
) -> None:
    before = live()
    address = page("quarantine", workspace, "telegram:u42")
    assert address.replace("&", "&amp;") in owner.get(page("page", workspace, "telegram:u42")).content.decode()
    asked = owner.get(address)
    affected = asked.context["affected"]
    assert {entry.content for entry in affected.entries if "zeppelin" not in entry.content} == set()
    assert len(affected.suspect.origins) == 4 and "Everything Li Na said" in asked.content.decode()
    assert "4 messages" in asked.content.decode() and live() == before

    owner.post(address, FREE)
    assert live() == {"We bake bread on Monday", "I was born in Harbin"}
    runs = set(Batch.objects.filter(name=quarantine.NAME).values_list("run", flat=True))
    assert len(runs) == 1
    for words in ("zeppelin", "treasure", "Li Na"):
        asked_in_group = town.post("context", {"address": WEI_IN_GROUP, "message": f"what of the {words}?"})
        assert "zeppelin" not in asked_in_group.content.decode()

    quarantine.let_back(workspace.pk, runs.pop(), now=NOW, actor="user:owner", reason="it was him after all")
    assert live() == before


def test_what_others_wrote_in_their_memory_stays(town: Api, workspace: Workspace, owner: Client) -> None:
    own = Scope.objects.get(key="telegram:direct_u42")
    kept = [
        entries.remember(make_draft(own, "Pays by card", origin=Origin.OPERATOR), now=NOW, actor="user:owner").entry,
        entries.remember(make_draft(own, "Read in a file", path="memory/a.md"), now=NOW, actor="files").entry,
    ]
    theirs = entries.remember(make_draft(own, "Likes tea", origin=Origin.SELF), now=NOW, actor="bot:b").entry
    owner.post(page("quarantine", workspace, "telegram:u42"), FREE)
    assert {entry.pk for entry in kept} < set(Entry.objects.live().values_list("pk", flat=True))
    assert Entry.objects.get(pk=theirs.pk).quarantined_at


def test_the_same_number_on_another_platform_is_somebody_else(town: Api, workspace: Workspace, owner: Client) -> None:
    body = {"address": {**LI, "platform": "lark"}, "user": "My boat is in Oslo", "assistant": "", "sender_name": "Ola"}
    assert town.post("turns", body).status_code == 201
    owner.post(page("quarantine", workspace, "telegram:u42"), FREE)
    assert "My boat is in Oslo" in live()


def test_a_message_without_a_sender_is_theirs_whom_the_chat_is_with(
    town: Api, workspace: Workspace, owner: Client
) -> None:
    event = SessionEvent.objects.get(content__contains="treasure")
    SessionEvent.objects.filter(pk=event.pk).update(sender_id="")
    assert len(owner.get(page("quarantine", workspace, "telegram:u42")).context["affected"].suspect.origins) == 4


@pytest.mark.parametrize(("role", "may"), [(Role.VIEWER, False), (Role.CURATOR, True)])
def test_who_may_curate_is_shown_the_button_and_nobody_else_comes_in(
    town: Api, workspace: Workspace, role: Role, may: bool
) -> None:
    client = enter(make_user("somebody", workspace=workspace, role=role, is_staff=True))
    shown = client.get(page("page", workspace, "telegram:u42")).content.decode()
    assert (reverse("admin:channels_app_person_quarantine") in shown) is may
    assert client.get(page("quarantine", workspace, "telegram:u42")).status_code == (200 if may else 403)
    assert client.post(page("quarantine", workspace, "telegram:u42"), FREE).status_code == (302 if may else 403)
    assert ("The treasure lies below the zeppelin" in live()) is not may
