"""What a model finds in a conversation: whose memory it becomes, on what it rests, how it is taken back (D5, F3)."""

from datetime import date, timedelta

import pytest

from channels_app.models import Channel
from memories import batches, entries
from memories.choices import BatchState, Refusal, Verification
from memories.models import Batch, DailyEvent, Entry, ExtractionBatch, RefusedFact, Workspace
from tests.conftest import GROUP, NOW, Api
from tests.memories.consolidation.buffer.conversations import QUIET, events_by_scope, extract, held, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.llm.fake_server import FakeModel, verdicts

pytestmark = pytest.mark.django_db
BEN = {**GROUP, "peer": "u43"}
GROUP_SCOPE = "telegram:mybot:group_g1"


def facts() -> dict[str, list[str]]:
    """Facts in use, by scope."""
    data: dict[str, list[str]] = {}
    for entry in Entry.objects.live().filter(type="fact").select_related("scope").order_by("scope__key", "pk"):
        data.setdefault(entry.scope.key, []).append(entry.content)
    return data


def refused() -> dict[str, str]:
    """What was not kept, and why."""
    return dict(RefusedFact.objects.values_list("content", "reason"))


def test_it_works(api: Api, model: FakeModel) -> None:
    say(api, "我家的猫叫年糕，我住在杭州", "记住了。", slots={"speaker": "米娅"})
    model.script = [
        answering(
            fact("米娅的猫叫年糕。", "年糕", topic="宠物"),
            fact("用户住在杭州。", "杭州", importance=1.0),
            summary="用户说了猫的名字和住处：年糕，杭州。",
        )
    ]
    counts = extract()
    assert (counts["extraction_batches"], counts["facts"], counts["events"]) == (1, 2, 1)
    assert (counts["calls"], counts["verified"], counts["refused"]) == (2, 2, 0)  # asked once, and read once
    assert facts() == {"telegram:direct_u42": ["米娅的猫叫年糕。", "用户住在杭州。"]}
    cat = Entry.objects.get(content__contains="年糕。", type="fact")
    turn = Entry.objects.get(type="chat_turn")
    assert (cat.tier, cat.source, cat.category, cat.topic, cat.importance) == (2, "extraction", "identity", "宠物", 0.8)
    assert cat.origins == turn.origins[:1]  # the message, and not the answer to it
    assert (cat.chats, cat.created_at) == (["telegram:direct_u42"], NOW)
    assert cat.verification == Verification.VERIFIED
    (words,) = cat.evidence.all()
    assert (words.quote, words.start, words.end, words.origin) == ("年糕", 5, 7, turn.origins[0])
    assert (words.speaker, words.at) == ("米娅", NOW)
    day = DailyEvent.objects.get()
    assert (day.content, day.local_date) == ("用户说了猫的名字和住处：年糕，杭州。", date(2026, 3, 1))
    assert day.origins == turn.origins
    assert held() == []


def test_what_the_model_is_shown(api: Api, model: FakeModel, workspace: Workspace) -> None:
    Workspace.objects.update(time_zone="Asia/Shanghai", language="zh-hans")
    say(api, "我的猫叫年糕", "好名字！", slots={"speaker": "米娅"})
    extract()
    (request,) = model.requests
    assert request.data == {
        "known_projects": [],
        "known_facts": [],
        "messages": [
            {
                "id": "m1",
                "role": "user",
                "speaker": "米娅",
                "content": "我的猫叫年糕",
                "at": "2026-03-01T17:00:00+08:00",
            },
            {
                "id": "m2",
                "role": "assistant",
                "speaker": "Assistant",
                "content": "好名字！",
                "at": "2026-03-01T17:00:00+08:00",
            },
        ],
    }
    assert "长期记忆" in request.texts[0]


