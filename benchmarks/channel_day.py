"""Is anything lost or doubled when everything is killed? `python -m benchmarks channel_day`.

The day of a bot that is on four platforms at once: people write to it alone and in groups, where most of what is said
is not meant for it; a tenth is delivered twice and out of order. The web, the process that answers and the worker are
killed at random meanwhile. The platforms and the model are played on this machine.
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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks import ground
from benchmarks.channels import SECRET, echoing, near_shuffled
from tests import ROOT
from tests.memories.llm.fake_server import FakeModel
from tests.support import fake_dingtalk as dingtalk
from tests.support import fake_lark as lark
from tests.support import fake_slack as slack
from tests.support.fake_telegram import TOKEN, fake_telegram
from tests.support.house import House

CONNECTIONS = {
    "telegram": ("mem_bot", {"bot_name": "mem_bot", "bot_id": "123456"}, {"token": TOKEN, "webhook_secret": SECRET}),
    "slack": (
        f"{slack.TEAM}-{slack.BOT}",
        {"bot_name": "mem", "bot_id": slack.BOT, "team": slack.TEAM},
        {"token": slack.TOKEN, "signing_secret": slack.SIGNING_SECRET},
    ),
    "lark": (
        lark.APP,
        {"app_id": lark.APP, "bot_name": "Mem", "bot_id": "ou_bot"},
        {"app_secret": lark.SECRET, "verification_token": lark.TOKEN, "encrypt_key": lark.KEY},
    ),
    "dingtalk": (
        dingtalk.APP,
        {"client_id": dingtalk.APP, "bot_id": dingtalk.APP},
        {"client_secret": dingtalk.SECRET},
    ),
}
_CONNECT = """
import json, sys
from channels_app.models import Channel, Connection
from memories import secrets
from memories.models import Workspace
workspace = Workspace.objects.get()
uids = {}
for platform, (account, options, hidden) in json.loads(%r).items():
    channel = Channel.objects.create(workspace=workspace, platform=platform, account=account)
    row = Connection.objects.create(workspace=workspace, channel=channel, notices="off", receiving="webhook",
        options=options)
    for name, value in hidden.items():
        secrets.keep(row.secret_name(name), value, workspace=workspace)
    uids[platform] = str(row.uid)
print(json.dumps(uids))
"""

_TAKEN_IN = """
SELECT concat_ws('|', body->>'text', extract(epoch FROM received_at), extract(epoch FROM due_at), events[1])
FROM channels_app_incomingmessage WHERE body->>'text' LIKE 'message %' AND events <> '{}'
"""


@dataclass
class Day:
    """What is delivered: each message with the call that brings it, and those that are to be answered."""

    calls: list[tuple[str, Callable[[], tuple[bytes, dict[str, str]]]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    to_be_answered: set[str] = field(default_factory=set)


class Sent(list[Any]):
    """What a bot sent, with the moment of each."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[float] = []

    def append(self, message: Any) -> None:
        self.moments.append(time.monotonic())
        super().append(message)

    def __iadd__(self, messages: Any) -> "Sent":
        for message in messages:
            self.append(message)
        return self


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--people", type=int, default=60, help="of each platform")
    parser.add_argument("--callers", type=int, default=6)
    parser.add_argument("--to-bot", type=float, default=0.15, help="share of groups' messages that is for the bot")
    parser.add_argument("--kill-every", type=float, default=12.0, help="seconds, on average; 0: nothing is killed")
    parser.add_argument("--parts", nargs="+", default=["web", "channels", "worker"], help="which of them are killed")
    parser.add_argument("--seed", type=int, default=7)


