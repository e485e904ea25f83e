"""True statements side by side: of two things that only a number, an ordinal, a letter or a name tells apart (D5)."""

from itertools import combinations, product

#: Two things each, as they are named in a sentence.
_ENGLISH_THINGS = [
    ("Room number 12", "Room number 14"),
    ("Room 3", "Room 4"),
    ("Account number 4711", "Account number 4712"),
    ("Ticket #881", "Ticket #882"),
    ("Server 2", "Server 5"),
    ("The second server", "The third server"),
    ("My oldest child", "My youngest child"),
    ("My first child", "My second child"),
    ("Floor three", "Floor four"),
    ("The 5th floor", "The 6th floor"),
    ("Version 2.1", "Version 2.2"),
    ("Port 8080", "Port 9090"),
    ("Building A", "Building B"),
    ("Team Blue", "Team Red"),
    ("Loom No. 7", "Loom No. 8"),
    ("Anna's phone number 1", "Anna's phone number 2"),
    ("The office in Lyon", "The office in Porto"),
]
_ENGLISH_SAYINGS = [
    "{} is free.",
    "{} is on the list now.",
    "{} broke on Friday.",
    "{} was moved to Bob.",
    "{} moved to the new hall.",
    "{} needs a new key.",
    "{} no longer works.",
    "{} belongs to Dana.",
]
_CHINESE_THINGS = [
    ("12号房间", "14号房间"),
    ("房间3", "房间4"),
    ("账户4711", "账户4712"),
    ("工单881", "工单882"),
    ("服务器2", "服务器5"),
    ("第二台服务器", "第三台服务器"),
    ("大女儿", "小女儿"),
    ("第一个孩子", "第二个孩子"),
    ("三楼", "四楼"),
    ("版本2.1", "版本2.2"),
    ("端口8080", "端口9090"),
    ("A栋", "B栋"),
    ("红队", "蓝队"),
    ("七号织机", "八号织机"),
    ("上海的办公室", "杭州的办公室"),
]
_CHINESE_SAYINGS = [
    "{}是空的。",
    "{}现在可以用了。",
    "{}周五坏了。",
    "{}归小王管。",
    "{}已经搬到新楼。",
    "{}需要换钥匙。",
    "{}不再使用。",
    "{}改为小李负责。",
]
#: The same thing told of twice, of which each is true: what it is called by is no value.
_SAME_THING = [
    ("Room number 12 is free.", "Room number 12 is on the second floor."),
    ("Version 2.1 is stable.", "Version 2.1 is in the store."),
    ("Port 8080 is open.", "Port 8080 is used by nginx."),
    ("Account number 4711 is Bob's.", "Account number 4711 is overdrawn."),
    ("My boss is from Spain.", "My boss is kind."),
    ("My wife is Anna.", "My wife is pregnant."),
    ("端口8080是开放的。", "端口8080是给网关用的。"),
    ("版本2.1是稳定版。", "版本2.1是周五发布的。"),
    ("我的经理是四川人。", "我的经理是个好人。"),
]


def pairs() -> list[tuple[str, str]]:
    """Every saying of every two things, both ways round."""
    things_and_sayings = [*product(_ENGLISH_THINGS, _ENGLISH_SAYINGS), *product(_CHINESE_THINGS, _CHINESE_SAYINGS)]
    made = [(saying.format(one), saying.format(other)) for (one, other), saying in things_and_sayings]
    return [*made, *((new, old) for old, new in made), *_SAME_THING]


def crossed_pairs() -> list[tuple[str, str]]:
    """Of every two things different sayings."""
    sides = [(_ENGLISH_THINGS, _ENGLISH_SAYINGS), (_CHINESE_THINGS, _CHINESE_SAYINGS)]
    return [
        (saying.format(one), other_saying.format(other))
        for things, sayings in sides
        for (one, other) in things
        for saying, other_saying in combinations(sayings, 2)
    ]
