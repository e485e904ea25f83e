"""The names people go by, learnt from what is said, by rules, in Chinese and English (D1).

Learnt are pairs: a name somebody is called by, and the name they are known under. A rule wants a phrase that names
(«call me», «外号是») and, behind it, what looks like a name; better none is learnt than a wrong one.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import rjieba

from memories.language import stopwords, text

LOOK_CHARS = 2_000  # of a text
NAME_CHARS = 40
#: Who speaks when nobody knows their name; no name begins so.
UNNAMED = "_"

#: Texts without any of these teach no name; PostgreSQL understands it, too.
TRIGGER = (
    "[Cc]all|[Nn]ame|known as|a[.]?k[.]?a|go(es)? by|short for|[=＝]|就是|又名|也叫|叫|喊|稱呼|称呼"
    "|外号|外號|绰号|綽號|昵称|暱稱|小名|花名|英文名|名字"
)
_TRIGGER = re.compile(TRIGGER)
_TRADITIONAL = (
    "陳陈張张劉刘黃黄吳吴楊杨趙赵孫孙馬马鄭郑謝谢許许鄧邓馮冯蕭萧葉叶蘇苏呂吕盧卢蔣蒋賈贾韋韦鄒邹閻阎龍龙陸陆錢钱湯汤賴赖龔龚鍾钟譚谭廖廖範范"
    "聶聂齊齐顏颜莊庄嚴严溫温魯鲁葛葛倫伦翁翁龐庞樊樊蘭兰殷殷歐欧陽阳諸诸葛葛關关麗丽華华國国偉伟強强軍军傑杰濤涛輝辉鵬鹏飛飞蓮莲鳳凤霞霞紅红"
    "豔艳艷艳豐丰鈴铃鈺钰銘铭鋒锋靜静穎颖瑩莹瓊琼綺绮維维雲云宇宇軒轩夢梦潔洁嬌娇婭娅愛爱寶宝貝贝慶庆興兴榮荣賢贤貴贵義义禮礼誌志紹绍業业"
    "東东長长樂乐權权棟栋樺桦楓枫澤泽濱滨瀾澜煒炜燁烨爾尔獅狮瑋玮畢毕眾众碩硕祿禄禎祯穀谷筆笔節节範范緒绪縱纵繼继羅罗聖圣聞闻聰聪臨临蔭荫"
    "藝艺號号裡里規规親亲覺觉觀观訊讯記记詩诗語语誠诚諾诺讓让豪豪賓宾贊赞趙赵遠远邁迈鄺邝醫医釗钊鈞钧錦锦鎮镇鐵铁鑫鑫開开閣阁闖闯陰阴隊队際际"
    "雙双電电韓韩響响項项順顺願愿顧顾風风館馆駿骏驕骄鬱郁鮑鲍鴻鸿鶴鹤鵑鹃麥麦點点黨党儀仪優优億亿兒儿凱凯劍剑勝胜勳勋協协單单嘉嘉園园圖图堅坚"
    "壯壮壽寿夥伙奮奋學学寧宁實实寬宽導导專专將将尋寻對对屆届島岛崗岗峽峡嶺岭師师帥帅幹干廣广廳厅彥彦彌弥後后徑径從从恆恒憐怜憶忆應应懷怀戀恋"
    "會会樓楼機机檢检歡欢歲岁歷历氣气漢汉潤润潘潘燈灯燕燕爭争環环產产發发盤盘盡尽確确禪禅種种積积穩稳競竞簡简築筑籌筹糧粮約约紀纪純纯紙纸級级"
    "紋纹納纳紐纽細细終终組组結结給给絲丝統统經经綠绿網网線线緣缘總总織织績绩職职聯联聲声腦脑舊旧舉举莖茎萬万藍蓝蘿萝蝦虾術术衛卫裝装製制複复"
    "視视計计訂订設设診诊試试話话該该詳详誤误說说課课調调談谈請请論论證证識识譯译議议護护譽誉讀读變变"
)
_SIMPLIFIED = str.maketrans(dict(zip(_TRADITIONAL[::2], _TRADITIONAL[1::2], strict=True)))
_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高郑梁谢宋唐许韩邓冯曹彭曾肖萧田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付傅方邹熊白孟秦邱侯江尹薛闫阎段雷"
    "龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮纪梅童凌毕单裴霍成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华"
)
_COMPOUND = ("欧阳", "上官", "司马", "诸葛", "司徒", "夏侯", "皇甫", "东方", "尉迟", "令狐", "慕容", "公孙", "端木")
FAMILIAR = frozenset("小老阿大")

_EN = r"([A-Z][\w'’-]*\w(?: [A-Z][\w'’-]*\w){0,2})"
_EN_ONE = r"([A-Z][\w’'-]*\w)"
_OF_ONESELF = [
    re.compile(rf"\b[Cc]alls? me {_EN_ONE}"),
    re.compile(rf"\b[Mm]y (?:full |first |real |nick ?|user)?name(?:['’]s| is) {_EN}"),
    re.compile(rf"\bI(?:['’]m| am) (?:called|named|known as) {_EN}"),
    re.compile(rf"\bI (?:usually |also )?go by {_EN_ONE}"),
]
#: Each pair: which group is the name that is learnt, which the known one.
_OF_ANOTHER = [
    (re.compile(rf"{_EN},? (?:a\.?k\.?a\.?|also known as|also called|nicknamed|(?:who )?goes by) {_EN_ONE}"), 2, 1),
    (re.compile(rf"{_EN_ONE} is short for {_EN_ONE}"), 1, 2),
    (re.compile(rf"{_EN_ONE}['’]s (?:nick ?name|pet name) is {_EN_ONE}"), 2, 1),
    (re.compile(rf"\bcalls? {_EN_ONE} {_EN_ONE}"), 2, 1),
]
_CALLED_SO = re.compile(rf"\bcalls? (?:her|him|them) {_EN_ONE}")
_A_NAME = re.compile(_EN)
_ZH = r"([\u3400-\u9fff]{2,12}|[A-Z][\w'’-]*\w)"
_SPOKEN_OF = "外号|绰号|昵称|小名|花名|英文名"
_ZH_OF_ONESELF = [
    re.compile(rf"(?:叫|喊|称呼)我(?:为|作|做)?{_ZH}"),
    re.compile(rf"我的?(?:名字|全名|本名|{_SPOKEN_OF})(?:就)?(?:是|叫做?|[:：])\s*{_ZH}"),
]
_ZH_MY_NAME = re.compile(rf"(?<![叫喊呼])我(?:就)?(?:名叫|叫做?)(?![他她它你您我了过着]){_ZH}")
_ZH_CALLED_SO = re.compile(rf"(?:叫|喊|称呼)[他她](?:为|作|做)?{_ZH}")
_ZH_NICKNAME = re.compile(rf"(?<!我)(?<!我的)的?(?:{_SPOKEN_OF})(?:就)?(?:是|叫做?|[:：])?\s*{_ZH}")
_ZH_EQUAL = re.compile(r"([\u3400-\u9fff]{2,4})\s*(?:[=＝]|就是|[（(]?(?:又名|也叫))\s*([\u3400-\u9fff]{2,6})")
_ZH_NICKNAME_OF = re.compile(rf"([\u3400-\u9fff]{{2,4}})是([\u3400-\u9fff]{{2,4}})的(?:{_SPOKEN_OF})")
_TAIL = re.compile(r"(?:就好了?|就行了?|就可以了?|好了|即可|吧|啦|哦|呀|啊|哈|呢|了)++$")
#: What people say after «call me» that is no name.
_ASKED_TO_CALL = "back later tomorrow today tonight crazy maybe soon when"
_NOT_CALLED = stopwords.ENGLISH | frozenset(_ASKED_TO_CALL.split())
_NO_NICKNAMES = stopwords.CHINESE | frozenset({"小心", "小声", "小点", "老实", "小时", "大声", "大家"})


@lru_cache(maxsize=4_096)
def fold(name: str) -> str:
    """A name as names are compared: width, case and script aside."""
    return unicodedata.normalize("NFKC", name).casefold().translate(_SIMPLIFIED).strip()


def simplify(content: str) -> str:
    """A text with the characters of names in simplified form."""
    return content.translate(_SIMPLIFIED)


def learn(content: str, speaker: str) -> dict[str, str]:
    """The names a text teaches, folded, and whom each means; `speaker` said it, or the user's side of it."""
    said = _own_side(content)[:LOOK_CHARS]
    if _TRIGGER.search(said) is None:
        return {}
    plain = simplify(unicodedata.normalize("NFKC", said))
    learnt: dict[str, str] = {}
    for alias, name in (*_english(plain, speaker), *_chinese(plain, speaker)):
        if fold(alias) != fold(name) and len(alias) <= NAME_CHARS >= len(name):
            learnt[fold(alias)] = name if learnt.get(fold(alias), name) == name else ""
    return learnt


