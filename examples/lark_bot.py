"""A Lark (Feishu) bot that remembers: it answers the events `im.message.receive_v1` of its app.

MEMORY_KEY=… LARK_APP_ID=… LARK_APP_SECRET=… LARK_VERIFICATION_TOKEN=… python examples/lark_bot.py
(with a model: MODEL_URL, MODEL, MODEL_KEY; of Feishu: LARK_API_URL=https://open.feishu.cn)
"""

import hmac
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
from answering import answer, memory_of_environment
from memplatform_client import Client, MemplatformError
from memplatform_client.types import AddressField as Address

APP = os.environ["LARK_APP_ID"]
URL = os.environ.get("LARK_API_URL", "https://open.larksuite.com")


def lark(path: str, token: str = "", **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = httpx.post(f"{URL}/open-apis/{path}", json=body, headers=headers, timeout=30).json()
    if response["code"]:
        raise ValueError(f"{path}: {response['code']} {response['msg']}")
    return response


def reply(message: str, text: str) -> None:
    """Once for each message, however often it is called."""
    secret = os.environ["LARK_APP_SECRET"]
    token = lark("auth/v3/tenant_access_token/internal", app_id=APP, app_secret=secret)["tenant_access_token"]
    content = json.dumps({"text": text}, ensure_ascii=False)
    lark(f"im/v1/messages/{message}/reply", token, msg_type="text", content=content, uuid=message)


class Events(BaseHTTPRequestHandler):
    memory: Client

    def do_POST(self) -> None:
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        about = event.get("header", event)
        if not hmac.compare_digest(about["token"].encode(), os.environ["LARK_VERIFICATION_TOKEN"].encode()):
            self.send_error(403)
            return
        sent = json.dumps({"challenge": event.get("challenge")}).encode()  # asked for when the address is set
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)  # at once: Lark waits for three seconds, and then sends the event again
        if about.get("event_type") == "im.message.receive_v1":
            try:
                hear(self.memory, event["event"]["sender"], event["event"]["message"])
            except (MemplatformError, httpx.HTTPError, ValueError) as error:
                print(error, flush=True)


def hear(memory: Client, sender: Any, message: Any) -> None:
    if message["message_type"] != "text":
        return
    text = json.loads(message["content"])["text"]
    for mention in message.get("mentions", ()):
        text = text.replace(mention["key"], f"@{mention['name']}")
    address = Address(platform="lark", account=APP, peer=sender["sender_id"]["open_id"], chat=message["chat_id"])
    address["is_group"] = message["chat_type"] == "group"
    reply(message["message_id"], answer(memory, address, text, once=message["message_id"]))


def server(memory: Client) -> ThreadingHTTPServer:
    Events.memory = memory
    return ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("LARK_PORT", "9100"))), Events)


if __name__ == "__main__":
    server(memory_of_environment()).serve_forever()
