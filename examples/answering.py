"""How the example bots answer: ask memory, then a model that is OpenAI-compatible, then report the turn.

Without a model (`MODEL_URL` is not set) they repeat what memory found, where that is enough to answer with.
"""

import os
from contextlib import suppress

import httpx
from memplatform_client import Client, errors
from memplatform_client.types import AddressField, ContextAnswer


def memory_of_environment() -> Client:
    return Client(os.environ["MEMORY_KEY"], os.environ.get("MEMORY_URL", "http://127.0.0.1:8000"))


def answer(memory: Client, address: AddressField, message: str, *, once: str | None = None, name: str = "") -> str:
    """What the bot says; `once` names the message, where a platform may deliver it twice."""
    context = memory.context(address=address, message=message)
    model = os.environ.get("MODEL_URL", "")
    reply = context["reply"] or (thought(model, context, message) if model else "")
    shown = reply if model else reply or repeated(memory, address, message)  # which memory need not remember again
    with suppress(errors.IdempotencyKeyTaken):  # it was delivered again, and the model chose other words
        memory.take_turn(
            address=address,
            user=message,
            assistant=reply,
            recall_id=context["recall_id"],
            sender_name=name,
            idempotency_key=once,
        )
    return shown


def thought(model: str, context: ContextAnswer, message: str) -> str:
    """The model's answer, knowing what memory knows."""
    roles = {"summary": "system"}
    history = [{"role": roles.get(one["role"], one["role"]), "content": one["content"]} for one in context["history"]]
    messages = [{"role": "system", "content": context["text"]}, *history, {"role": "user", "content": message}]
    asked = {"model": os.environ.get("MODEL", "qwen3"), "messages": messages}
    headers = {"Authorization": f"Bearer {os.environ.get('MODEL_KEY', 'none')}"}
    response = httpx.post(f"{model}/chat/completions", json=asked, headers=headers, timeout=120).raise_for_status()
    return str(response.json()["choices"][0]["message"]["content"] or "")


def repeated(memory: Client, address: AddressField, message: str) -> str:
    found = memory.recall(address=address, message=message, limit=1)
    form = {"found": "{}", "weak": "Perhaps: {}", "none": "Noted."}[found["evidence"]]
    return form.format(found["context"])
