"""The function in Open WebUI's own loader and in its own run of filters, with its tables in SQLite."""

import asyncio
import logging
import os
import types

os.environ |= {"DATA_DIR": os.environ["HOME"], "WEBUI_SECRET_KEY": "x", "OFFLINE_MODE": "true"}
os.environ["DATABASE_URL"] = f"sqlite:///{os.environ['HOME']}/webui.db"

import httpx
from open_webui.internal.db import Base, engine
from open_webui.models.functions import FunctionForm, FunctionMeta, Functions
from open_webui.utils.filter import process_filter_functions
from open_webui.utils.plugin import extract_frontmatter, load_function_module_by_id
from trial import ADAPTER, DOWN, FACT, KEY, MODEL, NAME, QUESTION, URL, WRONG_KEY, done, entries, person, scenario

CODE = (ADAPTER / "memplatform_filter.py").read_text()
Base.metadata.create_all(engine)
GOOD = {"url": URL, "key": KEY}
LINES = []


class Lines(logging.Handler):
    def emit(self, record):
        LINES.append(record.getMessage())


logging.getLogger("memplatform").addHandler(Lines())
app = types.SimpleNamespace(state=types.SimpleNamespace())


async def function_of(valves):
    """The function as an administrator has installed it."""
    _filter, kind, about, _module = await load_function_module_by_id("memory", CODE)
    if not await Functions.get_function_by_id("memory"):
        form = FunctionForm(id="memory", name="Memory", content=CODE, meta=FunctionMeta(manifest=about))
        await Functions.insert_new_function("admin", kind, form)
    await Functions.update_function_valves_by_id("memory", valves)
    return await Functions.get_function_by_id("memory")


async def run(kind, body, who, about, valves):
    request = types.SimpleNamespace(app=app, state=types.SimpleNamespace())
    function = await function_of(valves)
    params = {"__user__": {"id": who, "name": who}, "__metadata__": about, "__request__": request}
    body_after, _flags = await process_filter_functions(request, None, [function], kind, body, params)
    return body_after


async def turn(who, chat, words, valves=GOOD, before=(), **about):
    """What Open WebUI does with a message: inlet, the model, outlet."""
    about = {"chat_id": chat, "message_id": f"answer-{person()}", "user_id": who, **about}
    messages = [*before, {"role": "user", "content": words}]
    sent = await run("inlet", {"model": "scripted", "messages": messages}, who, about, valves)
    async with httpx.AsyncClient() as client:
        answer = (await client.post(f"{MODEL}/chat/completions", json={"model": "scripted", **sent})).json()
    text = answer["choices"][0]["message"]["content"]
    body = {"chat_id": chat, "id": about["message_id"], "model": "scripted"}
    rows = [{"id": f"m-{n}", **message} for n, message in enumerate(messages)]
    rows.append({"id": about["message_id"], "role": "assistant", "content": text})
    body_after = await run("outlet", {**body, "messages": rows}, who, about, valves)
    assert body_after["messages"] == rows, "what is shown and stored is as it was"
    return text


def kept(who):
    """What is remembered of somebody, of whom nothing may be known at all."""
    return [row for row in entries() if row["scope"] == f"web:direct_{who}"]


@scenario("Open WebUI's loader takes it as a filter, with its valves")
async def _():
    made, kind, about, module = await load_function_module_by_id("memory", CODE)
    assert kind == "filter" and about == extract_frontmatter(CODE) and about["version"] and "requirements" not in about
    assert set(made.Valves.model_fields) == {"url", "key", "seconds", "priority"} and module.__name__


@scenario("a fact of a first session in a second")
async def _():
    who = person()
    await turn(who, "c-1", FACT)
    assert NAME in await turn(who, "c-2", QUESTION)
    assert entries(scope=f"web:direct_{who}")


@scenario("another person does not get it")
async def _():
    await turn(person(), "c-1", FACT)
    assert await turn(person(), "c-1", QUESTION) == "I do not know."


@scenario("memory away, and a key that is refused: the turn goes on, and the log says so")
async def _():
    for valves in ({"url": DOWN, "key": KEY}, {"url": URL, "key": WRONG_KEY}, {"url": "nowhere", "key": KEY}):
        LINES.clear()
        assert await turn(person(), "c-1", QUESTION, valves) == "I do not know."
        assert len(LINES) == 2 and "going on without memory" in LINES[0] and WRONG_KEY not in str(LINES), LINES


@scenario("beside a system prompt, with a history and a picture")
async def _():
    who = person()
    await turn(who, "c-1", FACT)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
    before = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look."}, picture]},
        {"role": "assistant", "content": "I see."},
    ]
    body = {"messages": [*before, {"role": "user", "content": QUESTION}]}
    body_after = await run("inlet", body, who, {"chat_id": "c-2", "message_id": "m"}, GOOD)
    first, *rest = body_after["messages"]
    assert first["content"].startswith("Be brief.") and NAME in first["content"] and rest == body["messages"][1:]
    assert body["messages"][0]["content"] == "Be brief."


@scenario("temporary chats, other answers to the same message and tasks are not remembered")
async def _():
    who = person()
    await turn(who, "temporary:1", FACT)
    await turn(who, "c-1", FACT, regeneration_message_id="a-1")
    await turn(who, "c-1", FACT, task="title_generation")
    assert not kept(who)


@scenario("who has switched it off for themselves is neither asked for nor remembered")
async def _():
    who = person()
    made, *_rest = await load_function_module_by_id("memory", CODE)
    made.valves = made.Valves(**GOOD)
    user = {"id": who, "valves": made.UserValves(is_on=False)}
    about, message = {"chat_id": "c-1", "message_id": "m-1"}, {"role": "user", "content": FACT}
    body = {"messages": [message, {"role": "assistant", "content": "Noted."}], "id": "m-1", "chat_id": "c-1"}
    assert await made.outlet(body, __user__=user, __metadata__=about) == body
    assert not kept(who)
    user["valves"] = made.UserValves()
    await asyncio.gather(*(made.outlet(body, __user__=user, __metadata__=about) for _twice in range(2)))
    assert len(kept(who)) == 1


done()
