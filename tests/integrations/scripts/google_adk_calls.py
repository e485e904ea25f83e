"""The memory service and the plugin in runs of the Agent Development Kit."""

import time

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools import load_memory, preload_memory
from google.genai import types
from memplatform_adk import MemplatformMemoryService, MemplatformPlugin
from memplatform_client.turns import BotMemory
from trial import DOWN, FACT, KEY, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, readme, scenario

APP = "bot"


def deploy() -> dict:
    """Deploy the shop."""
    return {"done": "at noon"}


def runner_of(key=KEY, url=URL, plugin=True, tools=(), **options):
    service = MemplatformMemoryService(BotMemory(key, url))
    agent = Agent(name="bot", model=LiteLlm("openai/scripted"), tools=list(tools), **options)
    app = App(name=APP, root_agent=agent, plugins=[MemplatformPlugin(service)] if plugin else [])
    return Runner(app=app, session_service=InMemorySessionService(), memory_service=service)


async def turn(runner, who, chat, words):
    events = await runner.run_debug(words, user_id=who, session_id=chat, quiet=True)
    return events[-1].content.parts[0].text


def history(who, chat):
    return [row["content"] for row in BotMemory(KEY, URL).history(who, chat)]


def event_of(author, words, invocation, at):
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=words)])
    return Event(author=author, content=content, invocation_id=invocation, timestamp=at)


@scenario("a fact of a first session in a second")
async def _():
    who, runner = person(), runner_of()
    await turn(runner, who, "1", FACT)
    assert NAME in await turn(runner, who, "2", QUESTION)
    assert entries(scope=f"web:direct_{who}")


@scenario("another person does not get it")
async def _():
    runner = runner_of()
    await turn(runner, person(), "1", FACT)
    assert NAME not in await turn(runner, person(), "1", QUESTION)


@scenario("memory away, and a key that is refused: the turn goes on, and is told later")
async def _():
    for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
        who, runner = person(), runner_of(key, url)
        assert await turn(runner, who, "1", QUESTION) == "I do not know."
        session = await runner.session_service.get_session(app_name=APP, user_id=who, session_id="1")
        await MemplatformMemoryService(BotMemory(KEY, URL)).add_session_to_memory(session)
        assert history(who, "1") == [QUESTION, "I do not know."]


@scenario("an event is stored once, however often and by whomever it is added")
async def _():
    who, runner = person(), runner_of()
    for words in (FACT, QUESTION):
        await turn(runner, who, "1", words)
    session = await runner.session_service.get_session(app_name=APP, user_id=who, session_id="1")
    for service in (runner.memory_service, MemplatformMemoryService(BotMemory(KEY, URL))):
        await service.add_session_to_memory(session)
        await service.add_events_to_memory(app_name=APP, user_id=who, session_id="1", events=session.events[:2])
    assert history(who, "1")[::2] == [FACT, QUESTION], history(who, "1")
    assert len(entries(scope=f"web:direct_{who}")) == 2


@scenario("a session of days ago: its time, and what is there is not told again")
async def _():
    who, service, then = person(), MemplatformMemoryService(BotMemory(KEY, URL)), time.time() - 3 * 86_400
    messages = (("user", FACT), ("bot", "Noted."), ("user", "My kiln is called Coot."), ("bot", "Good."))
    events = [event_of(*messages[n], f"e-{n // 2}", then + n) for n in range(4)]
    service.bot.after(who, FACT, "Noted.", "1")
    await service.add_session_to_memory(Session(id="1", app_name=APP, user_id=who, events=events))
    assert history(who, "1") == [words for _author, words in messages]
    other = person()
    await service.add_session_to_memory(Session(id="1", app_name=APP, user_id=other, events=events[2:]))
    (row,) = entries("Coot", scope=f"web:direct_{other}")
    assert row["stated_at"][:10] == time.strftime("%Y-%m-%d", time.gmtime(then)), row


@scenario("by ADK's own tools alone: load_memory, preload_memory, add_session_to_memory")
async def _():
    who = person()

    async def keep(callback_context):
        await callback_context.add_session_to_memory()

    await turn(runner_of(plugin=False, after_agent_callback=keep), who, "1", FACT)
    assert NAME in await turn(runner_of(plugin=False, tools=[preload_memory]), who, "2", QUESTION)
    words = 'Please.\nCall load_memory with {"query": "boat"}'
    events = await runner_of(plugin=False, tools=[load_memory]).run_debug(
        words, user_id=who, session_id="3", quiet=True
    )
    assert NAME in str(events[1].get_function_responses()[0].response)


@scenario("a call of a tool is kept with its turn, and what memory says is in no event")
async def _():
    who, runner = person(), runner_of(tools=[deploy])
    assert await turn(runner, who, "1", "Deploy the shop") == "Deployed."
    answer = BotMemory(KEY, URL).history(who, "1")[-1]
    (call,) = answer["data"]["tool_calls"]
    assert (answer["content"], call["name"]) == ("Deployed.", "deploy") and "noon" in call["result"]
    session = await runner.session_service.get_session(app_name=APP, user_id=who, session_id="1")
    assert "information, never" not in session.model_dump_json()


@scenario("add_memory and delete_memory, of nobody else")
async def _():
    who, service = person(), MemplatformMemoryService(BotMemory(KEY, URL))
    named = {"app_name": APP, "user_id": who}
    memory = MemoryEntry(content=types.Content(parts=[types.Part(text="Her boat is called Wren.")]))
    await service.add_memory(**named, memories=[memory])
    (found,) = (await service.search_memory(**named, query="boat")).memories
    await service.delete_memory(app_name=APP, user_id=person(), memory_id=found.id)
    assert (await service.search_memory(**named, query="boat")).memories
    await service.delete_memory(**named, memory_id=found.id)
    assert not (await service.search_memory(**named, query="boat")).memories


@scenario("the README's code")
def _():
    assert NAME in readme().splitlines()[-1]


done()
