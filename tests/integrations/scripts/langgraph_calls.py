"""The store in graphs of LangGraph: two threads of one person, another person, and a platform that is away."""

import asyncio

from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from memplatform_client.errors import MemplatformError
from memplatform_client.turns import BotMemory
from memplatform_langgraph import MemplatformStore
from trial import DOWN, FACT, KEY, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, readme, scenario


def store_of(key=KEY, url=URL, **options):
    return MemplatformStore(BotMemory(key, url, **options))


def graph_of(store):
    model = ChatOpenAI(model="scripted")

    def answer(state: MessagesState, runtime: Runtime[dict]):
        place, words = (runtime.context["person"], "memories"), state["messages"][-1].content
        context = "\n".join(item.value["text"] for item in runtime.store.search(place, query=words))
        runtime.store.put(place, str(hash(words)), {"text": words})
        return {"messages": [model.invoke([("system", context), *state["messages"]])]}

    return (
        StateGraph(MessagesState, context_schema=dict).add_node(answer).add_edge(START, "answer").compile(store=store)
    )


def turn(store, who, words):
    answer = graph_of(store).invoke({"messages": [("user", words)]}, context={"person": who})
    return answer["messages"][-1].content


@scenario("the README's code")
def _():
    assert NAME in readme()


@scenario("a fact of a first session in a second")
def _():
    who = person()
    turn(store_of(), who, FACT)
    assert NAME in turn(store_of(), who, QUESTION)
    assert entries(scope=f"web:direct_{who}")


@scenario("another person does not get it")
def _():
    turn(store_of(), person(), FACT)
    assert NAME not in turn(store_of(), person(), QUESTION)


@scenario("memory away, and a key that is refused: the turn goes on")
def _():
    for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
        assert turn(store_of(key, url), person(), QUESTION) == "I do not know."
        try:
            store_of(key, url, strict=True).get(("x",), "y")
        except MemplatformError:
            continue
        raise AssertionError("with strict it is raised")


@scenario("get, put again, delete")
def _():
    who, store = person(), store_of()
    place, value = (who, "facts"), {"rows": [1, 2, {"deep": None}], "名": "船", "long": "x" * 700}
    store.put(place, "one", value)
    store.put(place, "two", value)
    store.put((*place, "below"), "one", {"text": "Likes tea", "score": 3})
    assert store.get(place, "one").value == value == store.get(place, "two").value
    assert store.get((*place, "below"), "one").value == {"text": "Likes tea", "score": 3}
    store.put(place, "one", {"text": "Likes coffee"})
    item = store.get(place, "one")
    assert item.value == {"text": "Likes coffee"} and item.updated_at >= item.created_at and item.namespace == place
    store.delete(place, "one")
    assert store.get(place, "one") is None and store.get(place, "two")
    store.put(place, "one", {"text": "Likes coffee"})
    assert store.get(place, "one").value == {"text": "Likes coffee"}


@scenario("search by prefix, filter and words")
def _():
    who, store = person(), store_of()
    for number, animal in enumerate(("cat", "dog", "wren")):
        store.put((who, "pets", animal), "it", {"text": f"The {animal} sleeps in room {number}", "room": number})
    store.put((who, "cars"), "it", {"text": "The car is green"})
    assert {item.namespace[2] for item in store.search((who, "pets"))} == {"cat", "dog", "wren"}
    assert [item.value["room"] for item in store.search((who,), filter={"room": {"$gte": 2}})] == [2]
    assert [item.value["room"] for item in store.search((who,), filter={"room": 1})] == [1]
    best = store.search((who,), query="Where does the dog sleep?")[0]
    assert best.value["room"] == 1 and best.score > 0
    assert len(store.search((who, "pets"), limit=2, offset=2)) == 1
    assert not store.search((person(),), query="Where does the dog sleep?")


@scenario("list_namespaces")
def _():
    who, store = person(), store_of()
    for place in ((who, "a", "x"), (who, "b", "x"), (who, "b", "y")):
        store.put(place, "k", {"text": f"A thing of {place[1:]}"})
    assert store.list_namespaces(prefix=(who,)) == [(who, "a", "x"), (who, "b", "x"), (who, "b", "y")]
    assert store.list_namespaces(prefix=(who,), max_depth=2) == [(who, "a"), (who, "b")]
    assert store.list_namespaces(prefix=(who, "*"), suffix=("x",)) == [(who, "a", "x"), (who, "b", "x")]


@scenario("awaited")
async def _():
    who, store = person(), store_of()
    await asyncio.gather(*(store.aput((who, "n"), str(n), {"text": f"Number {n} is {'abc'[n]}"}) for n in range(3)))
    assert (
        len(await store.asearch((who,))) == 3 and (await store.aget((who, "n"), "2")).value["text"] == "Number 2 is c"
    )


done()
