"""Long-term memory for LangBot: where a turn stands between its message, its prompt and its answer."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langbot_plugin.api.definition.plugin import BasePlugin
from memory import Memory, Message

log = logging.getLogger("memplatform")
#: LangBot's adapters, without `-omni`, as the API calls their platforms; others have the same name, or one that an
#: operator adds.
PLATFORMS = {
    "aiocqhttp": "qq",
    "onebot-v11": "qq",
    "qqofficial": "qq",
    "wecombot": "wecom",
    "wecomcs": "wecom",
    "officialaccount": "wechat",
    "openclaw-weixin": "wechat",
    "wechatpad": "wechat",
    "LINE": "line",
    "web_page_bot": "web",
    "websocket": "web",
    "http_bot": "web",
}
#: Seconds without another part of an answer after which it counts as whole: a streamed one comes in many.
SETTLED = 3.0
#: How many turns are kept at most.
MOST = 500


@dataclass
class Turn:
    """A message that is being answered."""

    memory: Memory
    message: Message
    recall_id: str | None = None
    answer: str = ""
    timer: asyncio.TimerHandle | None = None


class Memplatform(BasePlugin):
    """The plugin, with its three settings."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: OrderedDict[str, Turn] = OrderedDict()
        self.numbers: OrderedDict[str, str] = OrderedDict()  # what platforms call the messages
        self._memories: dict[tuple[str, str, str], Memory] = {}
        self._places: dict[str, tuple[str, str]] = {}

    def memory(self, config: Mapping[str, Any]) -> Memory | None:
        """The memory that an owner has configured; none without a key."""
        settings = tuple(str(config.get(name) or "").strip() for name in ("url", "key", "language"))
        if not settings[1]:
            return None
        if settings not in self._memories:
            self._memories[settings] = Memory(*settings, log.warning)
        return self._memories[settings]

    async def place_of(self, bot: str) -> tuple[str, str]:
        """The platform of a bot as the API calls it, and its account there; LangBot's own id where it has none."""
        if bot in self._places:
            return self._places[bot]
        bot_info = await self.get_bot_info(bot)
        adapter = str(bot_info.get("adapter") or "").removesuffix("-omni")
        account = str((bot_info.get("adapter_runtime_values") or {}).get("bot_account_id") or "")
        place = PLATFORMS.get(adapter, adapter), account or bot
        if account:  # else it may have one once it is connected
            self._places[bot] = place
        return place

    def keep(self, store: OrderedDict[str, Any], query: str, value: Any) -> None:
        """Keep something of a turn until it is reported, or too many came since."""
        store[query] = value
        while len(store) > MOST:
            store.popitem(last=False)

    def answered(self, query: str, text: str) -> None:
        """Have a turn remembered once nothing more of its answer comes."""
        turn = self.turns.get(query)
        if turn is None:
            return
        turn.answer = text
        if turn.timer:
            turn.timer.cancel()
        turn.timer = asyncio.get_running_loop().call_later(SETTLED, self._settle, query)

    def _settle(self, query: str) -> None:
        turn = self.turns.pop(query, None)
        if turn:
            turn.memory.report(turn.message, turn.answer, turn.recall_id)
