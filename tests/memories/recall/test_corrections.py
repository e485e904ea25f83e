"""A newer statement comes before the older one that it corrects (A7)."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memories import entries
from memories.choices import EntryType
from memories.entries.draft import Draft
from memories.index import worker
from memories.language.compare import contests, corrects, takes_back
from memories.language.quoting import telling_sentences, turn_of
from memories.language.text import has_han
from memories.models import Scope
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.answer import CORRECTED
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db
PAIRS = Path(__file__).parents[3] / "evals" / "data"
#: Of 60 pairs, and of 20 in which nothing is corrected (evals/data/corrections.txt, no_corrections.txt).
FOUND, MISTAKEN = 57, 0


def pairs(name: str) -> list[list[str]]:
    lines = (PAIRS / f"{name}.txt").read_text("utf-8").splitlines()
    return [line.split(" | ") for line in lines if line and not line.startswith("#")]


def is_correction(where: str, older: str, newer: str) -> bool:
    statement = "\n".join(telling_sentences(newer)) if where in ("turns", "next", "saved-turn") else newer
    return bool(statement) and (corrects(statement, older) or (where == "next" and takes_back(statement, older)))


def test_corrections_are_told_from_what_is_true_beside_them() -> None:
    assert sum(is_correction(*pair[:3]) for pair in pairs("corrections")) >= FOUND
    assert sum(is_correction(*pair[:3]) for pair in pairs("no_corrections")) == MISTAKEN


#: What people did one after another: much alike, and none of it takes the place of another.
DAYS = """
Mia在新开的面馆和表妹一起吃了牛肉面，觉得非常开心。
Mia和爸爸一起去海边捡贝壳，玩了一下午，感到很高兴。
Mia在运动会上跑了第二名，老师表扬了她，她特别激动。
Mia和新同学阿哲一起做了火山模型，两人都很兴奋。
Mia想起上周的考试没考好，感到有点难过，妈妈安慰了她。
Mia和外婆一起包饺子，外婆夸她包得好看，她很开心。
Mia周末在家看了动画电影《小鹿》，觉得很感动。
小周和女朋友一起去看了话剧，感觉不错。
小周和女朋友一起去爬了山，感觉很累。
小周和同事一起吃了火锅，空调坏了，大家都很热。
小周期待的露营因为大雨取消了，只好在家看电视，有点失望。
Mia在阳台听见邻居吵架，她很担心，妈妈说没事，已经和好了。
Mia在朗诵比赛里忘了词，她很着急，后来老师提醒了她。
小周升级了路由器，网速快多了，很满意。
Leo went to the fair with his new friend and felt very happy.
Leo went to the lake with his dad and felt very happy.
Leo and his cousin built a kite together and were excited.
Leo and his grandma baked a cake together, now the kitchen smells great.
Leo had looked forward to camping, but it was cancelled because of the storm.
Leo watched a film with Priya, not his usual taste, and felt sad.
""".strip().splitlines()


def test_days_that_were_spent_alike_correct_nothing() -> None:
    mistaken = [(newer, older) for newer in DAYS for older in DAYS if newer != older and corrects(newer, older)]
    mistaken += [(one, other) for one in DAYS for other in DAYS if one != other and contests(one, other)]
    assert mistaken == []


#: Of the 60, asked end to end by the tests' embedder, which finds by words alone.
NEWEST_FIRST = 57
TURN, SAVED = True, False
FORMS = {"turns": (TURN, TURN), "saved": (SAVED, SAVED), "turn-saved": (TURN, SAVED), "saved-turn": (SAVED, TURN)}


def draft_of(scope: Scope, content: str, at: datetime, *, is_turn: bool) -> Draft:
    if not is_turn:
        return make_draft(scope, content, at=at)
    slots = {"session_id": "s1", "sender_id": "u42"}
    return make_draft(scope, turn_of(content, "Noted."), at=at, type=EntryType.CHAT_TURN, slots=slots)


def ask_of_pair(scope: Scope, form: str, older: str, newer: str, question: str) -> tuple[bool, bool]:
    """Whether the newer one comes first, and whether anything is marked; a statement of something else lies between.

    What takes back the message before it («next») comes two minutes after it.
    """
    forms, at = FORMS.get(form, FORMS["turns"]), NOW
    statements = [
        (older, forms[0]),
        ("我们把篱笆刷成了绿色。" if has_han(older) else "We painted the fence green.", forms[0]),
    ]
    if form == "next":
        statements.reverse()
    drafts = []
    for statement, is_turn in (*statements, (newer, forms[1])):
        drafts.append(draft_of(scope, statement, at, is_turn=is_turn))
        at += timedelta(minutes=2) if form == "next" else timedelta(days=1)
    *others, newest = (result.entry for result in entries.remember_many(drafts, now=NOW, actor="test"))
    assert newest not in others
    worker.drain(now=NOW)
    scope.refresh_from_db()
    served = ask(scope, question).served
    return bool(served) and served[0].entry == newest, any(item.superseded_by for item in served)


@pytest.mark.thorough
@pytest.mark.parametrize("form", [None, *FORMS])
def test_of_sixty_corrections_nearly_all_come_first_and_of_twenty_others_none_is_marked(
    scope: Scope, form: str | None
) -> None:
    data = {}
    for name in ("corrections", "no_corrections"):
        results = []
        for n, (written_as, *pair) in enumerate(pairs(name)):
            apart = make_scope(scope.workspace, f"telegram:direct_{name}{n}")
            results.append(ask_of_pair(apart, "next" if written_as == "next" else form or written_as, *pair))
        data[name] = results
    assert sum(first for first, _marked in data["corrections"]) >= NEWEST_FIRST
    assert sum(marked for _first, marked in data["no_corrections"]) == MISTAKEN


def tell(scope: Scope, *statements: str, minutes: int = 60, **given: object) -> None:
    drafts = [
        make_draft(scope, statement, at=NOW + timedelta(minutes=minutes * n), **given)
        for n, statement in enumerate(statements)
    ]
    entries.remember_many(drafts, now=NOW, actor="test")
    worker.drain(now=NOW)
    scope.refresh_from_db()


def ask(scope: Scope, message: str, **more: Any) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8, **more)
    return recall(query, now=NOW + timedelta(days=2))


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("The VPN runs on port 1194.", "The VPN runs on port 51820.", "Which port does the VPN run on?"),
        ("我的经理是王强。", "五月起我的经理是陈静。", "我的经理是谁？"),
        ("My girlfriend is called Lena.", "Lena and I broke up last week.", "What is my girlfriend Lena up to?"),
        ("线上跑的是Java 11。", "Java已经升到21了。", "线上的Java是什么版本？"),
        (
            "The flight leaves from gate B12.",
            "Correction: the flight leaves from gate C4.",
            "Which gate is the flight?",
        ),
        (
            turn_of("My gym opens at 7.", "Noted."),
            turn_of("My gym opens at 6 these days.", "Noted."),
            "When does my gym open?",
        ),
    ],
)
def test_the_newer_comes_first_and_the_older_is_marked(scope: Scope, older: str, newer: str, question: str) -> None:
    tell(scope, older, "We painted the fence green.", newer)
    result = ask(scope, question)
    served = [item.entry.content for item in result.served]
    assert served.index(newer) < served.index(older)
    marked = {item.entry.content: item.superseded_by for item in result.served}
    assert marked[older] == next(item.entry.uid for item in result.served if item.entry.content == newer)
    assert marked[newer] is None
    _notice, *lines = result.context.splitlines()
    assert [CORRECTED["en"] in line for line in lines][:2] == [False, True]


@pytest.mark.parametrize(
    ("language", "mark"),
    [
        ("en", " (corrected since, see above)"),
        ("zh-hans", "（后来已更正，见上文）"),
        ("fr", " (corrected since, see above)"),
    ],
)
def test_the_mark_is_in_the_language_of_the_prompt(scope: Scope, language: str, mark: str) -> None:
    tell(scope, turn_of("我的健身房七点开门。", "好的。"), turn_of("我的健身房现在六点开门了。", "好的。"))
    result = ask(scope, "我的健身房几点开门？", language=language)
    assert [line.endswith(mark) for line in result.context.splitlines()[1:]] == [False, True]


def test_the_next_message_may_take_back_what_was_just_said(scope: Scope) -> None:
    older, newer = (
        turn_of(message, "Noted.") for message in ("The meeting with Dana is on Wednesday.", "No, I meant Tuesday.")
    )
    tell(scope, older, newer, minutes=2, slots={"session_id": "s1"})
    first, second = ask(scope, "When is the meeting with Dana?").served[:2]
    assert (first.entry.content, second.superseded_by) == (newer, first.entry.uid)


def test_a_question_or_a_wish_corrects_nothing(scope: Scope) -> None:
    older = "I live in Lisbon, near the river."
    tell(scope, older, "I wish I lived in Porto.", turn_of("Do I live in Rome now?", "I don't know."))
    result = ask(scope, "Where do I live?")
    assert not any(item.superseded_by for item in result.served)
    assert result.served[0].entry.content == older


@pytest.mark.parametrize("slot", ["sender_id", "speaker"])
def test_what_somebody_else_says_corrects_nothing(scope: Scope, slot: str) -> None:
    at = NOW
    for who, message in (("ann", "My office is on floor 4."), ("bob", "My office is on floor 7 now.")):
        slots = {"sender_id": "u42", slot: who}
        entries.remember(make_draft(scope, message, at=at, slots=slots), now=NOW, actor="test")
        at += timedelta(hours=1)
    scope.refresh_from_db()
    assert not any(item.superseded_by for item in ask(scope, "Which floor is the office on?").served)


def test_only_what_was_said_just_before_is_taken_back(scope: Scope) -> None:
    messages = ("I live in Lisbon.", "The meeting with Dana is on Wednesday.", "No, I meant Tuesday.")
    tell(scope, *(turn_of(message, "Noted.") for message in messages), minutes=2, slots={"session_id": "s1"})
    marked = {
        item.entry.content.split("\n")[0]
        for item in ask(scope, "Where do I live and meet Dana?").served
        if item.superseded_by
    }
    assert marked == {"User: The meeting with Dana is on Wednesday."}


def test_what_is_saved_on_purpose_corrects_a_turn_of_the_same_person(scope: Scope) -> None:
    turn = make_draft(scope, turn_of("My gym opens at 7.", "Noted."), at=NOW, slots={"sender_id": "u42"})
    saved = make_draft(scope, "My gym opens at 6 these days.", at=NOW + timedelta(days=1))
    entries.remember_many([turn, saved], now=NOW, actor="test")
    scope.refresh_from_db()
    first, second = ask(scope, "When does my gym open?").served[:2]
    assert (first.entry.content, second.superseded_by) == (saved.content, first.entry.uid)
