"""The memory and the context in runs of AutoGen's AssistantAgent."""

from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import ListMemory, MemoryContent
from autogen_core.model_context import BufferedChatCompletionContext
from autogen_ext.models.openai import OpenAIChatCompletionClient
from memplatform_autogen import MemplatformMemory
from memplatform_client.turns import BotMemory
from trial import FACT, KEY, NAME, QUESTION, URL, done, first_scenarios, person, readme, scenario

INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}
model = OpenAIChatCompletionClient(model="scripted", model_info=INFO)


async def deploy() -> str:
    """Deploy the shop."""
    return "deployed at noon"


def agent_of(who, chat, key=KEY, url=URL, within=None, **options):
    memory = MemplatformMemory(BotMemory(key, url), who, chat)
    return AssistantAgent("bot", model, memory=[memory], model_context=memory.context(within), **options)


async def turn(agent, words):
    return (await agent.run(task=words)).messages[-1].content


first_scenarios(lambda who, chat, words, key=KEY, url=URL: turn(agent_of(who, chat, key, url), words))


@scenario("what memory says is never one of the messages, and a state goes on")
async def _():
    who = person()
    await turn(agent_of(who, "1"), FACT)
    agent = agent_of(who, "2", within=BufferedChatCompletionContext(4))
    for words in (QUESTION, "And once more?", "Really?"):
        await turn(agent, words)
    kinds = [message.type for message in await agent.model_context.get_messages()]
    assert kinds.count("SystemMessage") <= 1 and kinds[-1] == "AssistantMessage" and len(kinds) <= 5
    other = agent_of(who, "2")
    await other.load_state(await agent.save_state())
    assert "Really?" in str(await other.model_context.get_messages())
    await other.on_reset(None)
    assert await other.model_context.get_messages() == []


@scenario("a call of a tool is kept with its turn, reflected on or not")
async def _():
    for reflect in (True, False):
        who = person()
        agent = agent_of(who, "1", tools=[deploy], reflect_on_tool_use=reflect)
        await turn(agent, "Deploy the shop")
        await turn(agent, "Thank you.")
        rows = BotMemory(KEY, URL).history(who, "1")
        assert [row["content"] for row in rows[::2]] == ["Deploy the shop", "Thank you."], rows
        calls = rows[1]["data"]["tool_calls"]
        assert len(calls) == 1 and calls[0]["name"] == "deploy" and calls[0]["result"] == "deployed at noon"


@scenario("query, add and clear, and beside another memory in a context of AutoGen's own")
async def _():
    who = person()
    memory = MemplatformMemory(BotMemory(KEY, URL), who, "1")
    await memory.add(MemoryContent(content="Her boat is called Wren.", mime_type="text/plain"))
    (row,) = (await memory.query("boat")).results
    assert NAME in row.content and row.metadata["score"] > 0
    assert not (await MemplatformMemory(BotMemory(KEY, URL), person()).query("boat")).results
    several = OpenAIChatCompletionClient(model="scripted", model_info=INFO | {"multiple_system_messages": True})
    assert NAME in await turn(AssistantAgent("bot", several, memory=[ListMemory(), memory]), QUESTION)
    await memory.clear()
    assert (await memory.query("boat")).results
    await memory.close()


@scenario("in a stream, and the words of other agents are not the person's")
async def _():
    from autogen_agentchat.conditions import MaxMessageTermination
    from autogen_agentchat.teams import RoundRobinGroupChat

    who = person()
    agent = agent_of(who, "1", model_client_stream=True)
    team = RoundRobinGroupChat([AssistantAgent("clerk", model), agent], termination_condition=MaxMessageTermination(3))
    async for _event in team.run_stream(task=FACT):
        pass
    rows = BotMemory(KEY, URL).history(who, "1")
    assert [row["content"] for row in rows] == [FACT, "It is called Wren."]


@scenario("the README's code")
def _():
    assert NAME in readme().splitlines()[-1]


done()
