"""One framework that remembers by mem0, as it is installed: `python integrations.py HOST KEY FOLDER NAME`.

Each keeps a conversation, recalls it in another, lists and clears where it can. Prints one JSON object, as calls.py.
"""

import asyncio
import importlib.metadata
import json
import os
import sys
import tempfile
import uuid
from functools import partial
from pathlib import Path

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp(), "ANONYMIZED_TELEMETRY": "False"}
sys.path.append(str(Path(__file__).parents[3]))  # for the scripted model, after everything that is installed

HOST, KEY, FOLDER, NAME = sys.argv[1:5]
USER = f"erin-{uuid.uuid4().hex[:8]}"
SAID, QUESTION, ANSWER = "My boat is called Wren", "What is my boat called?", "Wren"
calls = {}


def tried(name):
    """Run a call at once, and note what became of it."""

    def run(call):
        try:
            answer = asyncio.run(call()) if asyncio.iscoroutinefunction(call) else call()
            calls[name] = "ok" if answer is not False else "a wrong answer"
        except Exception as error:
            calls[name] = f"{type(error).__name__}: {error}"[:300]
        return call

    return run


def every_memory():
    """All that is kept for the user, by the other way to ask."""
    import urllib.request

    headers = {"Authorization": f"Token {KEY}", "Content-Type": "application/json"}
    body = json.dumps({"filters": {"user_id": USER}}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{HOST}/v3/memories/", body, headers)) as answer:
        return json.load(answer)["results"]


def pointed_at_us(module):
    """A module that makes its client without an address makes it with this one: what its users write, too."""
    from mem0 import AsyncMemoryClient, MemoryClient

    for name, made in (("MemoryClient", MemoryClient), ("AsyncMemoryClient", AsyncMemoryClient)):
        if hasattr(module, name):
            setattr(module, name, partial(made, host=HOST))


def agno():
    import agno.tools.mem0
    from agno.agent import Agent
    from agno.run import RunContext

    pointed_at_us(agno.tools.mem0)
    tools = agno.tools.mem0.Mem0Tools(api_key=KEY)
    context = RunContext(run_id="r1", session_id="s1", user_id=USER)
    other = RunContext(run_id="r2", session_id="s2", user_id=USER)

    @tried("its tools are an agent's")
    def _():
        return len(Agent(tools=[tools]).tools) == 1 and len(tools.functions) == 4

    @tried("add_memory")
    def _():
        return SAID in tools.add_memory(context, SAID)

    @tried("search_memory in another session")
    def _():
        return ANSWER in json.loads(tools.search_memory(other, QUESTION))[0]["memory"]

    @tried("get_all_memories")
    def _():
        return [SAID in row["memory"] for row in json.loads(tools.get_all_memories(other))] == [True]

    @tried("delete_all_memories")
    def _():
        answer = tools.delete_all_memories(other)
        return answer.startswith("Successfully") and not every_memory()


def mem0_haystack():
    from haystack import Pipeline
    from haystack.dataclasses import ChatMessage
    from haystack.utils import Secret
    from haystack_integrations.components.retrievers.mem0 import Mem0MemoryRetriever
    from haystack_integrations.components.writers.mem0 import Mem0MemoryWriter
    from haystack_integrations.memory_stores.mem0 import Mem0MemoryStore, memory_store

    pointed_at_us(memory_store)
    store = Mem0MemoryStore(api_key=Secret.from_token(KEY))

    @tried("a writer in a pipeline")
    def _():
        pipeline = Pipeline()
        pipeline.add_component("writer", Mem0MemoryWriter(memory_store=store))
        messages = [ChatMessage.from_user(SAID), ChatMessage.from_assistant("Noted.")]
        return pipeline.run({"writer": {"messages": messages, "user_id": USER}})["writer"]["memories_written"] > 0

    @tried("a writer of words as they are, for a run")
    def _():
        writer = Mem0MemoryWriter(memory_store=store, infer=False)
        return writer.run([ChatMessage.from_user("I like tea")], user_id=USER, run_id="r1")["memories_written"] == 1

    @tried("a retriever in another pipeline")
    def _():
        pipeline = Pipeline()
        pipeline.add_component("retriever", Mem0MemoryRetriever(memory_store=store, top_k=3))
        found = pipeline.run({"retriever": {"query": QUESTION, "user_id": USER}})["retriever"]["memories"]
        return ANSWER in found[0].text and found[0].meta["mem0"]["score"] > 0

    @tried("a retriever without a question")
    def _():
        found = Mem0MemoryRetriever(memory_store=store).run(None, user_id=USER)["memories"]
        return "I like tea" in [one.text for one in found] and any(SAID in one.text for one in found)

    haystack_filters(store)
    haystack_tools(store)


def haystack_filters(store):
    from haystack.dataclasses import ChatMessage
    from haystack_integrations.components.retrievers.mem0 import Mem0MemoryRetriever

    @tried("a retriever with filters")
    def _():
        store.add_memories(
            messages=[ChatMessage.from_user("Lunch is at noon")],
            user_id=USER,
            infer=False,
            metadata={"category": "work"},
        )
        by_name = {"field": "category", "operator": "==", "value": "work"}
        found = Mem0MemoryRetriever(memory_store=store).run("lunch", user_id=USER, filters=by_name)["memories"]
        by_ids = {"field": "run_id", "operator": "in", "value": ["r1", "r2"]}
        of_run = Mem0MemoryRetriever(memory_store=store).run(None, user_id=USER, filters=by_ids)["memories"]
        not_tea = {"operator": "NOT", "conditions": [{"field": "run_id", "operator": "==", "value": "r1"}]}
        rest = Mem0MemoryRetriever(memory_store=store).run(None, user_id=USER, filters=not_tea)["memories"]
        texts = [[one.text for one in some] for some in (found, of_run)]
        return texts == [["Lunch is at noon"], ["I like tea"]] and "I like tea" not in [one.text for one in rest]


def haystack_tools(store):
    from haystack_integrations.tools.mem0 import Mem0MemoryRetrieverTool, Mem0MemoryWriterTool

    @tried("its tools")
    def _():
        Mem0MemoryWriterTool(memory_store=store).invoke(text="The cat is called Rice", user_id=USER)
        return "Rice" in str(Mem0MemoryRetrieverTool(memory_store=store).invoke(query="the cat", user_id=USER))


def mem0_strands():
    from mem0_strands import Mem0MemoryStore
    from strands import Agent
    from strands.memory import MemoryManager
    from strands.models.openai import OpenAIModel

    from tests.support.scripted_openai import scripted_model

    def store(**more):
        return Mem0MemoryStore(user_id=USER, api_key=KEY, host=HOST, **more)

    @tried("an agent keeps what is said, another one knows it")
    async def _():
        with scripted_model() as model:
            arguments = {"base_url": model, "api_key": "none"}
            answers = []
            for words in (SAID, QUESTION):
                manager = MemoryManager(stores=[store(extraction=True)])
                chosen = OpenAIModel(client_args=arguments, model_id="scripted")
                agent = Agent(model=chosen, memory_manager=manager, callback_handler=None)
                answers.append(str(await agent.invoke_async(words)))
                await manager.flush()
        return ANSWER in answers[1] or answers[1]

    @tried("add")
    async def _():
        return (await store(metadata={"kind": "food"}).add("Figs are the best fruit"))["results"][0]["event"] == "ADD"

    @tried("add_messages")
    async def _():
        talk = [
            {"role": "user", "content": [{"text": "My sister is Lena"}]},
            {"role": "assistant", "content": [{"text": "Noted."}]},
        ]
        return bool((await store().add_messages(talk))["results"])

    @tried("search")
    async def _():
        found = await store().search("What is my sister called?")
        kinds = [one.metadata.get("kind") for one in await store().search("the best fruit")]
        return "Lena" in found[0].content and "food" in kinds


async def pipecat_conversation(memory, messages):
    """What reaches the model of a pipeline with this memory."""
    from pipecat.frames.frames import EndFrame, LLMContextFrame
    from pipecat.pipeline.pipeline import Pipeline
    from pipecat.pipeline.runner import PipelineRunner
    from pipecat.pipeline.task import PipelineTask
    from pipecat.processors.aggregators.llm_context import LLMContext
    from pipecat.processors.frame_processor import FrameProcessor

    class Model(FrameProcessor):
        """Stands where the model would, and keeps what reached it."""

        seen = []

        async def process_frame(self, frame, direction):
            await super().process_frame(frame, direction)
            if isinstance(frame, LLMContextFrame):
                self.seen.append([dict(one) for one in frame.context.get_messages()])
            await self.push_frame(frame, direction)

    model = Model()
    task = PipelineTask(Pipeline([memory, model]), cancel_on_idle_timeout=False)
    await task.queue_frames([LLMContextFrame(LLMContext(messages)), EndFrame()])
    await PipelineRunner(handle_sigint=False).run(task)
    return model.seen[-1]


def pipecat_ai():
    from pipecat.services.mem0.memory import Mem0MemoryService

    def service(**more):
        return Mem0MemoryService(api_key=KEY, host=HOST, user_id=USER, agent_id="waiter", **more)

    @tried("a conversation goes through it")
    async def _():
        tool = {"id": "t1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
        texts = [
            {"role": "system", "content": "You are a waiter."},
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "tool_calls": [tool]},
            {"role": "tool", "tool_call_id": "t1", "content": "noon"},
            {"role": "user", "content": SAID},
        ]
        await pipecat_conversation(service(), texts)
        for _attempt in range(50):  # it keeps them in the background
            if any(SAID in row["memory"] for row in await service().get_memories()):
                return True
            await asyncio.sleep(0.1)
        return False

    @tried("another conversation has it before its model")
    async def _():
        reached = await pipecat_conversation(service(), [{"role": "user", "content": QUESTION}])
        return len(reached) == 2 and ANSWER in json.dumps(reached)

    @tried("get_memories")
    async def _():
        return all(row["agent_id"] == "waiter" for row in await service().get_memories())


def autogen_ext():
    import autogen_ext.memory.mem0._mem0
    from autogen_agentchat.agents import AssistantAgent
    from autogen_core.memory import MemoryContent, MemoryMimeType
    from autogen_ext.memory.mem0 import Mem0Memory
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    from tests.support.scripted_openai import scripted_model

    pointed_at_us(autogen_ext.memory.mem0._mem0)

    def memory():
        return Mem0Memory(user_id=USER, api_key=KEY)

    @tried("add")
    async def _():
        await memory().add(MemoryContent(content=SAID, mime_type=MemoryMimeType.TEXT, metadata={"kind": "boat"}))
        return any(SAID in row["memory"] for row in every_memory())

    @tried("query")
    async def _():
        found = (await memory().query(QUESTION)).results
        return ANSWER in found[0].content and found[0].metadata["kind"] == "boat" and found[0].metadata["score"] > 0

    @tried("an agent has it before its model")
    async def _():
        with scripted_model() as model:
            info = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown"}
            info |= {"structured_output": False, "multiple_system_messages": True}
            chosen = OpenAIChatCompletionClient(model="scripted", base_url=model, api_key="none", model_info=info)
            agent = AssistantAgent("assistant", model_client=chosen, memory=[memory()])
            answer = await agent.run(task=QUESTION)
            await chosen.close()
        return ANSWER in answer.messages[-1].content

    @tried("clear")
    async def _():
        await memory().clear()
        return not every_memory()


def camel_ai():
    import mem0

    pointed_at_us(mem0)
    from camel.memories.records import MemoryRecord
    from camel.messages import BaseMessage
    from camel.storages import Mem0Storage
    from camel.types import OpenAIBackendRole

    storage = Mem0Storage(agent_id="captain", api_key=KEY, user_id=USER, metadata={"trip": "north"})
    words = ((BaseMessage.make_user_message, "user", SAID), (BaseMessage.make_assistant_message, "assistant", "Noted."))
    records = [
        MemoryRecord(message=make(role, text), role_at_backend=OpenAIBackendRole(role), agent_id="captain")
        for make, role, text in words
    ]

    @tried("save")
    def _():
        storage.save(
            [{"message": {"content": one.message.content}, "role_at_backend": one.role_at_backend} for one in records]
        )
        return any(SAID in row["memory"] and row["metadata"] == {"trip": "north"} for row in every_memory())

    @tried("load in another storage")
    def _():
        loaded = Mem0Storage(agent_id="captain", api_key=KEY, user_id=USER).load()
        return any(SAID in record["message"]["content"] for record in loaded)

    @tried("clear")
    def _():
        storage.clear()
        return not every_memory()


def agent_framework_mem0():
    from agent_framework import Agent, BaseChatClient, ChatResponse, Message
    from agent_framework_mem0 import Mem0ContextProvider
    from mem0 import AsyncMemoryClient

    class Model(BaseChatClient):
        """Says what it knows."""

        async def _inner_get_response(self, *, messages, stream, options, **more):
            answers = "\n".join(message.text for message in messages)
            words = "It is called Wren." if "called Wren" in answers else "I do not know."
            return ChatResponse(messages=[Message("assistant", [words])], response_id="r1")

    def agent(**whose):
        made = AsyncMemoryClient(api_key=KEY, host=HOST)
        provider = Mem0ContextProvider(mem0_client=made, user_id=USER, agent_id="captain", **whose)
        return Agent(client=Model(), context_providers=[provider])

    @tried("an agent keeps what is said")
    async def _():
        await agent(search_user_id=USER).run(SAID)
        return any(SAID in row["memory"] and row["agent_id"] == "captain" for row in every_memory())

    @tried("another agent knows it")
    async def _():
        return ANSWER in (await agent(search_user_id=USER).run(QUESTION)).text

    @tried("an agent that searches by user and by agent")
    async def _():
        return ANSWER in (await agent(search_user_id=USER, search_agent_id="captain").run(QUESTION)).text

    @tried("another user's agent does not know it")
    async def _():
        return ANSWER not in (await agent(search_user_id=f"not-{USER}").run("What is a boat?")).text


def nvidia_nat_mem0ai():
    from nat.builder.workflow_builder import WorkflowBuilder
    from nat.memory.models import MemoryItem
    from nat.plugins.mem0ai.memory import Mem0MemoryClientConfig

    os.environ["MEM0_API_KEY"] = KEY
    talk = [{"role": "user", "content": SAID}, {"role": "assistant", "content": "Noted."}]
    item = {"conversation": talk, "user_id": USER, "tags": ["boat"], "metadata": {"run_id": "r1", "kind": "home"}}

    async def with_memory(work):
        async with WorkflowBuilder() as builder:
            await builder.add_memory_client("memory", Mem0MemoryClientConfig(host=HOST))
            return await work(await builder.get_memory_client("memory"))

    @tried("add_items")
    async def _():
        await with_memory(lambda memory: memory.add_items([MemoryItem(**item)]))
        return any(row["metadata"] == {"kind": "home"} and row["run_id"] == "r1" for row in every_memory())

    @tried("search")
    async def _():
        found = await with_memory(lambda memory: memory.search(QUESTION, top_k=3, user_id=USER))
        return ANSWER in found[0].memory and found[0].metadata == {"kind": "home"}

    @tried("remove_items, one")
    async def _():
        chosen = every_memory()[0]["id"]
        await with_memory(lambda memory: memory.remove_items(memory_id=chosen))
        return chosen not in [row["id"] for row in every_memory()]

    @tried("remove_items, of a user")
    async def _():
        other = item | {"conversation": [{"role": "user", "content": "My cat is called Rice"}]}
        await with_memory(lambda memory: memory.add_items([MemoryItem(**other)]))
        assert every_memory()
        await with_memory(lambda memory: memory.remove_items(user_id=USER))
        return not every_memory()


def hermes_agent():
    os.environ |= {"MEM0_HOST": HOST, "MEM0_API_KEY": KEY, "HERMES_HOME": os.environ["MEM0_DIR"]}
    os.environ["HERMES_DISABLE_LAZY_INSTALLS"] = "1"  # its host mode needs no package of mem0's
    from plugins.memory import load_memory_provider

    def provider():
        made = load_memory_provider("mem0")
        made.initialize("s1", user_id=USER, platform="telegram")
        return made

    def tool(name, **arguments):
        return json.loads(provider().handle_tool_call(f"mem0_{name}", arguments))

    def found(question):
        return tool("search", query=question)["results"]

    @tried("a turn is kept")
    def _():
        made = provider()
        made.sync_turn(SAID, "Noted.")
        made.shutdown()
        return any(SAID in row["memory"] and row["metadata"] == {"channel": "telegram"} for row in every_memory())

    @tried("another conversation has it before its model")
    def _():
        return ANSWER in provider().prefetch(QUESTION)

    @tried("mem0_add and mem0_search")
    def _():
        return tool("add", content="Figs are the best fruit")["result"] and "Figs" in found("fruit")[0]["memory"]

    @tried("mem0_update")
    def _():
        tool("update", memory_id=found("fruit")[0]["id"], text="Dates are the best fruit")
        return "Dates are the best fruit" in [row["memory"] for row in every_memory()]

    @tried("mem0_delete")
    def _():
        tool("delete", memory_id=found("Dates are the best fruit")[0]["id"])
        return "Dates are the best fruit" not in [row["memory"] for row in every_memory()]


globals()[NAME.replace("-", "_")]()
print(json.dumps({"client": NAME, "version": importlib.metadata.version(NAME), "calls": calls}))
