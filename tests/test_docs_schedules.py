"""Every job of the platform is documented, as it is."""

import re

from memplatform.operations.jobs.registry import JOBS
from tests import ROOT

PAGE = ROOT / "docs" / "reference" / "schedules.md"
ROW = re.compile(
    r"^\| `(?P<name>[\w-]+)` \| (?P<when>[^|]+) \| (?P<behaviour>\w+) \| (?P<what>[^|]+) \| `(?P<off>\w+)` \|$"
)


def documented() -> dict[str, dict[str, str]]:
    rows = filter(None, map(ROW.match, PAGE.read_text().splitlines()))
    return {row["name"]: row.groupdict() for row in rows}


def test_every_job_has_its_row_and_no_other() -> None:
    assert documented().keys() == JOBS.keys()


def test_the_rows_say_when_what_and_how_to_switch_off() -> None:
    for name, job in JOBS.items():
        row = documented()[name]
        when = f"{job.when} in the workspace's zone" if job.at else f"`{job.cron}` UTC"
        assert row == {"name": name, "when": when, "behaviour": job.behaviour, "what": job.label, "off": job.switch}
