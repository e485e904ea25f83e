"""How soon is a chat platform answered, and is every message stored once and in order? `make bench ARGS=channels`.

Telegram and the model are played on this machine. Messages of many chats come by the webhook, some of them twice and
out of order, from several callers at once; with `--kill` the web and the process that answers are killed meanwhile.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from benchmarks.ground import percentile
from tests import ROOT
from tests.memories.llm.fake_server import Asked, FakeModel
from tests.support.fake_telegram import TOKEN, fake_telegram
from tests.support.house import House, free_port

MODEL_PORT, TELEGRAM_PORT = free_port(), free_port()
ENVIRONMENT = {
    "MEMORY_LLM_BASE_URL": f"http://127.0.0.1:{MODEL_PORT}/v1",
    "MEMORY_LLM_MODEL": "small",
    "MEMORY_LLM_DAILY_TOKENS": "1000000000",
    "MEMPLATFORM_TELEGRAM_API_URL": f"http://127.0.0.1:{TELEGRAM_PORT}",
}
SECRET = "a-secret-of-the-webhook"  # noqa: S105 (of nobody)
_CONNECT = f"""
from channels_app.models import Channel, Connection
from memories import secrets
from memories.models import Workspace
workspace = Workspace.objects.get()
channel, _made = Channel.objects.get_or_create(workspace=workspace, platform="telegram", account="mem_bot")
row = Connection.objects.create(workspace=workspace, channel=channel, notices="off", receiving="webhook",
    options={{"bot_name": "mem_bot", "bot_id": "123456"}})
secrets.keep(row.secret_name("token"), "{TOKEN}", workspace=workspace)
secrets.keep(row.secret_name("webhook_secret"), "{SECRET}", workspace=workspace)
print(row.uid)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--messages", type=int, default=1_000)
    parser.add_argument("--chats", type=int, default=40)
    parser.add_argument("--again", type=float, default=0.3, help="share that is delivered twice")
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--kill", action="store_true", help="kill web and channels at random meanwhile")


def echoing(request: Asked) -> str:
    return f"You wrote: {request.body['messages'][-1]['content']}"


def main(house: House, options: argparse.Namespace) -> None:
    with fake_telegram(TELEGRAM_PORT) as bot_api, FakeModel(otherwise=echoing, port=MODEL_PORT):
        command = [sys.executable, "manage.py", "shell", "-v0", "-c", _CONNECT]
        environment = {**os.environ, "MEMPLATFORM_DATA": str(house.data)}
        process = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
        url = f"http://127.0.0.1:{house.port}/channels/telegram/{process.stdout.split()[-1]}"
        updates = [
            bot_api.write(1 + n % options.chats, f"message {n // options.chats} of {1 + n % options.chats}")
            for n in range(options.messages)
        ]
        chance = random.Random(7)
        deliveries = [*updates, *chance.sample(updates, int(options.again * len(updates)))]
        deliveries = near_shuffled(deliveries, chance)
        stop = threading.Event()
        killer = threading.Thread(target=kill, args=(house, stop, chance), daemon=True)
        if options.kill:
            killer.start()
        begun = time.monotonic()
        with ThreadPoolExecutor(options.callers) as callers:
            times = list(callers.map(lambda update: deliver(url, update), deliveries))
        duration = time.monotonic() - begun
        stop.set()
        report(house, options, bot_api, times, duration, begun)


def near_shuffled(deliveries: list[Any], chance: random.Random) -> list[Any]:
    """Each a few places from where it belongs, as parallel deliveries come."""
    return [row for _place, _n, row in sorted((n + chance.uniform(0, 8), n, row) for n, row in enumerate(deliveries))]


CLIENT = httpx.Client(limits=httpx.Limits(max_keepalive_connections=64), timeout=20)


def deliver(url: str, update: dict[str, Any]) -> float:
    """Deliver until it is taken, as a platform does; the milliseconds of the call that was."""
    while True:
        begun = time.perf_counter()
        try:
            headers = {"X-Telegram-Bot-Api-Secret-Token": SECRET}
            if CLIENT.post(url, json=update, headers=headers).status_code == 200:
                return (time.perf_counter() - begun) * 1000
        except httpx.HTTPError:
            pass
        time.sleep(0.5)


def kill(house: House, stop: threading.Event, chance: random.Random) -> None:
    """Kill a web process or the one that answers, every second or so."""
    while not stop.wait(chance.uniform(0.5, 2.0)):
        pids = sorted(house.pids(chance.choice(["web", "channels"])))
        if pids:
            os.kill(chance.choice(pids), signal.SIGKILL)


def report(
    house: House, options: argparse.Namespace, bot_api: Any, times: list[float], duration: float, begun: float
) -> None:
    print(f"{len(times)} deliveries by {options.callers} callers in {duration:.1f} s")
    print(f"webhook to its answer: p50 {percentile(times, 50):.1f} ms, p95 {percentile(times, 95):.1f} ms")
    end = time.monotonic() + 60 + options.messages / 5
    while len(set(bot_api.texts())) < options.messages and time.monotonic() < end:
        time.sleep(0.5)
    print(f"all answered after {time.monotonic() - begun:.1f} s")
    counts = Counter(
        house.ask("SELECT content FROM sessions_app_sessionevent WHERE kind = 'user' AND content LIKE 'message %'")
    )
    of_chat = [list(dict.fromkeys(bot_api.texts(chat))) for chat in range(1, options.chats + 1)]
    right_answers = [
        [f"You wrote: message {n} of {chat}" for n in range(-(-(options.messages - chat + 1) // options.chats))]
        for chat in range(1, options.chats + 1)
    ]
    twice = sum(count > 1 for count in counts.values())
    in_order = sum(answers == right for answers, right in zip(of_chat, right_answers, strict=True))
    sent_twice = len(bot_api.texts()) - len(set(bot_api.texts()))
    print(f"stored {len(counts)} of {options.messages}, twice {twice}; chats in order {in_order} of {options.chats}")
    again = "SELECT uid::text || ' ' || attempts FROM channels_app_outgoingmessage WHERE attempts > 1"
    print(f"answers sent twice: {sent_twice}; sends that were tried again: {house.ask(again)}")
    for line in (house.data / "logs" / "channels.log").read_text().splitlines():
        if " WARNING " in line or " ERROR " in line:
            print(line)
    print(json.dumps({"lost": options.messages - len(counts), "twice": twice}))
