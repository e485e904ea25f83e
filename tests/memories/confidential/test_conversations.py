"""A secret told in a conversation is kept for whoever told it, and stands nowhere else."""

import json
from typing import Any

import pytest
from django.db import connection

from channels_app.models import Channel
from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests.conftest import GROUP, TELEGRAM, Api

pytestmark = pytest.mark.django_db
SECRET, TURN = "471126", "The movers come on Tuesday at nine. My card PIN is 471126."
BORIS = {**GROUP, "peer": "u77"}


def say(api: Api, text: str, address: dict[str, Any] = TELEGRAM, answer: str = "Noted.", **more: Any) -> None:
    answered = api.post("turns", {"address": address, "user": text, "assistant": answer, **more})
    assert answered.status_code == 201, answered.json()


def ask(api: Api, message: str, address: dict[str, Any] = TELEGRAM) -> str:
    """All that a bot is answered with: its memories, its events and its context."""
    return api.post("recall", {"address": address, "message": message}).content.decode()


def test_its_owner_is_answered_with_it(api: Api) -> None:
    say(api, TURN)
    assert SECRET in ask(api, "what is my card PIN?")
    assert SECRET in ask(api, "do you remember the PIN of my card?")


def test_its_owner_gets_it_in_the_conversation_it_was_told_in(api: Api) -> None:
    say(api, TURN)
    context = api.post("context", {"address": TELEGRAM, "message": "what is my card PIN?"}).json()
    assert SECRET in str(context)


def test_it_is_not_served_to_another_question_and_the_rest_of_the_turn_is(api: Api) -> None:
    say(api, TURN)
    answer = ask(api, "when do the movers come?")
    assert "Tuesday" in answer and SECRET not in answer
    assert SECRET not in ask(api, "what did I say last time?")


def test_it_is_stored_in_one_memory_and_in_no_message(api: Api) -> None:
    say(api, TURN, answer="Your PIN 471126 is noted.")
    assert not SessionEvent.objects.filter(content__contains=SECRET).exists()
    entry = Entry.objects.get(content__contains=SECRET)
    assert (entry.category, entry.type, entry.subtype) == ("credential", "fact", "secret:code")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memories_bufferedturn WHERE messages::text LIKE '%471126%'")
        assert cursor.fetchone() == (0,)


def many_secrets(line: str, most: int = 260) -> tuple[str, list[str]]:
    """A message with a secret in each line, and these secrets."""
    values = [f"Kx{n * 7919 % 10_000:04}vQ{n}zR" for n in range(1, most)]
    return "\n".join(line.format(n=n, value=value) for n, value in enumerate(values, start=1)), values


@pytest.mark.parametrize(
    "line",
    [
        "SERVICE_{n}_PASSWORD={value}   # of machine {n}",
        "{n}号服务器 10.0.{n}.7，用户 admin{n}，密码：{value}",
        "{n}号服务器的密码：{value}；它在{n}号机房的第三排机柜里，钥匙在前台",
    ],
)
def test_of_a_message_with_many_each_is_kept_whole_and_once(api: Api, line: str) -> None:
    message, values = many_secrets(line)
    assert len(message) > 8_000
    say(api, message)
    kept = list(Entry.objects.filter(category="credential").values_list("content", flat=True))
    assert max(map(len, kept)) <= 2_000
    for n, value in enumerate(values, start=1):
        (content,) = (content for content in kept if value in content)
        before = content[: content.index(value)].splitlines()[-1]
        assert str(n) in before, (before, value)  # what it is the secret of stands before it
    turn = Entry.objects.get(type="chat_turn")
    assert "[secret]" in turn.content and not any(value in turn.content for value in values)


def test_in_one_line_each_is_kept_whole_and_once(api: Api) -> None:
    message, values = many_secrets("password {n}: {value},", most=500)
    assert len(message) > 8_000
    say(api, message.replace("\n", " "))
    kept = list(Entry.objects.filter(category="credential").values_list("content", flat=True))
    assert [sum(value in content for content in kept) for value in values] == [1] * len(values)


def test_one_that_is_longer_than_a_memory_is_kept_in_several(api: Api) -> None:
    lines = [f"{n:063}q" for n in range(200)]
    mark = "-----{} RSA " + "PRIVATE KEY-----"  # in two parts: no secret that stands here
    key = "\n".join([mark.format("BEGIN"), *lines, mark.format("END")])
    say(api, f"Here is the key of the build server, keep it safe.\n{key}\nIt is valid until May.")
    kept = list(Entry.objects.filter(category="credential").order_by("pk").values_list("content", flat=True))
    assert len(kept) == 2 and "".join("".join(kept).split()).count("q") >= 200
    assert not Entry.objects.filter(type="chat_turn", content__contains=lines[7]).exists()


