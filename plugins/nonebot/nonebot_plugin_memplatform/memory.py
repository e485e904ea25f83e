"""Memory for the plugin of a chat bot: the text before a turn, the report after it, and the commands of people.

Every Python plugin has this file as it is, so that a host can load its folder alone; `plugins/shared` has the original,
and memory.js, which does the same for hosts of Node.
It asks nobody but the platform at the URL that the owner set, and needs httpx alone.
"""

import asyncio
import hashlib
import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

#: Seconds a bot's answer waits for memory at most, and for how long it does not wait at all after no answer.
WAIT, PAUSE = 2.0, 5.0
#: Seconds before a report that nobody took is sent again.
AGAIN = (1.0, 4.0, 16.0)
COMMAND_WAIT = 8.0
TOKENS, HISTORY, PAGE, LINE, PEOPLE = 2_000, 60, 20, 160, 1_000
#: Of a question characters, of each side of a turn bytes.
CHARACTERS, BYTES = 8_000, 65_536
UNSTORABLE = re.compile("[\\0\ud800-\udfff]")  # NUL, halves of characters
HAN = re.compile("[\u3400-\u9fff]")
_SPOKEN: dict[str, Any] = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))
#: What each command is called: the names, the first of them its own.
COMMANDS: dict[str, list[str]] = _SPOKEN.pop("commands")
#: Our sentences, by language.
TEXTS: dict[str, dict[str, str]] = _SPOKEN
_TYPED = {name: command for command, names in COMMANDS.items() for name in names}
_COMMAND = re.compile(rf"\s*/({'|'.join(_TYPED)})(?:@\S+)?(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Message:
    """A message of a person, and where it was written."""

    platform: str
    account: str  # the bot's id there
    peer: str  # who wrote it
    chat: str
    text: str
    is_group: bool = False
    id: str = ""  # what the vendor calls the message
    sender_name: str = ""

    @property
    def address(self) -> dict[str, Any]:
        """Where it was written, as the API takes it."""
        place = {"platform": self.platform, "account": self.account, "peer": self.peer, "chat": self.chat}
        return {**place, "is_group": self.is_group}

    @property
    def key(self) -> str:
        """The same for the same message, however often it is reported; empty where the vendor has no ids."""
        if not self.id:
            return ""
        parts = (self.platform, self.account, self.chat, self.peer, self.id)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Context:
    """What a model is given before it answers. Empty when memory has nothing to say, or does not answer."""

    text: str = ""
    recall_id: str | None = None
    history: list[dict[str, str]] = field(default_factory=list)


class Unanswered(Exception):
    """Memory did not answer (status 0), or refused. It names no key, and nothing that people said."""

    def __init__(self, why: str, status: int = 0, code: str = "") -> None:
        super().__init__(why)
        self.status, self.code = status, code


class Memory:
    """A platform of memory, for the bot that a key belongs to."""

    def __init__(self, url: str, key: str, language: str, log: Callable[[str], object]) -> None:
        self.language = language if language in TEXTS else ""
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=f"{url.rstrip('/')}/api/v1/", headers=headers)
        self._log = log
        self._is_away = False
        self._silent_until = 0.0
        self._reports: set[asyncio.Task[None]] = set()
        self._lists: OrderedDict[str, list[dict[str, Any] | None]] = OrderedDict()  # by scope, as people last saw them

    async def context(self, message: Message, history: Iterable[Any] | None = None) -> Context:
        """What is remembered that helps to answer a message. Never raises, and takes two seconds at most.

        `history` are the messages before it (`role`, `content`) where the host gives them to its model itself; what
        they say is not repeated. Without it the conversation as memory has it comes with the answer.
        """
        if not message.text.strip() or time.monotonic() < self._silent_until:
            return Context()
        body = {"address": message.address, "message": storable(message.text)[:CHARACTERS], "token_budget": TOKENS}
        if history is not None:
            body["client_history"] = plain(history)
        try:
            answer = await self._call("POST", "context", WAIT, json=body)
        except Unanswered as why:
            if not 0 < why.status < 429:  # else this message alone is refused
                self._silent_until = time.monotonic() + PAUSE
            self._say_away(why)
            return Context()
        self._is_away = False
        earlier = [{"role": line["role"], "content": line["content"]} for line in answer.get("history", ())]
        return Context(answer.get("text", ""), answer.get("recall_id"), earlier)

    def report(self, message: Message, answer: str, recall_id: str | None = None) -> None:
        """Have a finished turn remembered, in the background; the same message again changes nothing."""
        task = asyncio.get_running_loop().create_task(self._report(message, answer, recall_id))
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)

    async def command(self, name: str, argument: str, message: Message) -> str:
        """What to answer to /memory, /forget or /correct; each is about the memory of whoever wrote it alone."""
        texts = self._texts(argument + message.text)
        if message.is_group:
            return texts["direct"]
        try:
            scope = await self._scope(message)
            if name == "memory" and not argument.isdecimal():
                return await self._list(scope, argument)
            number, words = [*argument.split(maxsplit=1), "", ""][:2]
            entry = self._entry(scope, number)
            if entry is None:
                return texts["number"].format(n=number[:20]) if number else texts["which"]
            texts = self._texts(argument + message.text + entry["content"])
            if name == "memory":
                where = texts.get(entry["type"], texts["other"])
                return f"{shown(entry, texts)}\n{texts['one'].format(day=day(entry), where=where)}"
            return await self._change(name, scope, int(number), words.strip(), texts)
        except Unanswered as why:
            self._log(f"memplatform: /{name} failed: {why}")
            return texts["away"]

    async def close(self) -> None:
        """Wait for reports that are under way, then let the connections go."""
        if self._reports:
            await asyncio.wait(self._reports, timeout=WAIT)
        await self._http.aclose()

    async def _report(self, message: Message, answer: str, recall_id: str | None) -> None:
        body: dict[str, Any] = {"address": message.address, "user": side(message.text), "assistant": side(answer)}
        body |= {"recall_id": recall_id, "sender_name": storable(message.sender_name)[:64]}
        headers = {"Idempotency-Key": message.key} if message.key else {}
        why: Unanswered | None = None
        for pause in (0.0, *(AGAIN if message.key else ())):
            await asyncio.sleep(pause)
            try:
                await self._call("POST", "turns", COMMAND_WAIT, json=body, headers=headers)
            except Unanswered as error:
                why = error
                if why.status and why.status < 429 and why.code != "session_busy":
                    break  # refused: it would be again
            else:
                return
        self._log(f"memplatform: a turn is not remembered: {why}")

    async def _scope(self, message: Message) -> str:
        answer = await self._call("POST", "scopes/resolve", COMMAND_WAIT, json={"address": message.address})
        return str(answer["user_scope"])

    async def _list(self, scope: str, words: str) -> str:
        parameters = {"scope": scope, "state": "live", "limit": str(PAGE), **({"q": words} if words else {})}
        try:
            answer = await self._call("GET", "entries", COMMAND_WAIT, params=parameters)
        except Unanswered as why:
            if why.status != 404:
                raise
            answer = {"results": [], "next": None}  # nobody has a memory before the first turn
        entries = answer["results"]
        self._lists[scope] = list(entries)
        self._lists.move_to_end(scope)
        while len(self._lists) > PEOPLE:
            self._lists.popitem(last=False)
        texts = self._texts(words + "".join(entry["content"] for entry in entries))
        if not entries:
            return texts["nothing_found"].format(words=words) if words else texts["nothing"]
        lines = [f"{number}. {cut(shown(entry, texts))}" for number, entry in enumerate(entries, start=1)]
        more = [texts["more"]] if answer["next"] else []
        return "\n".join([texts["list"], *lines, *more, texts["how"]])

    def _entry(self, scope: str, number: str) -> dict[str, Any] | None:
        """What stood beside a number when a person last looked."""
        entries = self._lists.get(scope, [])
        is_there = number.isdecimal() and 0 < int(number) <= len(entries)
        return entries[int(number) - 1] if is_there else None

    async def _change(self, name: str, scope: str, number: int, words: str, texts: dict[str, str]) -> str:
        """Forget or correct the entry beside a number, unless it is another by now."""
        entry = self._lists[scope][number - 1]
        assert entry
        if name == "correct" and not words:
            return texts["words"]
        headers, path = {"If-Match": f'"{entry["version"]}"'}, f"entries/{entry['id']}"
        try:
            if name == "forget":
                await self._call("DELETE", path, COMMAND_WAIT, headers=headers)
                self._lists[scope][number - 1] = None
                return texts["forgotten"].format(words=quoted(entry, texts))
            now = await self._call("PATCH", path, COMMAND_WAIT, headers=headers, json={"content": words})
        except Unanswered as why:
            if why.status in (404, 412):
                return texts["changed"]
            raise
        self._lists[scope][number - 1] = now
        return texts["corrected"].format(before=quoted(entry, texts), after=cut(shown(now, texts)))

    def _texts(self, words: str) -> dict[str, str]:
        """Our sentences in the language that is set, else in the one of these words."""
        return TEXTS[self.language or ("zh-hans" if HAN.search(words) else "en")]

    def _say_away(self, why: Unanswered) -> None:
        """One line when memory goes away, and none until it was back."""
        if not self._is_away:
            self._log(f"memplatform: answering without memory: {why}")
        self._is_away = True

    async def _call(self, method: str, path: str, seconds: float, **request: Any) -> dict[str, Any]:
        """The JSON of an answer. Raises Unanswered."""
        what = f"{method} {path.partition('/')[0]}"
        try:
            answer = await asyncio.wait_for(self._http.request(method, path, timeout=seconds, **request), seconds)
            body = answer.json()
        except (httpx.HTTPError, TimeoutError, ValueError) as error:
            raise Unanswered(f"{what}: {type(error).__name__}") from error
        if not isinstance(body, dict):
            raise Unanswered(f"{what}: an answer of another program")
        if answer.is_success:
            return body
        codes = [error["code"] for error in body.get("errors", ())] or [""]
        raise Unanswered(f"{what}: {answer.status_code} {codes[0]}", answer.status_code, codes[0])


