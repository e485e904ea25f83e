"""The adapters, and the packages they are tried with, each installed in an environment of its own under `.clients/`."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import ROOT

FOLDER, INTEGRATIONS, HERE = ROOT / ".clients", ROOT / "integrations", Path(__file__).parent
INSTALL_SECONDS, SCRIPT_SECONDS = 900, 300


@dataclass(frozen=True)
class Adapter:
    """A folder of `integrations/`, with what its scenarios need."""

    folder: str
    title: str
    what: str  # what it is to its host
    what_zh: str
    package: str = ""  # the host's own, as it is installed; empty: there is none to install
    version: str = ""
    more: tuple[str, ...] = ()
    npm: bool = False
    bare: bool = False  # without its own requirements; those that the scenarios need are among `more`
    untried: str = ""  # what it could not be tried with
    untried_zh: str = ""

    @property
    def path(self) -> Path:
        """Where it stands."""
        return INTEGRATIONS / self.folder

    @property
    def script(self) -> Path:
        """Its scenarios."""
        return HERE / "scripts" / f"{self.folder}{'_calls.mjs' if self.npm else '_calls.py'}"

    @property
    def environment(self) -> Path:
        """Where its packages are installed."""
        name = re.sub(r"\[.*\]|@", "", self.package).replace("/", "-")
        return FOLDER / f"integration-{name}-{self.version}"

    @property
    def lines(self) -> int:
        """Lines of a bot's code, as its README has them; of programs that are only set up, none."""
        blocks = re.findall(r"^```(?:python|js)\n(.*?)^```", self.readme, re.DOTALL | re.MULTILINE)
        return sum(bool(line.strip()) for block in blocks for line in block.splitlines())

    @property
    def readme(self) -> str:
        """What it says to whoever uses it."""
        return (self.path / "README.md").read_text(encoding="utf-8")

    @property
    def needs(self) -> str | None:
        """The program it needs and this machine has not; None: nothing is missing."""
        return "node" if self.npm and not (shutil.which("node") and shutil.which("npm")) else None

    def install(self) -> None:
        """Install its packages, unless they are. Raises CalledProcessError."""
        place = self.environment
        if not self.package or (place / "done").exists():
            return
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        run: Any = {"check": True, "timeout": INSTALL_SECONDS, "capture_output": True, "cwd": place}
        if self.npm:
            (place / "package.json").write_text("{}")
            options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps")
            subprocess.run(["npm", "install", *options, f"{self.package}@{self.version}", *self.more], **run)
        else:
            subprocess.run([sys.executable, "-m", "venv", str(place)], **run)
            named = re.sub(r"(\[.*\])?$", lambda extra: f"{extra[0]}=={self.version}", self.package, count=1)
            pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            if self.bare:
                subprocess.run([*pip, "--no-deps", named], **run)
            subprocess.run([*pip, "httpx", "click", *(() if self.bare else (named,)), *self.more], **run)
        (place / "done").touch()

    def outcomes(self, platform: str, key: str, model: str, home: Path) -> Mapping[str, str]:
        """What became of each scenario with a running platform: «ok», or what went wrong."""
        own = self.environment / "bin" / "python" if self.package else Path(sys.executable)
        program = ["node"] if self.npm else [str(own)]
        paths = (ROOT / "clients" / "python", self.path, HERE / "scripts")
        script = self._beside_its_packages() if self.npm else self.script
        ran = subprocess.run(
            [*program, str(script), platform, key, model, str(self.path), str(self.environment)],
            env={
                **{"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1"},
                "PYTHONPATH": os.pathsep.join(map(str, paths)),
            },
            cwd=home,
            capture_output=True,
            text=True,
            timeout=SCRIPT_SECONDS,
        )
        if ran.returncode or not ran.stdout.strip():
            raise RuntimeError(f"{self.title}: {ran.stderr[-3_000:]}")
        return dict(json.loads(ran.stdout.strip().splitlines()[-1]))

    def _beside_its_packages(self) -> Path:
        """The script, where Node finds what it imports: the framework, the adapter and our client, as built now."""
        client, place = ROOT / "clients" / "typescript", self.environment
        if not (client / "node_modules").exists():
            subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=client, check=True)
        subprocess.run([str(client / "node_modules" / ".bin" / "tsc")], cwd=client, check=True)
        installed = place / "node_modules" / "memplatform-client"
        shutil.rmtree(installed, ignore_errors=True)
        shutil.copytree(client / "dist", installed / "dist")
        shutil.copy(client / "package.json", installed)
        for file in (*self.path.glob("*.js"), self.script, HERE / "scripts" / "trial.mjs"):
            shutil.copy(file, place)
        (place / "package.json").write_text('{"type": "module"}')
        return place / self.script.name


