"""0001_initial makes the tables; before_release holds the steps of databases that are older than it."""

from pathlib import Path

__path__.append(str(Path(__file__).with_name("before_release")))
