"""The process that talks with chat platforms, killed in the middle: nothing is lost, nothing is stored twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import ROOT
from tests.channels_app.platforms.conftest import echoing
from tests.memories.llm.fake_server import FakeModel
from tests.support.fake_telegram import TOKEN, fake_telegram
from tests.support.house import House, free_port, until

_CONNECT = """
from channels_app.models import Channel, Connection
from memories import secrets
from memories.models import Workspace
workspace = Workspace.objects.get()
channel, _made = Channel.objects.get_or_create(workspace=workspace, platform="telegram", account="mem_bot")
row = Connection.objects.create(
    workspace=workspace, channel=channel, notices="off", options={"bot_name": "mem_bot", "bot_id": "123456"})
secrets.keep(row.secret_name("token"), "%s", workspace=workspace)
"""


@pytest.mark.thorough
def test_a_process_that_is_killed_again_and_again_loses_no_message_and_stores_none_twice(data: Path) -> None:
    port, users, each = free_port(), range(1, 9), 12
    with fake_telegram() as bot_api, FakeModel(otherwise=echoing) as model:
        house = House(
            data,
            port,
            MEMPLATFORM_TELEGRAM_API_URL=bot_api.url,
            MEMORY_LLM_BASE_URL=model.url,
            MEMORY_LLM_MODEL="small",
            MEMORY_EMBEDDERS="",
        ).greets()
        try:
            command = [sys.executable, "manage.py", "shell", "-v0", "-c", _CONNECT % TOKEN]
            subprocess.run(command, cwd=ROOT, env={**os.environ, "MEMPLATFORM_DATA": str(data)}, check=True)
            until(lambda: any(name == "getUpdates" for name, _asked in bot_api.calls), 30)
            for n in range(each):
                for user in users:
                    bot_api.write(user, f"message {n} of {user}")
                if n % 3 == 1:
                    for pid in house.pids("channels"):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.5)
            ours = "SELECT content FROM sessions_app_sessionevent WHERE kind = 'user' AND content LIKE 'message %'"
            until(lambda: len(house.ask(ours)) >= each * len(users), 240)
            until(lambda: len(set(bot_api.texts())) >= each * len(users), 60)
            stored = house.ask(ours)
            assert len(stored) == len(set(stored)) == each * len(users)
            for user in users:  # an answer may be sent twice where the process dies between sending and noting it
                answers = list(dict.fromkeys(bot_api.texts(user)))
                assert answers == [f"You wrote: message {n} of {user}" for n in range(each)]
        finally:
            house.end(signal.SIGTERM)