def test_a_report_with_many_keeps_them_too(api: Api) -> None:
    message, values = many_secrets("SERVICE_{n}_PASSWORD={value}   # of machine {n}")
    session = api.post("sessions", {"address": TELEGRAM}).json()["id"]
    reported = api.post(f"sessions/{session}/events", {"events": [{"kind": "user", "content": message}]})
    assert reported.status_code == 201, reported.json()
    kept = "\n".join(Entry.objects.filter(category="credential").values_list("content", flat=True))
    assert [kept.count(value) for value in values] == [1] * len(values)


def test_no_other_member_of_a_group_hears_it_and_its_owner_asks_alone(api: Api) -> None:
    say(api, TURN, GROUP)
    for address in (GROUP, BORIS):
        for question in ("what is the card PIN?", "when do the movers come?", "what did we say last time?"):
            assert SECRET not in ask(api, question, address), (address, question)
    assert "Tuesday" in ask(api, "when do the movers come?", BORIS)
    assert SECRET in ask(api, "what is my card PIN?")


def test_of_several_the_one_that_is_meant_is_served(api: Api) -> None:
    say(api, "The wifi password is plumtree88")
    say(api, "My email password is Tr0ub4dor&3")
    answer = ask(api, "what is the wifi password?")
    assert "plumtree88" in answer and "Tr0ub4dor" not in answer


def test_a_bot_that_answers_with_it_tells_nothing_new(api: Api) -> None:
    say(api, "The wifi password is plumtree88")
    say(api, "what is the wifi password?", answer="Your wifi password is plumtree88, of course.")
    assert Entry.objects.filter(content__contains="plumtree88").count() == 1


def test_a_channel_may_store_none(api: Api, workspace: Workspace) -> None:
    Channel.objects.update_or_create(
        workspace=workspace, platform="telegram", account="mybot", defaults={"secrets": "mask"}
    )
    say(api, TURN)
    assert not Entry.objects.filter(content__contains=SECRET).exists()
    assert SECRET not in ask(api, "what is my card PIN?")


def test_a_channel_may_store_them_as_they_were_said(api: Api, workspace: Workspace) -> None:
    Channel.objects.update_or_create(
        workspace=workspace, platform="telegram", account="mybot", defaults={"secrets": "off"}
    )
    say(api, TURN)
    assert SECRET in ask(api, "when do the movers come?")


def test_the_configured_rule_holds_where_a_channel_has_none(api: Api, settings: Any) -> None:
    settings.MEMORY_SECRETS = "mask"
    say(api, TURN)
    saved = api.post(
        "entries", {"scope": "telegram:direct_u42", "type": "user_explicit", "content": "The door code is 556677"}
    )
    assert saved.status_code == 201, saved.json()
    assert not Entry.objects.filter(content__regex="471126|556677").exists()


def test_what_is_saved_on_purpose_is_a_credential(api: Api) -> None:
    body = {"scope": "telegram:direct_u42", "type": "user_explicit", "content": "The door code is 556677"}
    assert api.post("entries", body).json()["category"] == "credential"
    assert "556677" in ask(api, "what is the door code?")
    assert "556677" not in ask(api, "what do you know about the door?")


def test_a_memory_that_gets_a_secret_becomes_a_credential(api: Api) -> None:
    body = {"scope": "telegram:direct_u42", "type": "user_explicit", "content": "The door is green"}
    saved = api.post("entries", body)
    changed = api.request(
        "PATCH",
        f"entries/{saved.json()['id']}",
        json.dumps({"content": "The door code is 556677"}),
        **{"If-Match": saved["ETag"]},
    )
    assert changed.status_code == 200, changed.json()
    assert changed.json()["category"] == "credential"


def test_reported_messages_are_stored_without_it_and_a_history_with_it_is_the_same(api: Api) -> None:
    say(api, "hello there, how are you?")
    session = api.post("context", {"address": TELEGRAM, "message": "hi"}).json()["session"]
    messages = [
        {"role": "user", "content": "hello there, how are you?"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "My card PIN is 471126."},
        {"role": "assistant", "content": "471126, noted."},
    ]
    path = f"sessions/{session['id']}/events"
    reported = api.post(
        path,
        {"history": messages[:2], "events": [{"kind": row["role"], "content": row["content"]} for row in messages[2:]]},
    )
    assert reported.status_code == 201, reported.json()
    assert not SessionEvent.objects.filter(content__contains=SECRET).exists()
    again = api.post(path, {"history": messages, "events": [{"kind": "user", "content": "thanks"}]})
    assert again.status_code == 201, again.json()
    assert SECRET in ask(api, "what is my card PIN?")


