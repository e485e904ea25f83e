"""A runner that asks a model of OpenAI's form: with the prompt of this turn, and what was said before."""

from collections.abc import AsyncGenerator

import httpx
from langbot_plugin.api.definition.components.runner.runner import Runner
from langbot_plugin.api.entities.builtin.provider.message import Message
from langbot_plugin.api.entities.builtin.runner import RunnerContext, RunnerResult


class Asking(Runner):
    async def run(self, ctx: RunnerContext) -> AsyncGenerator[RunnerResult, None]:
        messages = [{"role": message["role"], "content": message["content"]} for message in await ctx.get_prompt()]
        page = await ctx.history_page(limit=20)
        earlier = [{"role": item.role, "content": item.content} for item in page.items if item.content]
        messages += [message for message in earlier if message["role"] in ("user", "assistant")]
        messages.append({"role": "user", "content": ctx.input.to_text()})
        async with httpx.AsyncClient(trust_env=False) as http:
            asked = {"model": "scripted", "messages": messages}
            answer = await http.post(f"{ctx.config['model-url']}/chat/completions", json=asked)
        text = answer.json()["choices"][0]["message"]["content"]
        yield RunnerResult.run_completed(ctx.run_id, Message(role="assistant", content=text), finish_reason="stop")
