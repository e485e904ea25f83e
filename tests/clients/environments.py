"""Packages other people wrote, as they are installed, each in a folder of its own under `.clients/`, made once."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import ROOT

FOLDER = ROOT / ".clients"
HERE = Path(__file__).parent
INSTALL_SECONDS, CALL_SECONDS = 1_800, 180


@dataclass(frozen=True)
class Package:
    """A package of a version, installed in a folder of its own."""

    name: str
    version: str
    npm: bool = field(default=False, kw_only=True)
    alone: bool = field(default=True, kw_only=True)  # with what it needs; else beside the project's own packages
    more: tuple[str, ...] = field(default=(), kw_only=True)  # packages installed with it
    mem0: str = field(default="", kw_only=True)  # the version of mem0ai installed with it, where it stands on that
    python: str = field(default=sys.executable, kw_only=True)  # what installs and runs it; empty: there is none

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        kind, beside = ("npm" if self.npm else "python"), (f"-mem0ai-{self.mem0}" if self.mem0 else "")
        return FOLDER / f"{kind}-{self.name.replace('/', '-')}-{self.version}{beside}"

    @property
    def label(self) -> str:
        """Its name in the table."""
        return self.name + (" (npm)" if self.npm else "") + (f", mem0ai {self.mem0}" if self.mem0 else "")

    @property
    def needs(self) -> str | None:
        """The program it needs and this machine has not; None: nothing is missing."""
        if not self.npm:
            return None if self.python else "a newer Python"
        return None if shutil.which("node") and shutil.which("npm") else "node"

    def install(self) -> None:
        """Install it, unless it is installed. Raises CalledProcessError."""
        done = self.folder / "done"
        if done.exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if self.npm:
            (self.folder / "package.json").write_text("{}")
            options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps")
            command = ["npm", "install", *options, f"{self.name}@{self.version}", *self.more]
            command += [f"mem0ai@{self.mem0}"] if self.mem0 else []
        else:
            pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            pip += [] if self.alone else ["--no-deps"]
            command = [*pip, "--target", str(self.folder), f"{self.name}=={self.version}", *self.more]
            command += [f"mem0ai=={self.mem0}"] if self.mem0 else []
        subprocess.run(command, cwd=self.folder, check=True, timeout=INSTALL_SECONDS, capture_output=True)
        done.touch()


@dataclass(frozen=True)
class Client(Package):
    """A package, and the script that makes its calls: `script HOST KEY FOLDER NAME` prints one JSON object."""

    script: str  # below this folder
    door: str = "/api/mem0"  # what the client is given as its host, below the platform's address

    def calls(self, platform: str, key: str, home: Path) -> Mapping[str, str]:
        """What became of each of its calls to a running platform: «ok», or what went wrong."""
        script = HERE / self.script
        program = ["node"] if self.npm else [sys.executable]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "MEM0_TELEMETRY": "False", "MEM0_DIR": str(home)}
        if not self.npm:
            environment["PYTHONPATH"] = str(self.folder)
        ran = subprocess.run(
            [*program, str(script), f"{platform}{self.door}", key, str(self.folder), self.name],
            env=environment,
            capture_output=True,
            text=True,
            timeout=CALL_SECONDS,
        )
        if ran.returncode or not ran.stdout.strip():
            raise RuntimeError(f"{self.name} {self.version}: {ran.stderr[-2_000:]}")
        answer: Any = json.loads(ran.stdout.strip().splitlines()[-1])
        assert answer["version"] == self.version, answer["version"]
        return dict(answer["calls"])


MEM0_PYTHON = tuple(
    Client("mem0ai", version, "mem0/calls.py", alone=False) for version in ("0.1.118", "1.0.11", "2.2.1")
)
MEM0_NPM = tuple(Client("mem0ai", version, "mem0/calls.mjs", npm=True) for version in ("2.4.6", "3.3.1"))
MEM0_CLI = Client("mem0-cli", "0.2.13", "mem0/cli.py")
_INTEGRATIONS, _OF_NODE = "mem0/integrations.py", "mem0/integrations.mjs"
_AUTOGEN = ("autogen-agentchat==0.7.5", "openai", "tiktoken", "aiofiles")
#: Frameworks that remember by mem0, the most used first; what mem0ai 2 broke is tried with an older one, too.
INTEGRATIONS = (
    Client("agno", "3.1.10", _INTEGRATIONS, mem0="2.2.1"),
    Client("agno", "3.1.10", _INTEGRATIONS, mem0="1.0.11"),
    Client("@mem0/vercel-ai-provider", "3.0.2", _OF_NODE, npm=True),
    Client("pipecat-ai", "1.14.0", _INTEGRATIONS, mem0="2.2.1"),
    Client("autogen-ext", "0.7.5", _INTEGRATIONS, more=_AUTOGEN, mem0="2.2.1"),
    Client("autogen-ext", "0.7.5", _INTEGRATIONS, more=_AUTOGEN, mem0="1.0.11"),
    Client("camel-ai", "0.2.90", _INTEGRATIONS, mem0="2.2.1"),
    Client("camel-ai", "0.2.90", _INTEGRATIONS, mem0="0.1.118"),
    Client("agent-framework-mem0", "1.0.0b261015", _INTEGRATIONS, mem0="2.2.1"),
    Client("mem0-strands", "0.1.1", _INTEGRATIONS, mem0="2.2.1"),
    Client("mem0-haystack", "1.0.0", _INTEGRATIONS, mem0="2.2.1"),
    Client("nvidia-nat-mem0ai", "1.9.0", _INTEGRATIONS, mem0="0.1.118"),
    Client("hermes-agent", "0.19.0", _INTEGRATIONS),
    Client("@mastra/mem0", "0.1.4", _OF_NODE, npm=True, more=("@mastra/core@0.10.8",), mem0="2.4.6"),
)
OPENAI = (
    Client("openai", "3.57.0", "openai/calls.py", door=""),
    Client("openai-agents", "0.24.0", "openai/calls.py", door=""),
    Client("pydantic-ai-slim", "2.68.0", "openai/calls.py", door="", more=("openai==3.57.0",)),
    Client("langchain-openai", "1.7.4", "openai/calls.py", door=""),
    Client("openai", "7.57.0", "openai/calls.mjs", door="", npm=True),
    Client("@openai/agents", "0.20.0", "openai/calls.mjs", door="", npm=True, more=("openai@7.57.0", "zod")),
    Client("ai", "6.0.326", "openai/calls.mjs", door="", npm=True, more=("@ai-sdk/openai@3.0.141", "zod")),
)
CLIENTS = (*MEM0_PYTHON, *MEM0_NPM, MEM0_CLI, *INTEGRATIONS, *OPENAI)
_NAMES_A_USER = "it passes `user_id`, which mem0ai 2 refuses before it sends anything"
#: What goes wrong in a client itself, whatever it calls: by its label, its version and the call.
OWN_FAULTS = {
    ("mem0ai", "0.1.118", "feedback"): "the client raises TypeError after the answer, in its telemetry",
    ("mem0ai", "1.0.11", "feedback"): "the client raises TypeError after the answer, in its telemetry",
    ("agno, mem0ai 2.2.1", "3.1.10", "search_memory in another session"): _NAMES_A_USER,
    ("agno, mem0ai 2.2.1", "3.1.10", "get_all_memories"): _NAMES_A_USER,
    ("autogen-ext, mem0ai 2.2.1", "0.7.5", "query"): _NAMES_A_USER,
    ("autogen-ext, mem0ai 2.2.1", "0.7.5", "an agent has it before its model"): _NAMES_A_USER,
    (
        "camel-ai, mem0ai 2.2.1",
        "0.2.90",
        "load in another storage",
    ): "it expects of `get_all` the bare list of mem0ai 0.1",
}
