"""`python -m memplatform_shadow report FOLDER`: what the shadow in this folder found out."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memplatform_shadow.log import has_lost_lines, read_lines
from memplatform_shadow.render import rendered
from memplatform_shadow.report import report_of
from memplatform_shadow.state import NAME, State


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was asked for; 2 where there is no such log."""
    given = _parser().parse_args(arguments)
    path: Path = given.log
    if not path.exists():
        print(f"{path} is not there", file=sys.stderr)
        return 2
    lines = [line for line in read_lines(path) if line is None or _is_within(line, given.since, given.until)]
    waiting = [line for line in _waiting(path) if _is_within(line, given.since, given.until)]
    report = report_of(lines, waiting, lost=path.is_dir() and has_lost_lines(path))
    if given.json:
        print(json.dumps(report if given.texts else _without_texts(report), ensure_ascii=False, indent=2))
        return 0
    shown = len(report["questions"]) if given.questions < 0 else given.questions
    for text in rendered(report, markdown=given.markdown, questions=shown, texts=given.texts):
        print(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memplatform_shadow", description=__doc__)
    words = parser.add_subparsers(required=True)
    report = words.add_parser("report", help="what each side found that the other did not")
    report.add_argument("log", type=Path, metavar="LOG", help="the folder of the shadow, or one file of its log")
    form = report.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="all figures and all questions, for programs")
    form.add_argument("--markdown", action="store_true", help="for a page")
    report.add_argument("--since", default="", metavar="DAY", help="the first day, as 2026-01-31 (UTC)")
    report.add_argument("--until", default="", metavar="DAY", help="the last day")
    report.add_argument("--questions", type=int, default=10, metavar="N", help="how many in full (10; -1: all)")
    report.add_argument("--no-texts", dest="texts", action="store_false", help="nothing of what people said")
    return parser


def _is_within(line: dict[str, Any], since: str, until: str) -> bool:
    day = line["at"][:10]
    return since <= day and (not until or day <= until)


def _waiting(path: Path) -> list[dict[str, Any]]:
    """Work that was noted and not done yet."""
    folder = path if path.is_dir() else path.parent
    if not (folder / NAME).exists():
        return []
    state = State(folder)
    try:
        works = state.all_work()
    finally:
        state.close()
    return [{**work.body, "at": datetime.fromtimestamp(work.at, UTC).isoformat()} for work in works]


def _without_texts(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in ("misses", "questions", "never_arrived")}


if __name__ == "__main__":
    sys.exit(main())
