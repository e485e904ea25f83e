"""Words by which a turn is told, and that stand in none; whom and what they speak of."""

import re

from memories.language import text
from memories.verification import word_lists

_REPORTING_WORDS = """
    user users assistant bot ask asks asked asking question answer answers answered request requested want wants wanted
    reply replies say says said state stated tell tells told explain explained report reported confirm confirmed note
    noted mention mentioned suggest suggests suggested recommend recommends recommended recommendation offer offers
    offered propose proposed remind reminds reminder reminded inform informed requests require requires summary turn
    conversation fact facts option options result detail reason instead due given agreed agreement decided decision
    recorded documented written planned scheduled arranged discussed updated arrangement currently
"""
_CHINESE_REPORTING = """
    用户 助手 询问 问 回答 表示 说明 提到 告诉 确认 建议 提醒 希望 要求 需要 讨论 介绍 说 认为 对方 总结 结果 选项 由于
"""
#: What tells of a turn and stands in none, English words by their stems.
REPORTING = frozenset(map(text.stem, _REPORTING_WORDS.split())) | frozenset("".join(_CHINESE_REPORTING.split()))
#: That something was asked or offered.
ASKING = re.compile(
    r"\b(?:ask|offer|suggest|wonder|propos|recommend)\w*|\bwhether\b|[?？]|问|是否|要不要|提议|建议", re.IGNORECASE
)
#: That something was decided; right after the second it is open yet.
DECIDING = re.compile(r"\b(?:decid|decision|agree)\w*|决定|定了|定为|定于|说好|商定|敲定", re.IGNORECASE)
OPEN_CHARS = 200  # before the decision, in which such a word stands
OPEN = re.compile(
    r"(?:\b(?:not|before|until|once|if|whether|to)\b|n't\b|[没未]|之前|如果|是否)\W*(?:\w+\W+){0,3}$", re.IGNORECASE
)
#: Whom Chinese calls by a title, or young and old: no list of names holds them.
_SURNAMES = (
    "王李张張刘劉陈陳杨楊黄黃赵趙周吴吳徐孙孫马馬朱胡郭何高林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾肖田董袁潘于蒋蔡余杜叶程苏"
    "魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_TITLES = "阿姨|叔叔|先生|女士|小姐|老师|医生|经理|师傅|主任|教授|博士|律师|同学|大姐|大哥|姐|哥|总|工"
TITLED = re.compile(f"[{_SURNAMES}](?:{_TITLES})|[小老阿][{_SURNAMES}]")
#: Capitals at the beginning of an answer that name nobody.
_OPENING_WORDS = "according understood done got shall noted quick sure please thanks reminder"
NO_NAMES = word_lists.ENGLISH_NEGATIONS | frozenset(_OPENING_WORDS.split())
