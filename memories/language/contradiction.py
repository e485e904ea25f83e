"""Whether a newer statement makes a line of the profile untrue: by rules, no model (D1, D5).

It does where it says of the same somebody that what the line says is over (no longer, left, 不再, 离职), or where it
names a new home, employer or tool in its place. What may both be true does not: a second phone, another pet. A plan, a
rumour, a journey changes nothing. What is decided here hides a line and removes nothing.
"""

import re

from memories.language import text
from memories.language.conflicts import Verdict, judge

_MOST_CHARS = 600  # what is longer is no statement about one thing
_CLAUSE = re.compile(r"\s*(?:[,.;!?，。；！？\n]+|\band\b|\bbut\b|\bso\b)\s*", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:might|may|maybe|perhaps|plan(?:s|ned|ning)?|going to|will|would|wants?|hop(?:es|ing)|consider\w*|think\w*"
    r"|wonder\w*|if|unless|heard|says?|said|dream\w*|wish\w*|almost|nearly|tomorrow|next|until)\b|[?？]"
    r"|想|打算|计划|可能|也许|或许|大概|如果|要是|假如|准备|希望|考虑|听说|据说|将要|即将|明天|下周|下个月"
    r"|明年|吗|差点"
)
#: For a while only.
_AWAY = re.compile(
    r"\b(?:for (?:a|the|two|three|some|\d+) \w+|on (?:a trip|vacation|holiday|business|leave)|today"
    r"|this morning|early"
    r"|late|tonight|at (?:noon|\d+))\b|出差|旅游|旅行|度假|暂时|临时|几天|今天|今晚|早退"
)
_BESIDE = re.compile(
    r"\b(?:also|too|as well|second|another|besides|still|part[- ]time|in addition|additionally|both|sometimes"
    r"|on weekends"
    r"|at weekends|freelances?)\b|也|还|另外|另一|又|兼职|第二|同时|除了|副业|偶尔|有时|周末"
)
_OVER = re.compile(
    r"\b(?:no longer|(?:does|do|did|is|are|was|has|have)(?: not|n't)(?=.*\bany ?more\b)|not(?=.*\bany ?more\b)"
    r"|any ?more"
    r"|stopped|quit|gave up|given up|left|resigned from|resigned|moved out of|moved away from|moved from"
    r"|switched from"
    r"|switched away from|changed from|got rid of|sold|cancel(?:l)?ed|broke up with|split up with|divorced"
    r"|was fired from"
    r"|was laid off (?:from|by)|was laid off|retired from|dropped out of|passed away|died|abandoned|ditched"
    r"|replaced)\b"
    r"|不再|已经不|早就不|早已不|现在不|退休|辞去|辞掉|辞了|离职"
    r"|辞职|离开|搬离|搬走|搬出|戒掉|戒了|戒"
    r"|停用|弃用|卖掉|卖了|分手|离婚|取消了|退掉|退出了|放弃了|去世|不在|没有?再"
)
_DENIES_BY_END = re.compile(r"不(?P<what>.+?)了$|没(?:有)?(?P<had>.+?)了$")
_NEW_HOME = re.compile(
    r"\b(?:moved (?:from .+? )?to|relocated to|moved in(?:to)?|settled in)\b|搬到|搬去|搬至|搬家到|搬家|迁居|定居"
)
_NEW_WORK = re.compile(
    r"\b(?:joined|(?:started|began) (?:working |a (?:new )?job |work )?(?:at|for|with)|(?:got|took"
    r"|found) a (?:new )?job"
    r"|changed jobs?|switched jobs?|new job|now works? (?:at|for)|works? (?:at|for) .+ now|retired|quit (?:his"
    r"|her|my|the)"
    r" job|lost (?:his|her|my|the) job|hired by|moved to .+ as)\b|换了?(?:一份|个)?(?:新)?工作|跳槽|入职|离职"
    r"|辞职|退休|失业|被裁|现在在.+(?:工作|上班)"
)
_NEW_TOOL = re.compile(
    r"\b(?:switched|migrated|changed|moved over|moved)\b.* to\b|\bnow uses?\b|\buses? .+ instead\b|\breplaced\b"
    r"|改用|换成|换用|换到|换了|改成|改为|迁移到|转用|转到"
)
_AT_HOME = re.compile(r"\b(?:lives?|living|resides?|based|home is|settled)\b|住|定居|家在")
_AT_WORK = re.compile(
    r"\b(?:works?|working|employed|job|employer|engineer at|manager at|developer at|teaches at|intern at)\b"
    r"|工作|上班|就职|任职|供职|员工|实习|在.+[做当]"
)
_WITH_TOOL = re.compile(
    r"\b(?:uses?|using|drives?|codes? in|writes? in|editor|phone is|laptop is|runs on)\b|用|开的|使用"
)
_KINDS = tuple(
    re.compile(kind, re.IGNORECASE)
    for kind in (
        r"iphone|android|pixel|samsung|galaxy|huawei|xiaomi|oneplus|nokia|苹果|华为|小米|三星|荣耀|手机|\bphone",
        r"vim|emacs|vs ?code|pycharm|intellij|sublime|\bzed\b|cursor|编辑器|\beditor",
        r"mysql|postgres\w*|sqlite|oracle|mongo\w*|mariadb|redis|数据库|\bdatabase",
        r"windows|\bmac(?:os|book)?\b|linux|ubuntu|fedora|debian|thinkpad|笔记本|电脑|操作系统|\blaptop",
        r"chrome|firefox|safari|\bedge\b|\bbrave\b|浏览器|\bbrowser",
        r"slack|\bteams\b|discord|telegram|whatsapp|signal|wechat|微信|钉钉|飞书|企业微信",
        r"\baws\b|azure|\bgcp\b|google cloud|阿里云|腾讯云|华为云",
        r"tesla|bmw|toyota|honda|audi|\bvw\b|ford|volvo|特斯拉|比亚迪|丰田|宝马|奔驰|本田|\bcar\b|汽车|车",
        r"notion|obsidian|evernote|onenote|语雀|印象笔记|笔记",
        r"jira|linear|trello|asana",
    )
)
_CHINESE = re.compile("[\u3400-\u9fff]")
_SELF = re.compile(r"(?:the )?user|i|me|we|我|我们|用户|本人")
_PRONOUN = re.compile(r"he|she|they|it|他|她|它|他们")
_SUBJECT = re.compile(r"^(?P<who>(?:the user|user|my \w+(?:'s \w+)?|our \w+|(?:the )?[\w-]+?'s \w+|[\w-]+))\s+(?=\S)")
_CHINESE_SUBJECT = re.compile(
    r"^(?P<who>(?:用户|本人)?[\u3400-\u9fff]{0,6}?)(?:的?(?:家|公司))?(?=现在|目前|如今|已经|已|早|不|没|刚"
    r"|最近|上个?[周月]|去年|今年|从|在|住|定居|用|使用|改|换|搬|喜欢|爱"
    r"|养|有|是|叫|姓|辞|离|入职|跳槽|加入|戒|卖|停|退|开|每|会|说|学|吃|喝|做|分手|失业|被|结婚|放弃|取消|和"
    r"|跟|最|对|打)"
)
_VERB_WORDS = """
    work works working live lives living use uses using drink eat have has own owns play go goes do does wear
    take takes drive drives like likes love loves job jobs anymore any more longer speak speaks study studies
    attend attends belong keep keeps run runs ride rides date dating be being been member
"""
_VERBS = frozenset(text.stem(word) for word in _VERB_WORDS.split())
_CHINESE_TIMES = re.compile("[去今前]年|上个?[周月]|最近|刚刚|昨天|前天|早就|终于")
_CHINESE_VERBS = re.compile(
    "工作|上班|就职|任职|居住|使用|喜欢|现在|目前|已经|这家|公司|[喝吃用住养有在是了的吗着过从再去玩打开学爱和跟了]"
)


