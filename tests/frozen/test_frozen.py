"""The wire and the sentences are those that are frozen."""

import json
from pathlib import Path

import polib
import pytest

from tests import ROOT
from tests.support.described import api_description

FROZEN = Path(__file__).parent
CATALOG = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"


def description() -> str:
    """The description of the API, a line a value."""
    schema = api_description()
    return json.dumps(schema, default=str, sort_keys=True, ensure_ascii=False, indent=0) + "\n"


def sentences() -> str:
    """Every translated message with its translations."""
    messages = [
        json.dumps([entry.msgctxt, entry.msgid, entry.msgstr or entry.msgstr_plural[0]], ensure_ascii=False)
        for entry in polib.pofile(str(CATALOG))
    ]
    return "\n".join(sorted(messages)) + "\n"


@pytest.mark.thorough
def test_the_description_of_the_api_stays() -> None:
    assert description() == (FROZEN / "openapi.json").read_text()


@pytest.mark.thorough
def test_the_sentences_and_their_translations_stay() -> None:
    assert sentences() == (FROZEN / "sentences.txt").read_text()


def write() -> None:
    """Write both anew: `manage.py shell -c "from tests.frozen.test_frozen import write; write()"`."""
    (FROZEN / "openapi.json").write_text(description())
    (FROZEN / "sentences.txt").write_text(sentences())
