"""How people name a day, a month or a stretch of time, in English and in both scripts of Chinese: tables and patterns.

Patterns are tried in order, and what one matches is taken out of the text, so that «6 May 2023» is not «May» as well.
"""

import re

from memories.language.word_lists import source, words

MONTHS = {name: number for number, name in enumerate(words("calendar", "months"), start=1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
WEEKDAYS = {name: n for n, name in enumerate(words("calendar", "weekdays"))}
WEEKDAYS |= {name[:3]: n for name, n in WEEKDAYS.items()} | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
WEEKDAYS |= {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
#: Days of every year that have a name: month, first day, how many.
HOLIDAYS = {
    **dict.fromkeys(("国庆", "國慶", "十一假期"), (10, 1, 7)),
    **dict.fromkeys(("五一", "劳动节", "勞動節"), (5, 1, 5)),
    **dict.fromkeys(("元旦", "new year's day"), (1, 1, 1)),
    **dict.fromkeys(("圣诞", "聖誕", "christmas"), (12, 24, 3)),
    **dict.fromkeys(("平安夜", "christmas eve"), (12, 24, 1)),
    **dict.fromkeys(("万圣节", "萬聖節", "halloween"), (10, 31, 1)),
    **dict.fromkeys(("情人节", "情人節", "valentine's day", "valentines"), (2, 14, 1)),
    "new year's eve": (12, 31, 1),
}
#: The month a season begins in.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
YEARS_BACK = {"今年": 0, "去年": 1, "前年": 2}
#: Numbers nobody counted: such a time is twice as vague.
VAGUE = {"a couple": 2.0, "a couple of": 2.0, "a few": 3.0, "few": 3.0, "several": 3.0}
VAGUE |= {"other": 4.0, "几": 3.0, "幾": 3.0, "数": 3.0, "數": 3.0, "好几": 4.0, "好幾": 4.0}
COUNTS = {name: float(number) for number, name in enumerate(words("calendar", "numbers")[:13]) if number}
COUNTS |= {"a": 1.0, "an": 1.0, "half a": 0.5, "半": 0.5} | VAGUE
DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九十")}
DIGITS |= {"零": 0, "两": 2, "兩": 2, "俩": 2, "倆": 2, "廿": 20}
UNITS = {
    "day": "day",
    "week": "week",
    "fortnight": "fortnight",
    "month": "month",
    "year": "year",
    "天": "day",
    "日": "day",
    "月": "month",
}
UNITS |= {"周": "week", "週": "week", "星期": "week", "礼拜": "week", "禮拜": "week", "年": "year"}
#: Parts of a month and of a year, as days and as months.
MONTH_PARTS = {
    **dict.fromkeys(("上旬", "初", "月初", "early", "beginning of", "start of"), "early"),
    **dict.fromkeys(("中旬", "中", "mid", "middle of"), "middle"),
    **dict.fromkeys(("下旬", "底", "末", "月底", "月末", "late", "end of"), "late"),
}
YEAR_PARTS = {"初": (1, 2), "底": (11, 12), "末": (11, 12), "上半年": (1, 6), "下半年": (7, 12)}

_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(filter(str.isascii, COUNTS), key=len, reverse=True))})"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_BACK = r"(?P<back>last|the past|this past|this|previous)"
_ZH_COUNT = r"(?P<count>\d{1,3}|好[几幾]|[〇零一二三四五六七八九十两兩几幾数數半廿]{1,3})"
_ZH_UNIT = rf"(?P<unit>天|日|{source('calendar', 'zh_week')}|月|年)"
_ZH_MONTH = r"(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九])\s*月"
_ZH_DAY = r"(?P<day>\d{1,2}|[二三]?十[一二三四五六七八九]?|廿[一二三四五六七八九]?|[一二三四五六七八九])"
_ZH_PART = r"(?:份|份的)?(?P<part>上旬|中旬|下旬|月初|月底|月末|初|中|底|末)?"
_ZH_YEAR_PART = r"(?P<part>初|底|末|上半年|下半年)?"
_ZH_BACK = r"(?P<times>上{1,2}|这|這|本|当|當)[个個]?"
_ZH_WEEK = rf"(?:{source('calendar', 'zh_week')})"
_ZH_YEAR = r"(?P<which>去年|前年|今年)"
_ZH_WEEKDAY = rf"{_ZH_WEEK}(?P<weekday>{source('calendar', 'zh_weekday')})"
_WEEKDAY = rf"(?P<weekday>{source('calendar', 'weekdays')})s?"
_SHORT_WEEKDAY = r"(?P<weekday>mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun)\b"
_IN_MONTH = r"(?:(?P<part>early|beginning of|start of|mid|middle of|late|end of)\s+)?"


