"""How likely a memory is to help, and what is served for it (C3)."""

from dataclasses import replace

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evals import first_minutes
from evals.answering import Pairs, fit_maps
from evals.relevance import Example, fit, read, reliability
from memories.admin.recall_traces import RELEVANCE_SIGNS
from memories.language.quoting import turn_of
from memories.language.text import has_han
from memories.models import Scope, Workspace
from memories.recall.gate import decide
from memories.recall.ranking import NEAR_BEST
from memories.recall.relevance import (
    TURN,
    Asked,
    Background,
    Features,
    Memory,
    background_of,
    features,
    misspells,
    names_asked,
    possible_names,
    rarity,
    read_relations,
    words_asked,
    words_of,
)

FACTS = {
    "en": {
        "home": "I moved to Hangzhou.",
        "style": "Please keep your answers short.",
        "sister": "My sister Lena is allergic to walnuts.",
        "bike": "My bicycle is at the repair shop near the station.",
        "plumber": "Our plumber Tom fixed the kitchen sink.",
        "tea": "I drink green tea in the morning.",
    },
    "zh": {
        "work": "我在杭州工作，公司叫星云。",
        "allergy": "我对花生严重过敏。",
        "dog": "我家的狗叫豆包。",
        "piano": "我每周三晚上学钢琴。",
    },
}


def filled_memory(workspace: Workspace, language: str, *names: str) -> first_minutes.FilledMemory:
    facts = {name: FACTS[language][name] for name in names or FACTS[language]}
    memory = first_minutes.fill(workspace, "-".join(facts), facts, language, as_turns=True)
    first_minutes.index(workspace)
    return memory


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "question", "fact"),
    [
        ("en", "Where do I live?", "home"),
        ("en", "How should you write to me?", "style"),
        ("en", "What does my sister Lena avoid eating?", "sister"),
        ("en", "Where is my bike being fixed?", "bike"),
        ("en", "user city of residence", "home"),
        ("zh", "给我点外卖要避开什么？", "allergy"),
        ("zh", "在哪里工作", "work"),
        ("zh", "用户 宠物 名字", "dog"),
    ],
)
def test_a_plain_question_finds_what_was_told_in_other_words(
    workspace: Workspace, bundled_model: None, language: str, question: str, fact: str
) -> None:
    for names in ((fact,), ()):
        _result, served = filled_memory(workspace, language, *names).ask(question, "likely")
        assert served[:1] == [fact], f"among {len(names) or 'all'}"


