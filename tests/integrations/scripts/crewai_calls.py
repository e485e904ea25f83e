"""The memory in agents and crews of CrewAI."""

import os

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import LLM, Agent, Crew, Task
from memplatform_client.turns import BotMemory
from memplatform_crewai import MemplatformMemory
from trial import (
    DOWN,
    FACT,
    KEY,
    MODEL,
    NAME,
    QUESTION,
    URL,
    WRONG_KEY,
    done,
    entries,
    eventually,
    person,
    readme,
    scenario,
)


def memory_of(who, chat="1", key=KEY, url=URL, **options):
    return MemplatformMemory.of(BotMemory(key, url), who, chat, **options)


def agent_of(memory=None):
    model = LLM(model="openai/scripted", base_url=MODEL, api_key="none")
    return Agent(role="bot", goal="Answer.", backstory="Brief.", llm=model, memory=memory)


def turn(memory, words):
    return agent_of(memory).kickoff(words).raw


def history(who, chat="1"):
    return [row["content"] for row in BotMemory(KEY, URL).history(who, chat)]


@scenario("a fact of a first session in a second")
def _():
    who = person()
    turn(memory_of(who, "1"), FACT)
    eventually(lambda: entries(scope=f"web:direct_{who}"))
    assert NAME in turn(memory_of(who, "2"), QUESTION)


@scenario("another person does not get it")
def _():
    turn(memory_of(person()), FACT)
    assert NAME not in turn(memory_of(person()), QUESTION)


@scenario("memory away, and a key that is refused: the turn goes on")
def _():
    for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
        assert turn(memory_of(person(), "1", key, url), QUESTION) == "I do not know."


@scenario("a turn is the person's message and the answer, from an agent and from a crew")
def _():
    who = person()
    turn(memory_of(who), FACT)
    assert history(who) == [FACT, "It is called Wren."]
    task = Task(description=QUESTION, expected_output="A name.", agent=agent_of())
    crew = Crew(agents=[task.agent], tasks=[task], memory=memory_of(who, "2"))
    assert NAME in crew.kickoff().raw and history(who, "2") == [QUESTION, "It is called Wren."]
    crew.reset_memories("memory")
    assert entries(scope=f"web:direct_{who}")


@scenario("the model searches and saves by CrewAI's tools")
def _():
    who = person()
    turn(memory_of(who), 'Please.\nCall save_to_memory with {"contents": ["Her boat is called Wren."]}')
    assert any(row["type"] == "user_explicit" for row in entries(scope=f"web:direct_{who}"))
    for name, there in ((who, True), (person(), False)):
        ran = agent_of(memory_of(name)).kickoff('Please.\nCall search_memory with {"queries": ["boat"]}')
        results = [message["content"] for message in ran.messages if message["role"] == "tool"]
        assert (NAME in str(results)) is there, ran.messages


@scenario("remember, list_records and forget, of nobody else, and read_only")
def _():
    who = person()
    memory, other = memory_of(who), memory_of(person())
    kept = memory.remember("Her boat is called Wren.")
    assert [record.id for record in memory.list_records()] == [kept.id] and not other.list_records()
    assert memory.recall("boat")[0].score > 0 and memory.scope("/boats").recall("boat")
    assert other.forget(record_ids=[kept.id]) == 0 and memory.forget(record_ids=[kept.id]) == 1
    assert not memory.recall("boat") and memory.tree()
    assert memory_of(who, read_only=True).remember("Her boat is called Wren.") is None and not memory.list_records()


@scenario("the README's code")
def _():
    assert NAME in readme().splitlines()[-1]


done()
