"""The TypeScript client is what the description of the API says, and has the errors of the Python client."""

import json
import re
from typing import Any

import generate_typescript
from memplatform_client import errors

from tests.clients.typescript.conftest import CLIENT
from tests.support.described import api_description


def description() -> Any:
    return json.loads(json.dumps(api_description(), default=str))


def test_both_clients_have_the_same_errors() -> None:
    text = (CLIENT / "src" / "errors.ts").read_text()
    kinds = dict(re.findall(r"^  (\w+): (\w+),$", text.partition("KINDS")[2], re.MULTILINE))
    assert kinds == {str(code): kind.__name__ for code, kind in errors.KINDS.items()}
    parents = dict(re.findall(r"export class (\w+) extends (\w+) {", text))
    assert {name: parents[name] for name in kinds.values()} == {
        kind.__name__: kind.__base__.__name__ for kind in errors.KINDS.values() if kind.__base__
    }


def test_the_client_is_made_from_the_api_as_it_is() -> None:
    command = "manage.py spectacular --format openapi-json | python clients/python/generate.py"
    for file, text in generate_typescript.generated(description()).items():
        assert (generate_typescript.TARGET / file).read_text() == text, command
