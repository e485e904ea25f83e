"""An embedder is killed while it embeds messages: nothing is lost, nothing is half done (C6)."""

import pytest

from memories.index.worker import LEASE
from sessions_app.models import EventIndex, Session
from sessions_app.search.embedder import EventEmbedder
from tests.conftest import NOW
from tests.sessions_app.conftest import Talk
from tests.support.nursery import Process, start

pytestmark = pytest.mark.django_db(transaction=True)


def worker(seconds: float) -> Process:
    return start("tests.system.killed.embedding_worker", str(seconds))


def test_killed_while_it_embeds_another_takes_over(talk: Talk) -> None:
    talk.say("hello")
    talk.log(Session.objects.get(), *(f"user: 第{n}条" for n in range(30)))
    with worker(0.5) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["embedding 16\n"] * 2
        process.kill()
    assert EventIndex.objects.filter(model__isnull=False).count() == 16
    other = EventEmbedder()
    while other(now=NOW) == 0:
        pass
    assert EventIndex.objects.filter(model__isnull=False).count() == 16  # the lease of the dead still runs
    while other(now=NOW + LEASE) == 0:
        pass
    assert not EventIndex.objects.filter(model=None).exists()
    assert set(EventIndex.objects.values_list("failures", "retry_at")) == {(0, None)}


def test_two_embedders_share_the_work(talk: Talk) -> None:
    talk.say("hello")
    talk.log(Session.objects.get(), *(f"user: 第{n}条" for n in range(62)))
    with worker(0.2) as one, worker(0.2) as other:
        assert one.stdout is not None and other.stdout is not None
        results = [*one.stdout.read().split("\n"), *other.stdout.read().split("\n")]
    assert sum(int(line.split()[1]) for line in results if line.startswith("embedding")) == 64
    assert not EventIndex.objects.filter(model=None).exists()
