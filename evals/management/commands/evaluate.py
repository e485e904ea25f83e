"""Measure recall: `manage.py evaluate DIR` on a data set, `evaluate FILE --workspace NAME` on what people asked."""

import json
import logging
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from evals import comparison, dataset, echoes, judgements, live
from evals.report import AnswerScore, figures, format_heading, format_report, format_row, unasked, verdicts
from evals.run import ablate, ask_all, move_elsewhere, override_settings
from evals.workspace import IngestedScope, remove_kept, reuse_or_ingest, workspace_for
from memories import embeddings, reranker
from memories.exceptions import EmbedderFailed
from memories.models import Workspace

WARM_UP_SECONDS = 60.0
OPTIONS = {
    "json": {"action": "store_true", "help": "print the figures as JSON"},
    "ablate": {"action": "store_true", "help": "also without each ingredient of the ranking"},
    "rerank": {"action": "store_true", "help": "also with your reranker (MEMORY_RERANK_BASE_URL), side by side"},
    "echo": {"choices": echoes.REPLIES, "help": "of a set: also as if asked before and replied so, side by side"},
    "asked": {"type": int, "metavar": "TIMES", "help": "of --echo: so often; 1"},
    "elsewhere": {"action": "store_true", "help": "of a set: also ask each question where it has no answer"},
    "unrelated": {"type": Path, "metavar": "DIR", "help": "of a set: also ask here the questions of this other set"},
    "keep": {"metavar": "NAME", "help": "of a set: keep what was remembered, for the next run of this name"},
    "forget": {"action": "store_true", "help": "of a set: remove what was kept under that name afterwards"},
    "no-cache": {"action": "store_true", "help": "of a set: neither read nor keep cached embeddings"},
    "workspace": {"metavar": "NAME", "help": "whose questions, and whose memory"},
    "export": {"type": Path, "metavar": "FILE", "help": "write the workspace's questions to a file, to be judged"},
    "since": {"metavar": "DAY", "help": "of an export: only what was asked from this day on"},
    "most": {"type": int, "default": 100, "help": "of an export: so many questions, drawn by lot; 100"},
    "pool": {"type": Path, "metavar": "FILE", "help": "write the questions anew, with what is found today beside"},
}


