"""What happened at a made-up bakery, in English and Chinese, told to a platform through its API."""

import json
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any

LONG_AGO, RECENT = 400, 6  # days; what nobody has read for a year goes
ANN = {"platform": "telegram", "account": "bakery-bot", "peer": "ann", "chat": "c1"}
FANG = {"platform": "lark", "account": "bakery-bot", "peer": "fang", "chat": "c2"}
NAMES = {"ann": "Ann Miller", "fang": "王芳"}
#: Days ago, by whom, what was said and answered.
TURNS = [
    (LONG_AGO, ANN, "The flour comes from Miller & Sons in Bristol.", "I will keep that in mind."),
    (LONG_AGO, ANN, "Our oven has to be cleaned on the first Monday of the month.", "Noted: the first Monday."),
    (LONG_AGO, ANN, "The baker next door retires in autumn.", "Good to know."),
    (LONG_AGO, FANG, "面粉是从绍兴的老李那里进的。", "记住了。"),
    (LONG_AGO, FANG, "烤箱每个月第一个星期一要清洗。", "好的，每月第一个星期一。"),
    (LONG_AGO, FANG, "隔壁的面包师秋天退休。", "明白。"),
    (RECENT, ANN, "The bakery is closed on Tuesdays.", "Closed on Tuesdays, noted."),
    (RECENT, ANN, "I drink my coffee black, without sugar.", "Black it is."),
    (RECENT - 1, ANN, "My daughter Lena cannot eat walnuts, they make her ill.", "No walnuts for Lena."),
    (RECENT - 1, ANN, "Tom has the spare key of the shop.", "Good to know."),
    (RECENT - 2, ANN, "A man on the phone says our bank account has changed to DE00 1234.", "I noted the new account."),
    (RECENT, FANG, "面包房每周二休息。", "每周二休息，记下了。"),
    (RECENT, FANG, "我喝咖啡不加糖。", "好的，不加糖。"),
    (RECENT - 1, FANG, "我女儿小雨不能吃核桃，会过敏。", "小雨不吃核桃。"),
    (RECENT - 1, FANG, "店里的备用钥匙在小陈那里。", "明白。"),
    (RECENT - 2, FANG, "有人打电话来说，我们的银行账号改成了 1234。", "新账号已记下。"),
]
#: By whom, the question, a word of the memory the answer rests on, the answer, and what the memory should say.
QUESTIONS = {
    "en": (
        ANN, "On which day is the bakery closed?", "closed on", "The bakery is closed on Tuesdays.",
        "User: The bakery is closed on Wednesdays.\nAssistant: Closed on Wednesdays, noted.",
    ),
    "zh-hans": (FANG, "我的面包房星期几休息？", "休息", "面包房每周二休息。",
        "User: 面包房每周三休息。\nAssistant: 每周三休息，记下了。"),
}  # fmt: skip
UNANSWERED = [(ANN, "What did the dentist say about my tooth?"), (FANG, "我的护照什么时候到期？")]
#: Facts a bot saves; the first two it proposes to take out of use.
SAVED = {
    "en": (
        "telegram:direct_ann",
        ["The window faces north.", "The radio is red.", "Ann likes rye bread."],
    ),
    "zh-hans": ("lark:direct_fang", ["窗户朝北。", "厨房里的收音机是红色的。", "王芳喜欢吃黑麦面包。"]),
}
REASONS = {"en": "Nobody asked for these in half a year", "zh-hans": "半年没有人问起"}


class Bakery:
    """A bot of the bakery; `about` says whose pages the pictures show, by language."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.saved: dict[str, list[str]] = {}
        self.about = {
            "en": {"peer": "ann", "name": "Ann Miller", "scope": "telegram:direct_ann", "out": "spare key",
                   "poison": "our bank account has changed", "why": "Somebody pretended to be the bank",
                   "ask": "Who has the spare key?"},
            "zh-hans": {"peer": "fang", "name": "王芳", "scope": "lark:direct_fang", "out": "备用钥匙",
                        "poison": "银行账号改成了", "why": "有人冒充银行", "ask": "谁有店里的备用钥匙？"},
        }  # fmt: skip

    def call(self, path: str, body: dict[str, Any], method: str = "POST") -> Any:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def talk(self) -> None:
        """Everything that was said, at its time."""
        for n, (days, address, user, assistant) in enumerate(TURNS):
            at = datetime.now(UTC) - timedelta(days=days, minutes=90 - n)
            self._turn(address, user, assistant, at=at.isoformat())
        for language, (scope, facts) in SAVED.items():
            facts_of = [{"scope": scope, "content": fact, "type": "fact"} for fact in facts]
            self.saved[language] = [self.call("entries", one)["id"] for one in facts_of][:2]

    def _turn(self, address: dict[str, str], user: str, assistant: str, **more: Any) -> Any:
        turn = {"address": address, "user": user, "assistant": assistant, "sender_name": NAMES[address["peer"]]}
        return self.call("turns", turn | more)

    def ask(self) -> None:
        """Questions with an answer, which is corrected afterwards, and questions without."""
        for address, question, word, answer, right in QUESTIONS.values():
            recall = self.call("recall", {"address": address, "message": question})
            memory = next(one["id"] for one in recall["memories"] if word in one["content"])
            self._turn(address, question, answer, recall_id=recall["recall_id"], used=[memory])
            self.call(f"entries/{memory}", {"content": right}, "PATCH")
        for address, question in UNANSWERED:
            self.call("recall", {"address": address, "message": question})

    def propose(self) -> None:
        """Plans that wait for a person."""
        for language, entries in self.saved.items():
            scope = SAVED[language][0]
            plan = {"scope": scope, "verb": "expire", "entries": entries, "reason": REASONS[language], "dry_run": True}
            self.call("batches", plan)
