"""A tiny set in two languages, and the command that measures it."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command

CORPUS = [
    {"doc_id": "d1", "scope": "mei", "seq": 1, "text": "my cat is called Mochi and sleeps all day", "speaker": "Mei"},
    {"doc_id": "d2", "scope": "mei", "seq": 2, "text": "the train to Lisbon leaves at noon", "speaker": "Mei"},
    {"doc_id": "d3", "scope": "mei", "seq": 3, "text": "the dentist moved my appointment to Thursday"},
    {"doc_id": "z1", "scope": "小李", "seq": 1, "text": "我家的猫叫麻薯，整天睡觉", "created_at": "2025-05-02"},
    {"doc_id": "z2", "scope": "小李", "seq": 2, "text": "去里斯本的火车中午出发", "created_at": "2025-06-09"},
    {"doc_id": "z3", "scope": "小李", "seq": 3, "text": "牙医把我的预约改到了星期四", "created_at": "2025-06-10"},
]
QUERIES = [
    {"query_id": "q1", "scope": "mei", "query": "what is Mei's cat called?", "category": "en", "gold": ["d1"]},
    {"query_id": "q2", "scope": "mei", "query": "when does the train leave?", "category": "en", "gold": ["d2"]},
    {"query_id": "q3", "scope": "小李", "query": "猫叫什么名字？", "category": "zh", "gold": ["z1"]},
    {"query_id": "q4", "scope": "小李", "query": "火车什么时候出发？", "category": "zh", "gold": ["z2"]},
]
Rows = Sequence[Mapping[str, Any]]


@pytest.fixture
def set_of(tmp_path: Path) -> Callable[..., Path]:
    def write(corpus: Rows = CORPUS, queries: Rows = QUERIES, name: str = "tiny") -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for part, rows in (("corpus", corpus), ("queries", queries)):
            with gzip.open(folder / f"{part}.jsonl.gz", "wt", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return folder

    return write


def evaluate(*arguments: object) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("evaluate", *map(str, arguments), stdout=out)
    return out.getvalue()


def measured(*arguments: object) -> dict[str, Any]:
    return json.loads(evaluate(*arguments, "--json"))  # type: ignore[no-any-return]


def rows_of_every_table() -> dict[str, int]:
    ours = [model for model in apps.get_models(include_auto_created=True) if model._meta.app_label != "django_q"]
    return {model._meta.label: model._base_manager.count() for model in ours}
