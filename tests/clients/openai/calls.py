"""One framework that speaks to OpenAI, at its defaults, through the proxy: `python calls.py HOST KEY FOLDER NAME`.

Each tells the bot where something is, asks for it in a new conversation, whole and in a stream, and has it use a tool.
"""

import asyncio
import importlib.metadata
import json
import os
import sys
import time
import urllib.request
import uuid

HOST, KEY, FOLDER, NAME = sys.argv[1:5]
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
WHO = {"X-Memplatform-Platform": "telegram", "X-Memplatform-Sender": f"dana-{uuid.uuid4().hex[:8]}"}
MODEL, QUESTION, ORDER = "scripted", "What is my boat called?", "Deploy the shop"
calls = {}


def tried(name):
    def run(call):
        try:
            answer = asyncio.run(call()) if asyncio.iscoroutinefunction(call) else call()
            calls[name] = "ok" if answer is not False else "a wrong answer"
        except Exception as error:
            calls[name] = f"{type(error).__name__}: {error}"[:300]
        return call

    return run


def remembered(words):
    """Whether what was said in a turn is served to this person."""
    address = {"platform": "telegram", "peer": WHO["X-Memplatform-Sender"]}
    body = json.dumps({"address": address, "message": words, "serve": "wide", "need": "off"}).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    for _attempt in range(40):  # the turn of a stream is kept when the stream has ended
        request = urllib.request.Request(f"{HOST}/api/v1/recall", body, headers)
        with urllib.request.urlopen(request) as answer:
            if any(words in memory["content"] for memory in json.load(answer)["memories"]):
                return True
        time.sleep(0.05)
    return False


def openai():
    from openai import OpenAI

    client = OpenAI(base_url=f"{HOST}/v1", api_key=KEY, default_headers=WHO)

    def deploying(create, **more):
        first = create(input=[{"role": "user", "content": ORDER}], **more)
        call = next(item for item in first.output if item.type == "function_call")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "ok"}
        return create(input=[result], previous_response_id=first.id, **more).output_text == "Deployed."

    @tried("responses, told")
    def _():
        return bool(client.responses.create(model=MODEL, input="My boat is called Wren").output_text)

    @tried("responses, asked")
    def _():
        return "Wren" in client.responses.create(model=MODEL, input=QUESTION).output_text

    @tried("responses, a stream")
    def _():
        with client.responses.stream(model=MODEL, input=QUESTION) as stream:
            list(stream)
            return "Wren" in stream.get_final_response().output_text

    @tried("responses, a tool, by previous_response_id")
    def _():
        tool = {
            "type": "function",
            "name": "deploy",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        }
        return deploying(client.responses.create, model=MODEL, tools=[tool])

    _openai_chat(client)


def _openai_chat(client):
    @tried("chat completions")
    def _():
        answer = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": QUESTION}])
        return "Wren" in answer.choices[0].message.content

    @tried("chat completions, a stream")
    def _():
        messages = [{"role": "user", "content": QUESTION}]
        parts = client.chat.completions.create(model=MODEL, messages=messages, stream=True)
        return "Wren" in "".join(part.choices[0].delta.content or "" for part in parts if part.choices)

    @tried("embeddings")
    def _():
        return len(client.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding) == 64

    @tried("models, one")
    def _():
        return client.models.retrieve("m").id == "m"


def openai_agents():
    from agents import Agent, Runner, function_tool, set_default_openai_client
    from openai import AsyncOpenAI

    def anew():
        """A client of this event loop."""
        client = AsyncOpenAI(base_url=f"{HOST}/v1", api_key=KEY, default_headers=WHO)
        set_default_openai_client(client, use_for_tracing=False)

    @function_tool
    def deploy() -> str:
        """Deploy the shop."""
        return "ok"

    agent = Agent(name="bot", instructions="Be brief.", model=MODEL)

    @tried("told")
    async def _():
        anew()
        return bool((await Runner.run(agent, "My boat is called Wren")).final_output)

    @tried("asked")
    async def _():
        anew()
        return "Wren" in (await Runner.run(agent, QUESTION)).final_output

    @tried("a stream")
    async def _():
        anew()
        run = Runner.run_streamed(agent, QUESTION)
        async for _event in run.stream_events():
            pass
        return "Wren" in run.final_output

    @tried("a tool")
    async def _():
        anew()
        worker = Agent(name="worker", model=MODEL, tools=[deploy])
        return (await Runner.run(worker, ORDER)).final_output == "Deployed."


def pydantic_ai():
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    for kind, model_of in (("responses", OpenAIResponsesModel), ("chat", OpenAIChatModel)):

        def agent(model_of=model_of):
            client = AsyncOpenAI(base_url=f"{HOST}/v1", api_key=KEY, default_headers=WHO)
            return Agent(model_of(MODEL, provider=OpenAIProvider(openai_client=client)), instructions="Be brief.")

        @tried(f"{kind}, told")
        async def _(agent=agent):
            return bool((await agent().run("My boat is called Wren")).output)

        @tried(f"{kind}, asked")
        async def _(agent=agent):
            return "Wren" in (await agent().run(QUESTION)).output

        @tried(f"{kind}, a stream")
        async def _(agent=agent):
            async with agent().run_stream(QUESTION) as run:
                return "Wren" in await run.get_output()

        @tried(f"{kind}, a tool")
        async def _(agent=agent):
            worker = agent()
            worker.tool_plain(name="deploy")(lambda: "ok")
            return (await worker.run(ORDER)).output == "Deployed."


def langchain_openai():
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    @tool
    def deploy() -> str:
        """Deploy the shop."""
        return "ok"

    for kind, more in (("chat", {}), ("responses", {"use_responses_api": True})):
        model = ChatOpenAI(model=MODEL, base_url=f"{HOST}/v1", api_key=KEY, default_headers=WHO, **more)

        @tried(f"{kind}, told")
        def _(model=model):
            return bool(model.invoke("My boat is called Wren").text)

        @tried(f"{kind}, asked")
        def _(model=model):
            return "Wren" in str(model.invoke(QUESTION).content)

        @tried(f"{kind}, a stream")
        def _(model=model):
            whole = None
            for part in model.stream(QUESTION):
                whole = part if whole is None else whole + part
            return "Wren" in str(whole.content)

        @tried(f"{kind}, a tool")
        def _(model=model):
            from langchain_core.messages import HumanMessage, ToolMessage

            bound, results = model.bind_tools([deploy]), [HumanMessage(ORDER)]
            results.append(bound.invoke(results))
            results.append(ToolMessage("ok", tool_call_id=results[-1].tool_calls[0]["id"]))
            return "Deployed." in str(bound.invoke(results).content)

    @tried("embeddings")
    def _():
        embedder = OpenAIEmbeddings(
            model="e", base_url=f"{HOST}/v1", api_key=KEY, check_embedding_ctx_length=False, default_headers=WHO
        )
        return len(embedder.embed_query("x")) == 64


{
    "openai": openai,
    "openai-agents": openai_agents,
    "pydantic-ai-slim": pydantic_ai,
    "langchain-openai": langchain_openai,
}[NAME]()


@tried("the turns are remembered")
def _():
    return remembered("My boat is called Wren") and remembered("Deployed.")


print(json.dumps({"client": NAME, "version": importlib.metadata.version(NAME), "calls": calls}))