@pytest.mark.thorough
def test_a_group_fact_goes_to_whom_it_rests_on(api: Api, model: FakeModel) -> None:
    say(api, "I moved to Hangzhou", "Ben moved to Berlin", address=GROUP, slots={"speaker": "Amy"})
    say(api, "I bought a red bicycle", "Noted.", address=BEN, slots={"speaker": "Ben"})
    model.otherwise = answering(
        fact("Amy moved to Hangzhou.", "Hangzhou"),
        fact("Ben bought a red bicycle.", "bicycle"),
        fact("Amy moved to Hangzhou and Ben bought a red bicycle.", "Hangzhou", "bicycle"),
        fact("Ben moved to Berlin.", "Berlin"),  # what the bot said is nobody's own word, and proves nothing
        summary="Amy moved to Hangzhou, Ben bought a bicycle.",
    )
    extract()
    assert refused() == {"Ben moved to Berlin.": Refusal.BOT}
    assert facts() == {
        "telegram:direct_u42": ["Amy moved to Hangzhou."],
        "telegram:direct_u43": ["Ben bought a red bicycle."],
        GROUP_SCOPE: ["Amy moved to Hangzhou and Ben bought a red bicycle."],
    }
    chats = dict(Entry.objects.filter(type="fact").values_list("content", "chats"))
    assert chats["Amy moved to Hangzhou."] == [GROUP_SCOPE]  # to be heard in that chat
    assert events_by_scope() == {  # and of the day each memory is told what it may hold
        "telegram:direct_u42": ["I moved to Hangzhou"],
        "telegram:direct_u43": ["I bought a red bicycle"],
        GROUP_SCOPE: ["Amy moved to Hangzhou, Ben bought a bicycle."],
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("statement", "answer", "learnt"),
    [
        ("I moved to Hangzhou", "Hangzhou it is, Amy.", "Amy moved to Hangzhou."),
        ("我搬到杭州了", "好的，杭州。", "Amy 搬到杭州了。"),
    ],
)
def test_the_bots_answer_to_a_person_is_no_second_speaker(
    statement: str, answer: str, learnt: str, api: Api, model: FakeModel
) -> None:
    say(api, statement, answer, address=GROUP, slots={"speaker": "Amy"})
    say(api, "I sold my car", "Noted.", address=GROUP, slots={"speaker": "Amy"})
    say(api, "I bought a red bicycle", "Ben, a bicycle.", address=BEN, slots={"speaker": "Ben"})
    model.script = [
        answering(
            fact(learnt, statement, answer),
            fact("Amy sold her car.", "sold my car", "Ben, a bicycle."),  # an answer to Ben
        )
    ]
    extract()
    assert facts() == {
        "telegram:direct_u42": [learnt],
        GROUP_SCOPE: ["Amy sold her car."],
    }
    entry = Entry.objects.get(content=learnt)
    assert entry.chats == [GROUP_SCOPE] and len(entry.origins) == 2  # to be heard in that chat


def test_where_a_group_keeps_no_memory_what_is_nobodys_own_is_dropped_and_counted(
    api: Api, model: FakeModel, workspace: Workspace
) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", capture_group_memory=False)
    say(api, "I moved to Hangzhou", "Noted.", address=GROUP, slots={"speaker": "Amy"})
    say(api, "I bought a red bicycle", "Noted.", address=BEN, slots={"speaker": "Ben"})
    model.script = [
        answering(
            fact("Amy moved to Hangzhou.", "Hangzhou"),
            fact("Amy moved to Hangzhou and Ben bought a red bicycle.", "Hangzhou", "bicycle"),
        )
    ]
    assert extract()["refused"] == 1
    assert len(model.requests) == 1  # the model is not to blame, and not asked again
    assert refused() == {"Amy moved to Hangzhou and Ben bought a red bicycle.": Refusal.NO_SCOPE}
    assert facts() == {"telegram:direct_u42": ["Amy moved to Hangzhou."]}


