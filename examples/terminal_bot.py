"""A bot in a terminal that remembers, also when it is started again.

MEMORY_KEY=… python examples/terminal_bot.py --echo
MEMORY_KEY=… MODEL_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 python examples/terminal_bot.py
"""

import argparse
import os
import sys

import httpx
from answering import answer, memory_of_environment
from memplatform_client import MemplatformError
from memplatform_client.types import AddressField

ADDRESS: AddressField = {"platform": "cli"}


def main() -> None:
    parser = argparse.ArgumentParser(description="A bot that remembers. /reset begins another conversation.")
    parser.add_argument("--echo", action="store_true", help="without a model: repeat what memory found")
    options = parser.parse_args()
    if options.echo == bool(os.environ.get("MODEL_URL")):
        parser.error("name a model (MODEL_URL), or ask for --echo")
    with memory_of_environment() as memory:
        print("> ", end="", flush=True)
        for line in sys.stdin:
            if message := line.strip():
                try:
                    print(answer(memory, ADDRESS, message))
                except (MemplatformError, httpx.HTTPError) as error:
                    print(f"({error})")
            print("> ", end="", flush=True)


if __name__ == "__main__":
    main()
