"""`manage.py llm check`: whether the configured model will do, in about a minute."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memories.choices import Refusal
from memories.conf import conf
from memories.evaluation.model_check import ModelCheck, check_model, is_possible


class Command(BaseCommand):
    help = "Says whether the configured model will do: form, quotes, second reading, seconds, tokens for 1,000 turns."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["check"])
        parser.add_argument("--reader", default="", help="the model that reads, where it is another one")
        parser.add_argument("--price-in", type=float, metavar="AMOUNT", help="for a million tokens of questions")
        parser.add_argument("--price-out", type=float, metavar="AMOUNT", help="for a million tokens of answers")

    def handle(self, *, reader: str, price_in: float | None, price_out: float | None, **options: Any) -> None:
        if not is_possible():
            raise CommandError("No model is configured: set MEMORY_LLM_BASE_URL and MEMORY_LLM_MODEL.")
        check = ModelCheck()
        for check in check_model(now=datetime.now(UTC), reader=reader or conf.VERIFY_MODEL):
            self.stderr.write(f"conversation {check.conversations}: {check.seconds:.0f} s")
        reasons = ", ".join(f"{Refusal(code).label} {count}" for code, count in check.refused.items() if count)
        right, asked = check.right, check.asked
        for line in [
            f"model: {check.model or 'no answer'} ({check.form})",
            f"answers that can be used: {check.usable} of {check.conversations}",
            f"facts offered: {check.offered}; with their words found and checks passed: {check.quoted:.0%}",
            *([f"  refused: {reasons}"] if reasons else []),
            f"second reading: true statements {right['true']} of {asked['true']}, false ones {right['false']}"
            f" of {asked['false']}",
            f"decoys taken for true: {check.decoys_passed} of {check.decoys};"
            f" batches believed: {check.batches_believed} of {check.batches_read}",
        ]:
            self.stdout.write(line)
        for problem in dict.fromkeys(check.problems):
            self.stdout.write(f"  {problem}")
        thousand = 1_000 / check.turns
        tokens = {kind: round(count * thousand) for kind, count in check.tokens.items()}
        self.stdout.write(
            f"for 1,000 turns: {sum(tokens.values()):,} tokens, {check.seconds * thousand / 60:.0f} minutes"
        )
        if price_in is not None and price_out is not None:
            cost = (tokens["prompt"] + tokens["reading"]) * price_in + tokens["completion"] * price_out
            self.stdout.write(f"  that costs about {cost / 1_000_000:.2f}")
        verdict = "It will not do: keep extraction without a model, or name a larger one."
        if check.extracts and check.reads:
            verdict = "It will do: facts are kept with their words, and read a second time."
        elif check.extracts:
            believed = "its reading is not believed: name another for MEMORY_VERIFY_MODEL."
            verdict = f"It will do for facts with their quotes; {believed}"
        self.stdout.write(verdict)