def outdates(newer: str, line: str) -> bool:
    """Whether a newer statement makes an older one untrue."""
    if max(len(newer), len(line)) > _MOST_CHARS:
        return False
    older, said = _plain(line), _plain(newer)
    if older == said or _OVER.search(older) or _UNSURE.search(older):
        return False
    subject = _subject(older)
    who = ""
    for clause in filter(None, map(str.strip, _CLAUSE.split(said))):
        if own := _subject(clause):
            who = own if not _PRONOUN.fullmatch(own) else who or own
        if _UNSURE.search(clause) or not _is_same(who, subject):
            continue
        if _ends(clause, who, older, subject) or (not _BESIDE.search(said) and _replaces(clause, older)):
            return True
    return not _BESIDE.search(said) and not _UNSURE.search(said) and judge(line, newer) is Verdict.CERTAIN


def _plain(said: str) -> str:
    return " ".join(said.casefold().replace("’", "'").split()).strip(" .。!！")


def _subject(said: str) -> str:
    """Who is spoken of; empty where nobody is named."""
    chinese = _CHINESE.match(said)
    found = (_CHINESE_SUBJECT if chinese else _SUBJECT).match(said)
    if chinese:
        return found["who"].removesuffix("的") or "我" if found else ""
    who = found["who"] if found else ""
    return "" if who in _NOBODY else who


