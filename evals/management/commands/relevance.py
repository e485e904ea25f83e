"""Measure or fit the relevance of memories: `manage.py relevance`, `manage.py relevance --fit`."""

import json
import logging
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from evals import first_minutes
from evals.answering import fit_maps, read_pairs
from evals.relevance import (
    DATA,
    LANGUAGES,
    cases,
    checked,
    examples,
    fit,
    make_background,
    reliability,
    report,
    write_weights,
)
from memories import embeddings
from memories.conf import conf
from memories.recall.relevance import Array, background_of, background_path, fitted_weights

EMBED_SECONDS = 600.0


class Command(BaseCommand):
    help = "What recall serves of small memories, on the sets in evals/data; or fits the weights it goes by."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, default=DATA, help="another folder with sets of the same form")
        parser.add_argument("--language", choices=LANGUAGES, action="append", help="only this language")
        parser.add_argument("--serve", default="likely", help="likely, wide, or a number from 0 to 1")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")
        parser.add_argument("--fit", action="store_true", help="fit background and weights anew, and tell how true")

    def handle(self, *args: Any, **options: Any) -> None:
        log = logging.getLogger("memories")
        level = log.level
        log.setLevel(logging.WARNING)  # a line for every text says nothing here
        try:
            if not embeddings.warm_up():
                raise CommandError("No embedder answers. Is it installed?")
            if options["fit"]:
                self._fit(options["data"])
            else:
                self._measure(**options)
        finally:
            log.setLevel(level)

    def _measure(self, **options: Any) -> None:
        serve = options["serve"] if options["serve"] in ("likely", "wide") else float(options["serve"])
        languages = options["language"] or LANGUAGES
        data = {
            language: first_minutes.measure(language, serve=serve, folder=options["data"]) for language in languages
        }
        if options["json"]:
            self.stdout.write(json.dumps(data))
            return
        for language, figures in data.items():
            self.stdout.write("\n".join([language, *first_minutes.table(figures), ""]))

    def _fit(self, folder: Path) -> None:
        """Fit on the sets, check each part by what was fitted on the others, and write both files."""
        provider = embeddings.main_provider()
        if provider is None:
            raise CommandError("There is no embedder to fit to.")
        background = make_background(_embed)
        of_questions, of_statements = fit_maps(read_pairs(_embed, background, folder))
        background = replace(background, of_questions=of_questions, of_statements=of_statements)
        background.save(background_path(provider.model))
        background_of.cache_clear()
        saved = background_of(provider.model)
        if saved is None:
            raise CommandError(f"{background_path(provider.model)} cannot be read.")
        background = saved
        weights = {}
        for name, has_vectors in (("vectors", True), ("words", False)):
            of = examples(cases(folder), _embed, background, has_vectors=has_vectors)
            result = checked(of)
            lines = report(of, result, likely=conf.RELEVANCE_LIKELY, found=conf.RELEVANCE_FOUND)
            lines += [
                f"claimed {claimed:.2f}, right {right:.2f}, of {count}"
                for claimed, right, count in reliability(of, result)
            ]
            self.stdout.write("\n".join([f"by {name}", *lines, ""]))
            weights[name] = fit(of)
        write_weights(weights)
        fitted_weights.cache_clear()


_vectors: dict[tuple[bool, str], Array] = {}


def _embed(texts: Iterable[str], is_question: bool) -> Mapping[str, Array]:
    """Vectors by text, each embedded once."""
    unique_texts = list(dict.fromkeys(texts))
    new = [item for item in unique_texts if (is_question, item) not in _vectors]
    for row in new:
        if is_question:
            answer = embeddings.embed_query(row, seconds=EMBED_SECONDS)
        else:
            answer = embeddings.embed_passages([row], seconds=EMBED_SECONDS)
        if answer is None:
            raise CommandError("The embedder gave no answer in time.")
        _vectors[is_question, row] = np.array(answer.vectors[0], np.float32)
    return {item: _vectors[is_question, item] for item in unique_texts}
