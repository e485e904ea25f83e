"""`manage.py llm`: whether the configured model will do, in about a minute; and what a week of it would cost."""

from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import override

from memories.choices import Refusal
from memories.conf import conf
from memories.evaluation.model_check import ModelCheck, check_model
from memories.llm import is_on
from memories.llm.run import record_check
from memories.models import Workspace
from sessions_app import model_cost, unread


class Command(BaseCommand):
    help = "Says whether the configured model will do, and what a week of it would cost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["check", "cost", "catch-up"])
        parser.add_argument("--workspace", default="", metavar="NAME", help="of cost and catch-up: only this one")
        parser.add_argument("--days", type=int, default=unread.DAYS, help="of catch-up: how far back (30)")
        parser.add_argument("--reader", default="", help="the model that reads, where it is another one")
        parser.add_argument("--price-in", type=float, metavar="AMOUNT", help="for a million tokens of questions")
        parser.add_argument("--price-out", type=float, metavar="AMOUNT", help="for a million tokens of answers")

    def handle(
        self,
        *,
        action: str,
        workspace: str,
        reader: str,
        days: int,
        price_in: float | None,
        price_out: float | None,
        **options: Any,
    ) -> None:
        if price_in is None and price_out is None and (conf.LLM_PRICE_IN or conf.LLM_PRICE_OUT):
            price_in, price_out = conf.LLM_PRICE_IN, conf.LLM_PRICE_OUT
        if action == "cost":
            # What a week like the last one would cost in each workspace, in each of three ways
            now = datetime.now(UTC)
            for row in self._workspaces(workspace):
                week = model_cost.forecast(row, now=now)
                self.stdout.write(f"{row.name}: {len(week.stretches):,} conversations in the last week")
                for way in model_cost.ways(week):
                    with override("en"):
                        label = str(way.label)
                    words = f"{label}: {way.cost.calls:,} calls, {way.cost.tokens:,} tokens"
                    if price_in is not None and price_out is not None:
                        words += f", about {way.cost.money(price_in, price_out):.2f}"
                    self.stdout.write(f"  {words}")
                cost = model_cost.spent_in_week(row, now=now)
                self.stdout.write(f"  in the last week it was asked {cost.calls:,} times, with {cost.tokens:,} tokens")
            return
        if action == "catch-up":
            for row in self._workspaces(workspace):
                turns = unread.buffer_unread(row, now=datetime.now(UTC), actor="cli", days=days)
                self.stdout.write(f"{row.name}: {turns:,} turns are read now")
            return
        if not is_on():
            raise CommandError("No model is configured: set MEMORY_LLM_BASE_URL and MEMORY_LLM_MODEL.")
        self._check(reader, price_in, price_out)

    def _check(self, reader: str, price_in: float | None, price_out: float | None) -> None:
        """Whether the model will do, on a few short conversations; what was found is kept."""
        check = ModelCheck()
        for check in check_model(now=datetime.now(UTC), reader=reader or conf.VERIFY_MODEL):
            self.stderr.write(f"conversation {check.conversations}: {check.seconds:.0f} s")
        reasons = ", ".join(f"{Refusal(code).label} {count}" for code, count in check.refused.items() if count)
        right, totals = check.right, check.asked
        for line in [
            f"model: {check.model or 'no answer'} ({check.form})",
            f"answers that can be used: {check.usable} of {check.conversations}",
            f"facts offered: {check.offered}; with their words found and checks passed: {check.quoted:.0%}",
            *([f"  refused: {reasons}"] if reasons else []),
            f"second reading: true statements {right['true']} of {totals['true']}, false ones {right['false']}"
            f" of {totals['false']}",
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
        if check.model:
            record_check(check.model, check.as_result(reader or conf.VERIFY_MODEL or check.model, datetime.now(UTC)))
        verdict = "It will not do: keep extraction without a model, or name a larger one."
        if check.extracts and check.reads:
            verdict = "It will do: facts are kept with their words, and read a second time."
        elif check.extracts:
            believed = "its reading is not believed: name another for MEMORY_VERIFY_MODEL."
            verdict = f"It will do for facts with their quotes; {believed}"
        self.stdout.write(verdict)

    def _workspaces(self, name: str) -> list[Workspace]:
        rows = Workspace.objects.order_by("name")
        if name and not (rows := rows.filter(name=name)):
            raise CommandError(f"There is no workspace “{name}”.")
        return list(rows)