def main(data: Path, options: argparse.Namespace) -> None:
    chance = random.Random(options.seed)
    with ExitStack() as stack:
        fakes = {
            "telegram": stack.enter_context(fake_telegram()),
            "slack": stack.enter_context(slack.fake_slack()),
            "lark": stack.enter_context(lark.fake_lark()),
            "dingtalk": stack.enter_context(dingtalk.fake_dingtalk()),
        }
        model = stack.enter_context(FakeModel(otherwise=echoing))
        house = stack.enter_context(
            ground.platform(
                data,
                MEMORY_LLM_BASE_URL=model.url,
                MEMORY_LLM_MODEL="small",
                MEMORY_LLM_DAILY_TOKENS="1000000000",
                MEMORY_AMBIENT_KEPT="1000000",  # all talk of a group, of which else the newest stays: it is counted
                MEMPLATFORM_TELEGRAM_API_URL=fakes["telegram"].url,
                MEMPLATFORM_SLACK_API_URL=fakes["slack"].url,
                MEMPLATFORM_FEISHU_API_URL=fakes["lark"].url,
                MEMPLATFORM_DINGTALK_API_URL=fakes["dingtalk"].url,
                MEMPLATFORM_DINGTALK_SESSION_URL=fakes["dingtalk"].url,
            )
        )
        urls = connect(house)
        day = write_day(fakes, options, chance)
        again = chance.sample(range(len(day.calls)), len(day.calls) // 10)
        order = near_shuffled([*range(len(day.calls)), *again], chance)
        stop = threading.Event()
        deaths: list[tuple[str, float]] = []
        for fake in fakes.values():
            fake.sent = Sent()
        if options.kill_every:
            threading.Thread(target=kill, args=(house, stop, options, deaths), daemon=True).start()
        begun = time.monotonic()
        with ThreadPoolExecutor(options.callers) as callers:
            list(callers.map(lambda n: deliver(urls, *day.calls[n]), order))
        print(f"{len(order)} deliveries in {time.monotonic() - begun:.0f} s", flush=True)
        report(house, day, fakes, begun, stop)
        print("killed meanwhile:", dict(Counter(name for name, _at in deaths)))
        for line in twice(fakes, deaths):
            print(line)


def connect(house: House) -> dict[str, str]:
    """The addresses at which the platforms call."""
    code = _CONNECT % json.dumps(CONNECTIONS)
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", code]
    environment = {**os.environ, "MEMPLATFORM_DATA": str(house.data)}
    process = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    uids = json.loads(process.stdout.splitlines()[-1])
    return {name: f"http://127.0.0.1:{house.port}/channels/{name}/{uid}" for name, uid in uids.items()}


def write_day(fakes: dict[str, Any], options: argparse.Namespace, chance: random.Random) -> Day:
    """What people write, in its order; each text is written once."""
    day, numbers = Day(), Counter[str]()
    for _n in range(options.messages):
        time.sleep(0.001)  # platforms stamp whole milliseconds, and nobody writes twice in one
        platform = chance.choice(list(fakes))
        person = chance.randrange(options.people)
        group = chance.randrange(5) if chance.random() < 0.7 else None
        is_for_bot = group is None or platform == "dingtalk" or chance.random() < options.to_bot
        place = f"{platform} {'person' if group is None else 'group'} {person if group is None else group}"
        text = f"message {numbers[place]} in {place}"
        numbers[place] += 1
        day.calls.append((platform, written(fakes[platform], platform, person, group, text, is_for_bot)))
        day.texts.append(text)
        if is_for_bot:
            day.to_be_answered.add(text)
    return day


def written(
    fake: Any, platform: str, person: int, group: int | None, text: str, is_for_bot: bool
) -> Callable[[], tuple[bytes, dict[str, str]]]:
    """How a message is called with: signed at the time of each call, as the platform does."""
    is_mention = is_for_bot and group is not None
    if platform == "telegram":
        chat = None if group is None else -1000 - group
        update = fake.write(1 + person, f"@mem_bot {text}" if is_mention else text, group=chat)
        return lambda: (json.dumps(update).encode(), {"X-Telegram-Bot-Api-Secret-Token": SECRET})
    if platform == "slack":
        words = f"<@{slack.BOT}> {text}" if is_mention else text
        channel = "" if group is None else f"C{group}"
        raw = json.dumps(slack.wrapped(slack.message(f"U{person}", words, group=channel))).encode()
        return lambda: (raw, slack.signed(raw))
    if platform == "lark":
        event = fake.write(
            f"ou_{person}", f"@bot {text}" if is_mention else text, group="" if group is None else f"oc_g{group}"
        )

        def sealed() -> tuple[bytes, dict[str, str]]:
            raw = lark.encrypted(event)
            return raw, lark.signed(raw)

        return sealed
    body = fake.write(f"p{person}", text, group="" if group is None else f"cid{group}==")
    return lambda: (json.dumps(body).encode(), dingtalk.signed())


CALM_SECONDS = 240.0
CLIENT = httpx.Client(limits=httpx.Limits(max_keepalive_connections=64), timeout=20)


def deliver(urls: dict[str, str], platform: str, call: Callable[[], tuple[bytes, dict[str, str]]]) -> None:
    """Deliver until it is taken, as a platform does."""
    while True:
        body, headers = call()
        try:
            answer = CLIENT.post(urls[platform], content=body, headers={"Content-Type": "application/json", **headers})
            if answer.status_code == 200:
                return
            if answer.status_code < 500:
                raise SystemExit(f"{platform}: {answer.status_code} {answer.text}")
        except httpx.HTTPError:
            pass
        time.sleep(0.5)


def kill(house: House, stop: threading.Event, options: argparse.Namespace, deaths: list[tuple[str, float]]) -> None:
    chance = random.Random(options.seed)
    while not stop.wait(chance.uniform(0.4, 1.6) * options.kill_every):
        name = chance.choice(options.parts)
        pids = sorted(house.pids(name))
        if pids:
            os.kill(chance.choice(pids), signal.SIGKILL)
            deaths.append((name, time.monotonic()))


def answers_of(fakes: dict[str, Any]) -> list[str]:
    """What the bot sent, as it says which message it answers."""
    texts = [text for fake in fakes.values() for text in fake.texts()]
    return [text.removeprefix("You wrote: ") for text in texts if text.startswith("You wrote: message ")]


def twice(fakes: dict[str, Any], deaths: list[tuple[str, float]]) -> list[str]:
    """Of each answer that was sent twice: where, and how soon after the first the process that sends was killed."""
    lines = []
    for name, fake in fakes.items():
        moments: dict[str, list[float]] = {}
        for text, at in zip(fake.texts(), fake.sent.moments, strict=True):
            moments.setdefault(text, []).append(at)
        for text, (first, *others) in moments.items():
            for again in others:
                kills = [round((at - first) * 1000) for name, at in deaths if name == "channels" and first < at < again]
                lines.append(f"{name}: {text!r} again after {again - first:.1f} s; killed {kills} ms after the first")
    return lines


def report(house: House, day: Day, fakes: dict[str, Any], begun: float, stop: threading.Event) -> None:
    calm = time.monotonic() + len(day.texts) / 2  # from then on nothing is killed
    waiting = "SELECT count(*) FROM channels_app_incomingmessage WHERE state = 'waiting'"
    while time.monotonic() < calm + CALM_SECONDS:
        if time.monotonic() > calm:
            stop.set()
        if not house.ask(waiting)[0] and len(set(answers_of(fakes))) >= len(day.to_be_answered):
            break
        time.sleep(2)
    stop.set()
    print(f"all worked on after {time.monotonic() - begun:.0f} s", flush=True)
    events = "SELECT content FROM sessions_app_sessionevent WHERE content LIKE 'message %%' ORDER BY id"
    contents = house.ask(events)
    counts = Counter(contents)
    lost_texts = set(day.texts) - set(counts)
    duplicates = [text for text, count in counts.items() if count > 1]
    print(f"messages {len(day.texts)}: stored {len(counts)}, lost {len(lost_texts)}, stored twice {len(duplicates)}")
    disordered = [place for place, numbers in by_place(contents).items() if numbers != sorted(numbers)]
    print(f"chats {len(by_place(contents))}, out of order {len(disordered)} {disordered[:3]}")
    late, overtaken = inversions(house, disordered)
    print(f"messages behind a later one: {late} delivered late (when that one was due already), {overtaken} overtaken")
    answers = Counter(answers_of(fakes))
    unanswered = day.to_be_answered - set(answers)
    print(
        f"answers due {len(day.to_be_answered)}: missing {len(unanswered)} {sorted(unanswered)[:3]},"
        f" sent twice {sum(count > 1 for count in answers.values())}, unasked {len(set(answers) - day.to_be_answered)}"
    )


def inversions(house: House, places: list[str]) -> tuple[int, int]:
    """Of the messages stored behind a later one of their chat: those that came when that one was due already, and
    those that came before, which should have been waited for.
    """
    rows = house.ask(_TAKEN_IN)
    late = overtaken = 0
    for place in places:
        messages = [row.rsplit("|", 3) for row in rows if row.split("|")[0].endswith(f" in {place}")]
        deliveries = sorted(
            (int(event), int(text.split(" ")[1]), float(at), float(due)) for text, at, due, event in messages
        )
        for position, (_event, number, at, _due) in enumerate(deliveries):
            due_times = [due for _e, later, _at, due in deliveries[:position] if later > number]
            if due_times and at > min(due_times):
                late += 1
            elif due_times:
                overtaken += 1
    return late, overtaken


def by_place(texts: list[str]) -> dict[str, list[int]]:
    """The numbers of the messages of each chat, in the order they are stored in."""
    places: dict[str, list[int]] = {}
    for text in texts:
        _message, number, _in, place = text.split(" ", 3)
        places.setdefault(place, []).append(int(number))
    return places