@pytest.mark.thorough
def test_a_group_is_shown_nothing_of_what_its_members_said_elsewhere(api: Api, model: FakeModel) -> None:
    model.otherwise = answering(fact("Amy's secret project Nightjar is in Hangzhou.", "Nightjar", project="Nightjar"))
    say(api, "my secret project Nightjar is in Hangzhou", "Noted.", slots={"speaker": "Amy"})
    extract()
    model.otherwise = answering()
    say(api, "who has heard of Nightjar in Hangzhou?", "Nobody.", address=GROUP, at=NOW + QUIET)
    extract(NOW + 2 * QUIET)
    assert (model.requests[1].data["known_facts"], model.requests[1].data["known_projects"]) == ([], [])
    say(api, "Nightjar is still in Hangzhou", "Good.", at=NOW + 2 * QUIET)
    extract(NOW + 3 * QUIET)
    shown = model.requests[2].data
    assert [known_fact["content"] for known_fact in shown["known_facts"]] == [
        "Amy's secret project Nightjar is in Hangzhou."
    ]
    assert shown["known_projects"] == ["Nightjar"]


def test_what_was_never_said_is_not_believed(api: Api, model: FakeModel) -> None:
    say(api, "I moved to Hangzhou", "Noted.", slots={"speaker": "Amy"})
    model.otherwise = answering(
        fact("The capital of France is Paris.", "Hangzhou"),
        fact("Amy lives in Hangzhou.", "Hangzhou"),
        summary="They discussed the French revolution at length.",
    )
    model.verdicts = {"The capital of France is Paris.": "unsure"}
    extract()
    assert refused() == {"The capital of France is Paris.": Refusal.NAME}
    assert facts() == {"telegram:direct_u42": ["Amy lives in Hangzhou."]}
    assert events_by_scope() == {"telegram:direct_u42": ["I moved to Hangzhou"]}


def test_a_name_proves_nothing(api: Api, model: FakeModel) -> None:
    """What a model invents about somebody is no fact for holding their name, and no event of the day."""
    statement = "I like green tea and walks by the lake in the morning before work."
    say(api, statement, "Noted.", slots={"speaker": "Zoe"})
    model.otherwise = answering(
        fact("Zoe was arrested for murder in Lima", "tea"),
        fact("Zoe's father died in 1999", "tea"),
        fact("The bank account of Zoe is 12345678", "tea"),
        fact("Zoe does not like green tea", "I like green tea"),
        fact("Zoe likes 17 green teas", "tea"),
        fact("Zoe likes green tea.", "I like green tea"),
        summary="Zoe robbed a bank in Lima and fled to Peru.",
    )
    # a date that was reckoned, a name, a person: what a check doubts, only a reader that agrees can dispel
    model.reader = lambda asked: verdicts(
        asked,
        lambda statement: {"Zoe likes green tea.": "entailed", "Zoe does not like green tea": "contradicted"}.get(
            statement, "unsure"
        ),
    )
    extract()
    assert refused() == {
        "Zoe was arrested for murder in Lima": Refusal.NAME,
        "Zoe's father died in 1999": Refusal.AMOUNT,
        "The bank account of Zoe is 12345678": Refusal.AMOUNT,
        "Zoe does not like green tea": Refusal.CONTRADICTED,
        "Zoe likes 17 green teas": Refusal.AMOUNT,
    }
    assert facts() == {"telegram:direct_u42": ["Zoe likes green tea."]}
    assert events_by_scope() == {"telegram:direct_u42": [statement]}


def test_a_date_is_counted_from_the_day_it_was_said_where_the_workspace_is(
    api: Api, model: FakeModel, workspace: Workspace
) -> None:
    """What is said late on 1 March in London is said on 2 March in Shanghai."""
    Workspace.objects.update(time_zone="Asia/Shanghai", language="zh-hans")
    late = NOW.replace(hour=20)
    say(api, "我明天去北京出差", "好的。", slots={"speaker": "米娅"}, at=late)
    model.otherwise = answering(
        fact("米娅2026年3月3日去北京出差。", "我明天去北京"), fact("米娅2026年3月2日去北京出差。", "我明天去北京")
    )
    model.verdicts = {"米娅2026年3月2日去北京出差。": "unsure"}
    extract(late + QUIET)
    assert refused() == {"米娅2026年3月2日去北京出差。": Refusal.AMOUNT}
    assert facts() == {"telegram:direct_u42": ["米娅2026年3月3日去北京出差。"]}


