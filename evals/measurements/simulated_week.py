# ruff: noqa: E501 (tables of sentences)
"""A week of several people and groups, in both languages, from templates; and a model that reads what they say.

Somebody has of each thing either one at a time (a home, a birthday) or several (pets, dishes). What they say is new,
said again in other words, changed, corrected, or contradicts without a word of warning; others speak of them; most is
small talk, questions and plans. Everything is drawn by one seed.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.memories.llm.fake_server import Asked

#: How often each happens, of a hundred turns.
MIX = {
    "talk": 42, "question": 18, "new": 12, "again": 10, "plan": 6, "change": 4, "of_another": 3, "mistake": 2,
    "contradiction": 1, "tool": 2,
}  # fmt: skip
NAMES = {
    "en": ("Ann", "Boris", "Carol", "Dmitri", "Elena", "Frank", "Greta", "Hugo"),
    "zh": ("李娜", "王强", "陈静", "赵敏", "周涛", "吴倩", "孙磊", "钱多多"),
}


@dataclass(frozen=True)
class Thing:
    """Something somebody has, with how it is said of oneself, how a change is said, and how a fact words it."""

    name: str
    is_single: bool
    category: str
    said: tuple[str, ...]
    changed: tuple[str, ...]
    facts: tuple[str, ...]
    values: tuple[str, ...]


_EN = (
    Thing("home", True, "identity", ("I live in {v}.", "My flat is in {v}, I live there."),
          ("I moved, I live in {v} now.", "I don't live in {old} any more, I moved to {v}."),
          ("{who} lives in {v}.", "{who} lives in the city of {v}."), ("Graz", "Kiel", "Porto", "Leeds", "Turin", "Oslo")),
    Thing("work", True, "identity", ("I work at {v}.", "I have a job at {v}, I work there."),
          ("I left {old}, I work at {v} now.", "I changed jobs and work at {v} now."),
          ("{who} works at {v}.", "{who} has a job at {v}."), ("Siemens", "the harbour", "Lufthansa", "the zoo", "Bosch")),
    Thing("birthday", True, "identity", ("My birthday is on {v}.", "I have my birthday on {v}."),
          ("I said it wrong: my birthday is on {v}.", "Correction: my birthday is on {v}, not on {old}."),
          ("{who}'s birthday is on {v}.", "The birthday of {who} is on {v}."), ("4 May", "12 June", "9 March", "1 July")),
    Thing("car", True, "identity", ("I drive a {v}.", "My car is a {v}, I drive it daily."),
          ("I sold the {old} and drive a {v} now.", "My new car is a {v}, the {old} is gone."),
          ("{who} drives a {v}.", "{who} drives a {v} car."), ("Volvo", "Fiat", "Skoda", "Toyota", "Renault")),
    Thing("standup", True, "config", ("My standup is at {v}.", "I have my standup at {v}."),
          ("My standup has moved to {v}.", "My standup is no longer at {old}, it is at {v} now."),
          ("{who}'s standup is at {v}.", "The standup of {who} is at {v}."), ("9:30", "10:15", "11:00", "8:45")),
    Thing("pet", False, "identity", ("I have a {v}.", "At home I have a {v}."), (),
          ("{who} has a {v}.", "{who} owns a {v}."), ("cat", "dog", "parrot", "rabbit", "tortoise", "hamster")),
    Thing("food", False, "identity", ("I like {v}.", "I really like {v}."), (),
          ("{who} likes {v}.", "{who} really likes {v}."), ("risotto", "ramen", "paella", "goulash", "curry", "sushi")),
    Thing("hobby", False, "identity", ("I play {v}.", "In the evenings I play {v}."), (),
          ("{who} plays {v}.", "{who} plays {v} in the evenings."), ("chess", "tennis", "the piano", "handball", "poker")),
    Thing("allergy", False, "identity", ("I'm allergic to {v}.", "I am allergic to {v}, please remember."), (),
          ("{who} is allergic to {v}.", "{who} has an allergy to {v}."), ("peanuts", "pollen", "penicillin", "shrimps")),
)  # fmt: skip
_ZH = (
    Thing("home", True, "identity", ("我住在{v}。", "我家在{v}，我住在{v}。"), ("我搬家了，现在住在{v}。", "我不住{old}了，搬到{v}了。"),
          ("{who}住在{v}。", "{who}居住在{v}。"), ("杭州", "成都", "苏州", "青岛", "西安", "厦门")),
    Thing("work", True, "identity", ("我在{v}上班。", "我的工作在{v}，我在{v}上班。"), ("我从{old}离职了，现在在{v}上班。", "我换工作了，现在在{v}上班。"),
          ("{who}在{v}上班。", "{who}在{v}工作。"), ("医院", "银行", "腾讯", "出版社", "中学")),
    Thing("birthday", True, "identity", ("我的生日是{v}。", "我生日是{v}。"), ("我说错了，我的生日是{v}。", "更正一下，我的生日是{v}，不是{old}。"),
          ("{who}的生日是{v}。", "{who}生日是{v}。"), ("五月四日", "六月十二日", "三月九日", "七月一日")),
    Thing("car", True, "identity", ("我开一辆{v}。", "我的车是{v}，我每天开。"), ("我把{old}卖了，现在开{v}。", "我换车了，现在开一辆{v}。"),
          ("{who}开一辆{v}。", "{who}开{v}。"), ("沃尔沃", "丰田", "比亚迪", "大众", "本田")),
    Thing("standup", True, "config", ("我的晨会是{v}。", "我的晨会在{v}。"), ("我的晨会改到{v}了。", "我的晨会不在{old}了，现在是{v}。"),
          ("{who}的晨会是{v}。", "{who}的晨会在{v}。"), ("九点半", "十点一刻", "十一点", "八点三刻")),
    Thing("pet", False, "identity", ("我养了一只{v}。", "我家里养了一只{v}。"), (), ("{who}养了一只{v}。", "{who}家里养了一只{v}。"),
          ("猫", "狗", "鹦鹉", "兔子", "乌龟", "仓鼠")),
    Thing("food", False, "identity", ("我喜欢吃{v}。", "我很喜欢吃{v}。"), (), ("{who}喜欢吃{v}。", "{who}很喜欢吃{v}。"),
          ("火锅", "饺子", "凉皮", "烤鸭", "米线", "小笼包")),
    Thing("hobby", False, "identity", ("我会{v}。", "我晚上喜欢{v}。"), (), ("{who}会{v}。", "{who}晚上喜欢{v}。"),
          ("下棋", "打网球", "弹钢琴", "打乒乓球", "唱戏")),
    Thing("allergy", False, "identity", ("我对{v}过敏。", "记住，我对{v}过敏。"), (), ("{who}对{v}过敏。", "{who}对{v}是过敏的。"),
          ("花生", "花粉", "青霉素", "虾")),
)  # fmt: skip
THINGS = {"en": _EN, "zh": _ZH}
_TALK = {
    "en": (
        "Good morning!",
        "Thanks, that helps.",
        "Haha, nice.",
        "I am so tired today.",
        "What a day.",
        "OK, see you.",
    ),
    "zh": ("早上好！", "谢谢，帮大忙了。", "哈哈，不错。", "今天好累。", "真是忙的一天。", "好的，回头见。"),
}
_QUESTIONS = {
    "en": (
        "How do I boil an egg?",
        "What should I cook tonight?",
        "Can you write me a short poem?",
        "When was I born?",
    ),
    "zh": ("鸡蛋怎么煮？", "今晚做什么菜好？", "能帮我写首短诗吗？", "我住在哪里来着？"),
}
_PLANS = {
    "en": ("I'm going to {v} tomorrow for two days.", "Maybe I should move to {v} some day.", "I once lived in {v}."),
    "zh": ("我明天去{v}出差两天。", "也许哪天我会搬到{v}。", "我以前在{v}住过。"),
}
_OF_ANOTHER = {"en": "I think {fact}", "zh": "我觉得{fact}"}
_TOOLS = {"en": "The directory says: {fact}", "zh": "通讯录里写着：{fact}"}
_ANSWER = {"en": "Noted.", "zh": "好的。"}


@dataclass(frozen=True)
class Spec:
    """What a fact says: whose, which thing, which value."""

    who: str
    thing: Thing
    value: str

    def speaks_against(self, other: "Spec") -> bool:
        return (self.who, self.thing) == (other.who, other.thing) and self.thing.is_single and self.value != other.value


@dataclass
class Turn:
    """A turn, and what is stated in it."""

    at: datetime
    who: str
    language: str
    in_group: bool
    kind: str
    user: str
    assistant: str
    stated: Spec | None = None
    by_another: bool = False  # it is said of somebody else, or by a tool


@dataclass
class Week:
    """Everything that is said, and what was true when."""

    turns: list[Turn] = field(default_factory=list)
    facts: dict[str, Spec] = field(default_factory=dict)  # by every wording
    said: defaultdict[str, list[Spec]] = field(default_factory=lambda: defaultdict(list))  # by the words of a message
    history: defaultdict[tuple[str, str], list[tuple[datetime, str]]] = field(default_factory=lambda: defaultdict(list))
    holds: defaultdict[tuple[str, str], dict[str, datetime]] = field(default_factory=lambda: defaultdict(dict))

    def is_over(self, spec: Spec, at: datetime) -> bool:
        """Whether somebody had said of themselves by then that they have another of what one has one of."""
        values = [value for since, value in self.history[spec.who, spec.thing.name] if since <= at]
        return spec.thing.is_single and bool(values) and values[-1] != spec.value


def week(people: int, turns_a_day: int, begins: datetime, seed: int = 11) -> Week:
    """Seven days of these people, half of each language; a third of the turns is said in a group."""
    pick, story = random.Random(seed), Week()
    half = max(people // 2, 1)
    speakers = [(language, f"{NAMES[language][n % 8]}{'' if n < 8 else n}") for language in NAMES for n in range(half)]
    kinds, shares = list(MIX), list(MIX.values())
    for language, who in speakers:
        for thing in THINGS[language]:
            for value in thing.values:
                for wording in thing.facts:
                    story.facts[wording.format(who=who, v=value)] = Spec(who, thing, value)
    for day in range(7):
        moments = sorted(pick.uniform(8 * 3600, 22 * 3600) for _ in range(turns_a_day))
        for seconds in moments:
            language, who = pick.choice(speakers)
            others = [name for other, name in speakers if other == language and name != who]
            at = begins + timedelta(days=day, seconds=seconds)
            story.turns.append(_turn(story, pick, pick.choices(kinds, shares)[0], language, who, others, at))
    return story


def _turn(
    story: Week, pick: random.Random, kind: str, language: str, who: str, others: Sequence[str], at: datetime
) -> Turn:
    in_group = pick.random() < 0.33
    turn = Turn(at, who, language, in_group, kind, "", _ANSWER[language])
    topics = [thing for thing in THINGS[language] if story.holds[who, thing.name]]
    single = [thing for thing in topics if thing.is_single]
    if kind in ("again", "change", "contradiction") and not (topics if kind == "again" else single):
        kind = turn.kind = "new"
    if kind in ("talk", "question"):
        turn.user = pick.choice((_TALK if kind == "talk" else _QUESTIONS)[language])
    elif kind == "plan":
        turn.user = pick.choice(_PLANS[language]).format(v=pick.choice(THINGS[language][0].values))
    elif kind in ("of_another", "tool"):
        spec = Spec(pick.choice(others or [who]), thing := pick.choice(THINGS[language]), pick.choice(thing.values))
        fact = pick.choice(thing.facts).format(who=spec.who, v=spec.value)
        turn.stated, turn.by_another = spec, True
        if kind == "tool":
            turn.user = pick.choice(_QUESTIONS[language])
            turn.assistant = _TOOLS[language].format(fact=fact)
        else:
            turn.user = _OF_ANOTHER[language].format(fact=fact)
            story.said[turn.user].append(spec)
    else:
        _of_oneself(story, pick, turn, topics, single)
    return turn


def _of_oneself(story: Week, pick: random.Random, turn: Turn, topics: Sequence[Thing], single: Sequence[Thing]) -> None:
    """Something new, again, otherwise or changed."""
    things = THINGS[turn.language]
    thing = pick.choice(
        topics if turn.kind == "again" else single if turn.kind in ("change", "contradiction") else things
    )
    values = story.holds[turn.who, thing.name]
    if turn.kind in ("new", "mistake") and thing.is_single and values:
        turn.kind = "again"
    old = next(iter(values), "")
    if turn.kind == "again":
        value = pick.choice(list(values))
    else:
        value = pick.choice([value for value in thing.values if value not in values] or list(values))
    spec = turn.stated = Spec(turn.who, thing, value)
    words = thing.changed if turn.kind == "change" and old else thing.said
    turn.user = pick.choice(words).format(v=value, old=old)
    if thing.is_single and old and value != old:
        del values[old]
    values.setdefault(value, turn.at)
    story.history[turn.who, thing.name].append((turn.at, value))
    story.said[turn.user].append(spec)


@dataclass
class Model:
    """Reads what is said as a good model does, and errs as often as it is told to."""

    made: Week
    errs: float
    pick: random.Random = field(default_factory=lambda: random.Random(3))
    lies: int = 0

    def __post_init__(self) -> None:
        self._by_words: defaultdict[str, list[Spec]] = defaultdict(list)
        for words, specs in self.made.said.items():
            self._by_words[_bare(words)] += specs
        for words, spec in self.made.facts.items():
            self._by_words[_bare(words)].append(spec)

    def answer(self, request: Asked) -> Any:
        data = request.data
        if "messages" in data:
            return {"facts": list(self._facts(data)), "summary": "They talked."}
        if "profile" in data:
            lines = [line["id"] for line in data["profile"]]
            new = [fact for fact in data["facts"] if fact["content"] in self.made.facts][:6]
            profile_lines = {line["content"] for line in data["profile"]}
            write = [
                {"ids": [fact["id"]], "content": fact["content"], "category": self._of(fact["content"]).thing.category}
                for fact in new
                if fact["content"] not in profile_lines
            ]
            return {"keep": lines, "write": write, "drop": []}
        return self._merges(data["facts"]) if "facts" in data else {"facts": []}  # nothing of days

    def _of(self, content: str) -> Spec:
        return self.made.facts[content]

    def _facts(self, data: Any) -> Iterator[dict[str, Any]]:
        known_specs = {fact["id"]: self.made.facts.get(fact["content"]) for fact in data.get("known_facts", [])}
        for message in data["messages"]:
            speaker = str(message["speaker"] or "")
            specs = self.made.said.get(message["content"], [])
            spec = next((spec for spec in specs if spec.who == speaker), specs[-1] if specs else None)
            if spec is None or message["role"] != "user":
                continue
            errs = self.pick.random() < self.errs
            if errs:
                self.lies += 1
                spec = Spec(spec.who, spec.thing, self.pick.choice(spec.thing.values))
            replaced = [pk for pk, other in known_specs.items() if other and spec.speaks_against(other)]
            yield {
                "content": self.pick.choice(spec.thing.facts).format(who=spec.who, v=spec.value),
                "subject": "speaker" if spec.who == speaker else spec.who,
                "category": spec.thing.category,
                "importance": 0.6,
                "quote": [{"message": message["id"], "text": message["content"]}],
                "replaces": replaced if self.pick.random() < 0.8 else [],
            }

    def _merges(self, facts: Sequence[Any]) -> dict[str, Any]:
        by_spec = defaultdict(list)
        for fact in facts:
            if fact["content"] in self.made.facts:
                by_spec[self._of(fact["content"])].append(fact)
        merge = [
            {"ids": [fact["id"] for fact in same], "content": same[0]["content"]}
            for same in by_spec.values()
            if len(same) > 1
        ]
        alone = [same[0] for same in by_spec.values() if len(same) == 1]
        if len(alone) > 1 and self.pick.random() < self.errs:
            self.lies += 1
            merge.append({"ids": [alone[0]["id"], alone[1]["id"]], "content": alone[0]["content"]})
        return {"keep": [], "merge": merge, "drop": []}

    def read(self, request: Asked) -> Any:
        """The second reading: what a statement says, against the words it rests on."""
        return {
            "verdicts": [
                {
                    "id": claim["id"],
                    "verdict": self._verdict(claim["statement"], [one["text"] for one in claim["quotes"]]),
                }
                for claim in request.data["claims"]
            ]
        }

    def _verdict(self, statement: str, quotes: Sequence[str]) -> str:
        if (spec := self.made.facts.get(statement)) is None:
            return "not_stated"
        specs = [other for words in quotes for other in self._by_words.get(_bare(words), [])]
        if spec in specs:
            return "entailed"
        if self.pick.random() < self.errs:
            return "entailed"
        return "contradicted" if any(spec.speaks_against(other) for other in specs) else "not_stated"


def _bare(words: str) -> str:
    return words.strip(" .。")
