"""A Telegram bot that remembers. It asks Telegram for messages, so that nothing has to reach this machine.

MEMORY_KEY=… TELEGRAM_TOKEN=… python examples/telegram_bot.py    (with a model: MODEL_URL, MODEL, MODEL_KEY)
"""

import os
import time
from typing import Any

import httpx
from answering import answer, memory_of_environment
from memplatform_client import Client, MemplatformError
from memplatform_client.types import AddressField as Address
from memplatform_client.types import NewEvent

POLL_SECONDS = 50
LONGEST = 4096  # characters of a message
HOPELESS = {401, 404, 409}  # no such bot, or somebody else asks for its messages


class Refused(Exception):
    """Telegram says no."""


def telegram(method: str, **arguments: Any) -> Any:
    url = os.environ.get("TELEGRAM_API_URL", "https://api.telegram.org")
    response = httpx.post(
        f"{url}/bot{os.environ['TELEGRAM_TOKEN']}/{method}", json=arguments, timeout=POLL_SECONDS + 10
    ).json()
    if response.get("error_code") in HOPELESS:
        raise SystemExit(f"{method}: {response['description']}")
    if not response["ok"]:
        time.sleep(response.get("parameters", {}).get("retry_after", 1))
        raise Refused(f"{method}: {response['description']}")
    return response["result"]


def main() -> None:
    me, seen = telegram("getMe")["username"], 0
    with memory_of_environment() as memory:
        while True:
            try:
                for update in telegram("getUpdates", offset=seen + 1, timeout=POLL_SECONDS):
                    seen = update["update_id"]
                    if "text" in update.get("message", ()):
                        hear(memory, me, update["message"], once=f"telegram-{me}-{seen}")
            except (MemplatformError, Refused, httpx.HTTPError, ValueError) as error:
                print(error, flush=True)
                time.sleep(1)


def hear(memory: Client, me: str, message: Any, *, once: str) -> None:
    """Answer what was said to the bot; keep what was said beside it."""
    chat, who, text = message["chat"], message["from"], message["text"]
    peer, is_group = str(who["id"]), chat["type"] != "private"
    address = Address(platform="telegram", account=me, peer=peer, chat=str(chat["id"]), is_group=is_group)
    if message.get("is_topic_message"):
        address["thread"] = str(message["message_thread_id"])
    replied_to = message.get("reply_to_message", {}).get("from", {}).get("username")
    if is_group and f"@{me}" not in text and replied_to != me:
        event: NewEvent = {"kind": "ambient", "content": text, "sender": peer}
        session = memory.meet_session(address=address)["id"]
        memory.append_session_events(session, events=[event], idempotency_key=once)
        return
    reply = answer(memory, address, text.replace(f"@{me}", "").strip(), once=once, name=who["first_name"])
    for start in range(0, len(reply), LONGEST):
        quoted = {"reply_parameters": {"message_id": message["message_id"]}}
        telegram("sendMessage", chat_id=chat["id"], text=reply[start : start + LONGEST], **quoted)


if __name__ == "__main__":
    main()
