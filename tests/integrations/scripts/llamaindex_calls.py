"""The memory in agents and chat engines of LlamaIndex."""

import asyncio

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.llms.openai_like import OpenAILike
from memplatform_client.turns import BotMemory
from memplatform_llamaindex import MemplatformMemory
from trial import FACT, KEY, MODEL, NAME, QUESTION, URL, done, first_scenarios, person, readme, scenario


def model():
    return OpenAILike(
        model="scripted", api_base=MODEL, api_key="none", is_chat_model=True, is_function_calling_model=True
    )


def deploy() -> str:
    """Deploy the shop."""
    return "deployed at noon"


def memory_of(who, chat="1", key=KEY, url=URL, **options):
    return MemplatformMemory.of(BotMemory(key, url), who, chat, **options)


async def turn(memory, words, kind=FunctionAgent, **options):
    return str(await kind(llm=model(), **options).run(words, memory=memory))


first_scenarios(lambda who, chat, words, key=KEY, url=URL: turn(memory_of(who, chat, key, url), words))


@scenario("what memory says is stored with no message, beside a system prompt, within a limit of tokens")
async def _():
    who = person()
    await turn(memory_of(who, "1"), FACT)
    memory = memory_of(who, "2", token_limit=400)
    for words in (QUESTION, "And once more?", "Really? " * 40):
        assert NAME in await turn(memory, words, system_prompt="Be brief.")
    kinds = [message.role.value for message in await memory.aget_all()]
    assert "system" not in kinds and kinds[-2:] == ["user", "assistant"]
    await memory.areset()
    assert await memory.aget() == [] and BotMemory(KEY, URL).history(who, "2") == []
    assert NAME in await turn(memory, QUESTION)


@scenario("a call of a tool is kept with its turn, in a stream and whole")
async def _():
    for streaming in (True, False):
        who = person()
        assert await turn(memory_of(who), "Deploy the shop", tools=[deploy], streaming=streaming) == "Deployed."
        question, answer = BotMemory(KEY, URL).history(who, "1")
        assert (question["content"], answer["content"]) == ("Deploy the shop", "Deployed.")
        (call,) = answer["data"]["tool_calls"]
        assert call["name"] == "deploy" and "noon" in call["result"]


@scenario("a history of the bot's own is not told again, and its last question is a turn")
async def _():
    who = person()
    history = [ChatMessage(role="user", content="Hi."), ChatMessage(role="assistant", content="Hello.")]
    agent, memory = FunctionAgent(llm=model()), memory_of(who)
    await agent.run(chat_history=[*history, ChatMessage(role="user", content=FACT)], memory=memory)
    assert [row["content"] for row in BotMemory(KEY, URL).history(who, "1")] == [FACT, "It is called Wren."]


@scenario("in a chat engine without await")
async def _():
    who = person()

    def talk():
        SimpleChatEngine.from_defaults(llm=model(), memory=memory_of(who, "1")).chat(FACT)
        return str(SimpleChatEngine.from_defaults(llm=model(), memory=memory_of(who, "2")).chat(QUESTION))

    assert NAME in await asyncio.to_thread(talk)
    streamed = SimpleChatEngine.from_defaults(llm=model(), memory=memory_of(who, "3"))
    answer = await streamed.astream_chat("And in a stream?")
    assert NAME in "".join([part async for part in answer.async_response_gen()])
    assert len(BotMemory(KEY, URL).history(who, "3")) == 2


@scenario("of a ReActAgent its answer, not its thoughts")
async def _():
    who, memory = person(), memory_of("x")
    memory._person = who
    await memory.aput(ChatMessage(role="user", content=FACT))
    await memory.aput(ChatMessage(role="assistant", content="Thought: I can answer.\nAnswer: Noted."))
    assert [row["content"] for row in BotMemory(KEY, URL).history(who, "1")] == [FACT, "Noted."]
    assert await turn(memory_of(who, "2"), QUESTION, ReActAgent)


@scenario("the README's code")
def _():
    assert NAME in readme().splitlines()[-1]


done()
