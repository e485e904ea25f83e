"""What against_mem0 asks of both: a corpus of its own, or a set of a folder."""

import random
from dataclasses import dataclass, replace
from pathlib import Path

from evals import dataset

#: An English and a Chinese name of each thing; a question may be in either language.
PEOPLE = (("Ida", "小伊"), ("Omar", "小奥"), ("Lena", "小莲"), ("Piotr", "小彼"), ("Mei", "小梅"), ("Juan", "小胡"))
DEEDS = (
    ("repaired the violin", "修好了小提琴", "fix an instrument", "修乐器"),
    ("sold the old boat", "卖掉了旧船", "get rid of a vessel", "处理船只"),
    ("planted tomatoes", "种了西红柿", "grow vegetables", "种蔬菜"),
    ("lost a camera", "丢了相机", "mislay something to take pictures with", "弄丢拍照的东西"),
    ("started a bakery", "开了一家面包店", "open a shop for bread", "开卖面包的店"),
    ("painted the fence", "粉刷了篱笆", "give the garden a new colour", "给院子换颜色"),
    ("adopted a grey cat", "收养了一只灰猫", "take in a pet", "养宠物"),
    ("broke an arm skiing", "滑雪摔断了手臂", "get hurt in the snow", "在雪地受伤"),
)
PLACES = (("Porto", "波尔图"), ("Lviv", "利沃夫"), ("Bergen", "卑尔根"), ("Oaxaca", "瓦哈卡"), ("Tartu", "塔尔图"))
MONTHS = tuple(
    zip(
        ["January", "February", "March", "April", "May", "June"],
        ["一月", "二月", "三月", "四月", "五月", "六月"],
        strict=True,
    )
)


@dataclass(frozen=True)
class Document:
    id: str
    scope: str
    text: str


@dataclass(frozen=True)
class Question:
    scope: str
    text: str
    gold: frozenset[str]


@dataclass(frozen=True)
class Corpus:
    name: str
    documents: list[Document]
    questions: list[Question]

    def cut(self, documents: int, questions: int) -> "Corpus":
        """The first documents, with a sample of the questions all of whose answers are among them."""
        rows = self.documents[:documents]
        ids = {document.id for document in rows}
        pool = [question for question in self.questions if question.gold and question.gold <= ids]
        return replace(self, documents=rows, questions=random.Random(18).sample(pool, min(questions, len(pool))))


def made_up(size: int) -> Corpus:
    """So many deeds of people, half told in English and half in Chinese, in three scopes; each is asked about.

    A question names the person and the month, and the deed in other words; every other one in the other language.
    """
    pick, documents, questions = random.Random(18), list[Document](), list[Question]()
    wholes = [(w, d, p, m) for w in range(6) for d in range(8) for p in range(5) for m in range(6)]
    for number, (who, deed, place, month) in enumerate(pick.sample(wholes, min(size, len(wholes)))):
        scope, written_in, asked_in = f"scope{number % 3}", number % 2, (number // 2 + number) % 2
        person, where, when = PEOPLE[who], PLACES[place], MONTHS[month]
        texts = (
            f"{person[0]} {DEEDS[deed][0]} in {where[0]} in {when[0]}.",
            f"{when[1]}，{person[1]}在{where[1]}{DEEDS[deed][1]}。",
        )
        asks = (
            f"Where did {person[written_in]} {DEEDS[deed][2]} in {when[0]}?",
            f"{when[1]}{person[written_in]}在哪里{DEEDS[deed][3]}？",
        )
        documents.append(Document(str(number), scope, texts[written_in]))
        questions.append(Question(scope, asks[asked_in], frozenset({str(number)})))
    return Corpus("made up", documents, questions)


def of_folder(folder: Path) -> Corpus:
    """A set as `manage.py evaluate` reads it."""
    result = dataset.load(folder)
    documents = [Document(row.doc_id, scope, row.text) for scope, rows in result.scopes.items() for row in rows]
    questions = [
        Question(question.scope, question.query, question.gold)
        for question in result.questions
        if question.scope in result.scopes
    ]
    return Corpus(result.name, documents, questions)