def test_what_people_took_out_is_neither_shown_nor_written_again(api: Api, model: FakeModel) -> None:
    say(api, "my passport number is E1234", "Noted.")
    say(api, "I moved to Hangzhou", "Noted.")
    entries.expire(Entry.objects.get(content__contains="passport"), now=NOW, actor="user:alice")
    model.script = [answering(fact("The user moved to Hangzhou.", "Hangzhou"))]
    extract()
    assert "E1234" not in str(model.requests[0].body)
    assert facts() == {"telegram:direct_u42": ["The user moved to Hangzhou."]}


def test_a_fact_that_is_deleted_does_not_come_back_from_the_next_conversation(api: Api, model: FakeModel) -> None:
    model.otherwise = answering(fact("Amy owns a red bicycle."))
    say(api, "note: Amy owns a red bicycle.", "Noted.")
    extract()
    entries.expire(Entry.objects.get(type="fact"), now=NOW + QUIET, actor="user:alice")
    say(api, "again: Amy owns a red bicycle.", "Noted.", at=NOW + QUIET)
    assert extract(NOW + 2 * QUIET)["facts"] == 0
    assert facts() == {}


def test_a_batch_for_each_scope_can_be_looked_at_and_taken_back(api: Api, model: FakeModel) -> None:
    say(api, "I moved to Hangzhou", "Noted.", slots={"speaker": "Amy"})
    model.script = [answering(fact("Amy moved to Hangzhou.", "Hangzhou"))]
    extract()
    made = Batch.objects.get()
    assert (made.name, made.state, made.actor, made.scope.key) == (
        "extract",
        BatchState.APPLIED,
        "job:extract",
        "telegram:direct_u42",
    )
    assert (made.counts, made.cost["calls"], made.cost["model"]) == ({"create": 1, "tell": 1}, 2, "small")
    assert (made.cost["reader"], made.cost["refused"], made.cost["decoys_passed"]) == ("small", 0, 0)
    batches.apply_batch(batches.plan_undo(made, actor="user:ann", now=NOW), now=NOW + QUIET)
    assert facts() == {}
    assert Entry.objects.filter(type="fact", archived_at__isnull=False).count() == 1


def test_facts_days_and_the_end_of_the_extraction_batch_are_one(api: Api, model: FakeModel) -> None:
    say(api, "I moved to Hangzhou", "Noted.", slots={"speaker": "Amy"})
    model.otherwise = answering(fact("Amy moved to Hangzhou.", "Hangzhou"), summary="Amy moved to Hangzhou.")
    type(Entry.objects.get().scope).objects.update(frozen=True)
    assert extract()["failed"] == 1
    assert (Entry.objects.filter(type="fact").count(), Batch.objects.count(), DailyEvent.objects.count()) == (0, 0, 0)
    assert ExtractionBatch.objects.count() == 1


def test_a_conversation_over_midnight_is_told_day_by_day(api: Api, model: FakeModel) -> None:
    late = NOW.replace(hour=23, minute=59)
    say(api, "I bought a red bicycle", "", at=late)
    say(api, "I moved to Hangzhou", "", at=late + timedelta(minutes=2))
    model.script = [answering(summary="The user bought a red bicycle and moved to Hangzhou.")]
    extract(late + 2 * QUIET)
    days = list(DailyEvent.objects.order_by("local_date").values_list("local_date", "content"))
    assert days == [(date(2026, 3, 1), "I bought a red bicycle"), (date(2026, 3, 2), "I moved to Hangzhou")]