#: Of the packages of Open WebUI those that its loader, its tables and its run of filters import.
OF_OPEN_WEBUI = (
    *("fastapi==0.136.3", "sqlalchemy[asyncio]==2.0.50", "aiosqlite==0.22.1", "pydantic==2.13.4", "alembic==1.18.4"),
    *("beautifulsoup4==4.14.3", "cryptography==48.0.1", "markdown==3.10.2", "typer", "uvicorn", "loguru==0.7.3"),
    *("python-socketio==5.16.2", "python-mimeparse==2.0.0", "pillow==13.0.0", "validators==0.35.0", "requests"),
    *("aiohttp==3.14.5", "orjson==3.11.9", "aiocache==0.12.3", "redis==8.0.1", "pytz==2026.2", "pyjwt==2.13.0"),
    *("python-multipart==0.0.32", "itsdangerous==2.2.0", "starsessions==2.2.1", "bcrypt==5.0.0"),
    *("argon2-cffi==25.1.0", "opentelemetry-api"),
)
#: In the order of the table.
ADAPTERS = (
    Adapter(
        "langgraph", "LangGraph", "`BaseStore`", "`BaseStore`", "langgraph", "1.2.24", ("langchain-openai==1.7.4",)
    ),
    Adapter(
        "openai_agents",
        "OpenAI Agents SDK",
        "`Session`, and a filter of the model's input",
        "`Session`，以及模型输入的过滤器",
        "openai-agents",
        "0.24.0",
        untried="realtime and voice runs",
        untried_zh="实时与语音运行",
    ),
    Adapter(
        "langchain",
        "LangChain",
        "chat message history, retriever",
        "聊天记录、检索器",
        "langchain-core",
        "1.8.3",
        ("langchain-openai==1.7.4",),
        untried="1.8.4, whose `langchain-protocol` could not be installed",
        untried_zh="1.8.4：它需要的 `langchain-protocol` 当时装不上",
    ),
    Adapter(
        "pydantic_ai",
        "Pydantic AI",
        "capability: instructions, tools, report",
        "capability：指令、工具、上报",
        "pydantic-ai-slim[openai]",
        "2.68.0",
        untried="durable execution (Temporal, DBOS), realtime sessions",
        untried_zh="持久化执行（Temporal、DBOS）、实时会话",
    ),
    Adapter(
        "llamaindex",
        "LlamaIndex",
        "`Memory`",
        "`Memory`",
        "llama-index-core",
        "0.14.25",
        ("llama-index-llms-openai-like==0.8.1",),
        untried="`Context.to_dict`: give the memory anew to a run that goes on; a ReActAgent in several steps",
        untried_zh="`Context.to_dict`：继续运行时请重新传入记忆；多步的 ReActAgent",
    ),
    Adapter(
        "google_adk",
        "Google ADK",
        "memory service, and a plugin",
        "记忆服务，以及插件",
        "google-adk",
        "2.13.0",
        ("litellm==1.106.2", "mcp==2.3.0"),
        untried="live (bidirectional) runs",
        untried_zh="实时（双向）运行",
    ),
    Adapter(
        "crewai",
        "CrewAI",
        "`Memory`",
        "`Memory`",
        "crewai",
        "1.15.30",
        untried="flows; `kickoff` with a list of messages, which CrewAI hands on as one text",
        untried_zh="Flow；`kickoff` 传入消息列表（CrewAI 会合成一段文字）",
    ),
    Adapter(
        "autogen",
        "AutoGen",
        "`Memory`, and a context of the model that reports",
        "`Memory`，以及会上报的模型上下文",
        "autogen-agentchat",
        "0.7.5",
        ("autogen-ext[openai]==0.7.5",),
        untried="`dump_component` of an agent: a key is not written into a configuration",
        untried_zh="智能体的 `dump_component`：密钥不写进配置",
    ),
    Adapter(
        "vercel_ai",
        "AI SDK (Vercel)",
        "middleware of the model, tools",
        "模型中间件、工具",
        "ai",
        "7.0.173",
        ("@ai-sdk/openai@4.0.118", "zod"),
        npm=True,
        untried="Node 22, which its package asks for (tried on 20); the hooks for React and Vue",
        untried_zh="其软件包要求的 Node 22（在 20 上试的）；React 与 Vue 的 hooks",
    ),
    Adapter(
        "mastra",
        "Mastra",
        "processor of input and output, tools",
        "输入输出 processor、工具",
        "@mastra/core",
        "1.71.0",
        ("@ai-sdk/openai@4.0.118", "zod"),
        npm=True,
        untried="Node 22, which its package asks for (tried on 20); its server and playground; workflows and networks",
        untried_zh="其软件包要求的 Node 22（在 20 上试的）；它的服务器与 playground；workflow 与 network",
    ),
    Adapter(
        "dify",
        "Dify",
        "tool plugin",
        "工具插件",
        "dify_plugin",
        "0.7.4",
        untried="Dify itself: the plugin runs as its daemon runs it, and the daemon is played",
        untried_zh="Dify 本身：插件按其守护进程的方式运行，守护进程由测试扮演",
    ),
    Adapter(
        "n8n",
        "n8n",
        "community node",
        "社区节点",
        "n8n-core",
        "2.41.1",
        ("n8n-workflow@2.41.0", "typescript@5.9.3", "reflect-metadata"),
        npm=True,
        untried="n8n's server and editor: n8n-core loads and runs it, the store of credentials is played",
        untried_zh="n8n 的服务器与编辑器：由 n8n-core 加载和运行，凭据存储由测试扮演",
    ),
    Adapter(
        "open_webui",
        "Open WebUI",
        "filter function",
        "过滤器函数",
        "open-webui",
        "0.12.4",
        OF_OPEN_WEBUI,
        bare=True,
        untried="its server and pages: its own loader, tables and run of filters are there, on part of its packages",
        untried_zh="它的服务器与网页：用的是它自己的加载器、数据表和过滤器运行，只装了它所需软件包的一部分",
    ),
    Adapter(
        "claude_code",
        "Claude Code",
        "plugin with hooks",
        "带 hooks 的插件",
        untried="the program itself: the hooks are given the JSON its documentation describes",
        untried_zh="程序本身：只按其文档描述的 JSON 调用了 hooks",
    ),
)