@pytest.mark.django_db
def test_a_chinese_sentence_a_bot_answers_in_english_is_found_by_a_chinese_question(
    workspace: Workspace, bundled_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(first_minutes.REPLIES, "zh", "Noted.")
    result, served = filled_memory(workspace, "zh").ask("给我点外卖要避开什么？", "likely")
    assert served[:1] == ["allergy"] and result.served[0].signs["across"] == 0


@pytest.mark.django_db
def test_what_is_likely_to_help_is_served_and_the_rest_is_marked_unlikely(
    workspace: Workspace, bundled_model: None
) -> None:
    memory = filled_memory(workspace, "en")
    likely, served = memory.ask("Where is my bike being fixed?", "likely")
    assert served == ["bike"]
    left_out = {item.reason for item in likely.ranked if item.reason != "served"}
    assert "unlikely" in left_out and left_out <= {"unlikely", "floor"}
    assert likely.served[0].relevance is not None and likely.served[0].relevance >= 0.25
    assert likely.served[0].signs["relation"] > 0.1
    wide, all_served = memory.ask("Where is my bike being fixed?", "wide")
    assert all_served[0] == "bike" and len(all_served) >= len(served)
    _none, sure = memory.ask("Where is my bike being fixed?", 0.99)
    assert sure == [], "nothing is so sure"
    assert wide.weights["relevance_line"] == 0.02


@pytest.mark.django_db
def test_where_nothing_is_likely_the_best_is_served_as_a_weak_answer(workspace: Workspace, bundled_model: None) -> None:
    result, served = filled_memory(workspace, "en").ask("Which gift would please me?", "likely")
    best = max(item.relevance or 0 for item in result.ranked)
    assert served and result.answerability.verdict == "weak"
    assert all((item.relevance or 0) >= min(0.25, NEAR_BEST * best) for item in result.served)


@pytest.mark.django_db
def test_what_nothing_here_answers_is_not_called_found(workspace: Workspace, bundled_model: None) -> None:
    memory = filled_memory(workspace, "en")
    for question in ("When does my passport expire?", "What is my dog called?", "What is Caroline's brother's job?"):
        assert memory.ask(question, "likely")[0].answerability.verdict != "found", question


def test_a_question_about_how_the_bot_should_act_is_about_the_person() -> None:
    for message in (
        "Which recipes should you not suggest?",
        "Which spelling should you use for me?",
        "How should you write to me?",
        "你应该怎么称呼我？",
        "Why do I make typing mistakes?",
        "我为什么老打错字？",
    ):
        assert decide(message).retrieve, message
    for message in (
        "how often should you water a cactus",
        "what should you do if a snake bites",
        "why do we yawn?",
        "人为什么会打嗝？",
    ):
        assert not decide(message).retrieve, message


@pytest.mark.parametrize(
    "message",
    ["user home city residence", "wife birthday date", "dog name", "用户 职业 单位", "宠物 名字", "过敏 食物"],
)
def test_a_search_query_as_a_model_writes_it_needs_memory(message: str) -> None:
    assert decide(message).retrieve


@pytest.mark.parametrize(
    "message", ["fix the login bug", "write a haiku about tea", "画一只猫", "good bread everywhere"]
)
def test_a_command_is_no_search_query(message: str) -> None:
    assert not decide(message).retrieve


def test_a_name_is_said_whole_in_part_in_the_plural_or_with_one_letter_wrong() -> None:
    names = {"nadia rahman", "nadia kowalski", "kubernetes", "k8s", "豆包"}
    assert names_asked("When is Nadia Rahman back?", names) == {"nadia rahman"}
    assert names_asked("Where does Nadia sit?", names) == {"nadia rahman", "nadia kowalski"}
    assert names_asked("Which K8s do we run?", names) == {"k8s"}
    assert names_asked("which kuberntes version?", names) == {"kubernetes"}
    assert names_asked("豆包几岁了？", names) == {"豆包"}
    assert names_asked("Ｋ８ｓ の version", names) == {"k8s"}, "of another width"
    assert names_asked("What is for lunch?", names) == set()


@pytest.mark.parametrize(("text", "is_meant"), [("peble", True), ("pebbles", True), ("pebbel", True), ("pedal", False)])
def test_one_letter_may_be_wrong_and_no_more(text: str, is_meant: bool) -> None:
    assert misspells(text, "pebble") is is_meant


def test_words_everybody_says_count_less_and_user_counts_for_nothing() -> None:
    (walnut,), (live,) = words_of("walnut"), words_of("live")
    assert rarity(walnut) > rarity(live)
    assert not words_asked("user") and words_asked("user home") == words_of("home")


def test_a_memory_about_what_is_named_is_told_from_one_about_something_else() -> None:
    memories = [
        Memory("In production we run 1.29.", words_of("In production we run 1.29."), None, "statement", False, names)
        for names in (frozenset({"kubernetes", "k8s"}), frozenset({"redis"}), frozenset())
    ]
    asked = Asked("Which version of k8s is it?", words_asked("Which version of k8s is it?"), None, False)
    seen = features(asked, memories, None, entries=3)
    assert [seen.of(n)["name"] for n in range(3)] == [1, 0, 0]
    assert [seen.of(n)["other_name"] for n in range(3)] == [0, 1, 0]


def _named_facts(**facts: tuple[str, ...]) -> list[Memory]:
    return [
        Memory(words.replace("_", " "), words_of(words.replace("_", " ")), None, "statement", False, frozenset(names))
        for words, names in facts.items()
    ]


def _seen(question: str, memories: list[Memory], feature: str) -> list[float]:
    seen = features(Asked(question, words_asked(question), None, False), memories, None, entries=len(memories))
    return [seen.of(n)[feature] for n in range(len(memories))]


def test_of_what_is_about_one_thing_the_words_beside_its_name_tell_what_is_asked_of_it() -> None:
    memories = _named_facts(
        Otter_sends_the_invoices=("otter",), Otter_is_our_oldest_service=("otter",), Invoices_go_out_late=("invoices",)
    )
    detail = _seen("Which invoices does Otter send?", memories, "detail")
    assert detail[0] > detail[1] == 0, "it says «invoices», the other the name alone"
    assert _seen("Who is Bea?", memories, "detail") == [0, 0, 0], "it names none of them"


@pytest.mark.parametrize(
    ("question", "without_number"),
    [
        ("How old is my cat?", [1, 0, 0, 1]),
        ("我的猫几岁了？", [1, 0, 0, 1]),
        ("What is my cat called?", [0, 0, 0, 0]),
        ("我的猫叫什么？", [0, 0, 0, 0]),
    ],
)
def test_what_states_no_number_is_a_worse_answer_where_one_is_asked_for(
    question: str, without_number: list[float]
) -> None:
    memories = _named_facts(My_cat_is_called_Momo=(), My_cat_turned_seven=(), 我的猫三岁了=(), 我养了一只猫=())
    assert _seen(question, memories, "no_number") == without_number


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("How should I be addressed?", "Just call me Bob."),
        ("我该怎么被称呼？", "叫我老王就行。"),
        ("How long should your replies be?", "Keep it brief, please."),
        ("你应该怎么回答我？", "回答请用中文，简短一点。"),
        ("What do I do for a living?", "I'm a designer at Acme."),
        ("我的职业是什么？", "我在字节跳动做设计师。"),
        ("Where am I from?", "I come from Porto."),
        ("我是哪里人？", "我老家在绍兴。"),
        ("Where's my home?", "I live in Lisbon."),
        ("我住哪儿？", "我住在成都。"),
        ("Anything to leave out of my noodles?", "I hate cilantro."),
        ("点面条要备注什么？", "我讨厌香菜。"),
    ],
)
def test_what_people_are_asked_most_meets_how_they_tell_it(question: str, statement: str) -> None:
    others = ["I drive a Tesla to work.", "I'm learning Spanish.", "服务器地址是 10.0.0.8。", "我怕高。"]
    memories = [
        Memory(turn_of(content, "OK"), (), None, TURN, is_cjk=has_han(content)) for content in (statement, *others)
    ]
    seen = features(Asked(question, (), None, has_han(question)), memories, None, entries=5)
    assert [seen.of(n)["matter"] for n in range(5)] == [1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("question", "is_for_all"),
    [
        ("Tell me everything you know about Otter.", 1),
        ("Otter: a summary, please", 1),
        ("把 Otter 的情况都说说", 1),
        ("When does Otter start?", 0),
        ("Otter 几点开始？", 0),
    ],
)
def test_who_asks_for_all_of_a_thing_is_answered_by_all_that_is_about_it(question: str, is_for_all: float) -> None:
    memories = _named_facts(Otter_is_a_service=("otter",), Nothing_else=())
    assert _seen(question, memories, "whole_name") == [is_for_all, 0]