def test_a_rare_word_says_which_is_meant(api: Api) -> None:
    say(api, "use sk-proj-a1B2c3D4e5F6g7H8i9J0 for openai, please")
    say(api, "the api key of the weather service is abcd1234efgh5678")
    say(api, "the api key of the map service is zyxw9876vuts5432")
    answer = ask(api, "what is the api key for openai?")
    assert "sk-proj-a1B2c3D4e5F6g7H8i9J0" in answer and "abcd1234" not in answer


@pytest.mark.parametrize(
    ("older", "newer", "question", "value"),
    [
        ("家里的WiFi密码是bluebird7。", "家里的WiFi密码改成sparrow22了。", "家里的WiFi密码是什么？", "sparrow22"),
        ("我的手机号是13800001234。", "我换手机号了，新的是13900005678。", "我的手机号是多少？", "13900005678"),
        (
            "The password of the guest network is bluebird7.",
            "The guest password has changed, it is sparrow22 now.",
            "What is the password of the guest network?",
            "sparrow22",
        ),
    ],
)
def test_a_secret_that_changed_is_served_as_it_is_now(
    api: Api, older: str, newer: str, question: str, value: str
) -> None:
    say(api, older)
    say(api, newer)
    assert value in ask(api, question)


@pytest.mark.parametrize(
    ("text", "question", "value"),
    [
        (
            "i pasted sk-proj-4nQ7vXc2RkT9wLmZ8bYpHs3D into the env file and it says 401",
            "What's my OpenAI key?",
            "sk-proj-4nQ7",
        ),
        ("the three digits on the back are 613", "What's the CVV of it?", "613"),
        ("下载地址 https://liu:Pw_7788x@files.example.cn/a.zip", "文件服务器的口令是什么？", "Pw_7788x"),
    ],
)
def test_its_owner_is_answered_with_it_in_whatever_words_it_was_told(
    api: Api, text: str, question: str, value: str
) -> None:
    say(api, "The movers come on Tuesday at nine.")
    say(api, text)
    answer = api.post("recall", {"address": TELEGRAM, "message": question}).json()
    assert any(value in memory["content"] for memory in answer["memories"])
    assert answer["evidence"] != "none"
    assert value not in ask(api, "when do the movers come?")


def test_of_several_of_a_kind_that_no_word_tells_apart_the_best_few_are_served(api: Api) -> None:
    for value, words in {
        "4411": "the gate opens with 4411",
        "5522": "punch in 5522 at the shed door",
        "6633": "the alarm is disarmed with 6633",
        "plum88": "the wifi password is plum88",
    }.items():
        say(api, words)
        assert value in ask(api, "what are my codes and passwords?")
    served = [value for value in ("4411", "5522", "6633", "plum88") if value in ask(api, "which code is it?")]
    assert len(served) == 2 and "plum88" not in served


def test_whose_a_key_is_counts_as_its_word(api: Api) -> None:
    say(api, "CI clones with ghp_R7tY2uIoP9aSdF4gHjKlZxCvBnM1qWeRtY3u")
    say(api, "the bot posts with xoxb-293847561234-8374651029384-abcdEFGH")
    answer = ask(api, "what is our GitHub token?")
    assert "ghp_R7tY2uIo" in answer and "xoxb-2938" not in answer


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("Our bot's Authorization header is Bearer {}", "What's the Authorization header of our bot?"),
        ("The bot signs in with the JWT {}", "What's the JWT of our bot?"),
        ("The bot sends Authorization: Bearer {}", "Which bearer token does our bot send?"),
        ("我们机器人的认证头是 Bearer {}", "我们机器人的认证头是什么？"),
        ("机器人用的JWT是 {}", "机器人的JWT是多少？"),
        ("机器人的令牌是 {}", "机器人的令牌是什么？"),
    ],
)
def test_a_header_and_a_jwt_are_given_back_by_those_names(api: Api, words: str, question: str) -> None:
    token = ".".join(("eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiJib3QifQ", "s3cr3tS1gnatureABCdef"))
    say(api, words.format(token))
    assert token in ask(api, question)
    assert token not in ask(api, "which bot of ours is on Telegram?")
