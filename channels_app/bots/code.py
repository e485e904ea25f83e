"""What a new bot runs: two calls by curl, and a program of some twenty lines in the language of its maker. Pure.

Texts that come from outside stand in it as literals of JSON, which Python and JavaScript read as they are.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from memories.tenancy.resolver import PLATFORMS

#: What people call platforms; those that are missing have their name with a capital.
_LABELS: Mapping[str, Any] = {
    "cli": _("A terminal"), "web": _("A web page"), "dingtalk": "DingTalk", "lark": "Lark / 飞书", "line": "LINE",
    "qq": "QQ", "sms": "SMS", "email": _("E-mail"), "teams": "Microsoft Teams", "wechat": "WeChat / 微信",
    "wecom": "WeCom / 企业微信", "whatsapp": "WhatsApp",
}  # fmt: skip
#: Those most bots begin with stand first.
_FIRST = ("telegram", "slack", "discord", "whatsapp", "web", "cli")


def channel_choices() -> list[tuple[str, Any]]:
    """The platforms a bot may speak on, with what people call them."""
    names = [*_FIRST, *(name for name in PLATFORMS if name not in (*_FIRST, "mem0"))]
    return [(name, _LABELS.get(name, name.capitalize())) for name in names]


_PYTHON = """\
import json
import urllib.request

URL, KEY = {url}, {key}
ADDRESS = {address}


def call(path, body):
    headers = {{"Authorization": f"Bearer {{KEY}}", "Content-Type": "application/json"}}
    request = urllib.request.Request(f"{{URL}}/api/v1/{{path}}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def answer(peer, chat, words):
    address = {{**ADDRESS, "peer": peer, "chat": chat}}  # who speaks, and where
    known = call("context", {{"address": address, "message": words}})
    reply = "Noted."  # your model: known["text"] as system text, known["history"], then the words
    call("turns", {{"address": address, "user": words, "assistant": reply, "recall_id": known["recall_id"]}})
    return reply, known["text"]


print(answer("u42", "c7", {first}))
print(answer("u42", "c8", {second})[1])  # in another chat
"""

_PYTHON_CLIENT = """\
# pip install ./clients/python
from memplatform_client import Client

memory = Client({key}, {url})
ADDRESS = {address}


def answer(peer, chat, words):
    address = {{**ADDRESS, "peer": peer, "chat": chat}}  # who speaks, and where
    known = memory.context(address=address, message=words)
    reply = "Noted."  # your model: known["text"] as system text, known["history"], then the words
    memory.take_turn(address=address, user=words, assistant=reply, recall_id=known["recall_id"])
    return reply, known["text"]


print(answer("u42", "c7", {first}))
print(answer("u42", "c8", {second})[1])  # in another chat
"""

_JAVASCRIPT = """\
// Node 20 and later: save it as bot.mjs
const URL = {url}, KEY = {key};
const ADDRESS = {address};

async function call(path, body) {{
  const headers = {{ Authorization: `Bearer ${{KEY}}`, "Content-Type": "application/json" }};
  const response = await fetch(`${{URL}}/api/v1/${{path}}`, {{ method: "POST", headers, body: JSON.stringify(body) }});
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}}

async function answer(peer, chat, words) {{
  const address = {{ ...ADDRESS, peer, chat }}; // who speaks, and where
  const known = await call("context", {{ address, message: words }});
  const reply = "Noted."; // your model: known.text as system text, known.history, then the words
  await call("turns", {{ address, user: words, assistant: reply, recall_id: known.recall_id }});
  return [reply, known.text];
}}

console.log(await answer("u42", "c7", {first}));
console.log((await answer("u42", "c8", {second}))[1]); // in another chat
"""

_TYPESCRIPT = """\
// (cd clients/typescript && npm ci && npm pack), then npm install the package it makes
import {{ Client }} from "memplatform-client";

const memory = new Client({key}, {url});
const ADDRESS = {address};

async function answer(peer: string, chat: string, words: string) {{
  const address = {{ ...ADDRESS, peer, chat }}; // who speaks, and where
  const known = await memory.context({{ address, message: words }});
  const reply = "Noted."; // your model: known.text as system text, known.history, then the words
  await memory.takeTurn({{ address, user: words, assistant: reply, recall_id: known.recall_id }});
  return [reply, known.text];
}}

console.log(await answer("u42", "c7", {first}));
console.log((await answer("u42", "c8", {second}))[1]); // in another chat
"""

#: By the value of the choice: what people call it, and the program.
LANGUAGES: Mapping[str, tuple[Any, str]] = {
    "python": (_("Python, nothing to install"), _PYTHON),
    "python-client": (_("Python, with the client"), _PYTHON_CLIENT),
    "javascript": (_("JavaScript, nothing to install"), _JAVASCRIPT),
    "typescript": (_("TypeScript, with the client"), _TYPESCRIPT),
}
#: What the bot is told, and asked.
FIRST_WORDS, FIRST_QUESTION = _("My dog is called Biscuit."), _("What is my dog called?")


@dataclass(frozen=True)
class Connected:
    """What stands in the code of a bot: where the platform is, its key, and its channel."""

    url: str
    token: str
    platform: str
    account: str

    def program(self, language: str) -> str:
        """The program in a language of LANGUAGES."""
        values = {"url": self.url, "key": self.token, "first": str(FIRST_WORDS), "second": str(FIRST_QUESTION)}
        address = {"platform": self.platform, "account": self.account}
        literals = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
        return LANGUAGES[language][1].format(**literals, address=json.dumps(address, ensure_ascii=False))

    def commands(self) -> list[str]:
        """A turn that is told, and a question about it in another chat, as commands of a shell."""
        calls = (
            ("turns", "c7", {"user": str(FIRST_WORDS), "assistant": "Noted."}),
            ("recall", "c8", {"message": str(FIRST_QUESTION)}),
        )
        commands = []
        for path, chat, words in calls:
            address = {"platform": self.platform, "account": self.account, "peer": "u42", "chat": chat}
            lines = [
                f"curl -sS {shlex.quote(f'{self.url}/api/v1/{path}')}",
                f"  -H {shlex.quote(f'Authorization: Bearer {self.token}')} -H 'Content-Type: application/json'",
                f"  -d {shlex.quote(json.dumps({'address': address, **words}, ensure_ascii=False))}",
            ]
            commands.append(" \\\n".join(lines))
        return commands