def _own_side(content: str) -> str:
    """What the person said of a turn: a bot that introduces itself teaches nothing about the user."""
    sides = re.split(r"^(User|Assistant): ", content, flags=re.MULTILINE)
    if len(sides) == 1:
        return content
    return "\n".join(said for side, said in zip(sides[1::2], sides[2::2], strict=False) if side == "User")


def _english(said: str, speaker: str) -> Iterator[tuple[str, str]]:
    for pattern in _OF_ONESELF:
        for match in pattern.finditer(said):
            if match[1].casefold() not in _NOT_CALLED:
                yield match[1], speaker
    for pattern, alias, name in _OF_ANOTHER:
        for match in pattern.finditer(said):
            if not {match[1].casefold(), match[2].casefold()} & _NOT_CALLED:
                yield match[alias], match[name]
    for match in _CALLED_SO.finditer(said):
        before = [name for name in _A_NAME.findall(said[: match.start()]) if not _is_ordinary_start(name)]
        if before and match[1].casefold() not in _NOT_CALLED:
            yield match[1], re.sub(r"['’]s$", "", before[-1])


def _is_ordinary_start(name: str) -> bool:
    return name.casefold() in stopwords.ENGLISH or name.casefold() in {
        "everyone",
        "everybody",
        "people",
        "yes",
        "friends",
    }


