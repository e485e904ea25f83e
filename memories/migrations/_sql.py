"""What Django's operations cannot say, in files of SQL beside the migrations."""

import re
from pathlib import Path

from django.db import migrations


def run(file: Path) -> migrations.RunSQL:
    """Run a file; undone, the functions it makes are dropped. What it says of tables goes with them."""
    text = file.read_text()
    functions = re.findall(r"^CREATE FUNCTION (\w+)", text, re.MULTILINE)
    return migrations.RunSQL(text, f"DROP FUNCTION {', '.join(functions)}" if functions else migrations.RunSQL.noop)
