"""The tests mirror the code: tests/<package>/…/test_<module>.py; tests/system starts processes or races threads,
tests/journeys a browser.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  #: of the project
