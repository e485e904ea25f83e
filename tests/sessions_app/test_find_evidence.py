"""The job that looks for the words of facts that have none, and has facts read that nobody has read (D5)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import Reading, Verification
from memories.consolidation import quoting_facts
from memories.models import Change, Entry, Evidence, Scope, Workspace
from sessions_app.history.retention import MESSAGES
from sessions_app.models import Session, SessionEvent
from tests.conftest import NOW, make_scope
from tests.memories.consolidation.extraction.conftest import model as model
from tests.memories.llm.fake_server import FakeModel, credulous
from tests.memories.quoting import SESSION, fact_of_model
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)
NUTS = "nuts make me swell up, so no pesto for me"


def find(workspace: Workspace) -> dict[str, int]:
    return quoting_facts.find_evidence(workspace.pk, MESSAGES, now=LATER, seconds=60)


def paths_of(talk: Talk, *messages: str) -> list[str]:
    """The paths of messages a user has sent."""
    for message in messages:
        talk.say(message, "ok")
    session = Session.objects.get()
    return [session.origin_of(event) for event in SessionEvent.objects.filter(kind="user").order_by("pk")]


def own_scope() -> Scope:
    return Scope.objects.get(key="telegram:direct_u42")


def of_before(content: str, *origins: str, scope: Scope | None = None) -> Entry:
    """A fact as models stated it before they had to quote."""
    return fact_of_model(scope or own_scope(), content, origins=origins)


def quotes(entry: Entry) -> list[str]:
    return [evidence.quote for evidence in Evidence.objects.filter(entry=entry)]


def test_words_go_by_the_name_their_speaker_had(talk: Talk, workspace: Workspace) -> None:
    talk.say(NUTS, sender_name="Ben")
    talk.say("hello", sender_name="Boss")
    event = SessionEvent.objects.filter(kind="user").first()
    assert event is not None
    fact = of_before("Sam is allergic to nuts and avoids pesto.", Session.objects.get().origin_of(event))
    find(workspace)
    assert Evidence.objects.get(entry=fact).speaker == "Ben"


@pytest.mark.parametrize(
    ("message", "content"),
    [(NUTS, "Sam is allergic to nuts and avoids pesto."), ("我一吃花生就起疹子，所以别放花生", "用户对花生过敏。")],
)
def test_a_short_message_is_quoted_whole(talk: Talk, workspace: Workspace, message: str, content: str) -> None:
    (origin,) = paths_of(talk, message)
    fact = of_before(content, origin)
    assert quoting_facts.count_without(workspace.pk, MESSAGES) == {"entries": 1}
    assert find(workspace)["entries"] == 1
    (row,) = Evidence.objects.filter(entry=fact)
    event = SessionEvent.objects.get(kind="user")
    assert (row.quote, row.origin, row.at) == (message, origin, event.at)
    assert event.content[row.start : row.end] == row.quote


def test_of_a_long_message_the_telling_sentence_is_quoted(talk: Talk, workspace: Workspace) -> None:
    before, after = "What a day we had at the lake! " * 6, "See you soon then! " * 4
    (origin,) = paths_of(talk, f"{before}By the way, nuts make me swell up. {after}")
    fact = of_before("Nuts make Sam swell up.", origin)
    find(workspace)
    assert quotes(fact) == ["By the way, nuts make me swell up"]


def test_of_several_messages_those_that_say_it_are_quoted(talk: Talk, workspace: Workspace) -> None:
    origins = paths_of(talk, "the weather is lovely", NUTS, "any nuts in this cake?")
    fact = of_before("Sam is allergic to nuts.", *origins)
    find(workspace)
    assert quotes(fact) == [NUTS, "any nuts in this cake?"]


def test_where_no_word_is_shared_the_newest_message_is_shown(talk: Talk, workspace: Workspace) -> None:
    origins = paths_of(talk, "the weather is lovely", "I cannot breathe near cats")
    fact = of_before("Sam hat eine Tierhaarallergie.", *origins)
    find(workspace)
    assert quotes(fact) == ["I cannot breathe near cats"]


def test_again_it_finds_nothing_more_to_do(talk: Talk, workspace: Workspace) -> None:
    (origin,) = paths_of(talk, NUTS)
    of_before("Sam is allergic to nuts.", origin)
    find(workspace)
    assert quoting_facts.count_without(workspace.pk, MESSAGES) == {"entries": 0}
    assert find(workspace)["entries"] == 0 and Evidence.objects.count() == 1


def test_it_goes_through_all_of_them_chunk_by_chunk(
    talk: Talk, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quoting_facts, "CHUNK", 2)
    (origin,) = paths_of(talk, NUTS)
    for what in ("walnuts", "hazel", "almonds", "pesto", "cashews"):
        of_before(f"Sam swells up from {what}.", origin)
    assert find(workspace)["entries"] == 5


def test_messages_that_are_gone_or_taken_out_are_not_quoted(talk: Talk, workspace: Workspace) -> None:
    (origin,) = paths_of(talk, NUTS)
    fact = of_before("Sam is allergic to nuts.", f"{SESSION}/event-987654321")
    taken = of_before("Sam eats no pesto.", origin)
    entries.expire(Entry.objects.get(type="chat_turn"), now=NOW, actor="user:alice")
    find(workspace)
    assert quotes(fact) == quotes(taken) == []


def test_what_the_bot_said_is_no_evidence(talk: Talk, workspace: Workspace) -> None:
    paths_of(talk, "hello")
    answer = SessionEvent.objects.get(kind="assistant")
    fact = of_before("Sam is fine.", Session.objects.get().origin_of(answer))
    assert find(workspace)["entries"] == 0 and quotes(fact) == []


def test_messages_of_another_workspace_are_never_quoted(talk: Talk, workspace: Workspace, stranger: Workspace) -> None:
    (origin,) = paths_of(talk, NUTS)
    theirs = of_before("Sam is allergic to nuts.", origin, scope=make_scope(stranger))
    assert find(stranger)["entries"] == 0 and quotes(theirs) == []


def test_a_fact_that_was_never_read_is_read_and_verified(talk: Talk, workspace: Workspace, model: FakeModel) -> None:
    origins = paths_of(talk, NUTS, "my sister rows")
    good, doubtful = of_before("Sam is allergic to nuts.", origins[0]), of_before("Sam rows.", origins[1])
    model.verdicts = {good.content: Reading.ENTAILED, doubtful.content: Reading.CONTRADICTED}
    counts = find(workspace)
    assert (counts["entries"], counts["read"], counts["verified"]) == (2, 2, 1)
    good.refresh_from_db()
    doubtful.refresh_from_db()
    assert good.verification == Verification.VERIFIED
    assert doubtful.verification == Verification.QUOTED and doubtful.is_live()
    change = Change.objects.filter(table_name="memories_entry", row_id=good.pk, op="U").latest("pk")
    assert change.actor == quoting_facts.ACTOR and change.old["verification"] == "quoted"
    assert "read" not in find(workspace) and len(model.readings) == 1


def test_a_reader_that_believes_decoys_verifies_nothing_and_is_asked_once(
    talk: Talk, workspace: Workspace, model: FakeModel
) -> None:
    (origin,) = paths_of(talk, NUTS)
    fact = of_before("Sam is allergic to nuts.", origin)
    model.reader = credulous
    find(workspace)
    fact.refresh_from_db()
    assert fact.verification == Verification.QUOTED and len(model.readings) == 1


def test_without_a_reader_the_words_are_found_all_the_same(
    talk: Talk, workspace: Workspace, model: FakeModel, settings: Any
) -> None:
    settings.MEMORY_VERIFY = False
    (origin,) = paths_of(talk, NUTS)
    fact = of_before("Sam is allergic to nuts.", origin)
    assert find(workspace) == {"entries": 1}
    assert quotes(fact) == [NUTS] and not model.readings


def test_a_frozen_scope_keeps_what_it_has(talk: Talk, workspace: Workspace, model: FakeModel) -> None:
    (origin,) = paths_of(talk, NUTS)
    fact = of_before("Sam is allergic to nuts.", origin)
    Scope.objects.update(frozen=True)
    find(workspace)
    fact.refresh_from_db()
    assert fact.verification == Verification.QUOTED and not model.readings
