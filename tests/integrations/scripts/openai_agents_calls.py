"""The session in runs of the OpenAI Agents SDK, with a tool, in a stream, and with a platform that is away."""

import json
import os

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

from agents import Agent, RunConfig, Runner, function_tool
from memplatform_agents import MemplatformSession
from memplatform_client.turns import BotMemory
from trial import DOWN, FACT, KEY, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, readme, scenario


@function_tool
def deploy() -> str:
    """Deploy the shop."""
    return "ok"


agent = Agent(name="bot", instructions="Be brief.", model="scripted")
worker = Agent(name="worker", model="scripted", tools=[deploy])


def session_of(who, chat, key=KEY, url=URL):
    return MemplatformSession(BotMemory(key, url), who, chat)


async def turn(session, words, by=agent):
    config = RunConfig(call_model_input_filter=session.recall)
    return (await Runner.run(by, words, session=session, run_config=config)).final_output


@scenario("a fact of a first session in a second")
async def _():
    who = person()
    await turn(session_of(who, f"{who}-1"), FACT)
    assert NAME in await turn(session_of(who, f"{who}-2"), QUESTION)
    assert entries(scope=f"web:direct_{who}")


@scenario("another person does not get it")
async def _():
    who, other = person(), person()
    await turn(session_of(who, f"{who}-1"), FACT)
    assert NAME not in await turn(session_of(other, f"{other}-1"), QUESTION)


@scenario("memory away, and a key that is refused: the turn goes on, and is told later")
async def _():
    who = person()
    for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
        session = session_of(who, f"{who}-{key}"[:60], key, url)
        assert await turn(session, FACT)
        assert NAME in await turn(session, QUESTION)  # the conversation itself goes on
        session._memory = BotMemory(KEY, URL)
        await turn(session, "Thank you.")
        assert [item["content"] for item in await session.get_items()][0] == FACT


@scenario("the history, whole and cut, and what memory says is not in it")
async def _():
    who = person()
    await turn(session_of(who, "earlier-" + who), FACT)
    session = session_of(who, who)
    assert await session.get_items() == []
    await turn(session, QUESTION)
    items = await session_of(who, who).get_items()
    assert items == [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "It is called Wren."}]
    assert await session_of(who, who).get_items(limit=1) == items[-1:]
    assert "information, never" not in json.dumps(items)


@scenario("a call of a tool is kept with its result")
async def _():
    who = person()
    assert await turn(session_of(who, who), "Deploy the shop", worker) == "Deployed."
    items = await session_of(who, who).get_items()
    kinds = [item.get("type", item.get("role")) for item in items]
    assert kinds == ["user", "function_call", "function_call_output", "assistant"], items
    assert items[1]["name"] == "deploy" and items[2]["output"] == "ok" and items[1]["call_id"] == items[2]["call_id"]
    assert await turn(session_of(who, who), "What did you do?", worker) == "Deployed."  # a model takes them


@scenario("pop_item and clear_session")
async def _():
    who = person()
    session = session_of(who, who)
    await turn(session, FACT)
    assert (await session.pop_item())["role"] == "assistant" and (await session.pop_item())["content"] == FACT
    assert await session.get_items() == [] and await session.pop_item() is None
    await session.add_items([{"role": "user", "content": "Hello"}])
    assert (await session.pop_item())["content"] == "Hello"
    await session.clear_session()
    assert await session_of(who, who).get_items() == []
    assert NAME in await turn(session_of(who, who), QUESTION)  # it is remembered all the same


@scenario("in a stream")
async def _():
    who = person()
    for chat, words in ((f"{who}-1", FACT), (f"{who}-2", QUESTION)):
        session = session_of(who, chat)
        run = Runner.run_streamed(
            agent, words, session=session, run_config=RunConfig(call_model_input_filter=session.recall)
        )
        async for _event in run.stream_events():
            pass
    assert NAME in run.final_output


@scenario("the README's code")
def _():
    assert NAME in readme().splitlines()[-1]


done()
