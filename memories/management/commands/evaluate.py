"""Measure recall on a data set: `manage.py evaluate DIR [--json] [--ablate]`."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories import embeddings
from memories.evaluation import dataset
from memories.evaluation.ablation import ablate
from memories.evaluation.run import Progress, evaluate, remember_all
from memories.evaluation.scores import figures
from memories.evaluation.throwaway import throwaway_workspace
from memories.exceptions import EmbedderFailed


class Command(BaseCommand):
    help = "Remembers a data set in a throwaway workspace, asks its questions and prints how many answers were found."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="holds corpus.jsonl.gz and queries.jsonl.gz")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")
        parser.add_argument("--ablate", action="store_true", help="also without each ingredient of the ranking")
        parser.add_argument("--no-cache", action="store_true", help="neither read nor keep cached embeddings")

    def handle(self, folder: Path, **options: Any) -> None:
        try:
            data = dataset.load(folder)
        except dataset.DatasetError as error:
            raise CommandError(str(error)) from error
        if not embeddings.warm_up():
            raise CommandError("No embedder answers, so every answer would be degraded. Is it installed?")
        say = (lambda line: None) if options["json"] else self.stdout.write
        if options["ablate"]:
            self._ablate(data, say, **options)
            return
        try:
            with throwaway_workspace() as workspace:
                answers = evaluate(data, workspace, now=timezone.now(), use_cache=not options["no_cache"], say=say)
        except EmbedderFailed as error:
            raise CommandError(str(error)) from error
        report = figures(answers, data.name)
        self.stdout.write(json.dumps(report) if options["json"] else _table(report))
        if report["degraded"]:
            raise CommandError(f"{report['degraded']} answers were degraded: these figures do not count.")

    def _ablate(self, data: dataset.Dataset, say: Progress, **options: Any) -> None:
        """A line for each ingredient that is left out, as soon as it is known."""
        report = {}
        say(f"{data.name}: mean of categories\n{'':28}{'recall@5':>12}{'recall@10':>12}")
        with throwaway_workspace() as workspace:
            memories = remember_all(
                data, workspace, now=timezone.now(), use_cache=not options["no_cache"], say=lambda line: None
            )
            for name, answers in ablate(data, workspace, memories):
                means = figures(answers, data.name)["mean_of_categories"]
                report[name] = means
                say(f"{name:28}{means['recall@5']:12.4f}{means['recall@10']:12.4f}")
        if options["json"]:
            self.stdout.write(json.dumps({"dataset": data.name, "ablation": report}))


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
