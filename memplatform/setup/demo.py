"""A conversation of our own about everyday things, so that the first recall has something to find."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from channels_app.turns import take_turn
from memories.consolidation.capture import Turn
from memories.models import Entry
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address

PLATFORM = "cli"
#: What the first curl asks; the ninth turn answers it.
QUESTION = json.dumps({"address": {"platform": PLATFORM}, "message": "On which day is my bakery closed?"})


@dataclass(frozen=True)
class DemoTurn:
    ago: timedelta
    user: str
    assistant: str


def take_turns(caller: Caller, *, now: datetime) -> None:
    """All of it or nothing, as a bot reports turns; only where nothing is remembered."""
    with transaction.atomic():
        if Entry.objects.exists():
            return
        for one in TURNS:
            turn = Turn(address=Address(platform=PLATFORM), user=one.user, assistant=one.assistant, at=now - one.ago)
            take_turn(caller, turn, now=now)


def _turn(hours: float, user: str, assistant: str) -> DemoTurn:
    return DemoTurn(timedelta(hours=hours), user, assistant)


TURNS = [
    _turn(
        30.0,
        "Good morning! I am Mei. I moved to Hangzhou in spring and teach music at a primary school.",
        "Welcome, Mei. A music teacher in Hangzhou: I will remember that.",
    ),
    _turn(
        29.9,
        "My brother Jun lives in Lisbon; his birthday is on the 14th of October.",
        "Jun, Lisbon, 14 October. Shall I remind you a week before?",
    ),
    _turn(
        29.8,
        "Yes, a week before, please. He collects old train timetables, in case we look for a present.",
        "Noted: a reminder on 7 October, and old timetables as a present.",
    ),
    _turn(
        29.6,
        "我对花生过敏，吃一点嘴唇就会肿。",
        "记住了：你对花生过敏。推荐餐馆和菜谱时我会避开花生。",
    ),
    _turn(
        29.5,
        "周三晚上我要去社区合唱团排练，七点到九点，地点在文化馆二楼。",
        "好的，每周三晚上七点到九点合唱团排练，不安排别的事。",
    ),
    _turn(
        26.0,
        "What could I cook tonight? I have aubergines, tomatoes and half a block of tofu.",
        "Braised aubergine with tofu in tomato sauce, ready in half an hour, and no peanut oil for you.",
    ),
    _turn(
        25.9,
        "That was good. Next time with less salt, my doctor wants me below five grams a day.",
        "Less salt from now on: at most five grams a day.",
    ),
    _turn(
        22.0,
        "我家的猫叫豆包，三岁，只吃鱼味的罐头。",
        "豆包，三岁，只吃鱼味罐头。",
    ),
    _turn(
        21.9,
        "My bakery on Willow Lane is closed on Tuesdays, so I buy bread for two days on Monday.",
        "Bread for two days on Mondays, since the bakery rests on Tuesdays.",
    ),
    _turn(
        21.7,
        "The wifi router stands behind the piano; it has to be restarted when the blue light blinks.",
        "Router behind the piano, restart it when the blue light blinks.",
    ),
    _turn(
        8.0,
        "下个月十二号我和同事去黄山，两天一夜，住在山顶的宾馆。",
        "下月十二号去黄山两天一夜，要不要我帮你列一张行李清单？",
    ),
    _turn(
        7.9,
        "要，记得带雨衣，去年我们淋得湿透了。",
        "清单第一项：雨衣。",
    ),
    _turn(
        7.5,
        "I am learning the cello. My teacher, Mrs Albers, comes on Saturday at ten.",
        "Cello lesson with Mrs Albers, Saturdays at ten.",
    ),
    _turn(
        7.4,
        "I prefer tea without sugar, and I cannot sleep when I drink coffee after lunch.",
        "Tea without sugar, and no coffee after lunch.",
    ),
    _turn(
        2.0,
        "房租每月五号交，三千八百元，转给房东周先生。",
        "每月五号交房租三千八百元，转给周先生。",
    ),
    _turn(
        1.9,
        "My bicycle is at the workshop near the north gate and will be ready on Friday afternoon.",
        "Bicycle: workshop at the north gate, Friday afternoon.",
    ),
]
