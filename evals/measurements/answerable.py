"""Can young memories tell whether they hold an answer? Two hundred questions of our own, half of them unanswerable.

By the bundled embedder; with `--here` in a throwaway workspace, by the embedder that is configured.
"""

import argparse
import json
from pathlib import Path

from evals import answerable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, help="also write every answer with its signs to this file")


def main(options: argparse.Namespace) -> None:
    answers = list(answerable.ask_all(answerable.read()))
    print("\n".join(answerable.report(answers)))
    if options.json:
        options.json.write_text(json.dumps(answers, ensure_ascii=False))
