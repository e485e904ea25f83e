"""The page of a conversation says who wrote a summary, and with which model it was flushed (B3, C7)."""

import pytest
from django.urls import reverse

from memories.models import Workspace
from sessions_app.models import Flush, Session, SessionEvent
from tests.conftest import NOW, make_key
from tests.memories.admin.conftest import enter, make_user
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
BY = {
    "en": {
        ("platform:sessions", "qwen"): "written by the model qwen",
        ("bot:bot", ""): "written by bot:bot",
        ("platform:sessions", ""): "in the conversation’s own words",
    },
    "zh-hans": {
        ("platform:sessions", "qwen"): "由模型 qwen 撰写",
        ("bot:bot", ""): "由 bot:bot 撰写",
        ("platform:sessions", ""): "用对话本身的语句",
    },
}


@pytest.fixture
def session(workspace: Workspace) -> Session:
    for n in range(2):
        Talk(make_key(workspace, name="bot")).say(f"({n}) 我的猫叫年糕", "记住了。")
    return Session.objects.get()


def summarised(session: Session, by: str, model: str) -> None:
    data = {"covers_to": 2, "cycle": 1, "by": by, "model": model}
    place = {"workspace": session.workspace, "session": session, "conversation": 1}
    SessionEvent.objects.create(**place, position=5, kind="summary", content="他们说起年糕。", data=data, at=NOW)
    counts = {"created": 1, "unfounded": 2}
    Flush.objects.create(**place, cycle=1, up_to=4, actor=by, model=model, counts=counts, at=NOW)


@pytest.mark.thorough
@pytest.mark.parametrize("language", list(BY))
@pytest.mark.parametrize("who", list(BY["en"]), ids=" ".join)
def test_a_summary_says_who_wrote_it(who: tuple[str, str], language: str, session: Session) -> None:
    summarised(session, *who)
    alice = enter(make_user("alice", workspace=session.workspace, is_staff=True))
    page = alice.get(
        reverse("admin:sessions_app_session_change", args=[session.pk]), headers={"Accept-Language": language}
    ).content.decode()
    assert "他们说起年糕。" in page
    assert [item for item in BY[language].values() if item in page] == [BY[language][who]]
    assert ({"en": "with the model qwen", "zh-hans": "使用模型 qwen"}[language] in page) == bool(who[1])
    assert {"en": "said by nobody 2", "zh-hans": "没有人说过 2"}[language] in page
