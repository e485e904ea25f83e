"""A worker of the web imports the application in a process of its own where nothing was imported before."""

import os
import subprocess
import sys

from tests import ROOT


def test_the_application_is_imported_where_nothing_was_set_up() -> None:
    """As a worker that is started anew does it: on macOS, and on Linux where Python does not fork."""
    environment = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}
    command = [sys.executable, "-c", "import memplatform.wsgi as it; print(type(it.application).__name__)"]
    outcome = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert outcome.stdout.strip() == "FairShare", outcome.stderr
