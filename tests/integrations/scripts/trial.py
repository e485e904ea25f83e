"""What the scripts of the adapters have in common: `python SCRIPT URL KEY MODEL ADAPTER` prints one JSON object.

They run in the environment of a framework, where nothing of this project is but its client and the adapter.
"""

import asyncio
import contextlib
import inspect
import io
import json
import os
import re
import sys
import time
import traceback
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

URL, KEY, MODEL, ADAPTER = sys.argv[1:5]
ADAPTER = Path(ADAPTER)
DOWN, WRONG_KEY = "http://127.0.0.1:9", "mp_nobody_has_this_key"
FACT, QUESTION, NAME = "My boat is called Wren.", "What is my boat called?", "Wren"
os.environ |= {
    "OPENAI_BASE_URL": MODEL,
    "OPENAI_API_BASE": MODEL,
    "OPENAI_API_KEY": "sk-none",
    "MEMORY_URL": URL,
    "MEMORY_KEY": KEY,
}
LOOP = asyncio.new_event_loop()  # one, as in a bot: a client keeps its connections
outcomes = {}


def scenario(name):
    """Run a scenario at once, and note what became of it."""

    def run(call):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                LOOP.run_until_complete(call()) if inspect.iscoroutinefunction(call) else call()
            outcomes[name] = "ok"
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            outcomes[name] = f"{type(error).__name__} at {place.name}:{place.lineno}: {error}"[:600]
            traceback.print_exc()
        return call

    return run


def person():
    """Somebody memory has not heard of."""
    return f"dana-{uuid.uuid4().hex[:8]}"


def asked(path, **query):
    """What the platform itself answers."""
    request = urllib.request.Request(f"{URL}/api/v1/{path}?{urllib.parse.urlencode(query)}")
    request.add_header("Authorization", f"Bearer {KEY}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def entries(words=NAME, **query):
    """What memory holds with these words, whoever it is about."""
    return asked("entries", q=words, state="live", **query)["results"]


def eventually(question, seconds=15):
    """Until it is so; for what a host does in the background."""
    end = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def first_scenarios(turn):
    """What every adapter is to do: `turn(who, chat, words, key, url)` is what a bot answers to somebody."""

    @scenario("a fact of a first session in a second")
    async def _():
        who = person()
        await turn(who, "1", FACT)
        assert NAME in await turn(who, "2", QUESTION)
        assert entries(scope=f"web:direct_{who}")

    @scenario("another person does not get it")
    async def _():
        await turn(person(), "1", FACT)
        assert NAME not in await turn(person(), "1", QUESTION)

    @scenario("memory away, and a key that is refused: the turn goes on")
    async def _():
        for key, url in ((KEY, DOWN), (WRONG_KEY, URL)):
            assert await turn(person(), "1", QUESTION, key, url) == "I do not know."


def readme(*extra):
    """Run the README's code as it stands, but for the person's name, and give what it prints."""
    text = (ADAPTER / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code.replace("alice", person()), "README", "exec"), {"__name__": "__main__"})  # noqa: S102 (our own page)
    return printed.getvalue()


def done():
    """The outcomes, for whoever began this."""
    print(json.dumps(outcomes))
