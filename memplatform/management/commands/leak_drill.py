"""`manage.py leak_drill`: plant words nobody else may be shown, ask every door as everybody else, and report (A22)."""

import json
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.translation import gettext as _

from memories.exceptions import PlatformError
from memories.management import command_line
from memplatform.drill.asking import QUICK, WORDINGS, Effort
from memplatform.drill.run import Report, drill, settle


class Command(BaseCommand):
    help = _(
        "Plants words that nobody else may be shown in every scope, asks every door as everybody else, takes them back,"
        " and writes a signed report."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workspace", metavar="NAME", help="where there are several")
        parser.add_argument("--sample", type=int, metavar="N", help="only so many scopes, by chance")
        parser.add_argument(
            "--wordings", type=int, default=len(WORDINGS), metavar="N", help="how many wordings, 1 to 3"
        )
        parser.add_argument(
            "--quick", action="store_true", help="a tenth of the questions: each asker tries a few doors, in turn all"
        )
        parser.add_argument("--report", type=Path, metavar="FILE", help="write the signed report there")
        parser.add_argument("--json", action="store_true", help="print the signed report; how far it is goes to stderr")
        parser.add_argument("--run", metavar="NAME", default="", help="the run of the job, for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["sample"] is not None and options["sample"] < 1:
            raise CommandError("--sample: at least 1.")
        if not 1 <= options["wordings"] <= len(WORDINGS):
            raise CommandError(f"--wordings: 1 to {len(WORDINGS)}.")
        try:
            workspace = command_line.only_workspace(options["workspace"])
            now = timezone.now()
            effort = QUICK if options["quick"] else Effort(wordings=WORDINGS[: options["wordings"]])
            report = drill(
                workspace, sample=options["sample"], effort=effort, now=now,
                progress=partial(self._progress, as_json=options["json"]),
            )  # fmt: skip
            outcome = settle(report, now=timezone.now(), run=options["run"])
            if options["report"]:
                options["report"].write_text(json.dumps(outcome, ensure_ascii=False, indent=1), encoding="utf-8")
        except (PlatformError, OSError) as problem:
            raise CommandError(str(problem)) from problem
        if options["json"]:
            self.stdout.write(json.dumps(outcome, ensure_ascii=False))
        else:
            self._tell(report)
        if not report.is_clean:
            raise CommandError(_("The walls did not hold, or the drill proves nothing: see above."))

    def _progress(self, probes: int, about: int, *, as_json: bool) -> None:
        if as_json:
            self.stderr.write(json.dumps({"probes": probes, "of_about": about}), self.style.NOTICE)
            return
        words = _("%(asked)d of about %(about)d probes") % {"asked": probes, "about": about}
        self.stdout.write(f"{words}   ", ending="\r")

    def _tell(self, report: Report) -> None:
        self.stdout.write("")
        for door, probes in sorted(report.probes.asked.items()):
            heard, failed = report.probes.heard.get(door, 0), report.probes.failed.get(door, 0)
            words = _("%(asked)7d  %(door)-20s own words heard: %(heard)d") % {
                "asked": probes, "door": door, "heard": heard,
            }  # fmt: skip
            self.stdout.write(words + (_(", faults: %d") % failed if failed else ""))
        for leak, times in list(report.probes.leaks.items())[:50]:
            words = _("LEAK at %(door)s to %(asker)s: %(place)s of %(scope)s, %(times)d times") % {
                "door": leak.door, "asker": leak.asker, "place": leak.place, "scope": leak.scope, "times": times,
            }  # fmt: skip
            self.stdout.write(self.style.ERROR(words))
        for refused in report.refused[:20]:
            self.stdout.write(_("Not planted: %s") % refused)
        figures = {
            "scopes": report.scopes, "canaries": report.canaries.total(), "probes": report.probe_count,
            "leaks": report.leak_count, "left": report.left, "seconds": report.seconds,
        }  # fmt: skip
        self.stdout.write(_("%(scopes)d scopes, %(canaries)d words, %(probes)d probes, %(leaks)d leaks") % figures)
        if report.fault_count:
            words = _("%d answers were faults (500 or 429): what lies behind them was not tried.") % report.fault_count
            self.stdout.write(self.style.ERROR(words))
        self.stdout.write(_("%(left)d words left behind, %(seconds).0f s") % figures)
