"""Whose words a memory is, and the least trusted of all it rests on, whatever is made of it (A19)."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from memories import entries
from memories.batches import PlanRow
from memories.batches.steps import MergeStep, Successor
from memories.choices import Origin, ScopeKind, Source
from memories.consolidation.compression import merging
from memories.entries import Edit, link_sources, remember, revert, update
from memories.models import Entry, Scope, Workspace
from tests.conftest import GROUP, NOW, Api, make_draft, make_scope
from tests.memories.batches.conftest import LATER, applied, undone
from tests.memories.consolidation.buffer.conversations import extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.consolidation.extraction.conftest import model as model
from tests.memories.entries.test_duplicates import WORDS
from tests.memories.llm.fake_server import FakeModel

pytestmark = pytest.mark.django_db
SELF, BOT, TOOL = Origin.SELF, Origin.BOT, Origin.TOOL


def whose(**found: Any) -> tuple[str, str]:
    """Origin and trust of the one memory that is meant."""
    return Entry.objects.values_list("origin", "trust").get(**found)


def stated(scope: Scope, content: str, **kwargs: Any) -> Entry:
    return remember(make_draft(scope, content, **kwargs), now=NOW, actor="job:t").entry


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        (Source.MANUAL, Origin.OPERATOR),
        (Source.TOOL, BOT),
        (Source.FILE, Origin.FILE),
        (Source.MIGRATION, Origin.IMPORT),
        (Source.CONVERSATION_CAPTURE, SELF),
    ],
)
def test_what_wrote_it_says_whose_words_it_is(scope: Scope, source: str, origin: str) -> None:
    entry = stated(scope, "the port is 8080", source=source)
    assert (entry.origin, entry.trust) == (origin, origin)


def test_what_is_said_in_a_group_is_a_members(workspace: Workspace) -> None:
    group = make_scope(workspace, "telegram:mybot:group_g1", kind=ScopeKind.CHAT)
    assert stated(group, "the port is 8080", source=Source.CONVERSATION_CAPTURE).origin == Origin.MEMBER


def test_a_turn_rests_on_the_answer_and_on_the_tools_behind_it(api: Api) -> None:
    say(api, "I live in Oslo")
    say(api, "When does the venue close?", "At ten.")
    calls = [{"name": "fetch", "arguments": {"url": "x"}, "result": "ten"}]
    body = {"address": {"platform": "telegram", "account": "mybot", "peer": "u42", "chat": "c7"}}
    api.post("turns", body | {"user": "And the kitchen?", "assistant": "At nine.", "tool_calls": calls})
    assert whose(type="chat_turn", content__contains="Oslo") == (SELF, SELF)
    assert whose(type="chat_turn", content__contains="venue") == (SELF, BOT)
    assert whose(type="chat_turn", content__contains="kitchen") == (SELF, TOOL)
    assert whose(type="auto_capture") == (BOT, TOOL)


def test_in_a_group_the_speaker_has_it_as_their_own_and_the_group_as_a_members(api: Api) -> None:
    say(api, "I live in Oslo", address=GROUP)
    assert whose(type="chat_turn", scope__kind="user") == (SELF, SELF)
    assert whose(type="chat_turn", scope__kind="chat") == (Origin.MEMBER, Origin.MEMBER)


def test_a_fact_rests_on_the_words_it_quotes_and_says_whom_it_is_about(api: Api, model: FakeModel) -> None:
    say(api, "My sister Lena moved to Bergen. I like tea.", "The fare is 300 kroner.", slots={"speaker": "Mia"})
    model.script = [
        answering(
            fact("Mia likes tea.", "I like tea"),
            fact("Lena moved to Bergen.", "My sister Lena moved to Bergen", subject="Lena"),
            fact("Mia likes tea, and the fare is 300 kroner.", "I like tea", "The fare is 300 kroner"),
        )
    ]
    extract()
    assert whose(content="Mia likes tea.") == (SELF, SELF)
    assert whose(content="Lena moved to Bergen.") == (Origin.OTHER, Origin.OTHER)
    assert Entry.objects.get(content="Lena moved to Bergen.").subject == "Lena"
    assert whose(content__contains="kroner.", type="fact") == (SELF, BOT)


def test_a_merge_is_trusted_no_more_than_the_least_of_what_it_was_made_of(scope: Scope) -> None:
    own = stated(scope, "Mia lives in Berlin.", type="fact", tier=2, source=Source.EXTRACTION)
    page = stated(scope, "米娅住在柏林。", type="fact", tier=2, source=Source.EXTRACTION, origin=SELF, trust=TOOL)
    made = merging.create_step(merging.merge_draft([own, page], "Mia lives in Berlin. 米娅住在柏林。"), [own, page])
    applied(scope, [made, *(merging.replace_step(MergeStep, source, 1) for source in (own, page))])
    assert whose(content__contains="Berlin. 米娅") == (SELF, TOOL)


def test_what_memories_become_part_of_sinks_to_them_and_rises_when_that_is_undone(scope: Scope) -> None:
    keeper = stated(scope, "Mia lives in Berlin.", type="fact", tier=2, source=Source.EXTRACTION)
    page = stated(scope, "米娅住在柏林。", type="fact", tier=2, source=Source.TOOL)
    batch = applied(scope, [PlanRow.of(page, MergeStep(into=Successor(entry=keeper.pk)))])
    assert whose(pk=keeper.pk) == (SELF, BOT)
    undone(batch)
    assert whose(pk=keeper.pk) == (SELF, SELF)


def test_a_line_of_the_profile_is_trusted_no_more_than_its_facts(scope: Scope) -> None:
    page = stated(scope, "Mia lives in Berlin.", type="fact", tier=2, source=Source.TOOL)
    line = stated(scope, "Mia: Berlin", type="fact", tier=1, source=Source.COMPRESSION)
    assert line.trust == SELF  # whatever its writer knew of it
    link_sources(scope, line.pk, [page.pk], now=LATER)
    assert whose(pk=line.pk) == (SELF, BOT)


def test_the_same_words_of_somebody_more_trusted_are_theirs(scope: Scope) -> None:
    stated(scope, "Mia likes tea")
    assert whose() == (BOT, BOT)
    stated(scope, "Mia likes tea", source=Source.MANUAL)
    assert whose() == (Origin.OPERATOR, Origin.OPERATOR)
    stated(scope, "Mia likes tea")
    assert whose() == (Origin.OPERATOR, Origin.OPERATOR)  # that a bot repeats it takes nothing away


def test_in_the_words_of_somebody_less_trusted_it_is_believed_as_theirs(scope: Scope) -> None:
    stated(scope, WORDS, source=Source.CONVERSATION_CAPTURE)
    assert remember(make_draft(scope, WORDS + " please"), now=LATER, actor="bot:t").outcome == "merged"
    assert whose() == (SELF, BOT)


def test_that_somebody_less_trusted_says_part_of_it_takes_nothing_away(scope: Scope) -> None:
    stated(scope, WORDS + " please", source=Source.CONVERSATION_CAPTURE)
    assert remember(make_draft(scope, WORDS), now=LATER, actor="bot:t").outcome == "merged"
    assert whose() == (SELF, SELF)


def test_who_rewords_it_answers_for_it_and_an_older_version_has_its_own(scope: Scope) -> None:
    entry = stated(scope, "Mia likes tea", source=Source.CONVERSATION_CAPTURE)
    version = entry.version
    operators = (Origin.OPERATOR, Origin.OPERATOR)
    for actor, expected in (("bot:t", (BOT, BOT)), ("user:alice", operators), ("person:x:1", (SELF, SELF))):
        update(Entry.objects.get(), Edit(columns={"content": f"Mia likes {actor}"}), now=LATER, actor=actor)
        assert whose() == expected, actor
    revert(Entry.objects.get(), version, now=LATER, actor="user:alice")
    assert whose() == (SELF, SELF)


def test_no_memory_is_trusted_more_than_who_it_comes_from(scope: Scope) -> None:
    entry = stated(scope, "Mia likes tea")
    with pytest.raises(IntegrityError, match="entry_trust_not_above_origin"), transaction.atomic():
        Entry.objects.filter(pk=entry.pk).update(trust=SELF)


def test_no_key_speaks_for_an_operator(api: Api) -> None:
    to = {"scope": "telegram:direct_u42"}
    assert api.post("entries", to | {"content": "tea"}).json()["trust"] == BOT
    assert api.post("entries", to | {"content": "coffee", "source": "manual"}).json()["trust"] == BOT
    refused = api.post("entries", to | {"content": "milk", "origin": "operator"})
    assert (refused.status_code, "origin" in refused.text) == (400, True)
    named = {"origin": "tool", "subject": "the venue"}
    page = api.post("entries", to | named | {"content": "the venue closes at ten"}).json()
    assert (page["origin"], page["trust"], page["subject"]) == (TOOL, TOOL, "the venue")
    assert [row["id"] for row in api.get("entries", trust="tool").json()["results"]] == [page["id"]]
    assert [row["id"] for row in api.get("entries", subject="THE VENUE").json()["results"]] == [page["id"]]


def test_a_recall_and_its_trace_say_whose_words_they_served(api: Api) -> None:
    api.post("entries", {"scope": "telegram:direct_u42", "content": "The venue closes at ten.", "origin": "tool"})
    answer = api.post(
        "recall", {"address": {"platform": "telegram", "peer": "u42"}, "message": "when does the venue close?"}
    ).json()
    (memory,) = answer["memories"]
    assert (memory["origin"], memory["trust"]) == (TOOL, TOOL)
    (memory,) = api.get(f"recalls/{answer['recall_id']}").json()["memories"]
    assert (memory["origin"], memory["trust"]) == (TOOL, TOOL)


def test_an_export_has_both_and_one_from_before_is_an_import() -> None:
    assert {"origin", "trust", "subject"} <= Entry.table.export.later.keys()  # type: ignore[union-attr]
    assert Entry.table.export.later["trust"] == Origin.IMPORT  # type: ignore[union-attr]
    assert entries.FORM_FIELDS  # who it is about is changed by people, whose words it is by nobody
    assert {"origin", "trust"}.isdisjoint(entries.FORM_FIELDS)