def _chinese(said: str, speaker: str) -> Iterator[tuple[str, str]]:
    for pattern in _ZH_OF_ONESELF:
        for match in pattern.finditer(said):
            if name := _nickname(match[1]):
                yield name, speaker
    for match in _ZH_MY_NAME.finditer(said):
        if name := _full_name(match[1]):
            yield name, speaker
    for match in _ZH_CALLED_SO.finditer(said):
        if (alias := _nickname(match[1])) and (name := _last_person(said[: match.start()])):
            yield alias, name
    for match in _ZH_NICKNAME.finditer(said):
        if (alias := _nickname(match[1])) and (name := _person_at_end(said[: match.start()])):
            yield alias, name
    for pattern in (_ZH_EQUAL, _ZH_NICKNAME_OF):
        for match in pattern.finditer(said):
            one, other = _person_at_end(match[1]), _full_name(match[2])
            if one and other:
                yield (one, other) if len(one) <= len(other) else (other, one)


def _nickname(rest: str) -> str:
    """The nickname a clause begins with; empty when it is no name: «叫我起床»."""
    clause = _TAIL.sub("", rest)
    if not clause or clause[0].isascii():
        return clause
    if name := _full_name(clause):
        return name
    tagged = rjieba.tag(clause)
    is_name = 2 <= len(clause) <= 4 and all(tag.startswith(("n", "x", "i", "j")) for _, tag in tagged)
    return clause if is_name and clause not in _NO_NICKNAMES else ""


def _full_name(rest: str) -> str:
    """The person's name a clause begins with, as the segmenter and the surnames tell."""
    clause = _TAIL.sub("", rest)
    if not clause or clause[0].isascii():
        return clause
    words = rjieba.tag(clause)
    first, tag = words[0]
    if first in FAMILIAR and len(words) > 1 and len(words[1][0]) == 1:
        return first + words[1][0]
    if is_person(first) or (tag.startswith("nr") and 2 <= len(first) <= 4):
        return first
    joined = first + (words[1][0] if len(words) > 1 else "")
    short = len(clause) <= 4 and is_person(clause)
    return clause if short else joined if is_person(joined) and len(first) <= 2 and tag.startswith("n") else ""


def _person_at_end(said: str) -> str:
    """The person a text ends with: «昨天王小明» ends with 王小明."""
    words = rjieba.tag(said[-12:])
    if not words:
        return ""
    last, tag = words[-1]
    joined = words[-2][0] + last if len(words) > 1 else ""
    if len(joined) <= 4 and is_person(joined) and words[-2][1].startswith(("nr", "a", "b")):
        return joined
    if is_person(last) or (tag.startswith("nr") and 2 <= len(last) <= 4):
        return last
    latin = re.search(r"[A-Z][\w-]*\w$", said)
    return latin.group() if latin else ""


def _last_person(said: str) -> str:
    """The person who was spoken of last."""
    tagged = rjieba.tag(said[-60:])
    people = [word for word, tag in tagged if tag.startswith("nr") and 2 <= len(word) <= 4]
    joined = [one + other for (one, _), (other, _) in pairwise(tagged) if is_person(one + other)]
    people = joined or people
    latin = [name for name in _A_NAME.findall(said[-60:]) if not _is_ordinary_start(name)]
    return (people or latin or [""])[-1]


def is_person(name: str) -> bool:
    """Whether this looks like a Chinese name: 王小明, 欧阳娜娜, 小李, 阿明."""
    plain = simplify(name)
    if not 2 <= len(plain) <= 4:
        return False
    tagged = rjieba.tag(plain)
    if len(tagged) == 1 and not tagged[0][1].startswith("n"):
        return False  # a word like others: 高兴, 明天
    if plain[0] in FAMILIAR:
        return len(plain) == 2 and (len(tagged) == 2 or tagged[0][1].startswith("nr"))
    if plain.startswith(_COMPOUND):
        return len(plain) >= 3
    return plain[0] in _SURNAMES and len(plain) <= 3 and (len(tagged) > 1 or tagged[0][1].startswith("nr"))


def given_names(name: str) -> list[str]:
    """The given name of a full one: Melanie of Melanie Smith, 小明 of 王小明."""
    if surname := _surname(name):
        given = simplify(name)[len(surname) :]
        return [given] if len(given) == 2 else []
    parts = name.split()
    return [parts[0]] if len(parts) > 1 else []


def familiar_names(name: str) -> list[str]:
    """What friends make of a Chinese name: 阿明, 小明, 老王, 小王."""
    surname = _surname(name)
    last = simplify(name)[-1:]
    return [f"阿{last}", f"小{last}", f"老{surname}", f"小{surname}"] if surname else []


def _surname(name: str) -> str:
    """The surname of a full Chinese name; empty for others."""
    plain = simplify(name)
    if not is_person(plain) or plain[0] in FAMILIAR:
        return ""
    return plain[:2] if plain.startswith(_COMPOUND) else plain[0]


def words_of_name(name: str) -> str:
    """A name as it is looked for among the words of a message, without gaps."""
    return "".join(text.words(fold(name)))
