"""The capability in runs of Pydantic AI."""

from memplatform_client.turns import BotMemory
from memplatform_pydantic_ai import MemplatformMemory
from pydantic_ai import Agent
from trial import DOWN, FACT, KEY, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, readme, scenario


def agent_of(key=KEY, url=URL, **options):
    capability = MemplatformMemory(BotMemory(key, url), **options)
    return Agent("openai-chat:scripted", deps_type=str, capabilities=[capability])


@scenario("a fact of a first session in a second")
async def _():
    who = person()
    await agent_of().run(FACT, deps=who)
    assert NAME in (await agent_of().run(QUESTION, deps=who)).output
    assert entries(scope=f"web:direct_{who}")


@scenario("another person does not get it")
async def _():
    await agent_of().run(FACT, deps=person())
    assert NAME not in (await agent_of().run(QUESTION, deps=person())).output


@scenario("memory away, and a key that is refused: the turn goes on")
async def _():
    for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
        assert (await agent_of(key, url).run(QUESTION, deps=person())).output == "I do not know."


@scenario("the model searches and saves by its tools")
async def _():
    who = person()
    await agent_of().run('Please.\nCall memory_save with {"sentence": "Her boat is called Wren."}', deps=who)
    assert any(row["type"] == "user_explicit" for row in entries(scope=f"web:direct_{who}"))
    for name, there in ((who, True), (person(), False)):
        run = await agent_of().run('Please.\nCall memory_search with {"words": "boat"}', deps=name)
        assert (NAME in str([part for message in run.new_messages() for part in message.parts][2])) is there
    without = await agent_of(tools=False).run('Please.\nCall memory_search with {"words": "boat"}', deps=who)
    assert len(without.new_messages()) == 2


@scenario("one agent for many people at once, with a history of its own")
async def _():
    import asyncio

    agent, people = agent_of(), [person() for _ in range(4)]
    await asyncio.gather(*(agent.run(FACT if n % 2 else "Hello.", deps=who) for n, who in enumerate(people)))
    runs = await asyncio.gather(*(agent.run(QUESTION, deps=who) for who in people))
    assert [NAME in run.output for run in runs] == [False, True, False, True]
    again = await agent.run("And once more?", deps=people[1], message_history=runs[1].all_messages())
    assert NAME in again.output


@scenario("the README's code")
def _():
    assert NAME in readme().splitlines()[-1]


done()