_NOBODY_WORDS = """
    no now not has have just recently works lives uses left quit moved switched joined is was the a and then
    after since stopped never already finally lately currently sold resigned changed started likes prefers
    drinks has had
"""
_NOBODY = frozenset(_NOBODY_WORDS.split())


def _is_same(one: str, other: str) -> bool:
    if not one or not other or _PRONOUN.fullmatch(one):
        return False
    return one == other or bool(_SELF.fullmatch(one) and _SELF.fullmatch(other))


def _ends(clause: str, who: str, older: str, subject: str) -> bool:
    """Whether it says that what the line tells is over."""
    denied = _DENIES_BY_END.search(clause)
    if (_OVER.search(clause) is None and denied is None) or _AWAY.search(clause):
        return False
    over = _telling(_OVER.sub(" ", clause).split(" to ")[0], who)
    told = _telling(older, subject)
    return bool(over) and all(
        word in told or (_CHINESE.match(word) and any(word in one for one in told)) for word in over
    )


def _telling(said: str, who: str) -> set[str]:
    """What is told, by stems and Chinese words, without who it is of and the plainest verbs."""
    rest = said.removeprefix(who)
    bare = _CHINESE_VERBS.sub(" ", _CHINESE_TIMES.sub(" ", rest).replace("不", " ").replace("没", " "))
    words = {text.stem(word.removesuffix("'s")) for word in text.words(bare)}
    return {word for word in words if word not in _VERBS and word not in _LIGHT}


_LIGHT_WORDS = """
    last year month week day recently just yesterday finally ago now spring summer autumn winter
    the a an his her my their our its at for in of to by from with as on is are was that this there him me she
    he they i it not do does
"""
_LIGHT = frozenset(_LIGHT_WORDS.split())


def _replaces(clause: str, older: str) -> bool:
    """Whether it names a new home, work or tool in the place of the line's."""
    if _AWAY.search(clause) or _telling(older, "") <= _telling(clause, ""):
        return False
    if _NEW_HOME.search(clause) and _AT_HOME.search(older):
        return True
    if _NEW_WORK.search(clause) and _AT_WORK.search(older):
        return True
    if _NEW_TOOL.search(clause) and _WITH_TOOL.search(older):
        return any(kind.search(clause) and kind.search(older) for kind in _KINDS)
    return False
