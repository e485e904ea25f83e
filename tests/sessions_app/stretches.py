"""Conversations that have grown, and models that shorten them."""

from collections.abc import Callable
from typing import Any

from django_q.models import OrmQ

from sessions_app import compaction
from sessions_app.models import Session, SessionEvent
from tests.conftest import NOW
from tests.memories.llm.fake_server import Asked
from tests.sessions_app.conftest import Talk

BUDGET = 1_000
#: What is said in it, in turn.
SAID = (
    ("The cat of Mia is called Mochi, and we move to Hangzhou in May.", "Noted: Mochi, Hangzhou, May."),
    ("我们决定用蓝绿部署，staging 的端口改成 9090。", "好的，蓝绿部署，端口 9090。"),
    ("The budget of the harbour project is 1200 euros, Carol signs it.", "Then I wait for Carol."),
    ("妈妈的生日是五月三日，我想送她一本菜谱。", "可以，五月三日之前提醒你。"),
)


def grown(talk: Talk, turns: int = 12, **more: Any) -> Session:
    """A conversation of so many turns, about 45 tokens each."""
    session = None
    for n in range(turns):
        user, assistant = SAID[n % len(SAID)]
        answer = talk.say(f"({n}) {user} {n * n}", f"{assistant} {n}", **more)
        session = Session.objects.get(uid=answer["session"]["id"])
    assert session is not None
    return session


def compact(session: Session, *, is_asked: bool = True) -> bool:
    """What the worker does when its task comes."""
    session.refresh_from_db()
    here = (session.pk, session.conversation, session.cycle, session.max_tokens())
    done = compaction.compact(*here, now=NOW, is_asked=is_asked)
    session.refresh_from_db()
    return done


def compact_whole(session: Session) -> int:
    """What the worker does until no part of a long conversation is queued; how many parts there were."""
    assert compact(session)
    parts = 1
    while task := OrmQ.objects.first():
        task.delete()
        assert compaction.compact(*task.task["args"][:4], now=NOW, up_to=task.task["args"][5])
        parts += 1
    session.refresh_from_db()
    return parts


def summary_of(session: Session) -> SessionEvent:
    return SessionEvent.objects.filter(session=session, kind="summary").latest("position")


def writing(summary: str) -> dict[str, str]:
    """An answer to the question for a summary."""
    return {"summary": summary}


def candidate(content: str, *rests_on: Any, quote: str = "", **labels: Any) -> dict[str, Any]:
    """One of a flush; without words of its own it quotes what it states."""
    data = {"category": "identity", "importance": 0.8, "project": "_global", "topic": "_general"}
    return {"content": content, **data, **labels, "rests_on": list(rests_on), "quote": [quote or content]}


def drawing(*candidates: dict[str, Any], goes_on_with: str = "They spoke of Mochi and of Hangzhou.") -> dict[str, Any]:
    """An answer to the question of a flush."""
    return {"version": 1, "reply": "", "continue": goes_on_with, "candidates": list(candidates)}


NOTHING = {"version": 1, "reply": "NO_REPLY", "continue": "", "candidates": []}


def asked_for_flush(asked: Asked) -> bool:
    return "before" in asked.data


def answering(*, flush: Any = None, summary: Any = None) -> Callable[[Asked], Any]:
    """A model that answers each of the two questions in its own way."""

    def answer(asked: Asked) -> Any:
        reply = flush if asked_for_flush(asked) else summary
        return reply(asked) if callable(reply) else reply

    return answer