def test_what_gives_a_thing_another_name_leads_to_what_answers_by_it() -> None:
    memories = _named_facts(
        Jonas_is_called_JJ=("jonas", "jj"), Jonas_has_a_desk=("jonas",), JJ_is_allergic_to_peanuts=("jj",)
    )
    assert _seen("Is Jonas allergic to peanuts?", memories, "linked_name") == [0, 0, 1]
    leads = _seen("Is Jonas allergic to peanuts?", memories, "leads")
    assert leads[0] > 0.5 and leads[1:] == [0, 0]
    assert _seen("Does Jonas have a desk?", memories, "leads")[0] < 0.5, "what is asked stands under his own name"


def test_every_sign_has_words_for_whoever_looks_at_a_recall() -> None:
    seen = features(Asked("Who?", words_asked("Who?"), None, False), _named_facts(A=("a",)), None, entries=1)
    assert set(seen.names) == set(RELEVANCE_SIGNS)


def test_what_tells_by_which_name_the_answer_goes_is_a_link() -> None:
    names = ("marguerite", "mags")
    memories = _named_facts(
        My_wife_Marguerite_is_called_Mags=names, Mags_works_nights=names, Bart_keeps_kosher=("bart",)
    )
    assert _seen("Which nights does Marguerite work?", memories, "link") == [1, 0, 0]
    assert _seen("Which nights does Marguerite work?", memories, "unsaid") == [0, 1, 0]
    assert _seen("Which nights does Mags work?", memories, "link") == [0, 0, 0], "the answer says the name itself"


