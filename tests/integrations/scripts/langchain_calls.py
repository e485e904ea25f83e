"""The history and the retriever in chains of LangChain."""

import asyncio
import warnings

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableWithMessageHistory
from langchain_openai import ChatOpenAI
from memplatform_client.turns import BotMemory
from memplatform_langchain import MemplatformHistory, MemplatformRetriever
from trial import DOWN, FACT, KEY, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, readme, scenario


def turn(who, chat, words, key=KEY, url=URL):
    memory = BotMemory(key, url)
    history, retriever = MemplatformHistory(memory, who, chat), MemplatformRetriever(memory=memory, person=who)
    context = SystemMessage("\n".join(row.page_content for row in retriever.invoke(words)))
    answer = ChatOpenAI(model="scripted").invoke([context, *history.messages, HumanMessage(words)])
    history.add_messages([HumanMessage(words), answer])
    return answer.text


@scenario("the README's code")
def _():
    assert NAME in readme().splitlines()[-1]


@scenario("a fact of a first session in a second")
def _():
    who = person()
    turn(who, f"{who}-1", FACT)
    assert NAME in turn(who, f"{who}-2", QUESTION)
    assert entries(scope=f"web:direct_{who}")


@scenario("another person does not get it")
def _():
    who, other = person(), person()
    turn(who, f"{who}-1", FACT)
    assert NAME not in turn(other, f"{other}-1", QUESTION)


@scenario("memory away, and a key that is refused: the turn goes on")
def _():
    for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
        assert turn(person(), "any", QUESTION, key, url) == "I do not know."


@scenario("the history of a conversation, and a new one")
def _():
    who = person()
    turn(who, who, FACT)
    history = MemplatformHistory(BotMemory(KEY, URL), who, who)
    assert [(message.type, message.content) for message in history.messages] == [
        ("human", FACT),
        ("ai", "It is called Wren."),
    ]
    history.clear()
    assert history.messages == []


@scenario("in RunnableWithMessageHistory")
def _():
    who = person()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain gives it up
        chain = RunnableWithMessageHistory(
            ChatPromptTemplate([MessagesPlaceholder("history"), ("human", "{words}")]) | ChatOpenAI(model="scripted"),
            lambda session_id: MemplatformHistory(BotMemory(KEY, URL), who, session_id),
            input_messages_key="words",
            history_messages_key="history",
        )
    for words in (FACT, QUESTION):
        answer = chain.invoke({"words": words}, config={"configurable": {"session_id": "any"}})
    assert NAME in answer.content


@scenario("a call of a tool is kept with its turn")
def _():
    who = person()
    history = MemplatformHistory(BotMemory(KEY, URL), who, who)
    call = {"name": "deploy", "args": {"to": "shop"}, "id": "c1"}
    history.add_messages([HumanMessage("Deploy the shop"), AIMessage("", tool_calls=[call])])
    assert len(history.messages) == 2
    history.add_messages([ToolMessage("deployed at noon", tool_call_id="c1"), AIMessage("Done.")])
    assert [message.type for message in history.messages] == ["human", "ai"]
    rows = BotMemory(KEY, URL).history(who, who)
    assert rows[-1]["data"]["tool_calls"][0]["result"] == "deployed at noon"


@scenario("awaited")
async def _():
    who = person()
    history = MemplatformHistory(BotMemory(KEY, URL), who, who)
    await history.aadd_messages([HumanMessage(FACT), AIMessage("Noted.")])
    assert len(await history.aget_messages()) == 2
    rows = await MemplatformRetriever(memory=BotMemory(KEY, URL), person=who).ainvoke(QUESTION)
    assert NAME in rows[0].page_content and rows[0].metadata["score"] > 0
    await asyncio.sleep(0)


done()
