"""The tools there are: one entry of TOOLS each."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from channels_app.tools import search
from channels_app.tools.definition import Parameter, Tool
from channels_app.tools.place import Place
from memories.choices import Permission
from memories.recall import Mode

QUERY_CHARS = 4_000
RESULTS_MOST = 50


def _search(place: Place, arguments: Mapping[str, Any], now: datetime) -> search.SearchReport:
    return search.memory_search(place, now=now, **arguments)


MEMORY_SEARCH = Tool(
    name="memory_search",
    needs=Permission.READ,
    words={
        "en": (
            "Search long-term memory: notes, remembered facts, what happened on past days, and what was said earlier,"
            " word for word. Call it BEFORE you answer anything about the past: earlier work, decisions, preferences,"
            " people, dates, plans, to-dos, or when the user says «last time», «yesterday», «do you remember». The"
            " conversation you see is not all of it. If nothing is found, or not enough, say that you searched and did"
            " not find it. Never present a guess as a memory."
        ),
        "zh-hans": (
            "检索长期记忆：笔记、已记住的事实、过去某天发生的事，以及以前消息的原话。凡是涉及过去的问题，"
            "回答之前必须先调用：做过的事、历史决策、偏好、人物、日期、计划、待办，"
            "或者用户说“上次”“昨天”“之前”“还记得吗”。你看到的对话并不是全部。"
            "如果没有找到或信息不足，请说明已检索但未找到。不要把猜测当作记忆。"
        ),
    },
    parameters=(
        Parameter(
            name="query",
            kind="string",
            is_needed=True,
            most=QUERY_CHARS,
            is_trimmed=True,
            words={
                "en": (
                    "What to look for, as a question or telling words, in the user's language. Name people, things"
                    " and days («yesterday», «in March») instead of «she» or «it»: the search does not see the"
                    " conversation."
                ),
                "zh-hans": (
                    "要查找的内容：一个问题或关键词，使用用户的语言。请写出人名、事物和日期（如“昨天”“三月”），"
                    "不要写“她”“它”：检索看不到当前对话。"
                ),
            },
        ),
        Parameter(
            name="max_results",
            kind="integer",
            least=1,
            most=RESULTS_MOST,
            words={
                "en": "At most so many results, 1 to 50; 8 unless you say otherwise.",
                "zh-hans": "最多返回多少条结果，1 到 50，默认 8。",
            },
        ),
        Parameter(
            name="min_score",
            kind="number",
            least=0,
            most=10,
            for_models=False,
            words={"en": "What scores less is no result.", "zh-hans": "低于这个分数的不算结果。"},
        ),
        Parameter(
            name="mode",
            kind="string",
            choices=tuple(mode.value for mode in Mode),
            for_models=False,
            words={
                "en": "By words and meaning (hybrid), by either, or by words as typed.",
                "zh-hans": "检索方式。",
            },
        ),
        Parameter(
            name="include_session_events",
            kind="boolean",
            for_models=False,
            words={
                "en": "Whether messages and days are searched as well.",
                "zh-hans": "是否同时检索消息和每日记录。",
            },
        ),
    ),
    run=_search,
    shown=search.shown,
)

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (MEMORY_SEARCH,)}
