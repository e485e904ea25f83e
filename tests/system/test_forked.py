"""What a process forked from the supervisor takes along, and what it does not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import ROOT

PARENT = """
import json, os, sys, django
django.setup()
from django.conf import settings
from django.db import connection
from memories import telemetry
from memplatform.management.commands import up
from memplatform.processes import forked

connection.settings_dict, telemetry.counters()
lock = open(os.devnull)

def work():
    telemetry.begin_anew()
    telemetry.counters()
    descriptors = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
    files = {os.readlink(path) for path in descriptors if os.path.exists(path)}
    print(json.dumps({
        "process": settings.PROCESS,
        "has_pool": "pool" in connection.settings_dict["OPTIONS"],
        "database": connection.settings_dict["NAME"],
        "leads_its_group": os.getpgid(0) == os.getpid(),
        "threads": os.environ["OMP_NUM_THREADS"],
        "locks": sum(name == os.devnull for name in files),
        "counts_into": sorted(name.split("_")[0] for name in os.listdir(os.environ["PROMETHEUS_MULTIPROC_DIR"])),
    }))
    sys.exit(7)

environment = {**os.environ, "MEMPLATFORM_PROCESS": "web", "OMP_NUM_THREADS": "1",
               "DATABASE_URL": "postgresql://someone@localhost/another"}
null = os.open("/dev/zero", os.O_RDONLY)
child = forked.start("mem test", work, environment, forked.Streams(null, 1))
assert os.getpgid(child.pid) == child.pid
print(json.dumps({"code": child.wait(), "is_over": child.poll(), "here": settings.PROCESS}), flush=True)
"""


def test_a_forked_process_has_the_settings_of_its_own_environment_and_nothing_open_of_its_parent(
    tmp_path: Path,
) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"DJANGO_SETTINGS_MODULE": "memplatform.settings", "MEMPLATFORM_DATA": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", PARENT], cwd=ROOT, env=environment, capture_output=True, text=True)
    child, parent = _answers(ran)
    assert child == {
        "process": "web",
        "has_pool": True,
        "database": "another",
        "leads_its_group": True,
        "threads": "1",
        "locks": 0,
        "counts_into": ["counter", "summary"],
    }
    assert parent == {"code": 7, "is_over": 7, "here": ""}


def _answers(ran: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    lines = ran.stdout.splitlines()
    assert len(lines) == 2, ran
    return [json.loads(line) for line in lines]
