"""Every call of a `MemoryClient`, as the package in this environment makes it, against a running platform.

Run where a `mem0ai` is installed: `python calls.py HOST KEY`. Prints one JSON object: the version, and for each call
«ok», or what went wrong.
"""

import asyncio
import importlib.metadata
import json
import os
import sys
import tempfile
import time
import uuid

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp()

from mem0 import AsyncMemoryClient, MemoryClient  # noqa: E402

HOST, KEY = sys.argv[1], sys.argv[2]
VERSION = importlib.metadata.version("mem0ai")
IS_OLD, IS_NEW = VERSION.startswith("0."), VERSION.split(".")[0] >= "2"
USER = f"alice-{uuid.uuid4().hex[:8]}"
TALK = [{"role": "user", "content": "I moved to Hangzhou in May"}, {"role": "assistant", "content": "Noted."}]
outcomes = {}


def tried(name):
    """Run a call at once, and note what became of it."""

    def run(call):
        try:
            outcomes[name] = "ok" if call() is not False else "a wrong answer"
        except Exception as error:
            outcomes[name] = f"{type(error).__name__}: {error}"[:200]
        return call

    return run


def rows(answer):
    """The memories of a list in any of its shapes."""
    return answer["results"] if isinstance(answer, dict) else answer


def whose(user=USER):
    """How a version names whose memories it asks for."""
    return {"filters": {"user_id": user}} if IS_NEW else {"user_id": user}


def of_second(user=USER):
    """The same for calls that 1.0 sends to version 2."""
    return (
        {"version": "v2", "filters": {"AND": [{"user_id": user}]}}
        if IS_OLD
        else {"filters": {"AND": [{"user_id": user}]}}
    )


client = MemoryClient(api_key=KEY, host=HOST)
outcomes["init"] = "ok"


def ids():
    return [row["id"] for row in rows(client.get_all(**whose()))]


@tried("add")
def _():
    answer = client.add(TALK, user_id=USER, metadata={"kind": "home"})
    return bool(rows(answer))


@tried("add text as it is")
def _():
    messages = [{"role": "user", "content": "Alice likes green tea"}]
    return rows(client.add(messages, user_id=USER, infer=False))[0]["event"] == "ADD"


@tried("add for an agent and a run")
def _():
    return bool(rows(client.add(TALK, user_id=USER, agent_id="waiter", run_id="r1")))


@tried("add with options of all times")
def _():
    options = {"output_format": "v1.1", "version": "v2", "enable_graph": True, "async_mode": False}
    return bool(rows(client.add([{"role": "user", "content": "My sister is Lena"}], user_id=USER, **options)))


@tried("get_all")
def _():
    return len(rows(client.get_all(**whose()))) >= 3


@tried("get_all by version 2")
def _():
    return len(rows(client.get_all(**of_second()))) >= 3


@tried("get_all, a page")
def _():
    answer = client.get_all(**of_second(), page=1, page_size=2)
    return len(answer["results"]) == 2 and answer["count"] >= 3


@tried("search")
def _():
    return any("Hangzhou" in row["memory"] for row in rows(client.search("When did I move to Hangzhou?", **whose())))


@tried("search by version 2")
def _():
    found = rows(client.search("green tea", **of_second(), top_k=3))
    return "tea" in found[0]["memory"] and len(found) <= 3 and "score" in found[0]


@tried("search with other options")
def _():
    options = {"threshold": 0.1, "rerank": True, "keyword_search": True, "filter_memories": False}
    return isinstance(rows(client.search("tea", **whose(), **({} if IS_NEW else options))), list)


@tried("get")
def _():
    return client.get(ids()[0])["memory"]


@tried("update")
def _():
    chosen = next(row["id"] for row in rows(client.get_all(**whose())) if row["memory"] == "Alice likes green tea")
    client.update(chosen, text="Alice likes black tea")
    return client.get(chosen)["memory"] == "Alice likes black tea"


@tried("update of metadata")
def _():
    return (
        client.update(ids()[0], metadata={"kind": "changed"}) and client.get(ids()[0])["metadata"]["kind"] == "changed"
    )


@tried("history")
def _():
    chosen = next(row["id"] for row in rows(client.get_all(**whose())) if row["memory"] == "Alice likes black tea")
    return [step["event"] for step in client.history(chosen)][-1] == "UPDATE"


@tried("users")
def _():
    return USER in [entity["name"] for entity in client.users()["results"]]


@tried("batch_update")
def _():
    chosen = next(row["id"] for row in rows(client.get_all(**whose())) if row["memory"] == "Alice likes black tea")
    client.batch_update([{"memory_id": chosen, "text": "Alice likes white tea"}])
    return client.get(chosen)["memory"] == "Alice likes white tea"


@tried("create_memory_export")
def _():
    made = client.create_memory_export(schema={"type": "object"}, **whose())
    return client.get_memory_export(memory_export_id=made["id"])["count"] >= 3


@tried("get_memory_export")
def _():
    return bool(client.get_memory_export(**whose())["memories"])


@tried("feedback")
def _():
    found = rows(client.search("tea", **whose()))[0]
    return client.feedback(found["id"], feedback="POSITIVE")


@tried("project.get")
def _():
    return client.project.get()["name"] and client.project.get(fields=["custom_categories"])


@tried("project.update")
def _():
    return client.project.update(enable_graph=False) if not IS_NEW else client.project.update(multilingual=True)


@tried("asynchronous add, search and get_all")
def _():
    async def calls():
        own = AsyncMemoryClient(api_key=KEY, host=HOST)
        await own.add([{"role": "user", "content": "Alice has a red bicycle"}], user_id=USER)
        found = rows(await own.search("bicycle", **whose()))
        return any("bicycle" in row["memory"] for row in found) and rows(await own.get_all(**whose()))

    return bool(asyncio.run(calls()))


@tried("delete")
def _():
    chosen = ids()[0]
    client.delete(chosen)
    return chosen not in ids()


@tried("batch_delete")
def _():
    chosen = ids()[0]
    client.batch_delete([{"memory_id": chosen}])
    return chosen not in ids()


@tried("delete_all, and the same told again")
def _():
    client.delete_all(user_id=USER)
    assert ids() == [], ids()
    client.add(TALK, user_id=USER)
    return any("Hangzhou" in row["memory"] for row in rows(client.get_all(**whose())))


@tried("delete_users")
def _():
    client.delete_users(user_id=USER)
    return ids() == []


time.sleep(0)
print(json.dumps({"client": "mem0ai (Python)", "version": VERSION, "calls": outcomes}))
