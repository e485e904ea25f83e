"""Measure recall on a data set: `manage.py evaluate DIR [--json] [--ablate] [--keep NAME]`."""

import json
import logging
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories import embeddings
from memories.evaluation import dataset, tables, throwaway
from memories.evaluation.ablation import ablate
from memories.evaluation.memory import Memory, Progress, kept_or_remembered
from memories.evaluation.run import ask_all, ask_elsewhere
from memories.evaluation.scores import figures, unasked
from memories.evaluation.verdicts import verdicts
from memories.exceptions import EmbedderFailed
from memories.models import Workspace


class Command(BaseCommand):
    help = "Remembers a data set in a throwaway workspace, asks its questions and prints how many answers were found."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="holds corpus.jsonl.gz and queries.jsonl.gz")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")
        parser.add_argument("--ablate", action="store_true", help="also without each ingredient of the ranking")
        parser.add_argument("--elsewhere", action="store_true", help="also ask each question where it has no answer")
        parser.add_argument("--unrelated", type=Path, help="also ask here the questions of this other set")
        parser.add_argument("--keep", metavar="NAME", help="keep what was remembered, for the next run of this name")
        parser.add_argument("--forget", action="store_true", help="remove what was kept under that name afterwards")
        parser.add_argument("--no-cache", action="store_true", help="neither read nor keep cached embeddings")

    def handle(self, folder: Path, **options: Any) -> None:
        logging.getLogger("memories").setLevel(logging.WARNING)  # a line for every text says nothing here
        try:
            data = dataset.load(folder)
            strange = dataset.load(options["unrelated"]).questions if options["unrelated"] else []
        except dataset.DatasetError as error:
            raise CommandError(str(error)) from error
        if not embeddings.warm_up():
            raise CommandError("No embedder answers, so every answer would be degraded. Is it installed?")
        strange += data.questions if options["elsewhere"] else []
        try:
            with throwaway.workspace_for(options["keep"]) as workspace:
                self._measure(data, strange, workspace, **options)
        except EmbedderFailed as error:
            raise CommandError(str(error)) from error
        finally:
            if options["keep"] and options["forget"]:
                throwaway.forget(options["keep"])

    def _measure(
        self, data: dataset.Dataset, strange: list[dataset.Question], workspace: Workspace, **options: Any
    ) -> None:
        say = (lambda line: None) if options["json"] else self.stdout.write
        use_cache = not options["no_cache"]
        memories = kept_or_remembered(data, workspace, now=timezone.now(), use_cache=use_cache, say=say)
        if options["ablate"]:
            self._ablate(data, workspace, memories, say, **options)
            return
        answers = ask_all(data, workspace, memories)
        elsewhere = ask_elsewhere(strange, workspace, memories)
        report = figures(answers, data.name) | {"unasked": unasked(data), "evidence": verdicts(answers, elsewhere)}
        self.stdout.write(json.dumps(report) if options["json"] else tables.told(report))
        if report["degraded"]:
            raise CommandError(f"{report['degraded']} answers were degraded: these figures do not count.")

    def _ablate(
        self,
        data: dataset.Dataset,
        workspace: Workspace,
        memories: dict[str, Memory],
        say: Progress,
        **options: Any,
    ) -> None:
        """A line for each ingredient that is left out, as soon as it is known."""
        report: dict[str, dict[str, float]] = {}
        for name, answers in ablate(data, workspace, memories):
            found = figures(answers, data.name)
            means = {name: found["mean_of_categories"][name] for name in ("recall@5", "recall@10")} | found["group"]
            if not report:
                say(f"{data.name}: mean of categories, and of groups\n{tables.heading(means)}")
            report[name] = means
            say(tables.step(name, means))
        if options["json"]:
            self.stdout.write(json.dumps({"dataset": data.name, "ablation": report}))
