"""`python -m evals.measurements NAME [options]`: one measurement of how well memories are kept and found."""

import sys

from benchmarks import harness
from benchmarks.harness import BUNDLED, DATABASE, HASHED, PLATFORM

MEASUREMENTS = {
    "answerable": (DATABASE, BUNDLED),
    "lasting": (DATABASE, HASHED),
    "many_turns": (DATABASE, BUNDLED),
    "poison": (DATABASE, BUNDLED),
    "questions_of_a_week": (DATABASE, HASHED),
    "references": (DATABASE, BUNDLED),
    "notes_recall": (DATABASE, BUNDLED),
    "believed": (DATABASE, HASHED),
    "compression": (DATABASE, HASHED),
    "kept_recall": (DATABASE, BUNDLED),
    "real_model": (DATABASE, HASHED),
    "drill_mutations": (DATABASE, HASHED),
    "drill_at_size": (DATABASE, HASHED),
    "against_mem0": (PLATFORM, BUNDLED),
}


if __name__ == "__main__":
    sys.exit(harness.run("evals.measurements", MEASUREMENTS, sys.argv[1:]))