def command_of(text: str) -> tuple[str, str] | None:
    """The command about one's own memory that a message is, and its argument; None: it is none."""
    match = _COMMAND.fullmatch(text)
    return (_TYPED[match[1].lower()], (match[2] or "").strip()) if match else None


def plain(history: Iterable[Any]) -> list[dict[str, str]]:
    """Of a model's messages the words of people and of the bot, the newest ones, as the API takes them."""
    messages = []
    for message in history:
        content = message.get("content")
        if isinstance(content, list):  # parts of a message: pictures are left out
            content = "\n".join(part["text"] for part in content if part.get("type") == "text")
        content = storable(content)[:CHARACTERS] if isinstance(content, str) else ""
        if message.get("role") in ("user", "assistant") and content.strip():
            messages.append({"role": message["role"], "content": content})
    return messages[-HISTORY:]


def storable(text: str) -> str:
    """It without what no text of memory holds."""
    return UNSTORABLE.sub("", text)


def side(text: str) -> str:
    """As much of it as a side of a turn takes."""
    return storable(text).encode()[:BYTES].decode(errors="ignore")


def day(entry: dict[str, Any]) -> str:
    """When an entry was written, where the bot is."""
    return datetime.fromisoformat(entry["created_at"]).astimezone().date().isoformat()


def shown(entry: dict[str, Any], texts: dict[str, str]) -> str:
    """The words of an entry for the person it is about."""
    return texts["secret"] if entry["category"] == "credential" else str(entry["content"])


def quoted(entry: dict[str, Any], texts: dict[str, str]) -> str:
    """They on one line, between quotation marks."""
    return f"“{cut(shown(entry, texts))}”"


def cut(content: str) -> str:
    """It as one line of a list."""
    line = " / ".join(part.strip() for part in content.splitlines() if part.strip())
    return line if len(line) <= LINE else f"{line[: LINE - 1]}…"
