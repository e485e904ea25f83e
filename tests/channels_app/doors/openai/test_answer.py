"""What a model says is read from its stream, wherever the network cuts it."""

import pytest

from channels_app.doors.openai.answers import Answer, Events, data_of
from tests.channels_app.doors.openai.conftest import call, event

CALL = call(1, "deploy", to="prod")
BEGUN = {**CALL, "index": 0, "function": {"name": "deploy", "arguments": '{"to": '}}
MORE = {"index": 0, "function": {"arguments": '"prod"}'}}
TOLD = [
    b": waits\n\n",
    *(event(delta) for delta in ({"content": "你好, "}, {"content": "Lena"}, {"content": None}, {"refusal": "no"})),
    *(event({"tool_calls": [item]}) for item in (BEGUN, MORE)),
    b'data: {"choices": [], "usage": {"total_tokens": 3}}\n\n',
    b"data: [DONE]\n\n",
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_wherever_a_stream_is_cut_the_same_is_read(end: bytes) -> None:
    results = [item.replace(b"\n", end) for item in TOLD]
    stream = b"".join(results)
    for at in range(len(stream)):
        events, answer = Events(), Answer()
        cut = [*events.cut(stream[:at]), *events.cut(stream[at:])]
        assert cut == results and events.rest == b""
        for row in cut:
            answer.add(data_of(row))
        assert answer.text == "你好, Lena" and answer.calls == [CALL]


@pytest.mark.parametrize("strange", [None, [], {"choices": None}, {"choices": [1]}, {"choices": [{"delta": "x"}]}])
def test_what_is_no_answer_says_nothing(strange: object) -> None:
    answer = Answer()
    answer.add(strange)
    assert (answer.text, answer.calls) == ("", [])
