"""A bot of NoneBot 2 with a model, as an owner writes it, configured by its environment."""

import os

import httpx
import nonebot
from nonebot import on_message
from nonebot.adapters import Bot, Event
from nonebot.adapters.onebot.v11 import Adapter
from nonebot.matcher import Matcher
from nonebot.rule import to_me

nonebot.init(driver="~fastapi", command_start={"/"})
nonebot.get_driver().register_adapter(Adapter)
nonebot.load_plugin("nonebot_plugin_memplatform")

from nonebot_plugin_memplatform import remembered  # noqa: E402

chat = on_message(rule=to_me(), priority=50)


@chat.handle()
async def answer(bot: Bot, event: Event, matcher: Matcher) -> None:
    """Ask the model, with what is remembered."""
    context = await remembered(bot, event)
    system = "You are a friendly bot.\n\n" + context.text
    messages = [{"role": "system", "content": system}, *context.history]
    messages.append({"role": "user", "content": event.get_plaintext()})
    async with httpx.AsyncClient(trust_env=False) as http:
        asked = {"model": "scripted", "messages": messages}
        response = await http.post(f"{os.environ['MODEL_URL']}/chat/completions", json=asked)
    await matcher.finish(response.json()["choices"][0]["message"]["content"])


nonebot.run()
