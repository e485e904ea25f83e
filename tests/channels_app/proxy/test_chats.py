"""A bot changes its base_url and its model remembers: the official client, a scripted model, real HTTP."""

import pytest
from openai import OpenAI

from sessions_app.models import SessionEvent
from tests.channels_app.proxy.conftest import KEY, Upstream, eventually, said, streamed

pytestmark = pytest.mark.django_db(transaction=True)


def spoken() -> list[str]:
    return list(SessionEvent.objects.order_by("session_id", "position").values_list("content", flat=True))


def test_a_bot_that_changed_its_base_url_has_memory(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(said("Noted."), said("In Hangzhou."))
    bot.chat.completions.create(model="m", messages=[{"role": "user", "content": "I moved to Hangzhou"}])
    assert spoken() == ["I moved to Hangzhou", "Noted."]
    own = {"role": "system", "content": "You are terse."}
    question = {"role": "user", "content": "Which city did I move to?"}
    answer = bot.chat.completions.with_raw_response.create(model="m", messages=[own, question], temperature=0.5)
    assert answer.parse().choices[0].message.content == "In Hangzhou."
    first, memory, last = upstream.messages
    assert (first, last) == (own, question) and memory["role"] == "system"
    assert "I moved to Hangzhou" in memory["content"]
    assert upstream.asked[-1]["temperature"] == 0.5 and set(upstream.keys) == {f"Bearer {KEY}"}
    assert "X-Memplatform-Degraded" not in answer.headers and answer.headers["X-Memplatform-Recall"]
    assert len(spoken()) == 4


def test_a_stream_comes_as_it_is_and_is_remembered(bot: OpenAI, upstream: Upstream) -> None:
    upstream.say(streamed("In ", "Hang", "zhou."))
    with bot.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi there"}], stream=True) as got:
        assert [part.choices[0].delta.content for part in got] == ["", "In ", "Hang", "zhou.", None]
    assert eventually(spoken) == ["hi there", "In Hangzhou."]
