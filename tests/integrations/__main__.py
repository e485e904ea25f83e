"""`python -m tests.integrations [NAME…]` (`make integrations`): our adapters in the frameworks they are for.

Each framework is installed once, below `.clients/`, and its scenarios run against a platform of their own with a
scripted model; the table is docs/reference/integrations.md.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.integrations.adapters import Adapter

PAGES = {
    "docs/reference/integrations.md": """# Adapters

Memory where bots are written: a file or a folder for each framework, below `integrations/`, with its README and under
the MIT licence. Each is tried with the framework's own package, as it is installed, against a running platform with a
scripted model: a fact that a person told in a first session is there in a second, another person does not get it, and
a platform that is away or refuses the key costs no turn. Written by `make integrations`, which installs the packages
below `.clients/` and runs the scenarios; not by hand.

| framework | the adapter is | version | tried on | lines of a bot's code | scenarios | passed | not tried |
|---|---|---|---|---|---|---|---|
""",
    "docs/reference/integrations.zh-hans.md": """# 适配器

把记忆放到编写机器人的地方：`integrations/` 下每个框架一个文件或目录，附 README，采用 MIT 许可证。每个适配器都用该框架
自己的软件包（按正常方式安装）、一个正在运行的平台和一个按脚本回答的模型试过：某人在第一次会话里说的事，第二次会话里还在；
别人得不到它；平台不在或密钥被拒时，这一轮照常进行。本页由 `make integrations` 写成：它把软件包装到 `.clients/` 下并运行
这些场景；不是手写的。

| 框架 | 适配器是什么 | 版本 | 试验日期 | 机器人代码行数 | 场景 | 通过 | 没有试过 |
|---|---|---|---|---|---|---|---|
""",
}
TRIED = {
    "docs/reference/integrations.md": "What is tried",
    "docs/reference/integrations.zh-hans.md": "试了什么（英文）",
}


def main() -> int:
    """Try all of them, or those whose names are given, and write their lines of the table."""
    from benchmarks import ground
    from tests.integrations.adapters import ADAPTERS
    from tests.support.scripted_openai import scripted_model

    wanted = [adapter for adapter in ADAPTERS if not sys.argv[1:] or adapter.folder in sys.argv[1:]]
    wrong = 0
    with ExitStack() as held:
        model, data = held.enter_context(scripted_model()), held.enter_context(ground.folder())
        house = held.enter_context(ground.platform(data))
        key = (house.data / "credentials" / "bot-key").read_text().strip()
        for adapter in wanted:
            if adapter.needs:
                print(f"{adapter.title}: left out, {adapter.needs} is not installed")
                continue
            adapter.install()
            home = Path(held.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
            outcomes = adapter.outcomes(f"http://127.0.0.1:{house.port}", key, model, home)
            write(adapter, outcomes)
            for name, outcome in outcomes.items():
                print(f"{adapter.title} {adapter.version}: {name}: {outcome}", flush=True)
                wrong += outcome != "ok"
    return int(wrong > 0)


def write(adapter: "Adapter", outcomes: Mapping[str, str]) -> None:
    """Put the line of an adapter, and what was tried with it, into both pages; those not tried now stay."""
    from tests import ROOT
    from tests.integrations.adapters import ADAPTERS

    passed, today = sum(outcome == "ok" for outcome in outcomes.values()), f"{datetime.now(UTC):%Y-%m-%d}"
    for page, head in PAGES.items():
        chinese = page.endswith(".zh-hans.md")
        what, untried = (adapter.what_zh, adapter.untried_zh) if chinese else (adapter.what, adapter.untried)
        names = f"[{adapter.title}](../../integrations/{adapter.folder}/README.md)"
        cells = (what, adapter.version or "—", today, adapter.lines or "—", len(outcomes), passed, untried)
        rows, tried = parts_of(ROOT / page)
        rows[names] = f"| {' | '.join(map(str, (names, *cells)))} |"
        tried[adapter.title] = f"- {adapter.title}: {'; '.join(outcomes)}"
        order = [f"[{one.title}](../../integrations/{one.folder}/README.md)" for one in ADAPTERS]
        table = "\n".join(rows[name] for name in order if name in rows)
        listed = "\n".join(tried[one.title] for one in ADAPTERS if one.title in tried)
        (ROOT / page).write_text(f"{head}{table}\n\n## {TRIED[page]}\n\n{listed}\n", encoding="utf-8")


def parts_of(page: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The lines of a page as it stands: of the table by name, and of what was tried by title."""
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| [")}
    return rows, {line.split(":")[0].removeprefix("- "): line for line in lines if line.startswith("- ")}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    import django

    django.setup()
    sys.exit(main())