def test_a_common_word_of_a_longer_name_is_no_name_where_somebody_is_named() -> None:
    names = {"lothar", "on-call phone", "corn exchange"}
    assert names_asked("What is Lothar's phone number?", names) == {"lothar"}
    assert names_asked("Where is the phone?", names) == {"on-call phone"}


def test_a_name_of_a_message_is_looked_up_alone_and_in_a_row() -> None:
    names = possible_names("How do I open the door at St Judes?")
    assert {"st jude", "door", "st judes"} <= set(names)
    assert "the" not in names
    assert "豆豆" in possible_names("豆豆的近视多少度？")


@pytest.mark.django_db
def test_what_the_gate_takes_for_knowledge_of_the_world_is_searched_where_it_names_what_is_known(
    workspace: Workspace, bundled_model: None
) -> None:
    facts = {"key": "The key for St Jude's hangs at the baker's.", "eye": "豆豆左眼近视三百度。"}
    names = {"key": ["St Jude's"], "eye": ["豆豆"]}
    memory = first_minutes.fill(workspace, "named", facts, "en", as_turns=False, names=names)
    first_minutes.index(workspace)
    for question, fact in (("How do I open the door at St Judes?", "key"), ("豆豆的近视多少度？", "eye")):
        assert decide(question).rule == "world_knowledge"
        result, served = memory.ask(question, "likely")
        assert (result.need.rule, served) == ("name", [fact])
    result, served = memory.ask("How do I open a PDF?", "likely")
    assert (result.need.rule, served) == ("world_knowledge", [])


@pytest.mark.django_db
def test_names_are_looked_up_by_their_own_index(workspace: Workspace) -> None:
    facts = {f"fact {n}": f"Room {n} is painted blue." for n in range(300)} | {"key": "St Jude's is locked at night."}
    memory = first_minutes.fill(workspace, "named", facts, "en", as_turns=False, names={"key": ["St Jude's"]})
    with connection.cursor() as cursor, CaptureQueriesContext(connection) as queries:
        cursor.execute("ANALYZE memories_entry")
        memory.ask("How do I open the door at St Judes?", "likely")
        (lookup,) = [query["sql"] for query in queries.captured_queries if "e.names <>" in query["sql"]]
        cursor.execute(f"EXPLAIN {lookup}")
        assert "entry_named" in "".join(row[0] for row in cursor.fetchall())


def test_what_is_described_brings_along_what_is_told_of_it_by_its_name() -> None:
    memories = _named_facts(
        Our_robot_hoover_is_called_Dobby=("dobby",), Dobby_gets_stuck=("dobby",), Rosie_is_our_boat=("rosie",)
    )
    beside = _seen("Why does our robot hoover stop?", memories, "beside_best")
    assert beside[1] > 0 == beside[0] == beside[2]
    assert max(_seen("When is our summer party?", memories, "beside_best")) < beside[1], "nothing is near it"
    assert _seen("Why does Dobby stop?", memories, "beside_best") == [0, 0, 0], "what is named is no neighbour"


@pytest.mark.django_db
def test_a_question_for_tonight_does_not_bring_along_all_that_was_told_today(
    workspace: Workspace, bundled_model: None
) -> None:
    memory = filled_memory(workspace, "en")
    for question in ("I can't make it tonight, how do I let the others know?", "What should I drink today?"):
        _result, served = memory.ask(question, "likely")
        assert len(served) < len(FACTS["en"]) / 2, question
    assert len(memory.ask("What did I tell you today?", "likely")[1]) == len(FACTS["en"])


def test_the_background_knows_every_relation_and_half_precision_keeps_it() -> None:
    background = background_of("multilingual-e5-small-q4")
    assert background is not None and len(background.names) == len(read_relations()) >= 60
    rows = background.relations(background.centred(np.eye(384, dtype=np.float32)[:3], ["latin"] * 3, ["question"] * 3))
    assert np.allclose((rows**2).sum(axis=1), 1, atol=1e-4)
    assert background_of("a model nobody has fitted") is None


