"""Words by which a fact is told and that say nothing by themselves, and what one word says beside itself (D5)."""

import re

from memories.language import text

_ENGLISH = """
    year years age aged named name called call currently now also based user using use turn turns turned
    turning some a_bit little lot bit really very just today favourite favorite
    go address ask asked request requested mention mentioned
"""
_CHINESE = "说 名字 目前 现在 年龄 岁 今年 有点 一点 要求 希望 年 月 日 号 点 字 处 址"
#: What counts neither for nor against a fact.
LIGHT = frozenset(text.stem(word) for word in _ENGLISH.split()) | frozenset("跟叫现今年月日号点字处址他她它") | {"call"}
VERY_LIGHT = frozenset(["please", "also", "so", "well", "yes", "ok"])
#: When something is, before who does it.
_TIME_WORDS = "yesterday today tomorrow tonight recently lately last next week month year morning every each then"
TIMES = frozenset(map(text.stem, _TIME_WORDS.split())) | frozenset(
    "上下今明昨前后後天年月周週早晚这本每近最现目刚平时末"
)
#: What follows from a word, and never the other way round.
IMPLIED = {
    "move": ("live", "住"),
    "搬": ("住",),
    "buy": ("have",),
    "买": ("有",),
    "get": ("have",),
    "birthday": ("born",),
    "跑": ("行",),
    "go": ("travel",),
}
IMPLYING: dict[str, list[str]] = {}
for _word, _implied in IMPLIED.items():
    for _one in _implied:
        IMPLYING.setdefault(_one, []).append(_word)
#: Who «we» may be.
COLLECTIVE = frozenset(text.stem(word) for word in ("team", "company", "group", "family")) | frozenset("公司团队")
#: What does not go on, or was not done.
ENDED = re.compile(
    r"\b(?:quit|stop\w*|cancel\w*|avoid\w*|refus\w*|fail\w*|forbid\w*|prevent\w*|den(?:y|ied|ies)|lack\w*|miss(?:ed|es)?"
    r"|give up|gave up|no longer)\b|戒|停|取消|避免|拒绝|禁止|失败|缺|撤|放弃|不再",
    re.IGNORECASE,
)
#: What was only thought, dreamt or heard.
THOUGHT = re.compile(
    r"\b(?:dream\w*|think|thinks|thought|believe\w*|guess\w*|imagin\w*|pretend\w*|heard|rumou?r\w*|accus\w*|suspect\w*|doubt\w*"
    r"|jok\w*|false|untrue|lies?|lied|claim\w*|suppos\w*|seem\w*|feels? like)\b"
    "|梦|以为|听说|据说|有人说|怀疑|假装|猜|好像|似乎|谣|传言|开玩笑|谎|别人说",
    re.IGNORECASE,
)
#: After these nobody has it any more.
GONE = re.compile(r"\b(?:died?|dead|lost|lose|sold|stolen|gone|broke|left|passed)\b|死|去世|丢|卖|賣|失去|没了|走了")
#: Whose they are goes without saying 的.
KIN = (
    "妈妈|媽媽|妈|爸爸|爸|父母|父亲|母亲|父親|母親|哥哥|哥|姐姐|姐|弟弟|弟|妹妹|妹|爷爷|奶奶|外公|外婆|姥姥|姥爷|叔叔|舅舅|阿姨|姑姑"
    "|表[哥姐弟妹]|堂[哥姐弟妹]|儿子|兒子|女儿|女兒|孩子|老公|老婆|丈夫|妻子|先生|太太|男朋友|女朋友|男友|女友|朋友|同事|同学|室友"
    "|邻居|老板|领导|经理|公司|团队|部门|家人|孙子|孙女|侄子|侄女|岳父|岳母|公公|婆婆"
)
#: Joints of a sentence, where another statement may begin.
SPLIT = re.compile(
    r"\b(?:and|but|while|whereas|because|since|although|though|who|which|that(?= +(?:xq|[A-Z]|the\b)))\b"
    "|但是?|而且|并且|不过|因为|所以|,?然后|同时",
    re.IGNORECASE,
)
#: What follows the mark of whose it is.
THEIRS = re.compile(f"龘[\u3400-\u9fff]的((?:{KIN})|[\u3400-\u9fff]{{1,4}})")