def _compiled(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


#: A year in Chinese digits, before it is written in others.
CHINESE_YEAR = re.compile(r"[一二][〇零一二三四五六七八九]{3}(?=\s*年)")
#: Dates of the calendar, the most exact first.
ABSOLUTE = _compiled(
    rf"\b{_YEAR}[-/.](?P<month>[01]?\d)[-/.](?P<day>[0-3]?\d)\b",
    rf"\b{_YEAR}[-/.](?P<month>0\d|1[0-2]|[1-9])(?!\d)",
    rf"{_YEAR}\s*年\s*{_ZH_MONTH}\s*{_ZH_DAY}\s*[日号號]?(?!\d)",
    rf"{_ZH_YEAR}的?\s*{_ZH_MONTH}\s*{_ZH_DAY}\s*[日号號]",
    rf"(?<![\d年]){_ZH_MONTH}\s*{_ZH_DAY}\s*[日号號]",
    rf"{_YEAR}\s*年\s*{_ZH_MONTH}{_ZH_PART}",
    rf"{_ZH_YEAR}的?\s*{_ZH_MONTH}{_ZH_PART}",
    rf"(?<![\d个個]){_ZH_MONTH}{_ZH_PART}(?!\d)",
    rf"{_YEAR}\s*年{_ZH_YEAR_PART}",
    rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\.?,?(?:\s+{_YEAR})?\b",
    rf"\b{_MONTH}\.?\s+(?:the\s+)?{_DAY}(?:,?\s*{_YEAR})?\b",
    rf"\b(?:(?P<part>early|mid|late)[- ])?{_MONTH}\.?,?\s+(?:of\s+)?{_YEAR}\b",
    rf"\b(?P<which>last)\s+{_MONTH}",
    r"\b(?:(?P<part>early|mid|late|beginning of|middle of|end of)[- ]|in |during |since |throughout |of |by |until "
    rf"|this )(?:(?:the )?month of )?{_MONTH}",
    rf"\b(?:in|during|of|since|throughout|year)\s+{_YEAR}\b",
)
#: Times counted from the day of the question, by the kind of reckoning they need.
RELATIVE = [
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("ago", rf"\b(?:about |around |roughly )?{_COUNT}\s+{_UNIT}\s+(?:ago|back|earlier)\b"),
        ("ago", rf"(?:大约|大約|大概)?{_ZH_COUNT}\s*[个個]?{_ZH_UNIT}[之以]?前"),
        ("past", rf"\b(?:in |over |during |within )?the (?:last|past)\s+{_COUNT}\s+{_UNIT}\b"),
        ("past", rf"(?:最近|过去|過去|近|这|這|前)的?[这這]?{_ZH_COUNT}\s*[个個]?{_ZH_UNIT}"),
        (
            "day",
            r"\bthe day before yesterday\b|大前[天晚]|前[天晚日](?!后)|\byesterday\b|\blast night\b|昨[天晚日夜]"
            r"|\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今[天早晚日晨]"
            r"|大?前[儿兒](?!子)|[昨今][儿兒](?!子)"
            r"|\b(?:the )?night before last\b|\bthe day before last\b",
        ),
        ("ago", r"\bthe (?P<count>other) (?P<unit>day|week)\b"),
        ("weekday_ago", rf"\b(?P<count>two|three|four) {_WEEKDAY} ago\b"),
        ("weekday", rf"\b{_WEEKDAY}(?: (?:morning|afternoon|evening|night))?(?P<times> (?:of )?last week)"),
        ("weekday", rf"\blast week(?:'s|s)?(?P<times> (?:on )?){_WEEKDAY}"),
        ("weekday", rf"(?P<times>[这這本])[个個]?{_ZH_WEEKDAY}"),
        ("weekday", rf"(?P<times>上{{1,2}})[个個]?{_ZH_WEEKDAY}"),
        ("weekday", rf"\b(?:last|this past|this|past)\s+{_WEEKDAY}\b"),
        ("weekday", rf"\b(?:last|this past|this|past|on)\s+{_SHORT_WEEKDAY}"),
        ("weekend", r"\b(?P<back>last|this past|this)\s+weekend\b"),
        ("weekend", r"\b(?:over|at|on|during) (?P<back>the) weekend\b(?! (?:before|after|of)\b)"),
        ("weekend", rf"{_ZH_BACK}[周週]末"),
        ("week", r"\b(?:the )?week (?P<back>before) last\b"),
        ("month", r"\b(?:the )?month (?P<back>before) last\b"),
        ("week", rf"\b{_BACK}\s+week\b"),
        ("week", rf"{_ZH_BACK}{_ZH_WEEK}(?![一二三四五六日天末])"),
        ("month", rf"\b{_IN_MONTH}{_BACK}\s+month\b"),
        ("month", rf"{_ZH_BACK}月(?P<part>初|底|末|中旬|上旬|下旬)?"),
        ("season", r"\b(?P<back>last|this past|this)\s+(?P<season>spring|summer|autumn|fall|winter)\b"),
        ("season", rf"{_ZH_YEAR}的?(?P<season>[春夏秋冬])[天季]?"),
        ("year", rf"\b{_BACK}\s+year\b"),
        ("year", rf"{_ZH_YEAR}{_ZH_YEAR_PART}"),
        ("weekday", rf"\bon\s+{_WEEKDAY}\b"),
        ("weekday", rf"\b{_WEEKDAY}(?=\s+(?:morning|afternoon|evening|night)\b)"),
        ("holiday", rf"(?P<holiday>{'|'.join(sorted(HOLIDAYS, key=len, reverse=True))})"),
        ("month_day", r"\bon the (?P<day>[0-3]?\d)(?:st|nd|rd|th)\b(?! (?:of|floor|street|time|page|place))"),
        ("month_day", rf"(?<![\d月一二三四五六七八九十第]){_ZH_DAY}[号號](?![楼樓线線码碼店门門机機院桌车車房])"),
        ("weekday", rf"(?<![上下这這本每]){_ZH_WEEKDAY}(?![个個])"),
    )
]