def test_matrices_are_learned_that_turn_questions_towards_what_answers_them() -> None:
    """In a space in which an answer lies in another direction than its question, always the same way round."""
    lot = np.random.default_rng(5)
    size, count = 12, 100
    away = np.linalg.qr(lot.normal(size=(size, size)))[0]
    questions = lot.normal(size=(count, size))
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    answers = questions @ away
    pairs = Pairs(
        questions.astype(np.float32),
        answers.astype(np.float32),
        np.stack([questions, -answers]).astype(np.float32),
        np.arange(count),
    )
    none = np.zeros(0, np.float32)
    of_questions, of_statements = fit_maps(pairs, rounds=2_500)
    background = Background({}, none, none, (), of_questions=of_questions, of_statements=of_statements)

    def first(turned: np.ndarray, told: np.ndarray) -> float:
        return float(np.mean(np.argmax(turned @ told.T, axis=1) == np.arange(count)))

    assert first(pairs.questions, pairs.statements) < 0.1
    turned, told = background.towards_answers(pairs.questions), background.as_answers(pairs.statements)
    assert first(turned, told) > 0.9
    assert np.allclose(np.linalg.norm(turned, axis=1), 1, atol=1e-5)


def test_a_question_is_searched_some_way_towards_its_answers_and_a_text_that_is_no_answer_gains_nothing() -> None:
    background = background_of("multilingual-e5-small-q4")
    assert background is not None and background.of_questions is not None
    mean = (background.means["latin turn"] + background.means["latin statement"]) / 2
    question = background.means["latin question"] + np.eye(len(mean), dtype=np.float32)[3] * np.float32(0.4)
    shift = background.shift(question, "latin", 0.3)
    assert 0 < float(np.linalg.norm(shift.added)) < 0.3 * 2 * 0.4
    assert float(np.dot(shift.added, mean)) == pytest.approx(shift.gained, abs=1e-5)
    plain = replace(background, of_questions=None, of_statements=None)
    assert plain.shift(question, "latin", 0.3).added == pytest.approx([0.0] * len(mean), abs=1e-5)


def test_fitted_weights_tell_what_answers_and_how_sure_that_is() -> None:
    chance = np.random.default_rng(1)
    rows = []
    for n in range(200):
        values = chance.normal(size=(4, 1)).astype(np.float32)
        right = (chance.random(4) < 1 / (1 + np.exp(-2 * values[:, 0]))).astype(np.float32)
        rows.append(Example(str(n), "first", "?", 4, Features(("meaning",), values), right))
    weights = fit(rows)
    assert 1.5 < weights.by_feature["meaning"] < 2.5
    for claimed, share, count in reliability(rows, [weights.relevance(row.seen) for row in rows]):
        assert count < 40 or abs(claimed - share) < 0.15


@pytest.mark.django_db
def test_a_scope_may_have_its_own_line_which_a_number_of_the_call_overrules(
    workspace: Workspace, bundled_model: None
) -> None:
    memory = filled_memory(workspace, "en")
    assert memory.ask("Where is my bike being fixed?", "likely")[1] == ["bike"]
    Scope.objects.filter(workspace=workspace).update(relevance_likely=0)
    result, lenient = memory.ask("Where is my bike being fixed?", "likely")
    assert lenient[0] == "bike" and len(lenient) > 1
    assert result.trace is None or result.trace.query["scope_lines"] == {str(Scope.objects.get().pk): 0}
    assert memory.ask("Where is my bike being fixed?", 0.99)[1] == []


@pytest.mark.thorough
@pytest.mark.django_db
def test_in_a_memory_of_many_turns_what_answers_is_among_the_first_two_without_a_word_in_common(
    workspace: Workspace, bundled_model: None
) -> None:
    talk = {row["id"]: row["text"] for row in read("passing.en.jsonl")[:80]}
    memory = first_minutes.fill(workspace, "many", {**talk, "style": FACTS["en"]["style"]}, "en", as_turns=True)
    first_minutes.index(workspace)
    _result, served = memory.ask("How should you write to me?", "likely")
    assert "style" in served[:2]  # beside the other sentence with "how", whose score differs in the sixth digit
