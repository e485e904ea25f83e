"""Does a message need memory at all? Rules only, in Chinese and English, well under a millisecond (D3).

Every rule has a name, and the answer says which one decided.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MIN_BYTES = 5  # UTF-8: «好» is too short, «年糕» is not


@dataclass(frozen=True)
class Need:
    """Whether to search, and the rule that said so."""

    retrieve: bool
    rule: str


_ACKNOWLEDGEMENTS = frozenset(
    [
        "ok",
        "okay",
        "k",
        "kk",
        "yes",
        "yep",
        "yeah",
        "yup",
        "no",
        "nope",
        "sure",
        "fine",
        "good",
        "great",
        "nice",
        "cool",
        "thanks",
        "thx",
        "ty",
        "done",
        "right",
        "agreed",
        "confirmed",
        "confirm",
        "continue",
        "go",
        "next",
        "proceed",
        "understood",
        "roger",
        "lgtm",
        "alright",
        "perfect",
        "awesome",
        "please",
        "hi",
        "hello",
        "hey",
        "bye",
        "继续",
        "好的",
        "好",
        "确认",
        "是的",
        "是",
        "对",
        "对的",
        "不",
        "不是",
        "不用",
        "不要",
        "行",
        "可以",
        "嗯",
        "嗯嗯",
        "哦",
        "收到",
        "明白",
        "明白了",
        "知道了",
        "了解",
        "谢谢",
        "多谢",
        "没问题",
        "同意",
        "完成",
        "完成了",
        "好了",
        "可",
        "嗨",
        "你好",
        "您好",
        "再见",
        "拜拜",
        "好吧",
        "行吧",
        "没事",
        "不客气",
        "繼續",
        "確認",
        "謝謝",
        "沒問題",
        "收到了",
        "thank\\s*you",
        "go\\s*on",
        "go\\s*ahead",
        "got\\s*it",
        "sounds\\s*good",
        "no\\s*problem",
        "all\\s*good",
    ]
)
_ACKNOWLEDGEMENT = re.compile(
    rf"(?:{'|'.join(sorted(_ACKNOWLEDGEMENTS, key=len, reverse=True))})(?:[\s,，。.!！~～、]+(?:"
    rf"{'|'.join(sorted(_ACKNOWLEDGEMENTS, key=len, reverse=True))}))*[\s,，。.!！~～、]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINE = re.compile(
    r"^\s*(?:(?:def|class|import|from|return|if|for|while|const|let|var|function|public|private|static|package|func|SELECT"
    r"|INSERT|UPDATE|DELETE|FROM|WHERE)\b.*[:;{}()=,*]|[{}()\[\];]+|</?\w+[^>]*>|#include\b.*|//.*|[\w.]+\s*[-+]?=\s*.+"
    r"|[\w.]+\(.*\);?|(?:\$|>>>|>)\s.+)\s*$",
    re.IGNORECASE,
)

#: In this order; the first that matches names the answer.
_POSITIVE: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "remember",
        re.compile(
            r"\b(?:remember|remind|recall|forget|forgot|memor(?:y|ies|ize|ise)|note that|keep in mind)\b"
            r"|记得|记住|还记得|记一下|记下|提醒|忘|回忆|記得|記住|記一下|記下|回憶",
            re.IGNORECASE,
        ),
    ),
    (
        "time",
        re.compile(
            r"\b(?:yesterday|today|tomorrow|tonight|last|previous(?:ly)?|earlier|before|ago|once|again|recent(?:ly)?"
            r"|this (?:week|month|year|morning)|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april"
            r"|june|july|august|september|october|november|december|\d{4}-\d{2}-\d{2})\b"
            r"|昨天|昨晚|今天|明天|前天|后天|上次|上回|上周|上个|下周|下个|之前|以前|刚才|刚刚|最近|那天|当时|曾经|过去|早上|去年|今年|明年"
            r"|这周|本周|周[一二三四五六日天]|星期|\d+月|\d+[号日]|上週|上個|剛才|剛剛|當時|曾經|過去",
            re.IGNORECASE,
        ),
    ),
    (
        "question",
        re.compile(
            r"[?？]|\b(?:what|which|who|whom|whose|when|where|why|how|did|does|do you|is there|are there|can you|could you"
            r"|tell me|any idea)\b|吗|呢|什么|怎么|怎样|如何|为什么|为何|哪|谁|几|多少|是否|是不是|有没有|能不能|请问|告诉我"
            r"|嗎|什麼|怎麼|怎樣|為什麼|為何|誰|幾|請問|告訴我",
            re.IGNORECASE,
        ),
    ),
    (
        "preference",
        re.compile(
            r"\b(?:prefer(?:s|red|ence|ences)?|favou?rite|like|likes|love|loves|hate|hates|dislike|always|never|usual(?:ly)?"
            r"|config(?:ure|ured|uration)?|setting(?:s)?|set up|setup|default(?:s)?|password|credential(?:s)?|token|version"
            r"|port|env(?:ironment)?|deploy(?:ed|ment)?)\b"
            r"|喜欢|偏好|爱好|讨厌|习惯|总是|从不|平时|通常|配置|设置|设定|默认|密码|版本|端口|环境|部署|喜歡|愛好|討厭|習慣|設置|設定|密碼|環境",
            re.IGNORECASE,
        ),
    ),
    (
        "pronoun",
        re.compile(
            r"\b(?:i|me|my|mine|we|us|our|ours|you|your|yours|he|him|his|she|her|hers|they|them|their|it|its|that|those"
            r"|this|these)\b|我|你|您|他|她|它|咱|这|那|這",
            re.IGNORECASE,
        ),
    ),
)


def need_of(message: str, *, projects: Iterable[str] = ()) -> Need:
    """Whether a message needs memory. `projects` are the names of projects known in its scopes."""
    text = message.strip()
    if len(text.encode(errors="surrogatepass")) < MIN_BYTES:
        return Need(False, "too_short")
    if _ACKNOWLEDGEMENT.fullmatch(text):
        return Need(False, "acknowledgement")
    if _is_mostly_code(text):
        return Need(False, "code")
    folded = text.casefold()
    if any(project.casefold() in folded for project in projects if project):
        return Need(True, "project")
    for rule, pattern in _POSITIVE:
        if pattern.search(text):
            return Need(True, rule)
    return Need(False, "no_sign")


def _is_mostly_code(text: str) -> bool:
    """Whether more than half of a message's characters stand in code."""
    fenced = sum(len(block) for block in _FENCE.findall(text))
    rest = _FENCE.sub("", text)
    lines = [line for line in rest.splitlines() if line.strip()]
    code = sum(len(line) for line in lines if _CODE_LINE.match(line)) if len(lines) > 1 or fenced else 0
    return (fenced + code) * 2 > len(text)
