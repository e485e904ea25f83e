"""A bot whose model searches, reads and saves memory by itself, with any model that is OpenAI-compatible.

MEMORY_KEY=… MODEL_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 python tool_loop.py "What did we decide about the boat?"
"""

import json
import os
import sys
import urllib.request

MEMORY = os.environ.get("MEMORY_URL", "http://127.0.0.1:8000") + "/api/v1/"
MODEL = os.environ.get("MODEL_URL", "http://127.0.0.1:11434/v1") + "/chat/completions"
ADDRESS = {"platform": "cli"}  # where your user talks: {"platform": "telegram", "account": …, "peer": …, "chat": …}
MOST_ROUNDS = 8


def ask(url: str, key: str, body: dict | None = None) -> dict:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=120) as response:
        return json.load(response)


def reply(message: str, memory_key: str, model_key: str = "none") -> str:
    tools = ask(MEMORY + "tools?form=openai", memory_key)["tools"]
    context = ask(MEMORY + "context", memory_key, {"address": ADDRESS, "message": message, "tools": True})
    roles = {"summary": "system"}
    history = [{"role": roles.get(one["role"], one["role"]), "content": one["content"]} for one in context["history"]]
    messages = [{"role": "system", "content": context["text"]}, *history, {"role": "user", "content": message}]
    for _round in range(MOST_ROUNDS):
        asked = {"model": os.environ.get("MODEL", "qwen3"), "messages": messages, "tools": tools}
        answer = ask(MODEL, model_key, asked)["choices"][0]["message"]
        if not answer.get("tool_calls"):
            break
        done = ask(MEMORY + "tools/call", memory_key, {"address": ADDRESS, "calls": answer["tool_calls"]})
        messages += [answer, *done["messages"]]
    turn = {
        "address": ADDRESS,
        "user": message,
        "assistant": answer["content"] or "",
        "recall_id": context["recall_id"],
    }
    ask(MEMORY + "turns", memory_key, turn)
    return answer["content"] or ""


if __name__ == "__main__":
    print(reply(sys.argv[1], os.environ["MEMORY_KEY"], os.environ.get("MODEL_KEY", "none")))
