"""Measure recall on a data set: `manage.py evaluate DIR [--json]`."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories import embeddings
from memories.evaluation import dataset
from memories.evaluation.run import evaluate
from memories.evaluation.scores import figures
from memories.evaluation.throwaway import throwaway_workspace


class Command(BaseCommand):
    help = "Remembers a data set in a throwaway workspace, asks its questions and prints how many answers were found."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="holds corpus.jsonl.gz and queries.jsonl.gz")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")
        parser.add_argument("--no-cache", action="store_true", help="neither read nor keep cached embeddings")

    def handle(self, folder: Path, **options: Any) -> None:
        try:
            data = dataset.load(folder)
        except dataset.DatasetError as error:
            raise CommandError(str(error)) from error
        if not embeddings.warm_up():
            raise CommandError("No embedder answers, so every answer would be degraded. Is it installed?")
        say = (lambda line: None) if options["json"] else self.stdout.write
        with throwaway_workspace() as workspace:
            answers = evaluate(data, workspace, now=timezone.now(), use_cache=not options["no_cache"], say=say)
        report = figures(answers, data.name)
        self.stdout.write(json.dumps(report) if options["json"] else _table(report))
        if report["degraded"]:
            raise CommandError(f"{report['degraded']} answers were degraded: these figures do not count.")


def _table(report: dict[str, Any]) -> str:
    measures = list(report["mean"])
    lines = [f"{report['dataset']}: {report['questions']} questions", ""]
    lines.append(f"{'':28}" + "".join(f"{name:>12}" for name in measures))
    rows = {
        **report["categories"],
        "mean of categories": report["mean_of_categories"],
        "mean": report["mean"],
    }
    for name, row in rows.items():
        lines.append(f"{name:28}" + "".join(f"{row[measure]:12.4f}" for measure in measures))
    lines.append("")
    lines += [f"{name:28}{value:12.4f}" for name, value in report["group"].items()]
    lines += [f"{'latency ' + name:32}{value:8.1f} ms" for name, value in report["latency_ms"].items()]
    return "\n".join(lines)