class Command(BaseCommand):
    help = (
        "Measures recall: on a data set in a throwaway workspace, or on questions that were asked, on the live memory."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("target", type=Path, nargs="?", help="a data set's folder, or a file of judged questions")
        for name, settings in OPTIONS.items():
            parser.add_argument(f"--{name}", **settings)  # type: ignore[arg-type]

    def handle(self, target: Path | None, workspace: str | None, **options: Any) -> None:
        log = logging.getLogger("memories")
        level = log.level
        log.setLevel(logging.WARNING)  # a line for every text says nothing here
        try:
            self._evaluate(target, workspace, **options)
        finally:
            log.setLevel(level)

    def _evaluate(self, target: Path | None, workspace: str | None, **options: Any) -> None:
        _check_echo(target, workspace, **options)
        try:
            if options["export"]:
                asked_in = _workspace(workspace)
                try:
                    since = dataset.parse_time(options["since"])
                except ValueError as error:
                    raise CommandError(f"--since: {error}") from error
                rows = judgements.sample_traces(asked_in, since=since, most=options["most"])
                judgements.write(options["export"], rows)
                self.stdout.write(
                    f"{len(rows)} questions of {asked_in.name} in {options['export']}: fill in “relevant”."
                )
                return
            if target is None:
                raise CommandError("Evaluate what? A folder with a data set, or a file of judged questions.")
            if options["rerank"]:
                # One that answers; asked once, it has loaded its model, too
                if options["ablate"]:
                    raise CommandError(
                        "--ablate is about the ranking, without a reranker: give it or --rerank, not both."
                    )
                if not reranker.is_configured():
                    raise CommandError("There is no reranker to measure: set MEMORY_RERANK_BASE_URL.")
                if reranker.scores("warm up", ["one text", "another"], seconds=WARM_UP_SECONDS) is None:
                    raise CommandError("The reranker gives no answer that can be used; the line above says why.")
            with override_settings({} if options["rerank"] else comparison.OFF):
                if target.is_file():
                    self._live(target, _workspace(workspace), **options)
                else:
                    self._set(target, **options)
        except (dataset.DatasetError, judgements.JudgementsError, EmbedderFailed) as error:
            raise CommandError(str(error)) from error
        except FileExistsError as error:
            raise CommandError(f"{error.filename} is there already; what was judged in it is not replaced.") from error

    # -- a data set

    def _set(self, folder: Path, **options: Any) -> None:
        data = dataset.load(folder)
        strange = dataset.load(options["unrelated"]).questions if options["unrelated"] else []
        strange += data.questions if options["elsewhere"] else []
        strange = move_elsewhere(strange, data.scopes)
        _need_embedder()
        if options["echo"]:
            self._set_with_echoes(data, strange, **options)
            return
        with self._ingested(data, **options) as (workspace, memories):
            if options["ablate"]:
                self._ablate(data.name, ablate(data, workspace, memories), as_json=options["json"])
                return
            if options["rerank"]:
                self._compare(lambda: ask_all(data.questions, workspace, memories), data.name, as_json=options["json"])
                return
            answers = ask_all(data.questions, workspace, memories)
            elsewhere = ask_all(strange, workspace, memories)
        additions = {"unasked": unasked(data), "evidence": verdicts(answers, elsewhere)}
        self._tell(figures(answers, data.name) | additions, as_json=options["json"])

    @contextmanager
    def _ingested(
        self, data: dataset.Dataset, variant: str = "", **options: Any
    ) -> Iterator[tuple[Workspace, dict[str, IngestedScope]]]:
        """A workspace with the texts of a set, for the length of a block or kept for the next run."""
        say = (lambda line: None) if options["json"] else self.stdout.write
        cached = not options["no_cache"]
        try:
            with workspace_for(options["keep"], variant) as workspace:
                yield workspace, reuse_or_ingest(data, workspace, now=timezone.now(), use_cache=cached, say=say)
        finally:
            if options["keep"] and options["forget"]:
                remove_kept(options["keep"], variant)

    def _set_with_echoes(self, data: dataset.Dataset, strange: list[dataset.Question], **options: Any) -> None:
        """The set as it is, and as if all that is asked here had been asked before."""
        echo_options: dict[str, Any] = {"reply": options["echo"], "times": options["asked"] or 1}
        echoed = echoes.with_echoes(data, [*data.questions, *strange], **echo_options)
        variants = {"": data, f" (echo {echo_options['reply']} {echo_options['times']})": echoed}
        answers, elsewhere = [], []
        for variant, variant_data in variants.items():
            with self._ingested(variant_data, variant, **options) as (workspace, memories):
                answers.append(ask_all(data.questions, workspace, memories))
                elsewhere.append(ask_all(strange, workspace, memories))
                marked = echoes.count_marked(workspace, memories)
        report = comparison.compare(answers[0], answers[1], data.name, elsewhere=(elsewhere[0], elsewhere[1]))
        report |= {"unasked": unasked(data), "echoes": echoes.describe(data, echoed, **echo_options, marked=marked)}
        self.stdout.write(json.dumps(report) if options["json"] else echoes.format_echoes(report))
        _refuse_degraded(report)

    # -- what people asked

    def _live(self, path: Path, workspace: Workspace, **options: Any) -> None:
        rows = judgements.read(path)
        _need_embedder()
        if options["pool"]:
            with override_settings(comparison.PATIENT):
                judgements.write(options["pool"], live.pool(rows, workspace))
            self.stdout.write(f"{len(rows)} questions in {options['pool']}, with what is found today.")
            return
        if options["ablate"]:
            self._ablate(workspace.name, live.ablate_live(rows, workspace), as_json=options["json"])
            return
        if options["rerank"]:
            self._compare(lambda: live.judged_answers(rows, workspace), workspace.name, as_json=options["json"])
            return
        self._tell(live.report(live.ask_again(rows, workspace), rows, workspace), as_json=options["json"])

    # -- both

    def _ablate(self, name: str, steps: Iterable[tuple[str, list[AnswerScore]]], *, as_json: bool) -> None:
        """A line for each ingredient that is left out, as soon as it is known."""
        report: dict[str, dict[str, float]] = {}
        for step, answers in steps:
            report_of_step = figures(answers, name)
            means = {figure: report_of_step["mean_of_categories"][figure] for figure in ("recall@5", "recall@10")}
            means |= report_of_step["group_of_categories"]
            if not report and not as_json:
                self.stdout.write(f"{name}: mean of categories\n{format_heading(means)}")
            report[step] = means
            if not as_json:
                self.stdout.write(format_row(step, means))
        if as_json:
            self.stdout.write(json.dumps({"dataset": name, "ablation": report}))

    def _compare(self, ask: Callable[[], list[AnswerScore]], name: str, *, as_json: bool) -> None:
        report = comparison.compare_reranking(ask, name)
        self.stdout.write(json.dumps(report) if as_json else comparison.format_reranking(report))
        _refuse_degraded(report)

    def _tell(self, report: dict[str, Any], *, as_json: bool) -> None:
        self.stdout.write(json.dumps(report) if as_json else format_report(report))
        _refuse_degraded(report)


def _workspace(name: str | None) -> Workspace:
    try:
        return Workspace.objects.get(name=name or "")
    except Workspace.DoesNotExist:
        names = ", ".join(Workspace.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"Say which --workspace: {names or 'there is none'}.") from None


def _check_echo(target: Path | None, workspace: str | None, **options: Any) -> None:
    """Raises CommandError where --echo or --asked means nothing."""
    if options["asked"] is not None and not options["echo"]:
        raise CommandError("--asked tells how often the questions of --echo were asked: give --echo, too.")
    if not options["echo"]:
        return
    if options["export"] or options["pool"] or workspace or (target and target.is_file()):
        raise CommandError("--echo is of a data set: a live memory holds the echoes of its own use already.")
    if options["ablate"] or options["rerank"]:
        raise CommandError("--echo is a comparison of its own: give it, or --ablate, or --rerank.")
    if options["asked"] is not None and options["asked"] < 1:
        raise CommandError("--asked is 1 or more: without echoes a set is measured anyway.")


def _refuse_degraded(report: Mapping[str, Any]) -> None:
    if report["degraded"]:
        raise CommandError(f"{report['degraded']} answers were degraded: these figures do not count.")


def _need_embedder() -> None:
    if not embeddings.warm_up():
        raise CommandError("No embedder answers, so every answer would be degraded. Is it installed?")
